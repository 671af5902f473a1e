/* SPDX-License-Identifier: MIT */
/* Products of a sparse matrix and a vector (clstream/sparse.h), by the kernel of cl/spmv.cl. */
#include <clstream/sparse.h>

#include "base/error.h"
#include "driver/caps.h"
#include "driver/quirk.h"
#include "memory/buffer.h"
#include "ops/blas.h"
#include "ops/factor.h"
#include "ops/reduction_cut.h"
#include "ops/spec.h"

enum {
    CPU_ITEMS = 16,   /* of each unit, so that rows of unequal lengths spread */
    MOST_ROWS = 4096, /* of a CPU's item */
    SHORT_ROW = 8,    /* entries of a row, below which a GPU's item takes it alone */
    SHORT_LOOP = 8192 /* entries, where a driver stops counting steps at 65,535 */
};

enum { OFFSETS, COLUMN_OF, VALUES, X, Y, MISSED };

/* A call. Its views are those of the matrix, x, y, the counter of missed entries, if there is one, and the factors on
 * the device. */
struct spmv_call {
    struct blas_view views[OP_MAX_VIEWS];
    unsigned n_views;
    bool counted;
    size_t rows, columns, entries;
    size_t x_step, y_step;
    struct factor alpha, beta;
    struct op_call op;
};

/* --- checks --- */

static cls_status spmv_check_config(const cls_gemm_config *config) {
    if (config->transpose_a || config->transpose_b || config->batches != 1 ||
        config->math != CLS_GEMM_F32 || config->bias_by_row || config->bias.buffer ||
        config->activation)
        return error_set(CLS_ERROR_INVALID_VALUE, "spmv has no options but alpha and beta");
    return CLS_SUCCESS;
}

static cls_status spmv_check_shape(const cls_csr *a, const cls_vector *x, const cls_vector *y) {
    if (!a->offsets.count)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "spmv: no offsets: no rows have one");
    if (a->indices.count != a->values.count)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "spmv: %zu values in %zu columns",
                         a->values.count, a->indices.count);
    if (x->count != a->columns || y->count != a->offsets.count - 1)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "spmv: %zu x %zu by %zu does not give %zu",
                         a->offsets.count - 1, a->columns, x->count, y->count);
    return CLS_SUCCESS;
}

static cls_status spmv_check_types(const struct op_view *views) {
    const cls_dtype type = views[VALUES].dtype;
    for (unsigned i = OFFSETS; i <= COLUMN_OF; i++)
        if (views[i].dtype != CLS_I32 && views[i].dtype != CLS_I64)
            return error_set(CLS_ERROR_TYPE_MISMATCH, "spmv: %s of %s",
                             i == OFFSETS ? "offsets" : "columns", cls_dtype_name(views[i].dtype));
    if (type != CLS_F32 && type != CLS_F64)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "spmv does not support %s", cls_dtype_name(type));
    for (unsigned i = X; i <= Y; i++)
        if (views[i].dtype != type)
            return error_set(CLS_ERROR_TYPE_MISMATCH, "spmv: a vector of %s for values of %s",
                             cls_dtype_name(views[i].dtype), cls_dtype_name(type));
    return CLS_SUCCESS;
}

static cls_status spmv_check_missed(const struct op_view *missed) {
    if (missed->dtype != CLS_U32)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "spmv: what is missed counted as %s",
                         cls_dtype_name(missed->dtype));
    if (missed->count != 1)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "spmv: what is missed counted in %zu elements",
                         missed->count);
    return CLS_SUCCESS;
}

static cls_status spmv_check_overlap(const struct spmv_call *call, unsigned written) {
    const struct op_view *views = call->op.views;
    for (unsigned i = 0; i < call->op.n_views; i++)
        if (i != written && views[i].count && views[written].count &&
            buffer_spans_overlap(views[i].buffer, call->views[i].span, views[written].buffer,
                                 call->views[written].span))
            return error_set(CLS_ERROR_OVERLAP, "spmv: %s overlaps another view",
                             written == Y ? "y" : "the number of what is missed");
    return CLS_SUCCESS;
}

static cls_status spmv_check(const struct spmv_call *call) {
    const struct op_view *views = call->op.views;
    cls_status status = spmv_check_types(views);
    if (!status && call->counted)
        status = spmv_check_missed(&views[MISSED]);
    if (!status)
        status = factor_check(&call->op, "spmv", &call->alpha, views[VALUES].dtype);
    if (!status)
        status = factor_check(&call->op, "spmv", &call->beta, views[VALUES].dtype);
    if (!status)
        status = spmv_check_overlap(call, Y);
    if (!status && call->counted)
        status = spmv_check_overlap(call, MISSED);
    return status ? status : op_check_dtype(&call->op, views[VALUES].dtype);
}

/* --- the launches --- */

static cls_status spmv_kernel(struct spmv_call *call, const struct spec **spec,
                              struct kernel **kernel) {
    const struct op_view *views = call->op.views;
    const struct spmv_kind kind = {
        .value = views[VALUES].dtype,
        .offset = views[OFFSETS].dtype,
        .index = views[COLUMN_OF].dtype,
        .runs =
            op_takes_runs(call->op.device) || !caps_trusts(call->op.caps, TRUST_LOCAL_ARGUMENTS),
    };
    cls_status status = spec_of_spmv(&kind, spec);
    return status ? status : op_kernel(&call->op, &(*spec)->kernel, kernel);
}

static bool loops_are_short(const struct spmv_call *call) {
    return call->op.device->quirks & QUIRK_SHORT_LOOPS;
}

/* Rows of a CPU's item, or items of a team: about as many as the mean of the rows' entries, a power of two. A short row
 * goes to one, whose loads wait for each other less often than those of more teams. */
static size_t rows_or_team(const struct spmv_call *call, size_t local) {
    const size_t mean = call->entries / call->rows;
    if (local > 1)
        return mean < SHORT_ROW ? 1 : power_of_two_below(lesser(mean, local));
    return loops_are_short(call)
               ? 1
               : clamp(call->rows / (CPU_ITEMS * reduction_units(call->op.device)), 1, MOST_ROWS);
}

static unsigned spmv_args(const struct spmv_call *call, size_t rows_or_team,
                          struct op_arg args[OP_MAX_ARGS]) {
    const struct op_view *views = call->op.views;
    const bool f64 = views[VALUES].dtype == CLS_F64;
    const uint64_t matrix_at[] = {views[OFFSETS].offset, views[COLUMN_OF].offset,
                                  views[VALUES].offset,
                                  call->counted ? views[MISSED].offset : UINT64_MAX};
    const uint64_t vector_at[] = {views[X].offset, call->x_step, views[Y].offset, call->y_step};
    const uint64_t shape[] = {call->rows, call->columns, call->entries, rows_or_team};
    unsigned n = 0;
    for (unsigned i = OFFSETS; i <= Y; i++)
        args[n++] = op_arg_span(views[i].buffer, i == Y, &call->views[i].span);
    args[n++] = op_arg_view(&views[call->counted ? MISSED : OFFSETS], call->counted);
    args[n++] = factor_buffer_arg(&call->op, &call->alpha, VALUES);
    args[n++] = factor_buffer_arg(&call->op, &call->beta, VALUES);
    args[n++] = op_arg_value(matrix_at, sizeof matrix_at);
    args[n++] = op_arg_value(vector_at, sizeof vector_at);
    args[n++] = op_arg_value(shape, sizeof shape);
    args[n++] = op_arg_pair(0, UINT64_MAX);
    args[n++] =
        op_arg_pair(factor_place(&call->op, &call->alpha), factor_place(&call->op, &call->beta));
    args[n++] = blas_factor_arg(f64, call->alpha.value);
    args[n++] = blas_factor_arg(f64, call->beta.value);
    return n;
}

enum { RANGE_ARG = 11 };

static cls_status spmv_launch(struct spmv_call *call) {
    const struct spec *spec;
    struct kernel *kernel;
    struct op_arg args[OP_MAX_ARGS];
    cls_status status = spmv_kernel(call, &spec, &kernel);
    if (status)
        return status;
    const size_t local = power_of_two_below(lesser(op_max_group(&call->op, kernel), spec->local));
    const size_t each = rows_or_team(call, local);
    const size_t items = local > 1 ? call->rows * each : divide_up(call->rows, each);
    const size_t global = divide_up(items, local) * local;
    const unsigned n = spmv_args(call, each, args);
    if (!loops_are_short(call))
        return op_launch(&call->op, kernel, args, n, global, local);
    /* A row may have all entries. */
    const size_t most = SHORT_LOOP * (local > 1 ? each : 1);
    for (size_t first = 0; (!first || first < call->entries) && !status; first += most) {
        args[RANGE_ARG] = op_arg_pair(first, first + most);
        status = op_launch(&call->op, kernel, args, n, global, local);
    }
    return status;
}

/* --- calls --- */

static void take_optional(struct spmv_call *call, const cls_gemm_config *config,
                          const cls_array *missed, bool f64) {
    call->counted = missed->buffer != NULL;
    call->n_views = MISSED;
    if (call->counted)
        call->views[call->n_views++] = blas_array_view(missed);
    call->alpha = factor_take(config->alpha, &config->alpha_view, f64, call->views, &call->n_views);
    call->beta = factor_take(config->beta, &config->beta_view, f64, call->views, &call->n_views);
}

static cls_status spmv_views(struct spmv_call *call, const cls_csr *a, const cls_vector *x,
                             const cls_vector *y) {
    call->views[OFFSETS] = blas_array_view(&a->offsets);
    call->views[COLUMN_OF] = blas_array_view(&a->indices);
    call->views[VALUES] = blas_array_view(&a->values);
    call->rows = y->count;
    call->columns = a->columns;
    call->entries = a->values.count;
    call->x_step = x->step;
    call->y_step = y->step;
    cls_status status = blas_vector_view("spmv", x, &call->views[X]);
    return status ? status : blas_vector_view("spmv", y, &call->views[Y]);
}

static cls_status spmv_begin(struct spmv_call *call, cls_stream stream, bool blocking) {
    const cls_array *arrays[OP_MAX_VIEWS];
    for (unsigned i = 0; i < call->n_views; i++)
        arrays[i] = &call->views[i].array;
    return op_begin(&call->op, stream, arrays, call->n_views, blocking);
}

/* Nothing is left to do without rows, or where y stays as it is. */
static cls_status spmv_submit(struct spmv_call *call) {
    return call->rows && !(factor_is(&call->alpha, 0) && factor_is(&call->beta, 1))
               ? spmv_launch(call)
               : op_check_stream(&call->op);
}

static cls_status spmv(const cls_csr *a, const cls_vector *x, const cls_vector *y,
                       const cls_gemm_config *given, const cls_array *missed, cls_stream stream,
                       bool blocking) {
    struct spmv_call call;
    cls_gemm_config config;
    cls_status status = blas_read_config(given, &config);
    if (!status)
        status = spmv_check_config(&config);
    if (!status)
        status = spmv_check_shape(a, x, y);
    if (!status)
        status = spmv_views(&call, a, x, y);
    if (status)
        return status;
    take_optional(&call, &config, missed, a->values.dtype == CLS_F64);
    status = spmv_begin(&call, stream, blocking);
    if (status)
        return status;
    status = spmv_check(&call);
    if (!status)
        status = spmv_submit(&call);
    return op_end(&call.op, status, blocking);
}

cls_status cls_spmv(cls_csr a, cls_vector x, cls_vector y, const cls_gemm_config *config,
                    cls_array missed, cls_stream stream) {
    return spmv(&a, &x, &y, config, &missed, stream, true);
}

cls_status cls_spmv_async(cls_csr a, cls_vector x, cls_vector y, const cls_gemm_config *config,
                          cls_array missed, cls_stream stream) {
    return spmv(&a, &x, &y, config, &missed, stream, false);
}
