/* SPDX-License-Identifier: MIT */
/**
 * @file binary.h
 * Functions of two arrays, element by element. Typed names (cls_add_f32, cls_lt_i64 ...) are in
 * typed.h; common rules are in cast.h.
 *
 * Both inputs have the same type. The output has it too, except that comparisons give u8. Integer
 * arithmetic is modulo 2 to the power of the width. f16 and bf16 are calculated in f32 and rounded once
 * more, as in unary.h: at most 1 ULP where f32 has a bound, else the same bits on every device.
 */
#ifndef CLSTREAM_BINARY_H
#define CLSTREAM_BINARY_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Operations on two arrays of the same type. */
typedef enum cls_binary_op {
    /** a + b. All types; exact. */
    CLS_BINARY_ADD = 1,
    /** a - b. All types; exact. */
    CLS_BINARY_SUB = 2,
    /** a b. All types; exact. */
    CLS_BINARY_MUL = 3,
    /**
     * a / b. All types. f32: 3 ULP; f64: exact. Integers truncate toward zero; a division by 0
     * gives 0, and the least integer divided by -1 gives itself. No device traps.
     */
    CLS_BINARY_DIV = 4,
    /**
     * The lesser of a and b; NaN if one is NaN; b if they are equal, such as -0 and 0. All types;
     * exact.
     */
    CLS_BINARY_MIN = 5,
    /** The greater of a and b; otherwise like CLS_BINARY_MIN. */
    CLS_BINARY_MAX = 6,
    /** a to the power b. Floating-point types. 16 ULP. Special cases as in C's pow(). */
    CLS_BINARY_POW = 7,
    /**
     * a == b. Comparisons give 1 for true, else 0. All types. With a NaN only CLS_BINARY_NE is
     * true; -0 equals 0.
     */
    CLS_BINARY_EQ = 8,
    CLS_BINARY_NE = 9,  /**< a != b */
    CLS_BINARY_LT = 10, /**< a < b */
    CLS_BINARY_LE = 11, /**< a <= b */
    CLS_BINARY_GT = 12, /**< a > b */
    CLS_BINARY_GE = 13  /**< a >= b */
} cls_binary_op;

/** out[i] = op(a[i], b[i]). The result of a comparison can be the condition of cls_where. */
CLS_API cls_status cls_binary(cls_binary_op op, cls_array a, cls_array b, cls_array out,
                              cls_stream stream);
/** Like cls_binary; only submits. */
CLS_API cls_status cls_binary_async(cls_binary_op op, cls_array a, cls_array b, cls_array out,
                                    cls_stream stream);

/** Returns the name of an operation ("add"), a static string; "?" for an unknown value. */
CLS_API const char *cls_binary_op_name(cls_binary_op op);

/**
 * Gets an operation by its name.
 * @retval CLS_ERROR_INVALID_VALUE an argument is null
 * @retval CLS_ERROR_NOT_FOUND     there is no such name
 */
CLS_API cls_status cls_binary_op_parse(const char *name, cls_binary_op *out);

CLS_END_DECLS

#endif
