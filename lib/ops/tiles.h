/* SPDX-License-Identifier: MIT */
/*
 * Products on the matrix units of NVIDIA's devices (cl/tiles.cl), of f32, f16 or bf16: a launch packs the inputs into
 * temporary memory of the stream, and one multiplies, by Hopper's own instructions (wgmma) or by those of all devices since
 * compute capability 8.0 (mma). Inputs of 16 bits whose rows, matrices and first elements are at multiples of 16 bytes are
 * multiplied in their place.
 */
#ifndef CLSTREAM_OPS_TILES_H
#define CLSTREAM_OPS_TILES_H

#include "ops/blas.h"

/* Whether the call is computed so: it is a product that is large enough, its math allows it, and a probe of the
 * device found right values. */
bool tiles_suit(const struct blas_work *work);

cls_status tiles_submit(struct blas_work *work);

#endif
