/* SPDX-License-Identifier: MIT */
/* How element-by-element operations of the lines of matrices and of strided views are divided over work-items. */
#ifndef CLSTREAM_OPS_MATRIX_CUT_H
#define CLSTREAM_OPS_MATRIX_CUT_H

#include "ops/spec.h"

/* The numbers are the kernels' argument `cut`: see cl/matrix.cl. */
struct matrix_cut {
    size_t groups, local;
    uint32_t numbers[4];
};

/* For `rows` lines of `columns` elements, at least one each. `in_squares`: a CPU's work-item takes a short part of each
 * line, since neighbours in memory are on different lines of an input. */
struct matrix_cut matrix_cut_of(const struct op_call *call, const struct spec *spec,
                                struct kernel *kernel, size_t rows, size_t columns,
                                bool in_squares);

#endif
