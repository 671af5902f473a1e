/* SPDX-License-Identifier: MIT */
/* Calls on the rows of matrices (clstream/rows.h): the checks that they share, and the launch of cl/rows.cl. */
#ifndef CLSTREAM_OPS_ROW_CALL_H
#define CLSTREAM_OPS_ROW_CALL_H

#include <clstream/rows.h>

#include "base/byte_span.h"
#include "command/op.h"
#include "ops/spec.h"

/* What an operand is: a matrix, or a vector with an integer or a result for each row, or with a number or a sum over the
 * rows for each column. */
enum row_role { ROW_MATRIX, ROW_LABELS, ROW_RESULTS, ROW_WEIGHTS, ROW_SUMS };

/* An operand: the array from its first element to its last, and the bytes of its elements. */
struct row_operand {
    cls_array array;
    struct byte_span span;
    size_t step; /* elements from row to row, or of a vector from one to the next */
    enum row_role role;
    bool is_output;
};

/* Fills in the array and the span of an operand: `span.height` rows of `span.width` elements, which are given, `step`
 * elements apart. Leaves it alone on failure. */
cls_status row_operand_place(struct row_operand *operand, const char *name, cls_buffer buffer,
                             cls_dtype dtype, size_t offset);

/* A call while it is checked. The caller fills in the members before `op`; outputs are the last operands. */
struct row_call {
    enum row_op kind;
    const char *name; /* "softmax" */
    size_t rows, columns;
    struct row_operand operands[OP_MAX_VIEWS];
    unsigned n_operands;
    unsigned n_sums;      /* the last of them: sums over rows */
    const double *number; /* a parameter of the kernel's, of the type of its sums; NULL: none */
    struct buffer *const
        *kept; /* the operands' buffers, which the caller keeps; NULL: their handles count */
    struct op_call op;
};

/* Add an operand, whose sizes must be the call's. */
cls_status row_call_add_matrix(struct row_call *call, const cls_matrix *matrix, bool is_output);
cls_status row_call_add_vector(struct row_call *call, const cls_vector *vector, enum row_role role);

/* The kernels' argument: where the operand begins, and its step. */
static inline struct op_arg row_operand_arg(const struct row_operand *operand) {
    return op_arg_pair(operand->array.offset, operand->step);
}

/* Acquires stream and operands, checks types and overlaps, submits, and releases them. */
cls_status row_call_run(struct row_call *call, cls_stream stream, bool blocking);

#endif
