/* SPDX-License-Identifier: MIT */
/* BLAS operations on vectors: axpy, scal, dot, nrm2, asum and amax (clstream/blas.h). */
#include <string.h>

#include "base/error.h"
#include "memory/buffer.h"
#include "ops/blas.h"

static cls_status same_count(const char *name, const cls_vector *x, const cls_vector *y) {
    if (x->count == y->count)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_SIZE_MISMATCH, "%s: vectors of %zu and %zu elements", name, x->count,
                     y->count);
}

static cls_status axpy(double alpha, const cls_vector *x, const cls_vector *y, cls_stream stream,
                       bool blocking) {
    struct blas_work work = {.name = "axpy"};
    struct blas_view views[2];
    cls_status status = same_count("axpy", x, y);
    if (!status)
        status = blas_vector_view("axpy", x, &views[0]);
    if (!status)
        status = blas_vector_view("axpy", y, &views[1]);
    if (!status)
        status = blas_begin(&work, BLAS_AXPY, views, 2, BLAS_LAST_OUT, stream, blocking);
    if (status)
        return status;
    work.call.n = x->count;
    work.call.alpha = blas_factor(&work, alpha);
    work.call.a = blas_operand(&work, 0, x->step, 0);
    work.call.c = blas_operand(&work, 1, y->step, 0);
    if (x->count)
        status = work.call.alpha == 0 ? op_check_stream(&work.op) : blas_submit(&work);
    return blas_end(&work, status, blocking);
}

cls_status cls_axpy(double alpha, cls_vector x, cls_vector y, cls_stream stream) {
    return axpy(alpha, &x, &y, stream, true);
}

cls_status cls_axpy_async(double alpha, cls_vector x, cls_vector y, cls_stream stream) {
    return axpy(alpha, &x, &y, stream, false);
}

static cls_status scal(double alpha, const cls_vector *x, cls_stream stream, bool blocking) {
    struct blas_work work = {.name = "scal"};
    struct blas_view view;
    cls_status status = blas_vector_view("scal", x, &view);
    if (!status)
        status = blas_begin(&work, BLAS_SCAL, &view, 1, BLAS_LAST_OUT, stream, blocking);
    if (status)
        return status;
    work.call.n = x->count;
    work.call.alpha = blas_factor(&work, alpha);
    work.call.c = blas_operand(&work, 0, x->step, 0);
    if (x->count)
        status = work.call.alpha == 0 ? blas_scale(&work, x->count, 1, 0) : blas_submit(&work);
    return blas_end(&work, status, blocking);
}

cls_status cls_scal(double alpha, cls_vector x, cls_stream stream) {
    return scal(alpha, &x, stream, true);
}

cls_status cls_scal_async(double alpha, cls_vector x, cls_stream stream) {
    return scal(alpha, &x, stream, false);
}

/* --- to one element --- */

struct folding {
    const char *name;
    enum blas_routine routine;
    const cls_vector *x, *y; /* y NULL: there is none */
    const cls_array *out;    /* NULL: to the host, by way of the scratch */
    void *result;
};

static cls_status folding_views(const struct folding *folding, struct blas_view *views,
                                unsigned *n) {
    cls_status status = blas_vector_view(folding->name, folding->x, &views[(*n)++]);
    if (!status && folding->y)
        status = same_count(folding->name, folding->x, folding->y);
    if (!status && folding->y)
        status = blas_vector_view(folding->name, folding->y, &views[(*n)++]);
    if (!status && folding->routine == BLAS_AMAX && !folding->x->count)
        status = error_set(CLS_ERROR_INVALID_VALUE, "%s of no elements", folding->name);
    if (!status && folding->out)
        views[(*n)++] = blas_array_view(folding->out);
    return status;
}

static cls_status check_output(const struct blas_work *work, const struct folding *folding,
                               cls_dtype wanted) {
    if (!folding->out)
        return CLS_SUCCESS;
    if (folding->out->dtype != wanted)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "%s: out is %s, not %s", work->name,
                         cls_dtype_name(folding->out->dtype), cls_dtype_name(wanted));
    if (folding->out->count != 1)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "%s: out is %zu elements, not 1", work->name,
                         folding->out->count);
    return CLS_SUCCESS;
}

/* The sum of no elements. */
static cls_status fold_nothing(struct blas_work *work, const struct folding *folding, size_t size) {
    if (folding->out)
        return blas_scale(work, 1, 1, 0);
    cls_status status = op_check_stream(&work->op);
    if (!status)
        memset(folding->result, 0, size);
    return status;
}

static cls_status fold_into(struct blas_work *work, const struct folding *folding, size_t size) {
    work->call.n = folding->x->count;
    work->call.a = blas_operand(work, 0, folding->x->step, 0);
    if (folding->y)
        work->call.b = blas_operand(work, 1, folding->y->step, 0);
    if (folding->out)
        work->call.c = blas_operand(work, work->op.n_views - 1, 1, 0);
    else
        work->result_bytes = size;
    if (!folding->x->count)
        return fold_nothing(work, folding, size);
    cls_status status = blas_submit(work);
    if (status || folding->out)
        return status;
    return op_read_back(&work->op, work->scratch, work->result_place, folding->result, size);
}

static cls_status fold(const struct folding *folding, cls_stream stream) {
    struct blas_work work = {.name = folding->name};
    struct blas_view views[OP_MAX_VIEWS];
    unsigned n = 0;
    if (!folding->out && !folding->result)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: the result is null", folding->name);
    cls_status status = folding_views(folding, views, &n);
    const enum blas_last last = !folding->out                   ? BLAS_LAST_IN
                                : folding->routine == BLAS_AMAX ? BLAS_LAST_INDEX
                                                                : BLAS_LAST_OUT;
    if (!status)
        status = blas_begin(&work, folding->routine, views, n, last, stream, !folding->out);
    if (status)
        return status;
    const cls_dtype wanted = folding->routine == BLAS_AMAX ? CLS_U32 : work.op.views[0].dtype;
    status = check_output(&work, folding, wanted);
    if (!status)
        status = fold_into(&work, folding, cls_dtype_size(wanted));
    return blas_end(&work, status, false);
}

cls_status cls_blas_dot(cls_vector x, cls_vector y, void *result, cls_stream stream) {
    const struct folding folding = {"blas_dot", BLAS_DOT, &x, &y, NULL, result};
    return fold(&folding, stream);
}

cls_status cls_blas_dot_async(cls_vector x, cls_vector y, cls_array out, cls_stream stream) {
    const struct folding folding = {"blas_dot", BLAS_DOT, &x, &y, &out, NULL};
    return fold(&folding, stream);
}

cls_status cls_amax(cls_vector x, uint32_t *index, cls_stream stream) {
    const struct folding folding = {"amax", BLAS_AMAX, &x, NULL, NULL, index};
    return fold(&folding, stream);
}

cls_status cls_amax_async(cls_vector x, cls_array out, cls_stream stream) {
    const struct folding folding = {"amax", BLAS_AMAX, &x, NULL, &out, NULL};
    return fold(&folding, stream);
}

cls_status cls_nrm2(cls_vector x, void *result, cls_stream stream) {
    const struct folding folding = {"nrm2", BLAS_NRM2, &x, NULL, NULL, result};
    return fold(&folding, stream);
}

cls_status cls_nrm2_async(cls_vector x, cls_array out, cls_stream stream) {
    const struct folding folding = {"nrm2", BLAS_NRM2, &x, NULL, &out, NULL};
    return fold(&folding, stream);
}

cls_status cls_asum(cls_vector x, void *result, cls_stream stream) {
    const struct folding folding = {"asum", BLAS_ASUM, &x, NULL, NULL, result};
    return fold(&folding, stream);
}

cls_status cls_asum_async(cls_vector x, cls_array out, cls_stream stream) {
    const struct folding folding = {"asum", BLAS_ASUM, &x, NULL, &out, NULL};
    return fold(&folding, stream);
}
