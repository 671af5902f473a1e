/* SPDX-License-Identifier: MIT */
/*
 * Matrix products on NVIDIA's Hopper, by its matrix instructions (wgmma): see cl/tiles.cl.
 *
 * `product` is a group of three times 128 work-items, of which 128 have one that orders the copies of packed inputs, or all
 * copy, and 256 multiply, 64 rows each 128. It takes tile after tile. Copies and instructions meet at barriers in local
 * memory: `full` is passed when a stage's bytes have come, `empty` when both halves have used them. The units round toward
 * zero as they add; so with PRODUCTS=3 the sums of 32 steps are added to others outside of them, by rounding to nearest.
 *
 * The text between //@ and the end of the line is an instruction of the target of the next line, which the driver's
 * compiler does not have: see driver/ptx.h.
 */
//@target sm_90a
#if PRODUCTS == 3
#define COLUMNS 128
#define STAGES 3
#else
#define COLUMNS 256
#define STAGES 4
#endif
#define COPYING 128
#define LINE 128
#include "tiles.cl"

#define STAGE_BYTES (TILE_BYTES(ROWS) + TILE_BYTES(COLUMNS))
#define SUMS (COLUMNS / 2)

/* --- instructions --- */

static void barrier_init(address at, uint arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0],%1;" ::"r"(at), "r"(arrivals) : "memory");
}

static void barrier_arrive(address at) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _,[%0];" ::"r"(at) : "memory");
}

/* One arrival, and as many bytes to come. */
static void barrier_expect(address at, uint bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _,[%0],%1;" ::"r"(at), "r"(bytes)
                 : "memory");
}

static void barrier_wait(address at, uint parity) {
    asm volatile("{.reg .pred p;\nW: mbarrier.try_wait.parity.shared::cta.b64 p,[%0],%1;\n@!p bra W;\n}" ::
                     "r"(at), "r"(parity)
                 : "memory");
}

static void copy_to_local(address to, global const uchar *from, uint bytes, address barrier_at) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0],[%1],%2,[%3];" ::
                     "r"(to), "l"(from), "r"(bytes), "r"(barrier_at)
                 : "memory");
}

/* One arrival, when all that the work-item brought so far has come. The instructions may read it once the barrier is passed,
 * without a fence between the two kinds of access: what is stored needs one, but CUTLASS has none for what is copied like
 * this, it would take a third of the rate, and the probe of the units compares values. */
static void barrier_arrive_behind_copies(address at) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(at) : "memory");
}

/* A matrix in local memory with the 128-byte swizzle: eight rows of it are 1,024 bytes. In order 1 a row is 64 elements of
 * a step, and those of the next 64 elements are 8,192 bytes further. */
static ulong descriptor(address at, uint order) {
    return (at & 0x3ffff) >> 4 | (ulong)(order ? 512 : 1) << 16 | (ulong)64 << 32 | (ulong)1 << 62;
}

/* The instruction of an input's type. Those of 16 bits name the orders. */
#define KIND GLUE(KIND_, IN)
#define KIND_float "k8.f32.tf32.tf32"
#define KIND_half "k16.f32.f16.f16"
#define KIND_bfloat16 "k16.f32.bf16.bf16"
#ifdef A_ORDER
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define ORDER "," TEXT(A_ORDER) "," TEXT(B_ORDER)
#define NEXT(order) ((order) ? 2048 : 32) /* bytes to the next steps */
#define BRINGING COPYING /* work-items */
#else
#if IS_NARROW(IN)
#define ORDER ",0,0"
#else
#define ORDER ""
#endif
#define A_ORDER 0
#define B_ORDER 0
#define NEXT(order) 32
#define BRINGING 1
#define IS_PACKED
#endif
#define SUMS_4(X, i) X(i), X(i + 1), X(i + 2), X(i + 3)
#define SUMS_16(X, i) SUMS_4(X, i), SUMS_4(X, i + 4), SUMS_4(X, i + 8), SUMS_4(X, i + 12)
#define SUMS_64(X, i) SUMS_16(X, i), SUMS_16(X, i + 16), SUMS_16(X, i + 32), SUMS_16(X, i + 48)
#define IN_OUT(i) "+f"(sums[i])
#if COLUMNS == 128
#define ALL_SUMS SUMS_64(IN_OUT, 0)
#define NAMES \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23," \
    "%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45," \
    "%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define MULTIPLY                              \
    "//@{.reg .pred p; setp.ne.b32 p,%66,0; " \
    "wgmma.mma_async.sync.aligned.m64n128" KIND " {" NAMES "},%64,%65,p,1,1" ORDER ";}"
#else
#define ALL_SUMS SUMS_64(IN_OUT, 0), SUMS_64(IN_OUT, 64)
#define NAMES \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23," \
    "%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45," \
    "%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67," \
    "%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89," \
    "%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108," \
    "%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125," \
    "%126,%127"
#define MULTIPLY                               \
    "//@{.reg .pred p; setp.ne.b32 p,%130,0; " \
    "wgmma.mma_async.sync.aligned.m64n256" KIND " {" NAMES "},%128,%129,p,1,1" ORDER ";}"
#endif

/* sums += a b over the steps of a stage; the first of them, unless `add`, replace the sums. */
#define MULTIPLY_STAGE(a, b)                                                            \
    _Pragma("unroll") for (uint l = 0; l < 4; l++) {                                    \
        asm volatile(MULTIPLY                                                           \
                     : ALL_SUMS                                                         \
                     : "l"(descriptor((a) + l * NEXT(A_ORDER), A_ORDER)),                 \
                       "l"(descriptor((b) + l * NEXT(B_ORDER), B_ORDER)), "r"(add)        \
                     : "memory");                                                       \
        add = 1;                                                                        \
    }
#define SUMS_FENCE asm volatile("//@wgmma.fence.sync.aligned;" ::: "memory")
#define SUMS_COMMIT asm volatile("//@wgmma.commit_group.sync.aligned;" ::: "memory")
#define SUMS_WAIT_BUT_ONE asm volatile("//@wgmma.wait_group.sync.aligned 1;" ::: "memory")
#define SUMS_WAIT asm volatile("//@wgmma.wait_group.sync.aligned 0;" : ALL_SUMS::"memory")

__attribute__((reqd_work_group_size(384, 1, 1))) kernel void
product(SOURCES global const input *restrict a, uint4 a_at, global const input *restrict b,
        uint4 b_at, global output *restrict c, uint4 c_at, uint4 shape, float alpha, float beta,
        uint2 ends BIAS_PARAMETERS) {
    local uchar stages[STAGES * STAGE_BYTES] __attribute__((aligned(1024)));
    local ulong barriers[2 * STAGES];
    local float parts[8 * 16 * PART_ROW]; /* of each 32 work-items that multiply */
    const uint item = get_local_id(0), m = shape.x, n = shape.y, k = shape.z, steps = tiles(k, STEPS);
    const uint down = tiles(m, ROWS), across = tiles(n, COLUMNS), all = shape.w * down * across;
    const address memory = address_of(stages), full = address_of(barriers), empty = full + 8 * STAGES;
    uint stage = 0;
    if (item == 0) {
        for (uint s = 0; s < STAGES; s++) {
            barrier_init(full + 8 * s, BRINGING);
            barrier_init(empty + 8 * s, 2);
        }
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < 128) {
        uint parity = 1;
        for (uint tile = get_group_id(0); tile < all && item < BRINGING; tile += get_num_groups(0)) {
            const uint3 place = place_of(tile, down, across);
#ifdef IS_PACKED
            struct source from = source_of(packed, shape, sets, place);
#else
            global const input *const from_a = a + a_at.x + (size_t)place.x * a_at.w;
            global const input *const from_b = b + b_at.x + (size_t)place.x * b_at.w;
#endif
            for (uint s = 0; s < steps; s++) {
                const address to = memory + stage * STAGE_BYTES;
                barrier_wait(empty + 8 * stage, parity);
#ifdef IS_PACKED
                barrier_expect(full + 8 * stage, STAGE_BYTES);
                copy_to_local(to, from.a, TILE_BYTES(ROWS), full + 8 * stage);
                copy_to_local(to + TILE_BYTES(ROWS), from.b, TILE_BYTES(COLUMNS), full + 8 * stage);
                from.a += TILE_BYTES(ROWS);
                from.b += TILE_BYTES(COLUMNS);
#else
                copy_rows(to, ROWS, from_a, A_ORDER, A_ORDER ? a_at.z : a_at.y, place.y * ROWS, m,
                          s * STEPS, k);
                copy_rows(to + TILE_BYTES(ROWS), COLUMNS, from_b, B_ORDER, B_ORDER ? b_at.y : b_at.z,
                          place.z * COLUMNS, n, s * STEPS, k);
                barrier_arrive_behind_copies(full + 8 * stage);
#endif
                if (++stage == STAGES) {
                    stage = 0;
                    parity ^= 1;
                }
            }
        }
#ifndef IS_PACKED
        asm volatile("cp.async.wait_all;" ::: "memory");
#endif
        return;
    }
    const uint side = item / 128 - 1;
    uint parity = 0;
    for (uint tile = get_group_id(0); tile < all; tile += get_num_groups(0)) {
        const uint3 place = place_of(tile, down, across);
        float sums[SUMS];
        uint add = 0;
#if PRODUCTS == 3
        float totals[SUMS];
#pragma unroll
        for (uint i = 0; i < SUMS; i++)
            totals[i] = 0;
#else
#define totals sums
        uint used = STAGES;
#pragma unroll
        for (uint i = 0; i < SUMS; i++)
            sums[i] = 0;
#endif
        for (uint s = 0; s < steps; s++) {
            const address at_a = memory + stage * STAGE_BYTES + side * 64 * 128;
            const address at_b = memory + stage * STAGE_BYTES + TILE_BYTES(ROWS);
            barrier_wait(full + 8 * stage, parity);
            SUMS_FENCE;
#if PRODUCTS == 3
            add = 0;
            MULTIPLY_STAGE(at_a + ROWS * 128, at_b)
            MULTIPLY_STAGE(at_a, at_b + COLUMNS * 128)
            MULTIPLY_STAGE(at_a, at_b)
            SUMS_COMMIT;
            SUMS_WAIT;
            if (item % 128 == 0)
                barrier_arrive(empty + 8 * stage);
#pragma unroll
            for (uint i = 0; i < SUMS; i++)
                totals[i] += sums[i];
#else
            MULTIPLY_STAGE(at_a, at_b)
            SUMS_COMMIT;
            SUMS_WAIT_BUT_ONE;
            if (item % 128 == 0 && used < STAGES)
                barrier_arrive(empty + 8 * used);
            used = stage;
#endif
            if (++stage == STAGES) {
                stage = 0;
                parity ^= 1;
            }
        }
#if PRODUCTS == 1
        SUMS_WAIT;
        if (item % 128 == 0)
            barrier_arrive(empty + 8 * used);
#endif
        const uint row = place.y * ROWS + side * 64 + item / 32 % 4 * 16;
#pragma unroll
        for (uint part = 0; part < COLUMNS / 32; part++)
            write_part(totals + part * 16, parts + (item / 32 - 4) * 16 * PART_ROW, row,
                       place.z * COLUMNS + part * 32, a + a_at.x + (size_t)place.x * a_at.w, a_at,
                       b + b_at.x + (size_t)place.x * b_at.w, b_at,
                       c + c_at.x + (size_t)place.x * c_at.w, c_at, shape, alpha, beta,
                       ends.x BIAS_ARGUMENTS);
    }
}
