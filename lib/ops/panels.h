/* SPDX-License-Identifier: MIT */
/*
 * Matrix products on CPUs, by kernels of the library's own (cl/panels.cl): a product is one launch where it is small, else
 * one that packs the inputs into temporary memory of the stream, and one that multiplies.
 */
#ifndef CLSTREAM_OPS_PANELS_H
#define CLSTREAM_OPS_PANELS_H

#include "ops/blas.h"

/* Whether a device's products are computed so. */
bool panels_suit(const struct device *device);

/* Submits the call, a product of f32 or f64, whose views are a, b and c, or a, x and y. */
cls_status panels_submit(struct blas_work *work);

#endif
