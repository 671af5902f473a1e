/* SPDX-License-Identifier: MIT */
/*
 * The interface to CLBlast, the BLAS library for OpenCL; driver/blas.c alone calls it, with blas_standing.c for its
 * parameters and blas_trial.c. Each call runs one routine on an
 * in-order queue, since CLBlast takes no wait lists and its first kernels wait for nothing. Matrices are row-major.
 * Without CLBlast in the build every call is CLS_ERROR_UNSUPPORTED.
 */
#ifndef CLSTREAM_DRIVER_BLAS_H
#define CLSTREAM_DRIVER_BLAS_H

#include <stdatomic.h>

#include <clstream/blas.h>

#include "driver/device.h"

/* The code of a call that was refused because CLBlast's products are wrong on the device. */
#define BLAS_IS_WRONG (-2999)

enum blas_routine {
    BLAS_GEMM,
    BLAS_GEMM_BATCHED,
    BLAS_GEMV,
    BLAS_AXPY,
    BLAS_SCAL,
    BLAS_DOT,
    BLAS_AMAX,
    BLAS_NRM2,
    BLAS_ASUM,
    BLAS_ROUTINES
};

/* A matrix or vector: `step` elements from row to row, or from element to element; `stride` from matrix
 * to matrix of a batch. */
struct blas_operand {
    cl_mem memory;
    size_t offset, step, stride;
};

/* A context as CLBlast sees it. All zero at first. */
struct blas_user {
    _Atomic bool seen;         /* by CLBlast, which may hold programs of the cl_context */
    _Atomic uint64_t compiled; /* private: routines whose kernels it has */
};

/* The arguments of a routine; members that it does not use are zero. */
struct blas_call {
    struct blas_user *user;
    enum blas_routine routine;
    bool f64;
    bool a_transposed, b_transposed;
    size_t m, n, k; /* a vector's length is n */
    size_t batches;
    double alpha, beta;
    struct blas_operand a, b,
        c; /* gemm; a, x, y of gemv; x, y of the others; out of dot, amax, nrm2 and asum is c */
    cl_mem temporary; /* temporary memory of blas_temporary's size; NULL: none needed */
};

bool blas_available(void);

/* Reports CLS_ERROR_UNSUPPORTED and the reason why there is no BLAS. */
cls_status blas_missing(void);

/* Called at the end of a context: CLBlast gives up its programs, by which it keeps the cl_context. They cannot be told
 * from those of other contexts, whose next calls compile again. */
void blas_forget(const struct blas_user *user);

/* Whether the routine runs without compiling anything. Here and below `arguments` is a struct blas_call. */
bool blas_is_compiled(const void *arguments);

/* The bytes of temporary memory that a call needs; 0: none. `queue` is any queue of the device. It must succeed once
 * before the first blas_enqueue of the process. */
cls_status blas_temporary(const struct device *device, cl_command_queue queue,
                          const struct blas_call *call, size_t *bytes);

/* Enqueues the routine; may compile for seconds where blas_is_compiled is false. `event`, which may be NULL,
 * receives the event of the last command. Returns CL_SUCCESS, or a code of OpenCL or CLBlast. */
int blas_enqueue(const struct device *device, cl_command_queue queue, const void *arguments,
                 cl_event *event);

/* Why CLBlast is not to be used on a device for a type, in words; static. NULL: it may be. */
const char *blas_refusal(const struct device *device, bool f64);

/* Compares products with the host's, where that has not been done: compiles, and waits. blas_enqueue does so before the
 * first product. `queue` is any queue of the device. */
void blas_try(const struct device *device, cl_command_queue queue, bool f64);

/* As cls_blas_get_tuning and cls_blas_set_tuning. False: the parameters are none. */
void blas_get_tuning(const struct device *device, bool f64, cls_blas_tuning *out);
bool blas_set_tuning(const struct device *device, bool f64, const cls_blas_tuning *tuning,
                     bool keep);

/* Where the memory of a view is: inputs have numbers from 0 on, the output is the last view. */
cl_mem *blas_memory(void *arguments, unsigned view);

#endif
