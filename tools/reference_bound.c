/* SPDX-License-Identifier: MIT */
/* The bounds that unary.h and binary.h state. */
#include "reference.h"

#include <math.h>

/* Beyond this |x| the normal distribution's tail is below the smallest normal number. */
static double tail_end(cls_dtype type) { return type != CLS_F64 ? 13.5 : 38.5; }

/* Below minus this, erfc(-x / sqrt 2) is not a normal number. */
static double erfc_end(cls_dtype type) { return type != CLS_F64 ? 12.9 : 37.5; }

/* |u| of gelu: where e^-2|u| leaves the normal numbers. */
static double gelu_u(cls_dtype type, double x) {
    const double end = type == CLS_F32 ? 44 : 355;
    const double u = fabs(0.7978845608028654 * (x + 0.044715 * x * x * x));
    return u < end ? u : end;
}

/* So near to overflow that drivers' e^x may be infinite already: it is within 2e-9 of that. */
static bool may_overflow(cls_dtype type, double x) { return type == CLS_F64 && x > 709.782711; }

/* Of what is calculated in f32 and rounded once more: that may go to the other of two neighbours. */
static double narrow_bound(double of_f32) { return of_f32 > 0 ? 1 : 0; }

static bool is_narrow(cls_dtype type) { return type == CLS_F16 || type == CLS_BF16; }

double reference_unary_bound(cls_unary_op op, cls_dtype type, double x) {
    if (is_narrow(type)) {
        const double of_f32 = reference_unary_bound(op, CLS_F32, x);
        return type == CLS_BF16 && isinf(of_f32) ? of_f32 : narrow_bound(of_f32);
    }
    const double tail = fmin(fabs(x), tail_end(type));
    if (type != CLS_F32 && type != CLS_F64)
        return 0;
    switch (op) {
    case CLS_UNARY_EXP:
        return may_overflow(type, x) ? 2e7 : 3;
    case CLS_UNARY_RECIP:
    case CLS_UNARY_LOG:
    case CLS_UNARY_SQRT:
        return 3;
    case CLS_UNARY_SIN:
    case CLS_UNARY_COS:
        return 4;
    case CLS_UNARY_TANH:
        return 5;
    case CLS_UNARY_SIGMOID:
        return 8;
    case CLS_UNARY_SILU:
        return 12;
    case CLS_UNARY_ERF:
        return 16;
    case CLS_UNARY_NORMCDF:
        return 20 + 2 * tail * tail;
    case CLS_UNARY_GELU_ERF:
        return x < -erfc_end(type) ? HUGE_VAL : 22 + 2 * tail * tail;
    case CLS_UNARY_GELU:
        return 12 + 8 * gelu_u(type, x);
    case CLS_UNARY_COPY:
    case CLS_UNARY_NEG:
    case CLS_UNARY_CEIL:
    case CLS_UNARY_FLOOR:
    case CLS_UNARY_ROUND:
    case CLS_UNARY_ABS:
    case CLS_UNARY_SQR:
    case CLS_UNARY_RELU:
    case CLS_UNARY_SIGN:
        break;
    }
    return 0;
}

double reference_unary_param_bound(cls_unary_param_op op, cls_dtype type) {
    if (is_narrow(type))
        return narrow_bound(reference_unary_param_bound(op, CLS_F32));
    if (type != CLS_F32 && type != CLS_F64)
        return 0;
    return op == CLS_UNARY_ELU ? 5 : op == CLS_UNARY_POWF ? 16 : 0;
}

/* The sum of the sizes of a derivative's two terms over their sum, `slope`: the first is positive, the second has the
 * sign of x. */
static double cancelled(double slope, double first, double x) {
    return x < 0 && slope != 0 ? (2 * first - slope) / fabs(slope) : 1;
}

static double gradient_bound(cls_binary_op op, cls_dtype type, double x) {
    const double slope = reference_slope(op, type, x), tail = fmin(fabs(x), tail_end(type));
    const double twice_u = 1.5957691216057308 * (x + 0.044715 * x * x * x);
    if (op == CLS_BINARY_GELU_GRADIENT)
        return (24 + 8 * gelu_u(type, x)) * cancelled(slope, 1 / (1 + exp(-twice_u)), x);
    if (op == CLS_BINARY_GELU_ERF_GRADIENT)
        return (24 + 2 * tail * tail) * cancelled(slope, erfc(x * -0.7071067811865476) / 2, x);
    if (op == CLS_BINARY_SILU_GRADIENT)
        return 24 * cancelled(slope, 1 / (1 + exp(-x)), x);
    return op == CLS_BINARY_RELU_GRADIENT ? 0 : 16;
}

double reference_binary_bound(cls_binary_op op, cls_dtype type, double x) {
    if (is_narrow(type))
        return narrow_bound(reference_binary_bound(op, CLS_F32, x));
    if (reference_is_gradient(op))
        return gradient_bound(op, type, x);
    if (op == CLS_BINARY_POW)
        return 16;
    return op == CLS_BINARY_DIV && type == CLS_F32 ? 3 : 0;
}
