/* SPDX-License-Identifier: MIT */
/*
 * A sparse matrix in compressed sparse rows by a vector: y = alpha a x + beta y (clstream/sparse.h).
 *
 *     -DREAL=float      type of the values and of both vectors: float, or double with -DDOUBLES
 *     -DOFFSET=int      type of the offsets: int or long
 *     -DINDEX=int       type of the numbers of columns: int or long
 *     -DRUNS            a work-item takes shape.s3 rows that follow each other; else a team of shape.s3 work-items, a power
 *                       of two, takes a row, in groups of GROUP at most
 *
 * First elements are those of matrix_at, (offsets, indices, values, missed), and of vector_at, (x, its step, y, its step);
 * shape is (rows, columns, entries, rows or work-items). What is missed is counted unless it is at NOWHERE. range is the
 * entries of each row that a launch adds (factors: cl/factor.cl), from range.s0 up to range.s1: a launch that begins with 0 is a row's first.
 */
#ifdef DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#include "factor.cl"

/* Sums of an item, for as many additions under way. */
enum { SUMS = 4 };

struct matrix {
    global const OFFSET *offsets;
    global const INDEX *indices;
    global const REAL *values, *x;
    ulong rows, columns, entries, step;
};

/* The entries of a row that a launch adds; a row whose offsets are wrong has none. Negative offsets come out above all. */
static ulong2 entries_of(const struct matrix *a, ulong row, ulong2 range, uint *missed) {
    const ulong begin = (ulong)(long)a->offsets[row], end = (ulong)(long)a->offsets[row + 1];
    if (begin > end || end > a->entries) {
        *missed += range.s0 == 0;
        return 0;
    }
    return (ulong2)(begin + min(range.s0, end - begin), begin + min(range.s1, end - begin));
}

static REAL term(const struct matrix *a, ulong entry, uint *missed) {
    const ulong column = (ulong)(long)a->indices[entry];
    if (column < a->columns)
        return a->values[entry] * a->x[column * a->step];
    *missed += 1;
    return 0;
}

/* The entries from range.s0 + lane on that are `lanes` apart. */
static REAL sum_of(const struct matrix *a, ulong2 range, uint lane, uint lanes, uint *missed) {
    REAL sums[SUMS] = {0, 0, 0, 0};
    ulong i = range.s0 + lane;
    for (; i + (SUMS - 1) * lanes < range.s1; i += SUMS * lanes) {
#pragma unroll
        for (uint k = 0; k < SUMS; k++)
            sums[k] += term(a, i + k * lanes, missed);
    }
    for (; i < range.s1; i += lanes)
        sums[0] += term(a, i, missed);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* A launch after the first adds to what that one has left. */
static void put(global REAL *y, REAL sum, REAL alpha, REAL beta, bool is_first) {
    REAL old = 0;
    if (!is_first)
        old = *y;
    else if (beta != 0)
        old = beta * *y;
    *y = alpha != 0 ? alpha * sum + old : old;
}

#ifndef RUNS
#include "lanes.cl"
#ifdef LANES
OF_LANE(REAL)
#else
#define LANES 1
#define of_lane(mine, mask) (mine)
#endif

/* The sum of a team's items, for the first of them: in local memory, and of the last LANES from lane to lane. */
static REAL merged(REAL mine, uint lanes, local REAL *sums) {
    const uint me = get_local_id(0), lane = me & (lanes - 1);
    uint apart = lanes / 2;
    if (apart >= LANES)
        sums[me] = mine;
    for (; apart >= LANES; apart /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < apart)
            sums[me] = mine += sums[me + apart];
    }
    for (; apart > 0; apart /= 2)
        mine += of_lane(mine, apart);
    return mine;
}
#endif

kernel void spmv(global const OFFSET *offsets, global const INDEX *indices,
                 global const REAL *values, global const REAL *x, global REAL *y,
                 global uint *missed, global const REAL *alphas, global const REAL *betas,
                 ulong4 matrix_at, ulong4 vector_at, ulong4 shape, ulong2 range, ulong2 factor_at,
                 REAL alpha_value, REAL beta_value) {
    const REAL alpha = factor_of(alphas, factor_at.s0, alpha_value);
    const REAL beta = factor_of(betas, factor_at.s1, beta_value);
    const struct matrix a = {offsets + matrix_at.s0, indices + matrix_at.s1, values + matrix_at.s2,
                             x + vector_at.s0,       shape.s0,               shape.s1,
                             shape.s2,               vector_at.s1};
    const bool is_first = range.s0 == 0;
    uint missed_here = 0;
    y += vector_at.s2;
#ifdef RUNS
    const ulong first = get_global_id(0) * shape.s3, last = min(first + shape.s3, a.rows);
    for (ulong row = first; row < last; row++) {
        const ulong2 part = alpha != 0 ? entries_of(&a, row, range, &missed_here) : (ulong2)0;
        if (is_first || part.s0 < part.s1)
            put(y + row * vector_at.s3, sum_of(&a, part, 0, 1, &missed_here), alpha, beta, is_first);
    }
#else
    local REAL sums[GROUP];
    const uint me = get_local_id(0), lanes = (uint)shape.s3, lane = me & (lanes - 1);
    const ulong row = get_global_id(0) / lanes;
    uint wrong = 0;
    ulong2 part = 0;
    if (row < a.rows && alpha != 0)
        part = entries_of(&a, row, range, &wrong);
    const REAL sum = merged(sum_of(&a, part, lane, lanes, &missed_here), lanes, sums);
    if (lane == 0 && row < a.rows && (is_first || part.s0 < part.s1))
        put(y + row * vector_at.s3, sum, alpha, beta, is_first);
    if (lane == 0)
        missed_here += wrong;
#endif
    if (missed_here > 0 && matrix_at.s3 != NOWHERE)
        atomic_add(missed + matrix_at.s3, missed_here);
}
