/* SPDX-License-Identifier: MIT */
/**
 * @file binary.h
 * Functions of two arrays, element by element. Typed names (cls_add_f32, cls_lt_i64 ...) are in
 * typed.h; common rules are in cast.h.
 *
 * Both inputs have the same type. The output has it too, except that comparisons give u8. Integer
 * arithmetic is modulo 2 to the power of the width. f16 and bf16 are calculated in f32 and rounded once
 * more, as in unary.h: at most 1 ULP where f32 has a bound, else the same bits on every device.
 *
 * The gradients are backward passes of activations. a is the input x of an activation f, b the gradient dy of a loss by
 * f(x), and the result is dy f'(x), the gradient by x. They take floating-point types.
 * - Each constant states f'(x). "ULP of the terms" are those of |dy| times the sum of the sizes of the two terms of f', which
 *   cancel where f' is 0.
 * - f'(x) counts as 0 for t below -86 (f64: -708), where t is x for silu, 2u for gelu, -|x| for sigmoid and -2|x| for
 *   tanh, and for x below -12.9 (f64: -37.5) for gelu_erf.
 * - For +infinity gelu, gelu_erf and silu give dy, sigmoid and tanh 0 dy. For -infinity all of these give 0 dy.
 * - NaN in x or dy gives NaN, and so does an infinite dy where f'(x) is 0. CLS_BINARY_RELU_GRADIENT differs.
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
    CLS_BINARY_GE = 13, /**< a >= b */
    /**
     * Of CLS_UNARY_RELU: dy if x > 0, else +0 whatever dy is, as PyTorch's threshold_backward; NaN in x gives dy. relu(x)
     * may stand for x. Exact.
     */
    CLS_BINARY_RELU_GRADIENT = 14,
    /**
     * Of CLS_UNARY_GELU: s + s (1 - s) w with s = sigmoid(2u) and w = 2 x du/dx. PyTorch's gelu_backward with
     * approximate="tanh". 24 + 8 |u| ULP of the terms.
     */
    CLS_BINARY_GELU_GRADIENT = 15,
    /**
     * Of CLS_UNARY_GELU_ERF: normcdf(x) + x e^(-x^2 / 2) / sqrt(2 pi). PyTorch's gelu_backward. 24 + 2 x^2 ULP of the
     * terms.
     */
    CLS_BINARY_GELU_ERF_GRADIENT = 16,
    /** Of CLS_UNARY_SILU: s + s (1 - s) x with s = sigmoid(x). PyTorch's silu_backward. 24 ULP of the terms. */
    CLS_BINARY_SILU_GRADIENT = 17,
    /** Of CLS_UNARY_SIGMOID: s (1 - s) with s = sigmoid(x). The input is x, not s. 16 ULP. */
    CLS_BINARY_SIGMOID_GRADIENT = 18,
    /** Of CLS_UNARY_TANH: 1 - tanh(x)^2. The input is x, not tanh(x). 16 ULP. */
    CLS_BINARY_TANH_GRADIENT = 19
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
