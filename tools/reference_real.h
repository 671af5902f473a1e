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
