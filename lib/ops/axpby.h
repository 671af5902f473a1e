/* SPDX-License-Identifier: MIT */
#ifndef CLSTREAM_OPS_AXPBY_H
#define CLSTREAM_OPS_AXPBY_H

#include <stdbool.h>

#include <clstream/blas.h>

struct buffer;

/* c = alpha x + beta c, for matrices of f32 or f64, of an x whose elements follow each other from the start of a buffer that
 * the caller keeps. `x` NULL: checks all but x, and submits nothing. */
cls_status axpby_matrices(const char *name, const cls_factor *alpha, struct buffer *x,
                          const cls_factor *beta, const cls_matrix *c, size_t batches,
                          cls_stream stream, bool blocking);

#endif
