/* SPDX-License-Identifier: MIT */
#include "base/types.h"

#include <string.h>

#include "base/error.h"

enum { ROW_FLOAT = 1, ROW_INT = 0 };

enum {
#define TYPE(id, name, c_type, opencl, value, bits, size, kind) ROW_OF_##id,
#include "base/types.def"
#undef TYPE
    ROWS
};

_Static_assert((int)ROWS == (int)TYPES, "TYPES counts the rows of types.def");

static const struct type_row rows[ROWS] = {
#define TYPE(id, name, c_type, opencl, value, bits, size, kind) \
    {CLS_##id, ROW_OF_##id, #name, #opencl, #value, #bits, size, ROW_##kind},
#include "base/types.def"
#undef TYPE
};

const struct type_row *type_row(cls_dtype dtype) {
    for (unsigned i = 0; i < ROWS; i++)
        if (rows[i].dtype == dtype)
            return &rows[i];
    return NULL;
}

size_t cls_dtype_size(cls_dtype dtype) {
    const struct type_row *row = type_row(dtype);
    return row ? row->size : 0;
}

const char *cls_dtype_name(cls_dtype dtype) {
    const struct type_row *row = type_row(dtype);
    return row ? row->name : "?";
}

cls_status cls_dtype_parse(const char *name, cls_dtype *out) {
    if (!name || !out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_dtype_parse: null argument");
    for (unsigned i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            *out = rows[i].dtype;
            return CLS_SUCCESS;
        }
    }
    return error_set(CLS_ERROR_NOT_FOUND, "no element type \"%s\"", name);
}
