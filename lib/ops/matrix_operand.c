/* SPDX-License-Identifier: MIT */
#include "ops/matrix_operand.h"

#include "base/error.h"
#include "memory/buffer.h"

cls_status matrix_operand(const char *name, const cls_matrix *matrix, struct row_operand *out) {
    struct row_operand operand = {.step = matrix->ld,
                                  .role = ROW_MATRIX,
                                  .span = {.height = matrix->rows, .width = matrix->columns}};
    if (matrix->ld < matrix->columns)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: ld %zu is below the %zu columns", name,
                         matrix->ld, matrix->columns);
    cls_status status =
        row_operand_place(&operand, name, matrix->buffer, matrix->dtype, matrix->offset);
    *out = operand;
    return status;
}

cls_status matrix_vector_operand(const char *name, const cls_vector *vector,
                                 struct row_operand *out) {
    struct row_operand operand = {
        .step = vector->step, .role = ROW_WEIGHTS, .span = {.height = vector->count, .width = 1}};
    if (!vector->step)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: a step of 0", name);
    cls_status status =
        row_operand_place(&operand, name, vector->buffer, vector->dtype, vector->offset);
    *out = operand;
    return status;
}

cls_status matrix_begin(struct op_call *call, cls_stream stream, const struct row_operand *operands,
                        unsigned n_operands, bool blocking) {
    const cls_array *arrays[OP_MAX_VIEWS];
    for (unsigned i = 0; i < n_operands; i++)
        arrays[i] = &operands[i].array;
    return op_begin(call, stream, arrays, n_operands, blocking);
}

static bool is_same_matrix(const struct op_call *call, const struct row_operand *operands,
                           unsigned input) {
    const unsigned out = call->n_views - 1;
    const struct byte_span *x = &operands[input].span, *y = &operands[out].span;
    return cls_dtype_size(call->views[input].dtype) == cls_dtype_size(call->views[out].dtype) &&
           x->start + call->views[input].buffer->origin ==
               y->start + call->views[out].buffer->origin &&
           (x->pitch == y->pitch || x->height == 1);
}

cls_status matrix_check_overlap(const char *name, const struct op_call *call,
                                const struct row_operand *operands, unsigned input, bool in_place) {
    const unsigned out = call->n_views - 1;
    if (!buffer_spans_overlap(call->views[input].buffer, operands[input].span,
                              call->views[out].buffer, operands[out].span) ||
        (in_place && is_same_matrix(call, operands, input)))
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_OVERLAP, "%s: the output overlaps an input%s", name,
                     in_place ? " without being the same" : "");
}

unsigned matrix_args(const struct op_call *call, const struct row_operand *operands, unsigned i,
                     bool writes, struct op_arg *args) {
    const struct row_operand *operand = &operands[i];
    args[0] = op_arg_span(call->views[i].buffer, writes, &operand->span);
    args[1] = op_arg_pair(operand->array.offset, operand->step);
    return 2;
}
