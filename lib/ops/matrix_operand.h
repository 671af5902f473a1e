/* SPDX-License-Identifier: MIT */
/* Operands of the calls of clstream/matrices.h, their checks, and their arguments. */
#ifndef CLSTREAM_OPS_MATRIX_OPERAND_H
#define CLSTREAM_OPS_MATRIX_OPERAND_H

#include "ops/row_call.h"

/* Where a view's elements lie, of which `ld` or the step is checked. */
cls_status matrix_operand(const char *name, const cls_matrix *matrix, struct row_operand *out);
cls_status matrix_vector_operand(const char *name, const cls_vector *vector,
                                 struct row_operand *out);

/* op_begin with the arrays of the operands. */
cls_status matrix_begin(struct op_call *call, cls_stream stream, const struct row_operand *operands,
                        unsigned n_operands, bool blocking);

/* Whether the last view has elements in common with the input's; `in_place`: without being the same matrix, of elements
 * of the same size. */
cls_status matrix_check_overlap(const char *name, const struct op_call *call,
                                const struct row_operand *operands, unsigned input, bool in_place);

/* Puts the buffer and the place of an operand, which must last as long as the arguments; returns how many these are. */
unsigned matrix_args(const struct op_call *call, const struct row_operand *operands, unsigned i,
                     bool writes, struct op_arg *args);

#endif
