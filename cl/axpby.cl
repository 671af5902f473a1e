/* SPDX-License-Identifier: MIT */
/*
 * y = alpha x + beta y. Places are (x, its step, y, its step) and those of the factors; see cl/factor.cl. A factor of 0
 * reads nothing.
 *
 *     -DREAL=float      type of all: float, or double with -DDOUBLES
 *     -DMATRICES        y is of matrices, and shape is (columns, rows, distance of rows, of matrices)
 */
#ifdef DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#include "factor.cl"

/* Where element i of y is, from the first one on. */
static ulong place_of(ulong i, ulong step, ulong4 shape) {
#ifdef MATRICES
    const ulong row = i / shape.s0;
    return i % shape.s0 + row % shape.s1 * shape.s2 + row / shape.s1 * shape.s3;
#else
    return i * step;
#endif
}

kernel void axpby(global const REAL *x, global REAL *y, global const REAL *alphas,
                  global const REAL *betas, ulong4 vector_at, ulong4 shape, ulong2 factor_at,
                  ulong count, REAL alpha_value, REAL beta_value) {
    const REAL alpha = factor_of(alphas, factor_at.s0, alpha_value);
    const REAL beta = factor_of(betas, factor_at.s1, beta_value);
    for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
        const ulong to = vector_at.s2 + place_of(i, vector_at.s3, shape);
        const REAL old = beta != 0 ? beta * y[to] : 0;
        y[to] = alpha != 0 ? alpha * x[vector_at.s0 + i * vector_at.s1] + old : old;
    }
}
