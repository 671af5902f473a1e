/* SPDX-License-Identifier: MIT */
/* Element-by-element operations of matrices (clstream/matrices.h), but for transposition. */
#include <clstream/matrices.h>

#include "base/error.h"
#include "base/types.h"
#include "memory/buffer.h"
#include "ops/map.h"
#include "ops/matrix_cut.h"
#include "ops/matrix_operand.h"

/* A call. The operands are the input, the vector, if there is one, and the output. */
struct matrix_work {
    const struct op_row *row;
    const char *name;
    enum matrix_vector vector;
    bool is_reversed;
    size_t rows, columns;
    struct row_operand operands[OP_MAX_VIEWS];
    unsigned n_operands;
    struct op_call op;
};

/* --- checks --- */

static cls_status matrices_check(const struct matrix_work *work) {
    cls_status status = map_check_types(&work->op, work->row);
    if (!status)
        status = map_check_device(&work->op);
    for (unsigned i = 0; i + 1 < work->n_operands && !status; i++)
        status = matrix_check_overlap(work->name, &work->op, work->operands, i, i == 0);
    return status
               ? status
               : map_check_rounding(work->row, work->op.views[0].dtype,
                                    work->op.views[work->n_operands - 1].dtype, work->op.context);
}

/* --- the launch --- */

/* The rows of matrices without gaps are one. */
static void join_rows(struct matrix_work *work) {
    const struct row_operand *operands = work->operands;
    if (work->vector != VECTOR_NONE || operands[0].step != work->columns ||
        operands[1].step != work->columns)
        return;
    work->columns *= work->rows;
    work->rows = 1;
}

static bool matrices_aligned(const struct matrix_work *work) {
    const struct op_view *views = work->op.views;
    const size_t in = cls_dtype_size(views[0].dtype);
    const size_t out = cls_dtype_size(views[work->n_operands - 1].dtype);
    const unsigned vector = spec_aligned_vector(in > out ? in : out, out);
    for (unsigned i = 0; i < work->n_operands; i++) {
        const struct row_operand *operand = &work->operands[i];
        const size_t size = cls_dtype_size(operand->array.dtype);
        const size_t alignment = spec_alignment(vector, size);
        const bool has_pitch = operand->role == ROW_MATRIX && work->rows > 1;
        /* What has a step is read element by element. */
        if ((operand->role == ROW_MATRIX || operand->step == 1) &&
            (operand->span.start % alignment || (has_pitch && operand->span.pitch % alignment)))
            return false;
    }
    return true;
}

static cls_status matrices_launch(struct matrix_work *work) {
    const struct spec *spec;
    struct kernel *kernel;
    struct op_arg args[OP_MAX_ARGS];
    unsigned n = 0;
    join_rows(work);
    const struct op_view *views = work->op.views;
    const struct matrix_op op = {.row = map_row_in_effect(&work->op, work->row),
                                 .a = views[0].dtype,
                                 .out = views[work->n_operands - 1].dtype,
                                 .vector = work->vector,
                                 .is_reversed = work->is_reversed};
    cls_status status =
        spec_of_matrix(&op, map_shape_of(&work->op, matrices_aligned(work)), work->columns, &spec);
    if (!status)
        status = op_kernel(&work->op, &spec->kernel, &kernel);
    if (status)
        return status;
    const struct matrix_cut cut =
        matrix_cut_of(&work->op, spec, kernel, work->rows, work->columns, false);
    for (unsigned i = 0; i < work->n_operands; i++)
        n += matrix_args(&work->op, work->operands, i, i + 1 == work->n_operands, &args[n]);
    args[n++] = op_arg_pair(work->rows, work->columns);
    args[n++] = op_arg_value(cut.numbers, sizeof cut.numbers);
    return op_launch(&work->op, kernel, args, n, cut.groups * cut.local, cut.local);
}

static cls_status matrices_run(struct matrix_work *work, cls_stream stream, bool blocking) {
    cls_status status = matrix_begin(&work->op, stream, work->operands, work->n_operands, blocking);
    if (status)
        return status;
    status = matrices_check(work);
    if (!status)
        status = work->rows && work->columns ? matrices_launch(work) : op_check_stream(&work->op);
    return op_end(&work->op, status, blocking);
}

/* --- calls --- */

static cls_status add_matrix(struct matrix_work *work, const cls_matrix *matrix) {
    if (matrix->rows != work->rows || matrix->columns != work->columns)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "%s: matrices of %zu x %zu and %zu x %zu",
                         work->name, work->rows, work->columns, matrix->rows, matrix->columns);
    return matrix_operand(work->name, matrix, &work->operands[work->n_operands++]);
}

static cls_status add_vector(struct matrix_work *work, const cls_vector *vector) {
    const bool by_column = work->vector == VECTOR_ROW;
    const size_t count = by_column ? work->columns : work->rows;
    if (vector->count != count)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "%s: a vector of %zu elements for %zu %s",
                         work->name, vector->count, count, by_column ? "columns" : "rows");
    return matrix_vector_operand(work->name, vector, &work->operands[work->n_operands++]);
}

static cls_status binary_matrix(cls_binary_op op, const cls_matrix *in, const cls_vector *vector,
                                const cls_matrix *out, enum matrix_vector kind, bool is_reversed,
                                cls_stream stream, bool blocking) {
    struct matrix_work work = {.row = op_row_of(OP_BINARY, (int)op),
                               .vector = kind,
                               .is_reversed = is_reversed,
                               .rows = in->rows,
                               .columns = in->columns};
    if (!work.row)
        return error_set(CLS_ERROR_INVALID_VALUE, "binary: no such operation");
    work.name = work.row->name;
    cls_status status = add_matrix(&work, in);
    if (!status)
        status = add_vector(&work, vector);
    if (!status)
        status = add_matrix(&work, out);
    return status ? status : matrices_run(&work, stream, blocking);
}

cls_status cls_binary_rows(cls_binary_op op, cls_matrix in, cls_vector row, cls_matrix out,
                           cls_stream stream) {
    return binary_matrix(op, &in, &row, &out, VECTOR_ROW, false, stream, true);
}

cls_status cls_binary_rows_async(cls_binary_op op, cls_matrix in, cls_vector row, cls_matrix out,
                                 cls_stream stream) {
    return binary_matrix(op, &in, &row, &out, VECTOR_ROW, false, stream, false);
}

cls_status cls_binary_rows_reversed(cls_binary_op op, cls_matrix in, cls_vector row, cls_matrix out,
                                    cls_stream stream) {
    return binary_matrix(op, &in, &row, &out, VECTOR_ROW, true, stream, true);
}

cls_status cls_binary_rows_reversed_async(cls_binary_op op, cls_matrix in, cls_vector row,
                                          cls_matrix out, cls_stream stream) {
    return binary_matrix(op, &in, &row, &out, VECTOR_ROW, true, stream, false);
}

cls_status cls_binary_columns(cls_binary_op op, cls_matrix in, cls_vector column, cls_matrix out,
                              cls_stream stream) {
    return binary_matrix(op, &in, &column, &out, VECTOR_COLUMN, false, stream, true);
}

cls_status cls_binary_columns_async(cls_binary_op op, cls_matrix in, cls_vector column,
                                    cls_matrix out, cls_stream stream) {
    return binary_matrix(op, &in, &column, &out, VECTOR_COLUMN, false, stream, false);
}

cls_status cls_binary_columns_reversed(cls_binary_op op, cls_matrix in, cls_vector column,
                                       cls_matrix out, cls_stream stream) {
    return binary_matrix(op, &in, &column, &out, VECTOR_COLUMN, true, stream, true);
}

cls_status cls_binary_columns_reversed_async(cls_binary_op op, cls_matrix in, cls_vector column,
                                             cls_matrix out, cls_stream stream) {
    return binary_matrix(op, &in, &column, &out, VECTOR_COLUMN, true, stream, false);
}

static cls_status cast_matrix(const cls_matrix *in, const cls_matrix *out, cls_stream stream,
                              bool blocking) {
    struct matrix_work work = {.row = op_row_of(OP_CAST, 0),
                               .name = "cast_matrix",
                               .rows = in->rows,
                               .columns = in->columns};
    cls_status status = add_matrix(&work, in);
    if (!status)
        status = add_matrix(&work, out);
    return status ? status : matrices_run(&work, stream, blocking);
}

cls_status cls_cast_matrix(cls_matrix in, cls_matrix out, cls_stream stream) {
    return cast_matrix(&in, &out, stream, true);
}

cls_status cls_cast_matrix_async(cls_matrix in, cls_matrix out, cls_stream stream) {
    return cast_matrix(&in, &out, stream, false);
}
