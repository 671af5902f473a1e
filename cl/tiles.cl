/* SPDX-License-Identifier: MIT */
/*
 * What matrix products by the units of NVIDIA's devices have in common: c = op(alpha a b + beta c + bias), for every matrix
 * of a batch. The units take inputs of f16, bf16 or of 10 fraction bits (TF32) and add in f32. cl/pack.cl, cl/mma.cl and
 * cl/wgmma.cl include this file.
 *
 * `pack` (cl/pack.cl) rounds floats to TF32 and lays the inputs out as the units read them: in tiles of ROWS rows of a, or
 * COLUMNS columns of b, by STEPS steps of the inner length, each a piece of memory. A row of a tile is 128 bytes; its
 * 16-byte parts change places by the row's number modulo 8 (the 128-byte swizzle), so that parts of eight rows are in
 * different banks of local memory. With PRODUCTS=3 a float is a sum of two, big and small, and a product big big +
 * big small + small big: what is left out is below 2^-22 of it.
 *
 * Inputs of 16 bits whose rows begin at multiples of 16 bytes are not packed: the units take them in either order, and 16
 * bytes at a time are copied to their places.
 *
 *     -DPRODUCTS=1 or, of floats, 3
 *     -DA_ORDER=0 -DB_ORDER=1   the inputs are copied from where they are: 0 where neighbours along the inner length are
 *                       neighbours in memory, 1 where rows of a, or columns of b, are
 *     and those of cl/epilogue.cl
 *
 * The file that includes this one says how many COLUMNS a tile of b has, how many work-items bring inputs (COPYING) and
 * the bytes of a row that they bring at a time (LINE). The layout of an operand is as in cl/panels.cl.
 */
#include "epilogue.cl"

#if IS_NARROW(IN)
#define STEPS 64
#else
#define STEPS 32
#endif
#define ROWS 128
#if PRODUCTS == 3
#define PARTS 2
#else
#define PARTS 1
#endif
#define TILE_BYTES(rows) ((rows)*128 * PARTS)

static uint tiles(uint n, uint width) { return (n + width - 1) / width; }

static bool is_finite(float x) { return (as_uint(x) & 0x7f800000) != 0x7f800000; }

#ifdef COPYING
/* Rounds as pack_half does, in one instruction; NaN becomes 0x7fff. */
static ushort half_of(float x) {
    ushort bits;
    asm("cvt.rn.f16.f32 %0,%1;" : "=h"(bits) : "f"(x));
    return bits;
}
#define pack_half half_of

typedef uint address; /* in local memory, as instructions take it */

static address address_of(local void *p) { return (uint)(ulong)p; }

/* Brings the first `bytes` of 16, and zeros for the others. */
static void copy_16(address to, global const void *from, uint bytes) {
    asm volatile("cp.async.cg.shared.global [%0],[%1],16,%2;" ::"r"(to), "l"(from), "r"(bytes)
                 : "memory");
}

/* Where a tile lies: matrix of the batch, tile of rows, tile of columns. Sixteen tiles of rows go across together, so that
 * what is read again is still in the cache. */
static uint3 place_of(uint tile, uint down, uint across) {
    const uint band = 16 * across, set = tile / (down * across), rest = tile % (down * across);
    const uint first = rest / band * 16, rows = min(down - first, 16u), in_band = rest % band;
    return (uint3)(set, first + in_band % rows, in_band / rows);
}

/* The other place of a 16-byte part of a row of LINE bytes in local memory. */
#define SWIZZLE(row) ((row)*LINE / 128 % PLACES)
#define PLACES (LINE / 16)

#ifdef A_ORDER
#define SOURCES
#define LINE_STEPS (LINE / 2)

/* Brings a work-item's part of LINE_STEPS steps of an input: 16 bytes of some of the rows that it has in local memory, which
 * are LINE bytes long, or in order 1 those of a step, of 64 elements, followed by the next 64. What lies beyond the matrix is
 * zeros. */
static void copy_rows(address to, uint all, global const input *in, uint order, uint ld, uint row,
                      uint rows, uint step, uint k) {
    const uint places = order ? 8 : PLACES, lines = COPYING / places;
    const uint line = get_local_id(0) / places, place = get_local_id(0) % places;
    const uint deep = LINE_STEPS / (COPYING / 8); /* copies to the next 64 elements of order 1 */
    to += (line * places + (place ^ (order ? line % 8 : SWIZZLE(line)))) * 16;
    if (row + all <= rows && step + LINE_STEPS <= k) {
        in += order ? (size_t)(step + line) * ld + row + place * 8
                    : (size_t)(row + line) * ld + step + place * 8;
#pragma unroll
        for (uint i = 0; i < all * PLACES / COPYING; i++)
            copy_16(to + i * COPYING * 16,
                    in + (order ? i % deep : i) * lines * (size_t)ld + (order ? i / deep * 64 : 0), 16);
        return;
    }
#pragma unroll
    for (uint i = 0; i < all * PLACES / COPYING; i++) {
        const uint r = order ? row + i / deep * 64 + place * 8 : row + i * lines + line;
        const uint l = order ? step + i % deep * lines + line : step + place * 8;
        const uint bytes = r < rows && l < k ? 2 * min(order ? rows - r : k - l, 8u) : 0;
        const size_t at = order ? (size_t)l * ld + r : (size_t)r * ld + l;
        copy_16(to + i * COPYING * 16, in + at, bytes);
    }
}
#else
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
#endif

#if PRODUCTS == 3
/* Sums of which one is infinite or no number may owe it to the parts that the inputs were split into. */
static float plain_sum(global const float *restrict a, uint by_step_a, global const float *restrict b,
                       uint by_step_b, uint k) {
    float sum = 0;
    for (uint l = 0; l < k && !isnan(sum); l++)
        sum = fma(a[(size_t)l * by_step_a], b[(size_t)l * by_step_b], sum);
    return sum;
}
#endif

/* Rows that are written at a time. */
#ifdef OP
#define TOGETHER 2
#else
#define TOGETHER 8
#endif
#define PART_ROW 40 /* of 32 columns: rows four apart begin in the same bank of local memory */
#define WARP_BARRIER asm volatile("bar.warp.sync 0xffffffff;" ::: "memory")

/*
 * Writes 16 rows of 32 columns of c, from (row, column) on, by 32 work-items. Each has 16 sums: pairs of columns 8 apart, of
 * a row and of the eighth below it. They go through `own`, from which neighbours write neighbouring elements, by a loop: the
 * code of an activation for each sum would not fit the caches, and of one at a time each step would wait for the last. The operands are those of the matrix of the batch.
 */
static void write_part(const float *sums, local float *own, uint row, uint column,
                       global const input *restrict a, uint4 a_at, global const input *restrict b,
                       uint4 b_at, global output *restrict c, uint4 c_at, uint4 shape, float alpha,
                       float beta, bool ends BIAS_PARAMETERS) {
    const uint lane = get_local_id(0) % 32;
    const uint j = min(column + lane, shape.y - 1); /* what is not written reads what there is */
#pragma unroll
    for (uint p = 0; p < 8; p++) {
        local float *const at = own + (lane / 4 + p % 2 * 8) * PART_ROW + p / 2 * 8;
        *(local float2 *)(at + lane % 4 * 2) = (float2)(sums[p * 2], sums[p * 2 + 1]);
    }
    WARP_BARRIER;
#pragma unroll 1
    for (uint r = 0; r < 16 && row + r < shape.x && column < shape.y; r += TOGETHER) {
        output ended[TOGETHER];
#pragma unroll
        for (uint t = 0; t < TOGETHER; t++) {
            const uint i = min(row + r + t, shape.x - 1);
            float sum = own[(r + t) * PART_ROW + lane];
#if PRODUCTS == 3
            if (!is_finite(sum))
                sum = plain_sum(a + (size_t)i * a_at.y, a_at.z, b + (size_t)j * b_at.z, b_at.y,
                                shape.z);
#endif
            const float value = WITH_OLD(alpha * sum, beta, c + (size_t)i * c_at.y + j);
            ended[t] = ends ? ENDED(value, i, j) : PACK(TYPE, value);
        }
#pragma unroll
        for (uint t = 0; t < TOGETHER; t++)
            if (row + r + t < shape.x && column + lane < shape.y)
                c[(size_t)(row + r + t) * c_at.y + j] = ended[t];
    }
    WARP_BARRIER;
}
#endif
