/* SPDX-License-Identifier: MIT */
/*
 * What is left of a matrix product without a product: y = factor y, of matrices `stride` elements apart with rows `ld`
 * apart. A factor of 0 reads nothing. -DTYPE=float, or -DTYPE=double -DDOUBLES.
 */
#ifdef DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

kernel void scale(global TYPE *y, ulong offset, ulong stride, ulong rows, ulong ld, ulong columns,
                  ulong count, TYPE factor) {
    for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
        ulong row = i / columns, matrix = row / rows;
        global TYPE *at = y + offset + matrix * stride + row % rows * ld + i % columns;
        *at = factor == 0 ? 0 : factor * *at;
    }
}
