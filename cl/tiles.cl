/* SPDX-License-Identifier: MIT */
/*
 * Matrix products on NVIDIA's Hopper: c = op(alpha a b + beta c + bias), for every matrix of a batch, by its matrix
 * instructions (wgmma), which take inputs of f16, bf16 or of 10 fraction bits (TF32) and add in f32.
 *
 * `pack` rounds floats to TF32 and lays the inputs out as the instructions read them: in tiles of ROWS rows of a, or COLUMNS
 * columns of b, by STEPS steps of the inner length, each a piece of memory that one bulk copy brings to local memory. A row
 * of a tile is 128 bytes; its 16-byte parts change places by the row's number modulo 8 (the 128-byte swizzle). With
 * PRODUCTS=3 a float is a sum of two, big and small, and a product big big + big small + small big: what is left out is
 * below 2^-22 of it. The units round toward zero as they add; so the sums of 32 steps are added to others outside of them,
 * by rounding to nearest.
 *
 * Inputs of 16 bits whose rows begin at multiples of 16 bytes are not packed: the instructions take them in either order,
 * and 16 bytes at a time are copied to their places.
 *
 * `product` is a group of three times 128 work-items, of which 128 have one that orders the copies and 256 multiply, 64 rows
 * each 128. It takes tile after tile. Copies and instructions meet at barriers in local memory: `full` is passed when a
 * stage's bytes have come, `empty` when both halves have used them.
 *
 *     -DPRODUCTS=1 or, of floats, 3
 *     -DA_ORDER=0 -DB_ORDER=1   the inputs are copied from where they are: 0 where neighbours along the inner length are
 *                       neighbours in memory, 1 where rows of a, or columns of b, are
 *     and those of cl/epilogue.cl
 *
 * The text between //@ and the end of the line is an instruction of the target of the next line, which the driver's
 * compiler does not have: see driver/ptx.h. The layout of an operand is as in cl/panels.cl.
 */
//@target sm_90a
#include "epilogue.cl"

/* Rounds as pack_half does, in one instruction; NaN becomes 0x7fff. */
static ushort half_of(float x) {
    ushort bits;
    asm("cvt.rn.f16.f32 %0,%1;" : "=h"(bits) : "f"(x));
    return bits;
}
#define pack_half half_of

#if IS_NARROW(IN)
#define STEPS 64
#define PAD 2 /* of rows in local memory */
#else
#define STEPS 32
#define PAD 1
#endif
#define ROWS 128
#define TILE_BYTES(rows) ((rows)*128 * PARTS)
#if PRODUCTS == 3
#define PARTS 2
#define COLUMNS 128
#define STAGES 3
#else
#define PARTS 1
#define COLUMNS 256
#define STAGES 4
#endif
#define STAGE_BYTES (TILE_BYTES(ROWS) + TILE_BYTES(COLUMNS))
#define SUMS (COLUMNS / 2)
#define PART_ROW 40 /* of 32 columns of a tile: rows four apart begin in the same bank of local memory */

static uint tiles(uint n, uint width) { return (n + width - 1) / width; }

static bool is_finite(float x) { return (as_uint(x) & 0x7f800000) != 0x7f800000; }

/* --- packing --- */

#ifndef A_ORDER
/* To nearest, ties to even; a number that would become infinite is cut. */
static float rounded(float x) {
    const uint bits = as_uint(x);
    const float near = as_float((bits + 0xfff + (bits >> 13 & 1)) & 0xffffe000);
    return is_finite(near) ? near : as_float(bits & 0xffffe000);
}

/* Packs 32 rows of `rows` by STEPS steps, from (row, step) on, as part of a tile of `width` rows; what lies beyond the
 * matrix is zeros. */
static void pack_part(global const input *restrict in, uint4 at, uint rows, uint k, uint row,
                      uint step, uint width, global uint4 *restrict out, local input *part) {
    const uint item = get_local_id(0);
    for (uint i = item; i < 32 * STEPS; i += 256) {
        const uint r = at.z == 1 ? i / STEPS : i % 32, l = at.z == 1 ? i % STEPS : i / 32;
        const bool is_in = row + r < rows && step + l < k;
        part[r * (STEPS + PAD) + l] =
            is_in ? in[(size_t)(row + r) * at.y + (size_t)(step + l) * at.z] : (input)0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint r = item / 8, place = item % 8, in_tile = (row + r) % width;
    const local input *const from = part + r * (STEPS + PAD) + place * (STEPS / 8);
#if IS_NARROW(IN)
    uint4 big = (uint4)(from[0] | (uint)from[1] << 16, from[2] | (uint)from[3] << 16,
                        from[4] | (uint)from[5] << 16, from[6] | (uint)from[7] << 16);
#else
    uint4 big, small;
    uint *bigs = (uint *)&big, *smalls = (uint *)&small;
#pragma unroll
    for (uint i = 0; i < 4; i++) {
        const float x = from[i], near = is_finite(x) ? rounded(x) : x;
        bigs[i] = as_uint(near);
        smalls[i] = is_finite(x) ? as_uint(rounded(x - near)) : 0;
    }
#endif
    out += in_tile * 8 + (place ^ (in_tile & 7));
    *out = big;
#if PARTS == 2
    out[width * 8] = small;
#endif
}

/*
 * Packs steps first .. first + k of sets.x matrices of a and sets.y of b. A group packs 32 rows by STEPS steps: of all of
 * the first matrix of a, then of the second, and so on, then of b. `shape` is m, n, k.
 */
__attribute__((reqd_work_group_size(256, 1, 1))) kernel void
pack(global const input *restrict a, uint4 a_at, global const input *restrict b, uint4 b_at,
     global uint4 *restrict packed, uint4 shape, uint2 sets) {
    local input part[32 * (STEPS + PAD)];
    const uint steps = tiles(shape.z, STEPS), step = get_group_id(0) % steps;
    const uint of_a = tiles(shape.x, ROWS), of_b = tiles(shape.y, COLUMNS);
    uint strip = get_group_id(0) / steps;
    if (strip < sets.x * of_a * (ROWS / 32)) {
        const uint set = strip / (of_a * (ROWS / 32)), row = strip % (of_a * (ROWS / 32)) * 32;
        const size_t tile = ((size_t)set * of_a + row / ROWS) * steps + step;
        pack_part(a + a_at.x + (size_t)set * a_at.w, a_at, shape.x, shape.z, row, step * STEPS,
                  ROWS, packed + tile * (TILE_BYTES(ROWS) / 16), part);
        return;
    }
    strip -= sets.x * of_a * (ROWS / 32);
    const uint set = strip / (of_b * (COLUMNS / 32)), row = strip % (of_b * (COLUMNS / 32)) * 32;
    const size_t tile = ((size_t)set * of_b + row / COLUMNS) * steps + step;
    packed += (size_t)sets.x * of_a * steps * (TILE_BYTES(ROWS) / 16);
    pack_part(b + b_at.x + (size_t)set * b_at.w, b_at.xzyw, shape.y, shape.z, row, step * STEPS,
              COLUMNS, packed + tile * (TILE_BYTES(COLUMNS) / 16), part);
}
#endif

/* --- instructions --- */

typedef uint address; /* in local memory, as instructions take it */

static address address_of(local void *p) { return (uint)(ulong)p; }

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

/* Brings the first `bytes` of 16, and zeros for the others. */
static void copy_16(address to, global const input *from, uint bytes) {
    asm volatile("cp.async.cg.shared.global [%0],[%1],16,%2;" ::"r"(to), "l"(from), "r"(bytes)
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
#define COPYING 128 /* work-items that bring inputs */
#else
#if IS_NARROW(IN)
#define ORDER ",0,0"
#else
#define ORDER ""
#endif
#define A_ORDER 0
#define B_ORDER 0
#define NEXT(order) 32
#define COPYING 1
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
#define WARP_BARRIER asm volatile("bar.warp.sync 0xffffffff;" ::: "memory")
#define SUMS_FENCE asm volatile("//@wgmma.fence.sync.aligned;" ::: "memory")
#define SUMS_COMMIT asm volatile("//@wgmma.commit_group.sync.aligned;" ::: "memory")
#define SUMS_WAIT_BUT_ONE asm volatile("//@wgmma.wait_group.sync.aligned 1;" ::: "memory")
#define SUMS_WAIT asm volatile("//@wgmma.wait_group.sync.aligned 0;" : ALL_SUMS::"memory")

/* --- products --- */

/* Where a tile lies: matrix of the batch, tile of rows, tile of columns. Sixteen tiles of rows go across together, so that
 * what is read again is still in the cache. */
static uint3 place_of(uint tile, uint down, uint across) {
    const uint band = 16 * across, set = tile / (down * across), rest = tile % (down * across);
    const uint first = rest / band * 16, rows = min(down - first, 16u), in_band = rest % band;
    return (uint3)(set, first + in_band % rows, in_band / rows);
}

#ifdef IS_PACKED
#define SOURCES global const uchar *restrict packed, uint2 sets,

/* A tile's part of the packed inputs: a's, then b's. */
struct source {
    global const uchar *a, *b;
};

static struct source source_of(global const uchar *packed, uint4 shape, uint2 sets, uint3 place) {
    const uint steps = tiles(shape.z, STEPS);
    const uint of_a = tiles(shape.x, ROWS), of_b = tiles(shape.y, COLUMNS);
    const size_t a = (size_t)(sets.x > 1 ? place.x : 0) * of_a + place.y;
    const size_t b = (size_t)(sets.y > 1 ? place.x : 0) * of_b + place.z;
    return (struct source){packed + a * steps * TILE_BYTES(ROWS),
                           packed + (size_t)sets.x * of_a * steps * TILE_BYTES(ROWS) +
                               b * steps * TILE_BYTES(COLUMNS)};
}
#else
#define SOURCES

/* Brings a work-item's part of a stage of an input: 16 bytes of every sixteenth of the rows that it has in local memory.
 * What lies beyond the matrix is zeros. */
static void copy_rows(address to, uint all, global const input *in, uint order, uint ld, uint row,
                      uint rows, uint step, uint k) {
    const uint line = get_local_id(0) / 8, place = get_local_id(0) % 8;
    to += line * 128 + (place ^ line % 8) * 16;
    if (row + all <= rows && step + STEPS <= k) {
        in += order ? (size_t)(step + line) * ld + row + place * 8
                    : (size_t)(row + line) * ld + step + place * 8;
#pragma unroll
        for (uint i = 0; i < all / 16; i++)
            copy_16(to + i * 2048, in + (order ? i % 4 : i) * 16 * (size_t)ld + (order ? i / 4 * 64 : 0),
                    16);
        return;
    }
#pragma unroll
    for (uint i = 0; i < all / 16; i++) {
        const uint r = order ? row + i / 4 * 64 + place * 8 : row + i * 16 + line;
        const uint l = order ? step + i % 4 * 16 + line : step + place * 8;
        const uint bytes = r < rows && l < k ? 2 * min(order ? rows - r : k - l, 8u) : 0;
        const size_t at = order ? (size_t)l * ld + r : (size_t)r * ld + l;
        copy_16(to + i * 2048, in + at, bytes);
    }
}
#endif

#if PRODUCTS == 3
/* Sums of which one is infinite or no number may owe it to the parts that the inputs were split into. */
static float plain_sum(global const float *restrict a, uint4 a_at, global const float *restrict b,
                       uint4 b_at, uint k) {
    float sum = 0;
    for (uint l = 0; l < k && !isnan(sum); l++)
        sum = fma(a[(size_t)l * a_at.z], b[(size_t)l * b_at.y], sum);
    return sum;
}
#endif

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
            barrier_init(full + 8 * s, COPYING);
            barrier_init(empty + 8 * s, 2);
        }
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < 128) {
        uint parity = 1;
        for (uint tile = get_group_id(0); tile < all && item < COPYING; tile += get_num_groups(0)) {
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
    const uint side = item / 128 - 1, lane = item % 32, warp = item / 32 % 4;
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
        /* An item has pairs of columns 8 apart, of a row and of the eighth below it. 32 columns at a time go through
         * local memory, from which neighbours write neighbouring elements, by a loop: the code of an activation for each
         * sum would not fit the caches. */
        const uint row = place.y * ROWS + side * 64 + warp * 16, column = place.z * COLUMNS + lane;
        local float *const own = parts + (item / 32 - 4) * 16 * PART_ROW;
        global output *const to = c + c_at.x + (size_t)place.x * c_at.w;
#pragma unroll
        for (uint part = 0; part < COLUMNS / 32; part++) {
#pragma unroll
            for (uint p = 0; p < 8; p++) {
                local float *const at = own + (lane / 4 + p % 2 * 8) * PART_ROW + p / 2 * 8;
                *(local float2 *)(at + lane % 4 * 2) =
                    (float2)(totals[part * 16 + p * 2], totals[part * 16 + p * 2 + 1]);
            }
            WARP_BARRIER;
            const uint j = column + part * 32;
#pragma unroll 1
            for (uint r = 0; r < 16 && j < n && row + r < m; r++) {
                const uint i = row + r;
                global output *const at = to + (size_t)i * c_at.y + j;
                float sum = own[r * PART_ROW + lane];
#if PRODUCTS == 3
                if (!is_finite(sum))
                    sum = plain_sum(a + a_at.x + (size_t)place.x * a_at.w + (size_t)i * a_at.y, a_at,
                                    b + b_at.x + (size_t)place.x * b_at.w + (size_t)j * b_at.z, b_at,
                                    k);
#endif
                const float value = WITH_OLD(alpha * sum, beta, at);
                *at = ends.x ? ENDED(value, i, j) : PACK(TYPE, value);
            }
            WARP_BARRIER;
        }
    }
}
