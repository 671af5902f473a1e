/* SPDX-License-Identifier: MIT */
/* How a matrix product is computed. */
#ifndef CLSTREAM_OPS_PRODUCT_WAY_H
#define CLSTREAM_OPS_PRODUCT_WAY_H

#include "ops/blas.h"

struct product_way {
    cls_gemm_way way;
    const char *reason;
};

/* That of a call whose operands and sizes are filled in, which is left alone. */
struct product_way product_way(const struct blas_work *work);

/* Submits the call by its way. Its inner length and its output are not empty. */
cls_status product_submit(struct blas_work *work);

#endif
