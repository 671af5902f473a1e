/* SPDX-License-Identifier: MIT */
/*
 * Merges sums over parts of the rows of a matrix, as norm_gradient.cl leaves them: a work-item adds up to 64 of one column,
 * in order. One launch after another, until one has no more than 64 parts and writes the results.
 *
 *     -DTYPE=float      element type of the results: float, double, half or bfloat16 (cl/narrow.cl)
 *     -DSUM=float       type of the sums: float, or double with -DDOUBLES
 *     -DSUMS=2          sums of each column, 1 or 2
 *     -DW=1             for narrow.cl
 */
#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#define V(type) type

#include "narrow.cl"

#ifdef DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define PART 64

/* `from_to` has the first elements of the parts and of what is made of them; shape is (columns, numbers of a part for each
 * of its vectors, parts). Places are (first element, distance between elements). */
kernel void merge_row_sums(global SUM *sums, ulong2 from_to, global MEMORY(TYPE) *one, ulong2 one_at,
#if SUMS == 2
                           global MEMORY(TYPE) *other, ulong2 other_at,
#endif
                           ulong4 shape) {
    const ulong width = SUMS * shape.y, at = get_global_id(0) % width, column = at % shape.y;
    const ulong block = get_global_id(0) / width, end = min(block * PART + PART, shape.z);
    if (column >= shape.x || (block > 0 && block * PART >= shape.z))
        return;
    SUM sum = 0;
    for (ulong part = block * PART; part < end; part++)
        sum += sums[from_to.x + part * width + at];
    if (shape.z > PART)
        sums[from_to.y + block * width + at] = sum;
#if SUMS == 2
    else if (at >= shape.y)
        other[other_at.x + column * other_at.y] = PACK(TYPE, sum);
#endif
    else
        one[one_at.x + column * one_at.y] = PACK(TYPE, sum);
}
