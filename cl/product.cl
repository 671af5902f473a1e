/* SPDX-License-Identifier: MIT */
/*
 * A small matrix product: c = alpha a b + beta c, row-major, with n columns and `items` elements; `k` terms an element,
 * added in order. A work-item computes one element, and neighbours those of one row. a[i, l] is at a_offset + i a_row +
 * l a_step, b[l, j] at b_offset + l b_step + j b_column, c[i, j] at c_offset + i c_row + j, all of them below 2^31. A
 * beta of 0 reads nothing of c. -DTYPE=float, or -DTYPE=double -DDOUBLES.
 */
#ifdef DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

kernel void product(global const TYPE *restrict a, uint a_offset, uint a_row, uint a_step,
                    global const TYPE *restrict b, uint b_offset, uint b_step, uint b_column,
                    global TYPE *restrict c, uint c_offset, uint c_row, uint items, uint n, uint k,
                    TYPE alpha, TYPE beta) {
    const uint item = get_global_id(0), i = item / n, j = item % n;
    TYPE sum = 0;
    if (item >= items)
        return;
    a += a_offset + i * a_row;
    b += b_offset + j * b_column;
    c += c_offset + i * c_row + j;
#pragma unroll 8
    for (uint l = 0; l < k; l++) {
        sum += *a * *b;
        a += a_step;
        b += b_step;
    }
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
