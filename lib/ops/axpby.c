/* SPDX-License-Identifier: MIT */
/* y = alpha x + beta y by factors of the host's or on the device (clstream/blas.h), by the kernel of cl/axpby.cl. */
#include "ops/axpby.h"
#include "memory/buffer.h"
#include "ops/factor.h"
#include "ops/reduction_cut.h"
#include "ops/spec.h"

enum { AXPBY_GROUP = 64, AXPBY_MOST_ITEMS = 1 << 20 };

enum { X, Y };

/* A call. Its views are x, y and the factors that are on the device. */
struct axpby_call {
    const char *name; /* for messages */
    struct blas_view views[4];
    unsigned n_views;
    size_t count, x_step, y_step;
    bool matrices; /* y has this shape, see cl/axpby.cl, in place of a step */
    uint64_t shape[4];
    struct factor alpha, beta;
    struct op_call op;
};

static cls_status axpby_check_overlap(const struct axpby_call *call) {
    const struct op_view *views = call->op.views;
    const bool in_place = views[X].buffer == views[Y].buffer &&
                          views[X].offset == views[Y].offset && call->x_step == call->y_step;
    for (unsigned i = 0; i < call->n_views; i++)
        if (i != Y && !(i == X && in_place) &&
            buffer_spans_overlap(views[i].buffer, call->views[i].span, views[Y].buffer,
                                 call->views[Y].span))
            return error_set(CLS_ERROR_OVERLAP, "%s: the output overlaps %s", call->name,
                             i == X ? "x" : "a factor");
    return CLS_SUCCESS;
}

static cls_status axpby_check(const struct axpby_call *call) {
    const cls_dtype dtype = call->op.views[X].dtype, other = call->op.views[Y].dtype;
    if (dtype != CLS_F32 && dtype != CLS_F64)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "%s does not support %s", call->name,
                         cls_dtype_name(dtype));
    if (other != dtype)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "%s: vectors of %s and of %s", call->name,
                         cls_dtype_name(dtype), cls_dtype_name(other));
    cls_status status = factor_check(&call->op, call->name, &call->alpha, dtype);
    if (!status)
        status = factor_check(&call->op, call->name, &call->beta, dtype);
    if (!status)
        status = axpby_check_overlap(call);
    return status ? status : op_check_dtype(&call->op, dtype);
}

static cls_status axpby_launch(struct axpby_call *call) {
    const struct op_view *views = call->op.views;
    const bool f64 = views[X].dtype == CLS_F64;
    const uint64_t vector_at[] = {views[X].offset, call->x_step, views[Y].offset, call->y_step};
    const struct op_arg args[] = {
        op_arg_span(views[X].buffer, false, &call->views[X].span),
        op_arg_span(views[Y].buffer, true, &call->views[Y].span),
        factor_buffer_arg(&call->op, &call->alpha, X),
        factor_buffer_arg(&call->op, &call->beta, X),
        op_arg_value(vector_at, sizeof vector_at),
        op_arg_value(call->shape, sizeof call->shape),
        op_arg_pair(factor_place(&call->op, &call->alpha), factor_place(&call->op, &call->beta)),
        op_arg_u64(call->count),
        blas_factor_arg(f64, call->alpha.value),
        blas_factor_arg(f64, call->beta.value),
    };
    const size_t items =
        lesser(divide_up(call->count, AXPBY_GROUP) * AXPBY_GROUP, AXPBY_MOST_ITEMS);
    const struct spec *spec;
    struct kernel *kernel;
    cls_status status = spec_of_axpby(views[X].dtype, call->matrices, &spec);
    if (!status)
        status = op_kernel(&call->op, &spec->kernel, &kernel);
    if (status)
        return status;
    return op_launch(&call->op, kernel, args, sizeof args / sizeof *args, items, 0);
}

static void take_factors(struct axpby_call *call, const cls_factor *alpha, const cls_factor *beta,
                         cls_dtype dtype) {
    const bool f64 = dtype == CLS_F64;
    call->n_views = 2;
    call->alpha = factor_take(alpha->value, &alpha->view, f64, call->views, &call->n_views);
    call->beta = factor_take(beta->value, &beta->view, f64, call->views, &call->n_views);
}

static cls_status axpby_work(struct axpby_call *call) {
    return call->count && !(factor_is(&call->alpha, 0) && factor_is(&call->beta, 1))
               ? axpby_launch(call)
               : op_check_stream(&call->op);
}

/* With `kept` the buffer of x, unless that is NULL. */
static cls_status axpby_run(struct axpby_call *call, struct buffer *kept, bool checks,
                            cls_stream stream, bool blocking) {
    const cls_array *arrays[4];
    struct buffer *const buffers[4] = {kept};
    for (unsigned i = 0; i < call->n_views; i++)
        arrays[i] = &call->views[i].array;
    cls_status status = op_begin_kept(&call->op, stream, arrays, buffers, call->n_views, blocking);
    if (status)
        return status;
    status = axpby_check(call);
    if (!status && !checks)
        status = axpby_work(call);
    return op_end(&call->op, status, blocking);
}

static cls_status axpby(const cls_factor *alpha, const cls_vector *x, const cls_factor *beta,
                        const cls_vector *y, cls_stream stream, bool blocking) {
    struct axpby_call call = {
        .name = "axpby", .count = y->count, .x_step = x->step, .y_step = y->step};
    if (x->count != y->count)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "axpby: vectors of %zu and %zu elements",
                         x->count, y->count);
    take_factors(&call, alpha, beta, x->dtype);
    cls_status status = blas_vector_view("axpby", x, &call.views[X]);
    if (!status)
        status = blas_vector_view("axpby", y, &call.views[Y]);
    return status ? status : axpby_run(&call, NULL, false, stream, blocking);
}

cls_status axpby_matrices(const char *name, const cls_factor *alpha, struct buffer *x,
                          const cls_factor *beta, const cls_matrix *c, size_t batches,
                          cls_stream stream, bool blocking) {
    struct axpby_call call = {.name = name,
                              .count = batches * c->rows * c->columns,
                              .x_step = x ? 1 : 0,
                              .matrices = true,
                              .shape = {c->columns, c->rows, c->ld, c->stride}};
    const cls_array dense = cls_array_at(NULL, c->dtype, 0, call.count);
    take_factors(&call, alpha, beta, c->dtype);
    cls_status status = blas_matrix_view(name, c, batches, &call.views[Y]);
    call.views[X] = x ? blas_array_view(&dense) : call.views[Y]; /* in place of an x, y itself */
    return status ? status : axpby_run(&call, x, !x, stream, blocking);
}

cls_status cls_axpby(cls_factor alpha, cls_vector x, cls_factor beta, cls_vector y,
                     cls_stream stream) {
    return axpby(&alpha, &x, &beta, &y, stream, true);
}

cls_status cls_axpby_async(cls_factor alpha, cls_vector x, cls_factor beta, cls_vector y,
                           cls_stream stream) {
    return axpby(&alpha, &x, &beta, &y, stream, false);
}
