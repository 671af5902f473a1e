/* SPDX-License-Identifier: MIT */
/*
 * Matrix products by the matrix instructions (mma.sync) of NVIDIA's devices of compute capability 8.0 and later: see
 * cl/tiles.cl.
 *
 * A group of 128 work-items computes a tile, each 32 of them a quarter. LINE bytes of its rows are brought to local memory
 * at a time, STAGES - 1 times ahead of what is multiplied. The units round toward zero as they add; so with PRODUCTS=3 the
 * sums of eight steps are added to others outside of them, by rounding to nearest.
 */
#define COLUMNS 128
#define COPYING 128
#define STAGES 3
#if PRODUCTS == 3
#define LINE 32
#else
#define LINE 64
#endif
#include "tiles.cl"

#ifndef A_ORDER
#define A_ORDER 0
#define B_ORDER 0
#define IS_PACKED
#endif
#define LINE_BYTES(rows) ((rows)*LINE) /* of one part of a tile's rows */
#define STAGE_BYTES (LINE_BYTES(ROWS + COLUMNS) * PARTS)
#define BLOCKS 4 /* of 16 rows, and of 16 columns, that 32 work-items multiply */

/* The inputs of 16 rows and 32 bytes of the inner length. */
typedef uint4 fragment;

static fragment load(address at, uint order) {
    fragment x;
    if (order)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3},[%4];"
                     : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                     : "r"(at)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
                     : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                     : "r"(at)
                     : "memory");
    return x;
}

/* Of what a work-item names when 32 load the first fragment of rows from `first` on, 0 or 64: a row, or in order 1 a step,
 * of eight of them. Those of `more_rows` are of the next 8 rows, those of `more_steps` of the next 16 bytes of steps. */
static address line_of(uint order, uint first, uint more_rows, uint more_steps) {
    const uint line = get_local_id(0) % 8;
    return order ? first * LINE + (more_steps * 8 + line) * 128 + (more_rows ^ line) * 16
                 : (first + more_rows * 8 + line) * LINE + (more_steps ^ SWIZZLE(line)) * 16;
}

/* The same of fragment `block` of the rows and `slice` of the inner length. */
static address moved(address line, uint order, uint block, uint slice) {
    return order ? (line ^ block * 32) + slice * 2048 : (line ^ slice * 32) + block * 16 * LINE;
}

#define KIND GLUE(KIND_, IN)
#define KIND_float "m16n8k8.row.col.f32.tf32.tf32.f32"
#define KIND_half "m16n8k16.row.col.f32.f16.f16.f32"
#define KIND_bfloat16 "m16n8k16.row.col.f32.bf16.bf16.f32"

/* sums += a b, of eight columns. */
static void multiply(float4 *sums, fragment a, uint2 b) {
    asm volatile("mma.sync.aligned." KIND " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+f"(sums->x), "+f"(sums->y), "+f"(sums->z), "+f"(sums->w)
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));
}

#ifdef IS_PACKED
/* Brings a work-item's part of the rows of an input: places `first` and on of the rows of a tile. */
static void copy_packed(address to, global const uchar *tile, uint rows, uint first) {
    const uint line = get_local_id(0) / PLACES, place = get_local_id(0) % PLACES;
    to += line * LINE + (place ^ SWIZZLE(line)) * 16;
    tile += line * 128 + ((first + place) ^ line % 8) * 16;
#pragma unroll
    for (uint part = 0; part < PARTS; part++)
#pragma unroll
        for (uint i = 0; i < rows * PLACES / COPYING; i++)
            copy_16(to + LINE_BYTES(part * rows) + i * COPYING * 16,
                    tile + part * rows * 128 + i * (COPYING / PLACES) * 128, 16);
}
#endif

__attribute__((reqd_work_group_size(128, 1, 1))) kernel void
product(SOURCES global const input *restrict a, uint4 a_at, global const input *restrict b,
        uint4 b_at, global output *restrict c, uint4 c_at, uint4 shape, float alpha, float beta,
        uint2 ends BIAS_PARAMETERS) {
    local uchar stages[STAGES * STAGE_BYTES] __attribute__((aligned(1024)));
    const uint warp = get_local_id(0) / 32, quarter = get_local_id(0) % 32 / 8;
    const uint first_row = warp / 2 * 64, first_column = warp % 2 * 64;
    const uint3 place = place_of(get_group_id(0), tiles(shape.x, ROWS), tiles(shape.y, COLUMNS));
    const address memory = address_of(stages);
    const address line_a = memory + line_of(A_ORDER, first_row, quarter % 2, quarter / 2);
    const address line_b = memory + LINE_BYTES(ROWS) * PARTS +
                           line_of(B_ORDER, first_column, quarter / 2, quarter % 2);
#ifdef IS_PACKED
    const struct source from = source_of(packed, shape, sets, place);
    const uint steps = tiles(shape.z, STEPS * LINE / 128);
#else
    const uint steps = tiles(shape.z, LINE_STEPS);
#endif
    float4 sums[BLOCKS][BLOCKS][2];
    a += a_at.x + (size_t)place.x * a_at.w;
    b += b_at.x + (size_t)place.x * b_at.w;
    c += c_at.x + (size_t)place.x * c_at.w;
#pragma unroll
    for (uint i = 0; i < BLOCKS; i++)
#pragma unroll
        for (uint j = 0; j < BLOCKS; j++)
            sums[i][j][0] = sums[i][j][1] = 0;
    /* Step s - (STAGES - 1) is multiplied as step s is brought: its stage is the one after. */
    uint bringing = 0;
    for (uint s = 0; s < steps + STAGES - 1; s++) {
        if (s >= STAGES - 1) {
            asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (s < steps) {
            const address to = memory + bringing * STAGE_BYTES;
#ifdef IS_PACKED
            const size_t tile = s / (128 / LINE);
            const uint first = s % (128 / LINE) * PLACES;
            copy_packed(to, from.a + tile * TILE_BYTES(ROWS), ROWS, first);
            copy_packed(to + LINE_BYTES(ROWS) * PARTS, from.b + tile * TILE_BYTES(COLUMNS), COLUMNS,
                        first);
#else
            copy_rows(to, ROWS, a, A_ORDER, A_ORDER ? a_at.z : a_at.y, place.y * ROWS, shape.x,
                      s * LINE_STEPS, shape.z);
            copy_rows(to + LINE_BYTES(ROWS), COLUMNS, b, B_ORDER, B_ORDER ? b_at.y : b_at.z,
                      place.z * COLUMNS, shape.y, s * LINE_STEPS, shape.z);
#endif
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        bringing = bringing == STAGES - 1 ? 0 : bringing + 1;
        if (s < STAGES - 1)
            continue;
        const address stage = bringing * STAGE_BYTES;
#pragma unroll
        for (uint slice = 0; slice < LINE / 32; slice++) {
            fragment x[PARTS][BLOCKS], y[PARTS][BLOCKS];
#pragma unroll
            for (uint i = 0; i < BLOCKS; i++)
#pragma unroll
                for (uint part = 0; part < PARTS; part++) {
                    const address at = stage + LINE_BYTES(ROWS) * part;
                    x[part][i] = load(at + moved(line_a, A_ORDER, i, slice), A_ORDER);
                    y[part][i] = load(at + moved(line_b, B_ORDER, i, slice), B_ORDER);
                }
#pragma unroll
            for (uint i = 0; i < BLOCKS; i++)
#pragma unroll
                for (uint j = 0; j < BLOCKS; j++) {
#if PRODUCTS == 3
                    float4 low = 0, high = 0;
                    multiply(&low, x[1][i], y[0][j].xy);
                    multiply(&high, x[1][i], y[0][j].zw);
                    multiply(&low, x[0][i], y[1][j].xy);
                    multiply(&high, x[0][i], y[1][j].zw);
                    multiply(&low, x[0][i], y[0][j].xy);
                    multiply(&high, x[0][i], y[0][j].zw);
                    sums[i][j][0] += low;
                    sums[i][j][1] += high;
#else
                    multiply(&sums[i][j][0], x[0][i], y[0][j].xy);
                    multiply(&sums[i][j][1], x[0][i], y[0][j].zw);
#endif
                }
        }
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    barrier(CLK_LOCAL_MEM_FENCE);
    local float *const own = (local float *)stages + warp * 16 * PART_ROW;
#pragma unroll
    for (uint i = 0; i < BLOCKS; i++)
#pragma unroll
        for (uint j = 0; j < BLOCKS; j += 2)
            write_part((const float *)&sums[i][j], own, place.y * ROWS + first_row + i * 16,
                       place.z * COLUMNS + first_column + j * 16, a, a_at, b, b_at, c, c_at, shape,
                       alpha, beta, ends.x BIAS_ARGUMENTS);
}
