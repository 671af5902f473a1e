/* SPDX-License-Identifier: MIT */
/*
 * f32 products on the matrix units of NVIDIA's Hopper (cl/tiles.cl): a launch packs the inputs into temporary memory of the
 * stream, and one multiplies.
 */
#ifndef CLSTREAM_OPS_TILES_H
#define CLSTREAM_OPS_TILES_H

#include "ops/blas.h"

/* Whether the call is computed so: it is a product of f32 that is large enough, its math allows it, and a probe of the
 * device found right values. */
bool tiles_suit(const struct blas_work *work);

cls_status tiles_submit(struct blas_work *work);

#endif
