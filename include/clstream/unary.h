/* SPDX-License-Identifier: MIT */
/**
 * @file unary.h
 * Functions of one array, with and without a parameter. Typed names (cls_relu_f32
 * ...) are in typed.h; common rules are in cast.h.
 *
 * Input and output have one type. Every operation takes f32 and f64; those marked "all types" take
 * the integers too, where arithmetic wraps around modulo two to the width. NaN gives NaN unless
 * said otherwise. Bounds are in units in the last place (ULP) of the correctly rounded result, for
 * f32; f64 has the same bounds or better. "Exact" is correctly rounded, the same bits on every
 * device.
 */
#ifndef CLSTREAM_UNARY_H
#define CLSTREAM_UNARY_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Operations without a parameter. */
typedef enum cls_unary_op {
    /** x. All types; exact, NaN payloads included. */
    CLS_UNARY_COPY = 1,
    /** -x. All types; exact. -0 and 0 change places; the least integer stays. */
    CLS_UNARY_NEG = 2,
    /** 1 / x. 3 ULP. 1 / +-0 is +-infinity and back. */
    CLS_UNARY_RECIP = 3,
    /** e^x. 3 ULP. -infinity gives 0. Of an f64 above 709.782711, where the largest number is 2e-9
     * away, it may be infinite. */
    CLS_UNARY_EXP = 4,
    /** The natural logarithm. 3 ULP. +-0 gives -infinity, below 0 NaN. */
    CLS_UNARY_LOG = 5,
    /** The sine of x radians. 4 ULP over the whole range. +-infinity gives NaN; -0 stays -0. */
    CLS_UNARY_SIN = 6,
    /** The cosine of x radians. 4 ULP over the whole range. +-infinity gives NaN. */
    CLS_UNARY_COS = 7,
    /** The hyperbolic tangent. 5 ULP. */
    CLS_UNARY_TANH = 8,
    /** The error function. 16 ULP. */
    CLS_UNARY_ERF = 9,
    /** The least integer not below x. All types; exact; values in (-1, 0) give -0. */
    CLS_UNARY_CEIL = 10,
    /** The greatest integer not above x. All types; exact; -0 stays -0. */
    CLS_UNARY_FLOOR = 11,
    /** The nearest integer, halves away from zero, as C's round(). All types; exact; keeps the sign of 0. */
    CLS_UNARY_ROUND = 12,
    /** The normal distribution function, erfc(-x / sqrt 2) / 2. 20 + 2 x^2 ULP. */
    CLS_UNARY_NORMCDF = 13,
    /** |x|. All types; exact. The least integer stays. */
    CLS_UNARY_ABS = 14,
    /** x * x. All types; exact. */
    CLS_UNARY_SQR = 15,
    /** The square root. 3 ULP. -0 stays -0, below 0 NaN. */
    CLS_UNARY_SQRT = 16,
    /**
     * 0.5 x (1 + tanh u) with u = sqrt(2 / pi) (x + 0.044715 x^3), computed as x / (1 + e^-2u).
     * 12 + 8 |u| ULP. -infinity gives -0.
     */
    CLS_UNARY_GELU = 17,
    /**
     * x normcdf(x), the exact form. 22 + 2 x^2 ULP where erfc(-x / sqrt 2) is a normal number (f32:
     * x above -12.9; f64: above -37.5), below that off by at most |x| times the smallest one.
     * -infinity gives -0.
     */
    CLS_UNARY_GELU_ERF = 18,
    /** x above 0, else +0; NaN stays NaN. All types; exact. */
    CLS_UNARY_RELU = 19,
    /** x sigmoid(x) = x / (1 + e^-x). 12 ULP. -infinity gives -0. */
    CLS_UNARY_SILU = 20,
    /** 1 above 0, -1 below, +0 at +-0; NaN stays NaN. All types; exact. */
    CLS_UNARY_SIGN = 21,
    /** 1 / (1 + e^-x). 8 ULP. */
    CLS_UNARY_SIGMOID = 22
} cls_unary_op;

/** out[i] = op(in[i]). */
CLS_API cls_status cls_unary(cls_unary_op op, cls_array in, cls_array out, cls_stream stream);
/** As cls_unary; only submits. */
CLS_API cls_status cls_unary_async(cls_unary_op op, cls_array in, cls_array out, cls_stream stream);

/**
 * Operations with a parameter p. It is converted to the arrays' type first, as cls_cast converts:
 * for integers it is truncated and saturated. The typed names take it in the arrays' type.
 */
typedef enum cls_unary_param_op {
    /** x above 0, else p (e^x - 1) by expm1. 5 ULP. */
    CLS_UNARY_ELU = 1,
    /** x to the power p. 16 ULP; special cases as C's pow(): x^0 and 1^p are 1, NaN included. */
    CLS_UNARY_POWF = 2,
    /** x above 0, else p x. Exact. */
    CLS_UNARY_LEAKY_RELU = 3,
    /** x p. All types; exact. */
    CLS_UNARY_SCALE = 4,
    /** x + p. All types; exact. */
    CLS_UNARY_ADD_SCALAR = 5,
    /** p where x is below p, else x; NaN of x stays, NaN of p changes nothing. All types; exact. */
    CLS_UNARY_CLAMP_MIN = 6,
    /** p where x is above p, else x; NaN as with clamp_min. All types; exact. */
    CLS_UNARY_CLAMP_MAX = 7
} cls_unary_param_op;

/** out[i] = op(in[i], param). */
CLS_API cls_status cls_unary_param(cls_unary_param_op op, cls_array in, cls_array out, double param,
                                   cls_stream stream);
/** As cls_unary_param; only submits. */
CLS_API cls_status cls_unary_param_async(cls_unary_param_op op, cls_array in, cls_array out,
                                         double param, cls_stream stream);

/**
 * As cls_unary by the kernel registered under `name` (cls_kernel_register), or by the library's own
 * of that name ("relu"). A registered kernel may take any two element types. Its parameters are
 *
 *     (global const IN *in, ulong in_offset, global OUT *out, ulong out_offset, ulong count)
 *
 * and its launch is as with cls_cast_named.
 * @retval CLS_ERROR_NOT_FOUND neither a registered kernel nor one of the library's own
 */
CLS_API cls_status cls_unary_named(const char *name, cls_array in, cls_array out,
                                   cls_stream stream);
/** As cls_unary_named; only submits. */
CLS_API cls_status cls_unary_named_async(const char *name, cls_array in, cls_array out,
                                         cls_stream stream);

/**
 * As cls_unary_param by a registered kernel or by the library's own of that name ("elu"). A
 * registered kernel has the parameters of cls_unary_named and one more, last: `IN param`.
 * @retval CLS_ERROR_NOT_FOUND neither a registered kernel nor one of the library's own
 */
CLS_API cls_status cls_unary_param_named(const char *name, cls_array in, cls_array out,
                                         double param, cls_stream stream);
/** As cls_unary_param_named; only submits. */
CLS_API cls_status cls_unary_param_named_async(const char *name, cls_array in, cls_array out,
                                               double param, cls_stream stream);

/** The name of an operation ("gelu_erf"); "?" for a value that is none. A static string. */
CLS_API const char *cls_unary_op_name(cls_unary_op op);
/** As cls_unary_op_name, of an operation with a parameter. */
CLS_API const char *cls_unary_param_op_name(cls_unary_param_op op);

/**
 * Finds an operation by its name.
 * @retval CLS_ERROR_INVALID_VALUE a null argument
 * @retval CLS_ERROR_NOT_FOUND     no such name
 */
CLS_API cls_status cls_unary_op_parse(const char *name, cls_unary_op *out);
/** As cls_unary_op_parse, for an operation with a parameter. */
CLS_API cls_status cls_unary_param_op_parse(const char *name, cls_unary_param_op *out);

CLS_END_DECLS

#endif
