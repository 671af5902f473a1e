/* SPDX-License-Identifier: MIT */
/* The table of element types. */
#ifndef CLSTREAM_BASE_TYPES_H
#define CLSTREAM_BASE_TYPES_H

#include <stdbool.h>

#include <clstream/types.h>

/* Rows of the table; type_row(dtype)->index counts from 0 in its order. */
enum { TYPES = 11 };

struct type_row {
    cls_dtype dtype;
    unsigned index;
    const char *name;   /* "f32" */
    const char *opencl; /* its name in cl/map.cl: "float", "half" */
    const char *value;  /* the OpenCL type of a value in registers: "float" */
    const char *bits;   /* an OpenCL type of the same size that needs no extension: "uint" */
    size_t size;        /* bytes */
    bool is_float;
};

/* Whether a type is a float in registers, and fewer bits in memory. */
static inline bool type_is_narrow(const struct type_row *row) {
    return row->is_float && row->size < 4;
}

/* The OpenCL type of an element in memory. */
static inline const char *type_in_memory(const struct type_row *row) {
    return type_is_narrow(row) ? row->bits : row->opencl;
}

/* The row of a dtype, or NULL for a value that is none. */
const struct type_row *type_row(cls_dtype dtype);

#endif
