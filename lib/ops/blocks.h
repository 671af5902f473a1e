/* SPDX-License-Identifier: MIT */
/*
 * Matrix products on GPUs by one launch (cl/blocks.cl), for what CLBlast does not compute, or not as fast: elements of 16
 * bits, small products, and all of them in a build without it.
 */
#ifndef CLSTREAM_OPS_BLOCKS_H
#define CLSTREAM_OPS_BLOCKS_H

#include "ops/blas.h"

/* Whether the call takes less time so than by CLBlast. */
bool blocks_suit(const struct blas_work *work);

cls_status blocks_submit(struct blas_work *work);

#endif
