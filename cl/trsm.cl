/* SPDX-License-Identifier: MIT */
/*
 * A block of a triangular system: m x = alpha b, for many x and matrices, in the place of b (ops/trsm.c). A work-item solves
 * for one x, from the first unknown on or from the last, by those that it has found.
 *
 *     -DREAL=float      type of all: float, or double with -DDOUBLES
 *     -DBLOCK=32        the most unknowns
 *
 * Places of m are (first element, distance of rows, of columns, of matrices), of b (first element, distance of unknowns, of
 * systems, of matrices); shape is (systems of a matrix, matrices).
 */
#ifdef DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

enum { FROM_LAST = 1, UNIT = 2 };

kernel void trsm(global const REAL *m, global REAL *b, ulong4 m_at, ulong4 b_at, ulong2 shape,
                 uint unknowns, uint flags, REAL alpha) {
    REAL x[BLOCK];
    const ulong system = get_global_id(0) % shape.s0, matrix = get_global_id(0) / shape.s0;
    if (matrix >= shape.s1)
        return;
    m += m_at.s0 + matrix * m_at.s3;
    b += b_at.s0 + system * b_at.s2 + matrix * b_at.s3;
    for (uint n = 0; n < unknowns; n++) {
        const uint i = flags & FROM_LAST ? unknowns - 1 - n : n;
        REAL sum = alpha * b[i * b_at.s1];
        for (uint k = 0; k < n; k++) {
            const uint j = flags & FROM_LAST ? unknowns - 1 - k : k;
            sum -= m[i * m_at.s1 + j * m_at.s2] * x[k];
        }
        x[n] = flags & UNIT ? sum : sum / m[i * (m_at.s1 + m_at.s2)];
        b[i * b_at.s1] = x[n];
    }
}
