/* SPDX-License-Identifier: MIT */
/*
 * The functions that are not exact, in the precision REAL with names made by OF(); included once
 * for each. No include guard: reference.c defines both and includes this twice.
 */

static REAL OF(sigmoid)(REAL x) { return 1 / (1 + OF_MATH(exp)(-x)); }

static REAL OF(normcdf)(REAL x) {
    return OF_MATH(erfc)(x * (REAL)-0.70710678118654752440084436210485L) / 2;
}

/* x y, or its limit where y is 0 because x is minus infinity. */
static REAL OF(limited)(REAL x, REAL y) { return x < 0 && isinf(x) ? -(REAL)0 : x * y; }

static REAL OF(gelu)(REAL x) {
    const REAL twice_u =
        (REAL)1.5957691216057307117597842397375L * (x + (REAL)0.044715L * x * x * x);
    return OF(limited)(x, OF(sigmoid)(twice_u));
}

/* s (1 + w (1 - s)), s being the sigmoid of t; 0 below `end`. */
static REAL OF(gated)(REAL t, REAL w, REAL end) {
    if (t < end)
        return 0;
    return t > -end ? 1 : OF(sigmoid)(t) * (1 + w * OF(sigmoid)(-t));
}

static REAL OF(gelu_slope)(REAL x, REAL end) {
    const REAL factor = (REAL)1.5957691216057307117597842397375L, cubic = (REAL)0.044715L * x * x;
    return OF(gated)(factor * x * (1 + cubic), factor * x * (1 + 3 * cubic), end);
}

static REAL OF(gelu_erf_slope)(REAL x, REAL end) {
    if (x < end)
        return 0;
    return x > -end ? 1
                    : OF(normcdf)(x) +
                          x * OF_MATH(exp)(-x * x / 2) * (REAL)0.39894228040143267793994605993438L;
}

/* The derivative of an activation, with the ends that binary.h says. */
static REAL OF(slope)(cls_binary_op op, bool is_f64, REAL x) {
    const REAL end = is_f64 ? -708 : -86;
    switch (op) {
    case CLS_BINARY_GELU_GRADIENT:
        return OF(gelu_slope)(x, end);
    case CLS_BINARY_GELU_ERF_GRADIENT:
        return OF(gelu_erf_slope)(x, is_f64 ? (REAL)-37.5L : (REAL)-12.9F);
    case CLS_BINARY_SILU_GRADIENT:
        return OF(gated)(x, x, end);
    case CLS_BINARY_SIGMOID_GRADIENT:
        return -fabs((double)x) < end ? 0 : OF(sigmoid)(x) * OF(sigmoid)(-x);
    case CLS_BINARY_TANH_GRADIENT:
        return -2 * fabs((double)x) < end ? 0 : 1 / (OF_MATH(cosh)(x) * OF_MATH(cosh)(x));
    case CLS_BINARY_RELU_GRADIENT:
    ARITHMETIC_BINARY:
    COMPARISON:
        break;
    }
    return NAN;
}

static REAL OF(unary)(cls_unary_op op, REAL x) {
    switch (op) {
    case CLS_UNARY_RECIP:
        return 1 / x;
    case CLS_UNARY_EXP:
        return OF_MATH(exp)(x);
    case CLS_UNARY_LOG:
        return OF_MATH(log)(x);
    case CLS_UNARY_SIN:
        return OF_MATH(sin)(x);
    case CLS_UNARY_COS:
        return OF_MATH(cos)(x);
    case CLS_UNARY_TANH:
        return OF_MATH(tanh)(x);
    case CLS_UNARY_ERF:
        return OF_MATH(erf)(x);
    case CLS_UNARY_NORMCDF:
        return OF(normcdf)(x);
    case CLS_UNARY_SQRT:
        return OF_MATH(sqrt)(x);
    case CLS_UNARY_GELU:
        return OF(gelu)(x);
    case CLS_UNARY_GELU_ERF:
        return OF(limited)(x, OF(normcdf)(x));
    case CLS_UNARY_SILU:
        return OF(limited)(x, OF(sigmoid)(x));
    case CLS_UNARY_SIGMOID:
        return OF(sigmoid)(x);
    EXACT_UNARY:
        break;
    }
    return NAN;
}
