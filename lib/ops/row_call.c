/* SPDX-License-Identifier: MIT */
#include "ops/row_call.h"

#include "base/error.h"
#include "base/types.h"
#include "driver/caps.h"
#include "driver/quirk.h"
#include "memory/buffer.h"
#include "ops/reduction_cut.h"
#include "ops/row_sums.h"

enum {
    ITEM_ELEMENTS =
        8192, /* of a CPU's work-item, which takes a row at least: microseconds of work */
    SHORT_LOOP_COLUMNS = 1 << 17, /* three times a sixteenth of them is far below 65,535 steps */
    ITEMS_PER_UNIT = 4,
    COALESCED = 32,                /* items that read neighbouring elements together */
    KEEPING_ITEMS_PER_UNIT = 1024, /* of a GPU, which registers have room for */
    RINGS_PER_UNIT =
        2 /* which local memory has room for, or for one, which is replaced by another */
};

/* --- operands --- */

cls_status row_operand_place(struct row_operand *operand, const char *name, cls_buffer buffer,
                             cls_dtype dtype, size_t offset) {
    const size_t height = operand->span.height, width = operand->span.width;
    const size_t size = cls_dtype_size(dtype);
    size_t count = 0, bytes;
    bool over = false;
    if (height && width) {
        over = __builtin_mul_overflow(height - 1, operand->step, &count);
        over = __builtin_add_overflow(count, width, &count) || over;
        over = __builtin_add_overflow(offset, count, &bytes) || over;
        over = __builtin_mul_overflow(bytes, size, &bytes) || over;
    }
    if (over)
        return error_set(CLS_ERROR_OUT_OF_RANGE, "%s: an element beyond all memory", name);
    operand->array = cls_array_at(buffer, dtype, offset, count);
    operand->span = (struct byte_span){offset * size, width * size, operand->step * size,
                                       height,        count * size, 1};
    return CLS_SUCCESS;
}

static cls_status add_operand(struct row_call *call, struct row_operand operand, cls_buffer buffer,
                              cls_dtype dtype, size_t offset) {
    cls_status status = row_operand_place(&operand, call->name, buffer, dtype, offset);
    if (!status)
        call->operands[call->n_operands++] = operand;
    return status;
}

cls_status row_call_add_matrix(struct row_call *call, const cls_matrix *matrix, bool is_output) {
    const struct row_operand operand = {.step = matrix->ld,
                                        .role = ROW_MATRIX,
                                        .is_output = is_output,
                                        .span = {.height = call->rows, .width = call->columns}};
    if (matrix->rows != call->rows || matrix->columns != call->columns)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "%s: matrices of %zu x %zu and %zu x %zu",
                         call->name, call->rows, call->columns, matrix->rows, matrix->columns);
    if (matrix->ld < matrix->columns)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: ld %zu is below the %zu columns", call->name,
                         matrix->ld, matrix->columns);
    return add_operand(call, operand, matrix->buffer, matrix->dtype, matrix->offset);
}

cls_status row_call_add_vector(struct row_call *call, const cls_vector *vector,
                               enum row_role role) {
    const bool by_column = role == ROW_WEIGHTS || role == ROW_SUMS;
    const size_t count = by_column ? call->columns : call->rows;
    const struct row_operand operand = {.step = vector->step,
                                        .role = role,
                                        .is_output = role == ROW_RESULTS || role == ROW_SUMS,
                                        .span = {.height = count, .width = 1}};
    if (vector->count != count)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "%s: a vector of %zu elements for %zu %s",
                         call->name, vector->count, count, by_column ? "columns" : "rows");
    if (!vector->step)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: a step of 0", call->name);
    call->n_sums += role == ROW_SUMS;
    return add_operand(call, operand, vector->buffer, vector->dtype, vector->offset);
}

/* --- types and overlaps --- */

static bool suits(cls_dtype dtype, enum row_role role, cls_dtype matrix) {
    switch (role) {
    case ROW_MATRIX:
    case ROW_WEIGHTS:
    case ROW_SUMS:
        return dtype == matrix && type_row(dtype)->is_float;
    case ROW_LABELS:
        return dtype == CLS_I32 || dtype == CLS_U32;
    case ROW_RESULTS:
        return dtype == (matrix == CLS_F64 ? CLS_F64 : CLS_F32);
    }
    return false;
}

static cls_status rows_check_type(const struct row_call *call, unsigned i) {
    static const char *const names[] = {[ROW_MATRIX] = "a matrix",
                                        [ROW_LABELS] = "labels",
                                        [ROW_RESULTS] = "results for rows",
                                        [ROW_WEIGHTS] = "numbers for columns",
                                        [ROW_SUMS] = "sums for columns"};
    const struct row_operand *operand = &call->operands[i];
    const cls_dtype dtype = operand->array.dtype, matrix = call->operands[0].array.dtype;
    if (suits(dtype, operand->role, matrix))
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_TYPE_MISMATCH, "%s of %s: %s of %s", call->name,
                     cls_dtype_name(matrix), names[operand->role], cls_dtype_name(dtype));
}

/* The bytes within the memory that buffers may share. */
static struct byte_span span_in_memory(const struct row_call *call, unsigned i) {
    struct byte_span span = call->operands[i].span;
    span.start += call->op.views[i].buffer->origin;
    return span;
}

static bool is_same_view(const struct row_operand *a, const struct row_operand *b,
                         const struct byte_span *x, const struct byte_span *y) {
    return a->role == ROW_MATRIX && b->role == ROW_MATRIX && x->start == y->start &&
           (x->pitch == y->pitch || x->height == 1);
}

static cls_status rows_check_overlap(const struct row_call *call, unsigned a, unsigned b) {
    const struct row_operand *x = &call->operands[a], *y = &call->operands[b];
    if (!byte_span_bytes(&x->span) || !byte_span_bytes(&y->span) ||
        !buffer_is_same_memory(call->op.views[a].buffer, call->op.views[b].buffer))
        return CLS_SUCCESS;
    const struct byte_span of_a = span_in_memory(call, a), of_b = span_in_memory(call, b);
    if (!byte_spans_overlap(&of_a, &of_b) || (!x->is_output && is_same_view(x, y, &of_a, &of_b)))
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_OVERLAP, "%s: an output overlaps %s", call->name,
                     x->is_output ? "another" : "an input without being the same");
}

static cls_status rows_check(const struct row_call *call) {
    cls_status status = op_check_dtype(&call->op, call->operands[0].array.dtype);
    for (unsigned i = 0; i < call->n_operands && !status; i++)
        status = rows_check_type(call, i);
    for (unsigned i = 0; i < call->n_operands && !status; i++)
        for (unsigned k = 0; k < i && call->operands[i].is_output && !status; k++)
            status = rows_check_overlap(call, k, i);
    if (!status && !caps_trusts(call->op.caps, TRUST_ROUNDING))
        status = trust_refuse(call->op.device, TRUST_ROUNDING);
    return status;
}

/* --- the launch --- */

static bool by_item(const struct row_call *call) {
    const struct device *device = call->op.device;
    const bool stops = (device->quirks & QUIRK_SHORT_LOOPS) && call->columns > SHORT_LOOP_COLUMNS;
    return (op_takes_runs(device) && !stops) || device_max_line(device) < 256 ||
           !caps_trusts(call->op.caps, TRUST_LOCAL_ARGUMENTS);
}

/* Whether all of a row, and of numbers for columns, can be read in vectors of 16 bytes. */
static bool rows_aligned(const struct row_call *call) {
    for (unsigned i = 0; i < call->n_operands; i++) {
        const struct row_operand *operand = &call->operands[i];
        const struct byte_span *span = &operand->span;
        if (operand->role == ROW_MATRIX && (span->start | span->pitch | span->width) % 16)
            return false;
        if (operand->role == ROW_WEIGHTS && (span->start % 16 || operand->step != 1))
            return false;
    }
    return true;
}

static bool may_use_ring(const struct row_call *call, enum row_way way) {
    const bool has_one = call->kind == ROW_SOFTMAX || call->kind == ROW_LOG_SOFTMAX ||
                         call->kind == ROW_CROSS_ENTROPY_GRADIENT || call->kind == ROW_LAYER_NORM ||
                         call->kind == ROW_RMS_NORM;
    return has_one && (double)row_ring_bytes(way) <= call->op.caps->local_array_bytes;
}

/* The first that fits. */
static cls_status find_spec(const struct row_call *call, const struct spec **spec) {
    const cls_dtype dtype = call->operands[0].array.dtype;
    const bool aligned = rows_aligned(call);
    if (by_item(call))
        return spec_of_rows(call->kind, dtype, ROWS_BY_ITEM, false, spec);
    for (enum row_way way = ROWS_KEPT; way < ROWS_READ_TWICE; way++) {
        if (row_way_is_ring(way) && !may_use_ring(call, way))
            continue;
        cls_status status = spec_of_rows(call->kind, dtype, way, aligned, spec);
        if (status)
            return status;
        const bool fits =
            !(*spec)->batch || call->columns <= (size_t)(*spec)->local * (*spec)->batch;
        if (fits && (*spec)->local <= device_max_line(call->op.device))
            return CLS_SUCCESS;
    }
    return spec_of_rows(call->kind, dtype, ROWS_READ_TWICE, aligned, spec);
}

/* Items of a team: as many as can keep the row, and of a short row as many as read neighbours; with a ring all. */
static size_t team_of(const struct row_call *call, const struct spec *spec) {
    const size_t vectors = (call->columns + spec->vector - 1) / spec->vector;
    size_t team = spec->steps ? spec->local : 1;
    while (team < spec->local &&
           (team * spec->batch < call->columns || (team < COALESCED && team < vectors)))
        team *= 2;
    return team;
}

/* Of a CPU: rows for microseconds of work, if there are enough for all cores. With sums over rows, as many as there may
 * be in a part. */
static size_t rows_of_item(const struct row_call *call) {
    const size_t most = call->n_sums ? ROW_SUMS_PART : ITEM_ELEMENTS / call->columns;
    const size_t share = call->rows / (ITEMS_PER_UNIT * (call->op.device->info.compute_units + 1));
    return clamp(lesser(share, most), 1, call->rows);
}

/* Of a GPU: one, but as many as there are for each team that it has room for with a ring, and with sums over rows as
 * many as leave it enough to do: of rows that registers keep few teams, whose parts are little memory. */
static size_t rows_of_team(const struct row_call *call, const struct spec *spec, size_t team) {
    const size_t units = call->op.device->info.compute_units;
    const size_t each = spec->batch ? KEEPING_ITEMS_PER_UNIT : 2 * REDUCTION_ITEMS_PER_UNIT;
    const size_t items = units * each;
    if (spec->steps)
        return divide_up(call->rows, units * RINGS_PER_UNIT);
    return call->n_sums ? clamp(call->rows / (items / team + 1), 1, ROW_SUMS_PART) : 1;
}

static struct op_arg number_arg(const struct row_call *call) {
    const float single = (float)*call->number;
    return call->operands[0].array.dtype == CLS_F64
               ? op_arg_value(call->number, sizeof *call->number)
               : op_arg_value(&single, sizeof single);
}

/* `sums` NULL: there are none. */
static unsigned fill_args(const struct row_call *call, size_t team, size_t rows_each,
                          struct buffer *sums, struct op_arg args[OP_MAX_ARGS]) {
    const uint32_t split[] = {(uint32_t)team, (uint32_t)rows_each};
    unsigned n = 0;
    for (unsigned i = 0; i < call->n_operands - call->n_sums; i++) {
        const struct row_operand *operand = &call->operands[i];
        args[n++] = op_arg_span(call->op.views[i].buffer, operand->is_output, &operand->span);
        args[n++] = row_operand_arg(operand);
    }
    if (sums)
        args[n++] = op_arg_out(sums);
    if (call->number)
        args[n++] = number_arg(call);
    args[n++] = op_arg_pair(call->rows, call->columns);
    args[n++] = op_arg_value(split, sizeof split);
    return n;
}

static cls_status rows_launch(struct row_call *call) {
    const struct spec *spec;
    struct kernel *kernel;
    struct op_arg args[OP_MAX_ARGS];
    struct row_sums sums;
    cls_status status = find_spec(call, &spec);
    if (!status)
        status = op_kernel(&call->op, &spec->kernel, &kernel);
    if (status)
        return status;
    const size_t team = spec->local > 1 ? team_of(call, spec) : 1;
    const size_t each = spec->local > 1 ? rows_of_team(call, spec, team) : rows_of_item(call);
    const size_t teams = spec->local / team, groups = divide_up(call->rows, teams * each);
    status = row_sums_begin(call, groups * teams, &sums);
    if (status)
        return status;
    const unsigned n_args = fill_args(call, team, each, sums.into, args);
    status = op_launch(&call->op, kernel, args, n_args, groups * spec->local, spec->local);
    return status ? status : row_sums_finish(call, &sums);
}

/* Without rows, or without columns. */
static cls_status rows_launch_empty(struct row_call *call) {
    struct row_sums sums;
    if (!call->n_sums || !call->columns)
        return op_check_stream(&call->op);
    cls_status status = row_sums_begin(call, 0, &sums);
    return status ? status : row_sums_finish(call, &sums);
}

cls_status row_call_run(struct row_call *call, cls_stream stream, bool blocking) {
    const cls_array *arrays[OP_MAX_VIEWS];
    for (unsigned i = 0; i < call->n_operands; i++)
        arrays[i] = &call->operands[i].array;
    cls_status status =
        op_begin_kept(&call->op, stream, arrays, call->kept, call->n_operands, blocking);
    if (status)
        return status;
    status = rows_check(call);
    if (!status)
        status = call->rows && call->columns ? rows_launch(call) : rows_launch_empty(call);
    return op_end(&call->op, status, blocking);
}
