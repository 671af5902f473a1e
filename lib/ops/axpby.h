/* SPDX-License-Identifier: MIT */
#ifndef CLSTREAM_OPS_AXPBY_H
#define CLSTREAM_OPS_AXPBY_H

#include <stdbool.h>

#include <clstream/blas.h>

struct buffer;

/* cls_axpby, or without `blocking` cls_axpby_async, of an x in a buffer that the caller keeps, unless that is NULL. */
cls_status axpby_kept(const cls_factor *alpha, const cls_vector *x, struct buffer *kept,
                      const cls_factor *beta, const cls_vector *y, cls_stream stream,
                      bool blocking);

/* c = alpha x + beta c, for matrices of f32 or f64, of an x whose elements follow each other from the start of a buffer
 * that the caller keeps. */
cls_status axpby_matrices(const cls_factor *alpha, struct buffer *x, const cls_factor *beta,
                          const cls_matrix *c, size_t batches, cls_stream stream, bool blocking);

#endif
