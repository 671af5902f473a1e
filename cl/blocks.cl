/* SPDX-License-Identifier: MIT */
/*
 * Matrix products on GPUs: c = op(alpha a b + beta c + bias), for every matrix of a batch.
 *
 * A group computes a tile of c, of TILE rows and columns. It brings DEPTH steps of its rows of a and columns of b to local
 * memory, reading the next ones from global memory meanwhile. A work-item has blocks of four by four elements, so that it
 * reads four numbers at a time, neighbours from neighbouring places.
 *
 *     -DSIDE=16         work-items along a side of the tile
 *     -DBLOCKS=1        blocks along a side of a work-item's part
 *     and those of cl/epilogue.cl
 *
 * The layout of an operand is as in cl/panels.cl.
 */
#include "epilogue.cl"

#define EACH (4 * BLOCKS)
#define TILE (SIDE * EACH)
#define ITEMS (SIDE * SIDE)
#define DEPTH 16
#define READ (TILE * DEPTH / ITEMS) /* numbers that an item brings of each input */
#define ROW (TILE + 4)
typedef SUM number;
typedef GLUE(SUM, 4) four;

static uint tiles(uint n) { return (n + TILE - 1) / TILE; }

/* Place `i` of what an item brings: line (a row of a, a column of b) and step. Neighbours read neighbouring elements. */
static uint2 place_of(uint i, bool by_step) {
    const uint p = i * ITEMS + get_local_id(0);
    return by_step ? (uint2)(p / DEPTH, p % DEPTH) : (uint2)(p % TILE, p / TILE);
}

/* Brings steps from `step` on of lines from `first` on; what lies beyond the matrix is zeros. */
static void bring(global const input *in, size_t by_line, size_t by_step, uint first, uint lines,
                  uint step, uint steps, number *out) {
#pragma unroll
    for (uint i = 0; i < READ; i++) {
        const uint2 at = place_of(i, by_step == 1);
        const bool is_in = first + at.x < lines && step + at.y < steps;
        const size_t place = (first + at.x) * by_line + (step + at.y) * by_step;
        out[i] = is_in ? UNPACK(IN, in[place]) : (number)0;
    }
}

static void keep(const number *in, size_t by_step, local number *out) {
#pragma unroll
    for (uint i = 0; i < READ; i++) {
        const uint2 at = place_of(i, by_step == 1);
        out[at.y * ROW + at.x] = in[i];
    }
}

__attribute__((reqd_work_group_size(ITEMS, 1, 1))) kernel void
product(global const input *restrict a, uint4 a_at, global const input *restrict b, uint4 b_at,
        global output *restrict c, uint4 c_at, uint4 shape, number alpha,
        number beta BIAS_PARAMETERS) {
    local number rows[DEPTH * ROW] __attribute__((aligned(32)));
    local number columns[DEPTH * ROW] __attribute__((aligned(32)));
    const uint m = shape.x, n = shape.y, k = shape.z;
    const uint across = tiles(n), tile = get_group_id(0) % (tiles(m) * across);
    const size_t set = get_group_id(0) / (tiles(m) * across);
    const uint row = tile / across * TILE, column = tile % across * TILE;
    const uint y = get_local_id(0) / SIDE * 4, x = get_local_id(0) % SIDE * 4;
    number next_row[READ], next_column[READ];
    four sums[EACH][BLOCKS];
#pragma unroll
    for (uint i = 0; i < EACH; i++)
#pragma unroll
        for (uint j = 0; j < BLOCKS; j++)
            sums[i][j] = 0;
    a += a_at.x + set * a_at.w;
    b += b_at.x + set * b_at.w;
    c += c_at.x + set * c_at.w;
    bring(a, a_at.y, a_at.z, row, m, 0, k, next_row);
    bring(b, b_at.z, b_at.y, column, n, 0, k, next_column);
    for (uint step = 0; step < k; step += DEPTH) {
        keep(next_row, a_at.z, rows);
        keep(next_column, b_at.y, columns);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (step + DEPTH < k) {
            bring(a, a_at.y, a_at.z, row, m, step + DEPTH, k, next_row);
            bring(b, b_at.z, b_at.y, column, n, step + DEPTH, k, next_column);
        }
#pragma unroll
        for (uint l = 0; l < DEPTH; l++) {
            four u[BLOCKS], v[BLOCKS];
#pragma unroll
            for (uint i = 0; i < BLOCKS; i++) {
                u[i] = *(local const four *)(rows + l * ROW + i * SIDE * 4 + y);
                v[i] = *(local const four *)(columns + l * ROW + i * SIDE * 4 + x);
            }
#pragma unroll
            for (uint i = 0; i < BLOCKS; i++)
#pragma unroll
                for (uint j = 0; j < BLOCKS; j++) {
                    sums[4 * i][j] += u[i].x * v[j];
                    sums[4 * i + 1][j] += u[i].y * v[j];
                    sums[4 * i + 2][j] += u[i].z * v[j];
                    sums[4 * i + 3][j] += u[i].w * v[j];
                }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma unroll
    for (uint i = 0; i < EACH; i++)
#pragma unroll
        for (uint j = 0; j < EACH; j++) {
            const uint at_row = row + i / 4 * SIDE * 4 + y + i % 4;
            const uint at_column = column + j / 4 * SIDE * 4 + x + j % 4;
            const number sum = ((number *)&sums[i][j / 4])[j % 4];
            global output *const at = c + (size_t)at_row * c_at.y + at_column;
            if (at_row < m && at_column < n)
                *at = ENDED(WITH_OLD(alpha * sum, beta, at), at_row, at_column);
        }
}
