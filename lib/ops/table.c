/* SPDX-License-Identifier: MIT */
#include "ops/table.h"

#include <string.h>

#include <clstream/binary.h>
#include <clstream/reduce.h>
#include <clstream/unary.h>

#include "base/error.h"
#include "base/types.h"

enum { TYPES_ALL = 0, TYPES_FLOATS = 1 };

static const struct op_row rows[] = {
#define OP(family, op, name, types, result) \
    {OP_##family, op, #name, TYPES_##types, RESULT_##result},
#include "ops/ops.def"
#undef OP
};

_Static_assert(sizeof rows / sizeof rows[0] == OP_ROWS, "OP_ROWS counts the rows of ops.def");

const struct op_row *op_row_of(enum op_family family, int op) {
    for (unsigned i = 0; i < OP_ROWS; i++)
        if (rows[i].family == family && rows[i].op == op)
            return &rows[i];
    return NULL;
}

const struct op_row *op_row_named(enum op_family family, const char *name) {
    for (unsigned i = 0; i < OP_ROWS; i++)
        if (rows[i].family == family && strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

unsigned op_row_index(const struct op_row *row) { return (unsigned)(row - rows); }

cls_dtype op_result_dtype(const struct op_row *row, cls_dtype in) {
    const bool is_float = type_row(in)->is_float;
    switch (row->result) {
    case RESULT_MASK:
        return CLS_U8;
    case RESULT_INDEX:
        return CLS_I64;
    case RESULT_TOTAL:
        return is_float ? in : CLS_I64;
    case RESULT_MEAN:
        return is_float ? in : CLS_F64;
    case RESULT_SAME:
    case RESULT_VIEW:
        break;
    }
    return in;
}

const char *op_name_of(enum op_family family, int op) {
    const struct op_row *row = op_row_of(family, op);
    return row ? row->name : "?";
}

cls_status op_parse(enum op_family family, const char *kind, const char *name, int *out) {
    if (!name || !out)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s operation by name: null argument", kind);
    const struct op_row *row = op_row_named(family, name);
    if (!row)
        return error_set(CLS_ERROR_NOT_FOUND, "no %s operation \"%s\"", kind, name);
    *out = row->op;
    return CLS_SUCCESS;
}
