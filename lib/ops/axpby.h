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

#endif
