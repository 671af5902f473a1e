/* SPDX-License-Identifier: MIT */
/*
 * CLBlast, and the only file that knows it: one call a routine, on an in-order queue, since it takes no
 * wait list and its first kernels wait for nothing. Matrices are row-major. Without CLBlast in the build
 * every call is CLS_ERROR_UNSUPPORTED.
 */
#ifndef CLSTREAM_DRIVER_BLAS_H
#define CLSTREAM_DRIVER_BLAS_H

#include <stdatomic.h>

#include "driver/device.h"

enum blas_routine {
    BLAS_GEMM,
    BLAS_GEMM_BATCHED,
    BLAS_GEMV,
    BLAS_AXPY,
    BLAS_SCAL,
    BLAS_DOT,
    BLAS_AMAX,
    BLAS_ROUTINES
};

/* A matrix or vector: `step` elements from row to row, or from element to element; `stride` from matrix
 * to matrix of a batch. */
struct blas_operand {
    cl_mem memory;
    size_t offset, step, stride;
};

/* What a routine does not use is zero. */
struct blas_call {
    enum blas_routine routine;
    bool f64;
    bool a_transposed, b_transposed;
    size_t m, n, k; /* a vector's length is n */
    size_t batches;
    double alpha, beta;
    struct blas_operand a, b,
        c;            /* gemm; a, x, y of gemv; x, y of the others; out of dot and amax is c */
    cl_mem temporary; /* of blas_temporary's bytes; NULL: it needs none */
};

bool blas_available(void);

/* Reports why there is no BLAS. */
cls_status blas_missing(void);

/* CLBlast keeps the programs of every cl_context, and so the cl_context, until it is told to forget all
 * of them: that is done when the last one that used it ends. `used` is the context's, false at first; to be
 * called before anything of CLBlast's, and blas_unuse once, if `used`, at the context's end. */
void blas_use(_Atomic bool *used);
void blas_unuse(void);

/* The bytes of temporary memory that a call needs; 0: none. `queue` is any of the device. */
cls_status blas_temporary(const struct device *device, cl_command_queue queue,
                          const struct blas_call *call, size_t *bytes);

/* Enqueues; may compile for seconds the first time. `arguments` is a struct blas_call; `event`, which may
 * be NULL, gets that of the last command. Returns CL_SUCCESS or a code of OpenCL's or CLBlast's. */
int blas_enqueue(const struct device *device, cl_command_queue queue, const void *arguments,
                 cl_event *event);

#endif
