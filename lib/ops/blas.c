/* SPDX-License-Identifier: MIT */
#include "ops/blas.h"

#include <limits.h>

#include "base/error.h"
#include "memory/buffer.h"
#include "stream/command.h"
#include "stream/context.h"

static const char *const labels[BLAS_ROUTINES][2] = {
    [BLAS_GEMM] = {"gemm_f32", "gemm_f64"},
    [BLAS_GEMM_BATCHED] = {"gemm_batched_f32", "gemm_batched_f64"},
    [BLAS_GEMV] = {"gemv_f32", "gemv_f64"},
    [BLAS_AXPY] = {"axpy_f32", "axpy_f64"},
    [BLAS_SCAL] = {"scal_f32", "scal_f64"},
    [BLAS_DOT] = {"blas_dot_f32", "blas_dot_f64"},
    [BLAS_AMAX] = {"amax_f32", "amax_f64"},
    [BLAS_NRM2] = {"nrm2_f32", "nrm2_f64"},
    [BLAS_ASUM] = {"asum_f32", "asum_f64"},
};

/* offset + (a - 1) * a_step + (b - 1) * b_step + (c - 1) elements, as far as CLBlast counts. */
static cls_status extent(const char *name, size_t offset, const size_t counts[3],
                         const size_t steps[3], size_t *out) {
    size_t last = 0, part, end;
    bool over = false;
    for (int i = 0; i < 3; i++) {
        over = over || __builtin_mul_overflow(counts[i] - 1, steps[i], &part);
        over = over || __builtin_add_overflow(last, part, &last);
    }
    over = over || __builtin_add_overflow(offset, last, &end) || end >= INT_MAX;
    if (over)
        return error_set(CLS_ERROR_OUT_OF_RANGE, "%s: an element beyond 2^31 - 1", name);
    *out = last + 1;
    return CLS_SUCCESS;
}

struct step {
    size_t count, bytes;
};

/* Runs of `width` bytes, repeated at two steps. */
static struct byte_span lay_out(size_t start, size_t width, struct step inner, struct step outer) {
    if (outer.count > 1 && outer.bytes < inner.bytes) {
        const struct step other = inner;
        inner = outer;
        outer = other;
    }
    if (inner.bytes <= width) {
        width += (inner.count - 1) * inner.bytes;
        inner.count = 1;
    }
    const size_t reach = (inner.count - 1) * inner.bytes + width;
    if (outer.count > 1 && outer.bytes < reach) {
        width = (outer.count - 1) * outer.bytes + reach;
        inner.count = outer.count = 1;
    }
    return (struct byte_span){start, width, inner.bytes, inner.count, outer.bytes, outer.count};
}

cls_status blas_matrix_view(const char *name, const cls_matrix *matrix, size_t batches,
                            struct blas_view *out) {
    size_t count = 0;
    if (!batches)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: batches is 0", name);
    if (matrix->ld < matrix->columns)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: ld %zu is below the %zu columns", name,
                         matrix->ld, matrix->columns);
    const size_t counts[3] = {batches, matrix->rows, matrix->columns};
    const size_t steps[3] = {matrix->stride, matrix->ld, 1};
    cls_status status = CLS_SUCCESS;
    if (matrix->rows && matrix->columns)
        status = extent(name, matrix->offset, counts, steps, &count);
    if (status)
        return status;
    out->array = cls_array_at(matrix->buffer, matrix->dtype, matrix->offset, count);
    const size_t size = cls_dtype_size(matrix->dtype);
    out->span = lay_out(matrix->offset * size, matrix->columns * size,
                        (struct step){matrix->rows, matrix->ld * size},
                        (struct step){batches, matrix->stride * size});
    return CLS_SUCCESS;
}

cls_status blas_vector_view(const char *name, const cls_vector *vector, struct blas_view *out) {
    const size_t counts[3] = {vector->count, 1, 1}, steps[3] = {vector->step, 0, 0};
    size_t count = 0;
    if (!vector->step)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: a step of 0", name);
    cls_status status = CLS_SUCCESS;
    if (vector->count)
        status = extent(name, vector->offset, counts, steps, &count);
    if (status)
        return status;
    out->array = cls_array_at(vector->buffer, vector->dtype, vector->offset, count);
    const size_t size = cls_dtype_size(vector->dtype);
    out->span = lay_out(vector->offset * size, size,
                        (struct step){vector->count, vector->step * size}, (struct step){1, 0});
    return CLS_SUCCESS;
}

struct blas_view blas_array_view(const cls_array *array) {
    const size_t size = cls_dtype_size(array->dtype);
    return (struct blas_view){*array, byte_span_1d(array->offset * size, array->count * size)};
}

/* Elements between an operand's may be another's. */
static cls_status check_overlap(const struct blas_work *work, const struct blas_view *views,
                                unsigned input) {
    const struct op_view *x = &work->op.views[input], *y = &work->op.views[work->out];
    if (!buffer_spans_overlap(x->buffer, views[input].span, y->buffer, views[work->out].span))
        return CLS_SUCCESS;
    return op_check_overlap(&work->op, input, work->out, false);
}

static cls_status check(const struct blas_work *work, const struct blas_view *views,
                        enum blas_last last) {
    const struct op_call *op = &work->op;
    const unsigned typed = last == BLAS_LAST_INDEX ? work->out : op->n_views;
    const cls_dtype dtype = op->views[0].dtype;
    cls_status status = CLS_SUCCESS;
    const bool product = work->call.routine <= BLAS_GEMV;
    if (dtype != CLS_F32 && dtype != CLS_F64 && !(product && blas_is_narrow(dtype)))
        return error_set(CLS_ERROR_TYPE_MISMATCH, "%s does not support %s", work->name,
                         cls_dtype_name(dtype));
    for (unsigned i = 1; i < typed; i++) {
        const cls_dtype own = op->views[i].dtype;
        const bool widens = i == work->out && own == CLS_F32 && blas_is_narrow(dtype);
        const cls_dtype wanted = i > work->out ? op->views[work->out].dtype : dtype;
        if (own != wanted && !widens)
            return error_set(CLS_ERROR_TYPE_MISMATCH, "%s: views of %s and of %s", work->name,
                             cls_dtype_name(wanted), cls_dtype_name(own));
    }
    for (unsigned i = 0; i < op->n_views && !status && last != BLAS_LAST_IN; i++)
        status = i == work->out ? CLS_SUCCESS : check_overlap(work, views, i);
    return status ? status : op_check_dtype(op, dtype);
}

cls_status blas_begin(struct blas_work *work, enum blas_routine routine,
                      const struct blas_view *views, unsigned operands, enum blas_last last,
                      cls_stream stream, bool blocking) {
    const unsigned n_views = operands + work->epilogue.has_bias;
    const cls_array *list[OP_MAX_VIEWS];
    for (unsigned i = 0; i < n_views; i++)
        list[i] = &views[i].array;
    cls_status status = op_begin_kept(&work->op, stream, list, work->kept, n_views, blocking);
    if (status)
        return status;
    work->out = operands - 1;
    work->call.routine = routine;
    status = check(work, views, last);
    if (status)
        return op_end(&work->op, status, blocking);
    work->views = views;
    work->call = (struct blas_call){.user = &work->op.context->blas,
                                    .routine = routine,
                                    .f64 = work->op.views[0].dtype == CLS_F64,
                                    .batches = 1};
    return CLS_SUCCESS;
}

struct blas_operand blas_operand(const struct blas_work *work, unsigned view, size_t step,
                                 size_t stride) {
    const struct op_view *v = &work->op.views[view];
    return (struct blas_operand){v->buffer->memory, v->offset, step, stride};
}

double blas_factor(const struct blas_work *work, double factor) {
    return work->call.f64 ? factor : (double)(float)factor;
}

struct op_arg blas_factor_arg(bool f64, double factor) {
    const float single = (float)factor;
    return f64 ? op_arg_value(&factor, sizeof factor) : op_arg_value(&single, sizeof single);
}

enum { PLACE = 16 };

/* The temporary memory is the stream's scratch buffer: stream order separates this command from earlier and later
 * users of it. A result for the host lies after the part that CLBlast needs. */
static cls_status take_temporary(struct blas_work *work) {
    cl_command_queue queue;
    size_t bytes = 0;
    cls_status status = op_any_queue(&work->op, &queue);
    if (!status)
        status = blas_temporary(work->op.device, queue, &work->call, &bytes);
    work->result_place = (bytes + PLACE - 1) / PLACE * PLACE;
    if (status || !(bytes + work->result_bytes))
        return status;
    status = op_scratch(&work->op, work->result_place + work->result_bytes, &work->scratch);
    if (status)
        return status;
    work->call.temporary = bytes ? work->scratch->memory : NULL;
    if (work->result_bytes)
        work->call.c = (struct blas_operand){.memory = work->scratch->memory,
                                             .offset = work->result_place / work->result_bytes,
                                             .step = 1};
    return CLS_SUCCESS;
}

static const struct foreign_library blas_library = {blas_enqueue, blas_is_compiled, blas_memory};

cls_status blas_submit(struct blas_work *work) {
    const enum blas_routine routine = work->call.routine;
    const unsigned n_views = work->op.n_views;
    cls_status status = take_temporary(work);
    struct byte_span spans[OP_MAX_VIEWS];
    for (unsigned i = 0; i < n_views; i++)
        spans[i] = work->views[i].span;
    const struct op_library_call library = {
        .library = &blas_library,
        .arguments = &work->call,
        .bytes = sizeof work->call,
        .spans = spans,
        .label = labels[routine][work->call.f64],
    };
    if (status)
        return status;
    work->op.n_views = work->out + 1;
    status = op_library(&work->op, &library);
    work->op.n_views = n_views;
    return status;
}

cls_status blas_end(struct blas_work *work, cls_status status, bool blocking) {
    return op_end(&work->op, status, blocking);
}

int cls_blas_available(void) { return blas_available(); }
