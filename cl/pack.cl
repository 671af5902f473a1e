/* SPDX-License-Identifier: MIT */
/* Lays inputs of matrix products out in tiles: see cl/tiles.cl. A tile of b has -DCOLUMNS=128 columns. */
#include "tiles.cl"

#if IS_NARROW(IN)
#define PAD 2 /* of rows in local memory */
#else
#define PAD 1
#endif

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

