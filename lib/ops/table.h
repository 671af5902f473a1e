/* SPDX-License-Identifier: MIT */
/* The table of operations, generated from ops.def by the preprocessor: family, name, and rule for the result's type. */
#ifndef CLSTREAM_OPS_TABLE_H
#define CLSTREAM_OPS_TABLE_H

#include <stdbool.h>

#include <clstream/types.h>

enum op_family {
    OP_CAST,
    OP_WHERE,
    OP_UNARY,
    OP_UNARY_PARAM,
    OP_BINARY,
    OP_REDUCE,
    OP_DOT,
    OP_FAMILIES
};

/* How the result's type follows from the input's. */
enum op_result { RESULT_VIEW, RESULT_SAME, RESULT_MASK, RESULT_TOTAL, RESULT_MEAN, RESULT_INDEX };

enum { OP_ROWS = 59 };

struct op_row {
    enum op_family family;
    int op;           /* the family's public enumerator */
    const char *name; /* "relu" */
    bool floats_only;
    enum op_result result;
};

/* The row of an operation; NULL when there is none. */
const struct op_row *op_row_of(enum op_family family, int op);
const struct op_row *op_row_named(enum op_family family, const char *name);

/* The row's place in the table, below OP_ROWS. */
unsigned op_row_index(const struct op_row *row);

/* The result's type for an input's; `in` is a valid dtype. Not for RESULT_VIEW. */
cls_dtype op_result_dtype(const struct op_row *row, cls_dtype in);

/* Shared by the public name functions of the families. */
const char *op_name_of(enum op_family family, int op);
cls_status op_parse(enum op_family family, const char *kind, const char *name, int *out);

#endif
