/* SPDX-License-Identifier: MIT */
/* Factors of a call, on the host or on the device, as the kernels that include cl/factor.cl take them. */
#ifndef CLSTREAM_OPS_FACTOR_H
#define CLSTREAM_OPS_FACTOR_H

#include "base/error.h"
#include "ops/blas.h"

/* A view of the call, or a value, in the type of the operation; `view` of 0 is none. */
struct factor {
    unsigned view;
    double value;
};

/* Takes a factor into a call that has `*n` views before op_begin. */
static inline struct factor factor_take(double value, const cls_array *view, bool f64,
                                        struct blas_view *views, unsigned *n) {
    if (!view->buffer)
        return (struct factor){0, f64 ? value : (double)(float)value};
    views[*n] = blas_array_view(view);
    return (struct factor){(*n)++, 0};
}

static inline bool factor_is(const struct factor *factor, double value) {
    return !factor->view && factor->value == value;
}

static inline cls_status factor_check(const struct op_call *call, const char *name,
                                      const struct factor *factor, cls_dtype dtype) {
    const struct op_view *view = &call->views[factor->view];
    if (!factor->view)
        return CLS_SUCCESS;
    if (view->dtype != dtype)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "%s: a factor of %s for vectors of %s", name,
                         cls_dtype_name(view->dtype), cls_dtype_name(dtype));
    if (view->count != 1)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "%s: a factor of %zu elements", name,
                         view->count);
    return CLS_SUCCESS;
}

/* Of a factor of the host's, the buffer of `other`, which is not read by it. */
static inline struct op_arg factor_buffer_arg(const struct op_call *call,
                                              const struct factor *factor, unsigned other) {
    return op_arg_view(&call->views[factor->view ? factor->view : other], false);
}

static inline uint64_t factor_place(const struct op_call *call, const struct factor *factor) {
    return factor->view ? call->views[factor->view].offset : UINT64_MAX;
}

#endif
