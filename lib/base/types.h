/* SPDX-License-Identifier: MIT */
/* The table of element types. */
#ifndef CLSTREAM_BASE_TYPES_H
#define CLSTREAM_BASE_TYPES_H

#include <stdbool.h>

#include <clstream/types.h>

/* Rows of the table; type_row(dtype)->index counts from 0 in its order. */
enum { TYPES = 6 };

struct type_row {
    cls_dtype dtype;
    unsigned index;
    const char *name;   /* "f32" */
    const char *opencl; /* "float" */
    const char *bits;   /* an OpenCL type of the same size that needs no extension: "uint" */
    size_t size;        /* bytes */
    bool is_float;
};

/* The row of a dtype, or NULL for a value that is none. */
const struct type_row *type_row(cls_dtype dtype);

#endif
