/* SPDX-License-Identifier: MIT */
/* The operations that a stage of `clstream run` may be: the library's elementwise operations in one table. */
#ifndef CLSTREAM_TOOLS_OPERATION_H
#define CLSTREAM_TOOLS_OPERATION_H

#include <stdbool.h>
#include <stddef.h>

#include <clstream/types.h>

enum operation_kind {
    OPERATION_CAST,   /* cast TYPE */
    OPERATION_UNARY,  /* NAME */
    OPERATION_PARAM,  /* NAME NUMBER */
    OPERATION_BINARY, /* NAME NUMBER: the second operand is the number, everywhere */
    OPERATION_WHERE   /* where TYPE A B: A where the mask is set, B elsewhere */
};

enum operation_takes { TAKES_ALL, TAKES_FLOATS, TAKES_MASKS };

struct operation {
    const char *name;
    enum operation_kind kind;
    enum operation_takes takes;
    bool gives_mask; /* u8, whatever it takes */
    int code;        /* the library's constant, of the enum that `kind` implies */
    bool takes_type;
    unsigned n_numbers;
};

/* The operation of that name (not terminated: `length` bytes), or NULL. */
const struct operation *operation_find(const char *name, size_t length);

/* The operation whose name is most like a misspelt one, or NULL when none is near. */
const struct operation *operation_suggest(const char *name, size_t length);

/* The i-th operation, or NULL past the last. */
const struct operation *operation_at(size_t i);

/*
 * The type of the operation's result on elements of `from`. `wanted` is the stage's type
 * argument. False when the operation does not take `from`, with `*needs` naming the types that
 * it takes.
 */
bool operation_result(const struct operation *operation, cls_dtype from, cls_dtype wanted,
                      cls_dtype *result, const char **needs);

#endif
