/* SPDX-License-Identifier: MIT */
/**
 * @file binary.h
 * Functions of two arrays, element by element. Typed names (cls_add_f32, cls_lt_i64
 * ...) are in typed.h; common rules are in cast.h.
 *
 * Both inputs have one type; the output has it too, except that comparisons give u8. Integer
 * arithmetic wraps around modulo two to the width.
 */
#ifndef CLSTREAM_BINARY_H
#define CLSTREAM_BINARY_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Operations on two arrays of one type. */
typedef enum cls_binary_op {
    /** a + b. All types; exact. */
    CLS_BINARY_ADD = 1,
    /** a - b. All types; exact. */
    CLS_BINARY_SUB = 2,
    /** a b. All types; exact. */
    CLS_BINARY_MUL = 3,
    /**
     * a / b. All types. f32: 3 ULP; f64: exact. Integers truncate toward zero; a division by 0
     * gives 0 and the least integer divided by -1 stays: no device traps.
     */
    CLS_BINARY_DIV = 4,
    /** The lesser; NaN if either is; b where they are equal, as -0 and 0. All types; exact. */
    CLS_BINARY_MIN = 5,
    /** The greater; otherwise as min. */
    CLS_BINARY_MAX = 6,
    /** a to the power b. f32 and f64. 16 ULP; special cases as C's pow(). */
    CLS_BINARY_POW = 7,
    /**
     * a == b. As all comparisons: 1 where true, else 0. All types. With a NaN only ne is true; -0
     * equals 0.
     */
    CLS_BINARY_EQ = 8,
    CLS_BINARY_NE = 9,  /**< a != b */
    CLS_BINARY_LT = 10, /**< a < b */
    CLS_BINARY_LE = 11, /**< a <= b */
    CLS_BINARY_GT = 12, /**< a > b */
    CLS_BINARY_GE = 13  /**< a >= b */
} cls_binary_op;

/** out[i] = op(a[i], b[i]). The masks of comparisons serve as conditions of cls_where. */
CLS_API cls_status cls_binary(cls_binary_op op, cls_array a, cls_array b, cls_array out,
                              cls_stream stream);
/** As cls_binary; only submits. */
CLS_API cls_status cls_binary_async(cls_binary_op op, cls_array a, cls_array b, cls_array out,
                                    cls_stream stream);

/** The name of an operation ("add"); "?" for a value that is none. A static string. */
CLS_API const char *cls_binary_op_name(cls_binary_op op);

/**
 * Finds an operation by its name.
 * @retval CLS_ERROR_INVALID_VALUE a null argument
 * @retval CLS_ERROR_NOT_FOUND     no such name
 */
CLS_API cls_status cls_binary_op_parse(const char *name, cls_binary_op *out);

CLS_END_DECLS

#endif
