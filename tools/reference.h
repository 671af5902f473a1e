/* SPDX-License-Identifier: MIT */
/*
 * What the library's typed operations are to compute, on the host: plain C, no OpenCL, one element
 * at a time. Operations that the headers call exact are exact here; the others are computed with
 * more digits than the type has and rounded once.
 *
 * Arrays hold `count` elements and may not overlap, except that `out` may be an input of its type.
 * A call is false, and writes nothing, where the library has no such operation for the type.
 */
#ifndef CLSTREAM_TOOLS_REFERENCE_H
#define CLSTREAM_TOOLS_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include <clstream/binary.h>
#include <clstream/reduce.h>
#include <clstream/types.h>
#include <clstream/unary.h>

bool reference_is_float(cls_dtype type);
/* An element of a float type, of which a double holds all. */
double reference_float(cls_dtype type, const void *array, size_t i);
/* Rounded once, to nearest and to even between two. */
void reference_put_float(cls_dtype type, void *array, size_t i, double value);

bool reference_cast(cls_dtype from, cls_dtype to, const void *in, void *out, size_t count);

bool reference_where(cls_dtype condition_type, cls_dtype type, const void *condition,
                     const void *if_true, const void *if_false, void *out, size_t count);

bool reference_unary(cls_unary_op op, cls_dtype type, const void *in, void *out, size_t count);

/* The parameter is an element of the type: reference_cast(CLS_F64, type, ...) makes one of a
 * double. */
bool reference_unary_param(cls_unary_param_op op, cls_dtype type, const void *in, const void *param,
                           void *out, size_t count);

/* Comparisons give u8. */
static inline bool reference_compares(cls_binary_op op) {
    return op >= CLS_BINARY_EQ && op <= CLS_BINARY_GE;
}

static inline bool reference_is_gradient(cls_binary_op op) {
    return op >= CLS_BINARY_RELU_GRADIENT && op <= CLS_BINARY_TANH_GRADIENT;
}

/* Whether a binary operation has the type. */
static inline bool reference_takes(cls_binary_op op, cls_dtype type) {
    return reference_is_float(type) || !(op == CLS_BINARY_POW || reference_is_gradient(op));
}

/* The derivative by which a gradient multiplies, but for relu's. */
double reference_slope(cls_binary_op op, cls_dtype type, double x);

/* `out` is u8 for comparisons. */
bool reference_binary(cls_binary_op op, cls_dtype type, const void *a, const void *b, void *out,
                      size_t count);

/* `result` is an element of cls_reduce_result_dtype(); `*slack` how far a device may be off it,
 * not in ULP but in absolute terms. False also for min, max, argmax and argmin of no elements. */
bool reference_reduce(cls_reduce_op op, cls_dtype type, const void *in, size_t count, void *result,
                      double *slack);
bool reference_dot(cls_dtype type, const void *a, const void *b, size_t count, void *result,
                   double *slack);

/* How far a device may be off, in ULP, as unary.h and binary.h state it; 0: not at all. For
 * operations without a parameter it depends on the first input `x`. */
double reference_unary_bound(cls_unary_op op, cls_dtype type, double x);
double reference_unary_param_bound(cls_unary_param_op op, cls_dtype type);
double reference_binary_bound(cls_binary_op op, cls_dtype type, double x);

#endif
