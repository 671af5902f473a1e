/* SPDX-License-Identifier: MIT */
/*
 * What is left of a matrix product without its sums: y = op(factor y + bias), of matrices `stride` elements apart with
 * rows `ld` apart. A factor of 0 reads nothing.
 *
 *     -DTYPE=float      element type; for double -DDOUBLES too
 *     -DBIAS            there is a bias: that of (i, j) is element bias_at.x + i bias_at.y + j bias_at.z
 *     -DOP=op_relu -DUSES_relu   an operation of map.cl
 */
#ifdef DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef OP
#define UNARY
#define FUSED
#define A TYPE
#define B TYPE
#define OUT TYPE
#include "map.cl"
#else
#define OP(v) (v)
#endif
#ifdef BIAS
#define BIAS_PARAMETERS , global const TYPE *bias, uint4 bias_at
#define WITH_BIAS(value, i, j) ((value) + bias[bias_at.x + (i)*bias_at.y + (j)*bias_at.z])
#else
#define BIAS_PARAMETERS
#define WITH_BIAS(value, i, j) (value)
#endif

kernel void scale(global TYPE *y, ulong offset, ulong stride, ulong rows, ulong ld, ulong columns,
                  ulong count, TYPE factor BIAS_PARAMETERS) {
    for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
        const ulong row = i / columns % rows, column = i % columns, matrix = i / columns / rows;
        global TYPE *at = y + offset + matrix * stride + row * ld + column;
        const TYPE value = factor == 0 ? 0 : factor * *at;
        *at = OP(WITH_BIAS(value, row, column));
    }
}
