/* SPDX-License-Identifier: MIT */
/**
 * @file unary.h
 * Functions of one array, with and without a parameter. Typed names (cls_relu_f32 ...) are in
 * typed.h; common rules are in cast.h.
 *
 * Input and output have the same type. Every operation takes f32, f64, f16 and bf16. Operations marked
 * "all types" take the integers too, with arithmetic modulo 2 to the power of the width. NaN gives NaN
 * unless stated otherwise. Error bounds are in units in the last place (ULP) of the correctly
 * rounded result, for f32; f64 has the same bounds or better. "Exact" means correctly rounded: the
 * same bits on every device.
 *
 * f16 and bf16 are calculated in f32, and that result is rounded once more: the error is at most 1 ULP of f16
 * or bf16 where f32 has a bound, and an exact result of f32 becomes the same bits on every device.
 */
#ifndef CLSTREAM_UNARY_H
#define CLSTREAM_UNARY_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Operations without a parameter. */
typedef enum cls_unary_op {
    /** x. All types; exact, NaN payloads included. */
    CLS_UNARY_COPY = 1,
    /** -x. All types; exact. Exchanges 0 and -0; the least integer is unchanged. */
    CLS_UNARY_NEG = 2,
    /** 1 / x. 3 ULP. +-0 gives +-infinity, and +-infinity gives +-0. */
    CLS_UNARY_RECIP = 3,
    /**
     * e^x. 3 ULP. -infinity gives 0. f64 may give infinity from 709.782711 on, just below the end
     * of the range at 709.7827129.
     */
    CLS_UNARY_EXP = 4,
    /** The natural logarithm. 3 ULP. +-0 gives -infinity, negative x gives NaN. */
    CLS_UNARY_LOG = 5,
    /** The sine of x radians. 4 ULP over the whole range. +-infinity gives NaN; -0 stays -0. */
    CLS_UNARY_SIN = 6,
    /** The cosine of x radians. 4 ULP over the whole range. +-infinity gives NaN. */
    CLS_UNARY_COS = 7,
    /** The hyperbolic tangent. 5 ULP. */
    CLS_UNARY_TANH = 8,
    /** The error function. 16 ULP. */
    CLS_UNARY_ERF = 9,
    /** x rounded up to an integer. All types; exact. Values in (-1, 0) give -0. */
    CLS_UNARY_CEIL = 10,
    /** x rounded down to an integer. All types; exact. -0 gives -0. */
    CLS_UNARY_FLOOR = 11,
    /**
     * x rounded to the nearest integer, ties away from zero, like C's round(). All types; exact.
     * Keeps the sign of 0.
     */
    CLS_UNARY_ROUND = 12,
    /** The cumulative normal distribution, erfc(-x / sqrt 2) / 2. 20 + 2 x^2 ULP. */
    CLS_UNARY_NORMCDF = 13,
    /** |x|. All types; exact. The least integer is unchanged. */
    CLS_UNARY_ABS = 14,
    /** x * x. All types; exact. */
    CLS_UNARY_SQR = 15,
    /** The square root. 3 ULP. -0 gives -0, negative x gives NaN. */
    CLS_UNARY_SQRT = 16,
    /**
     * 0.5 x (1 + tanh u) with u = sqrt(2 / pi) (x + 0.044715 x^3), computed as x / (1 + e^-2u).
     * 12 + 8 |u| ULP. -infinity gives -0.
     */
    CLS_UNARY_GELU = 17,
    /**
     * x normcdf(x), the exact form. 22 + 2 x^2 ULP where erfc(-x / sqrt 2) is a normal number (f32 and
     * bf16: x above -12.9; f64: above -37.5). Below that the error is at most |x| times the smallest
     * normal number. -infinity gives -0.
     */
    CLS_UNARY_GELU_ERF = 18,
    /** x if x > 0, else +0; NaN gives NaN. All types; exact. */
    CLS_UNARY_RELU = 19,
    /** x sigmoid(x) = x / (1 + e^-x). 12 ULP. -infinity gives -0. */
    CLS_UNARY_SILU = 20,
    /** 1 if x > 0, -1 if x < 0, +0 for +-0; NaN gives NaN. All types; exact. */
    CLS_UNARY_SIGN = 21,
    /** 1 / (1 + e^-x). 8 ULP. */
    CLS_UNARY_SIGMOID = 22
} cls_unary_op;

/** out[i] = op(in[i]). */
CLS_API cls_status cls_unary(cls_unary_op op, cls_array in, cls_array out, cls_stream stream);
/** Like cls_unary; only submits. */
CLS_API cls_status cls_unary_async(cls_unary_op op, cls_array in, cls_array out, cls_stream stream);

/**
 * Operations with a parameter p. It is first converted to the arrays' type, as in cls_cast:
 * truncated and saturated for integers. The typed names take it in the arrays' type, for f16 and bf16 the
 * bits of an element.
 */
typedef enum cls_unary_param_op {
    /** x if x > 0, else p (e^x - 1), computed by expm1. 5 ULP. */
    CLS_UNARY_ELU = 1,
    /** x to the power p. 16 ULP. Special cases as in C's pow(): x^0 and 1^p are 1, also for NaN. */
    CLS_UNARY_POWF = 2,
    /** x if x > 0, else p x. Exact. */
    CLS_UNARY_LEAKY_RELU = 3,
    /** x p. All types; exact. */
    CLS_UNARY_SCALE = 4,
    /** x + p. All types; exact. */
    CLS_UNARY_ADD_SCALAR = 5,
    /** p if x < p, else x. A NaN in x gives NaN; if p is NaN, x is unchanged. All types; exact. */
    CLS_UNARY_CLAMP_MIN = 6,
    /** p if x > p, else x. NaN as in CLS_UNARY_CLAMP_MIN. All types; exact. */
    CLS_UNARY_CLAMP_MAX = 7
} cls_unary_param_op;

/** out[i] = op(in[i], param). */
CLS_API cls_status cls_unary_param(cls_unary_param_op op, cls_array in, cls_array out, double param,
                                   cls_stream stream);
/** Like cls_unary_param; only submits. */
CLS_API cls_status cls_unary_param_async(cls_unary_param_op op, cls_array in, cls_array out,
                                         double param, cls_stream stream);

/**
 * Like cls_unary, with the kernel that is registered under `name` (cls_kernel_register), or the
 * library's own of that name ("relu"). A registered kernel may take any two element types. Its
 * parameters are
 *
 *     (global const IN *in, ulong in_offset, global OUT *out, ulong out_offset, ulong count)
 *
 * It is launched as in cls_cast_named.
 * @retval CLS_ERROR_NOT_FOUND neither the context nor the library has a kernel of this name
 */
CLS_API cls_status cls_unary_named(const char *name, cls_array in, cls_array out,
                                   cls_stream stream);
/** Like cls_unary_named; only submits. */
CLS_API cls_status cls_unary_named_async(const char *name, cls_array in, cls_array out,
                                         cls_stream stream);

/**
 * Like cls_unary_param, with a registered kernel or the library's own of that name ("elu"). A
 * registered kernel has the parameters of cls_unary_named, followed by `IN param`.
 * @retval CLS_ERROR_NOT_FOUND neither the context nor the library has a kernel of this name
 */
CLS_API cls_status cls_unary_param_named(const char *name, cls_array in, cls_array out,
                                         double param, cls_stream stream);
/** Like cls_unary_param_named; only submits. */
CLS_API cls_status cls_unary_param_named_async(const char *name, cls_array in, cls_array out,
                                               double param, cls_stream stream);

/** Returns the name of an operation ("gelu_erf"), a static string; "?" for an unknown value. */
CLS_API const char *cls_unary_op_name(cls_unary_op op);
/** Like cls_unary_op_name, for an operation with a parameter. */
CLS_API const char *cls_unary_param_op_name(cls_unary_param_op op);

/**
 * Gets an operation by its name.
 * @retval CLS_ERROR_INVALID_VALUE an argument is null
 * @retval CLS_ERROR_NOT_FOUND     there is no such name
 */
CLS_API cls_status cls_unary_op_parse(const char *name, cls_unary_op *out);
/** Like cls_unary_op_parse, for an operation with a parameter. */
CLS_API cls_status cls_unary_param_op_parse(const char *name, cls_unary_param_op *out);

CLS_END_DECLS

#endif
