/* SPDX-License-Identifier: MIT */
#include "reference.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Every switch over operations names all of them and has no default, so that the compiler asks for one that is added.
 * Built without that warning, one that is forgotten is NaN, which no device's result is taken for.
 */
#define EXACT_UNARY       \
    case CLS_UNARY_COPY:  \
    case CLS_UNARY_NEG:   \
    case CLS_UNARY_CEIL:  \
    case CLS_UNARY_FLOOR: \
    case CLS_UNARY_ROUND: \
    case CLS_UNARY_ABS:   \
    case CLS_UNARY_SQR:   \
    case CLS_UNARY_RELU:  \
    case CLS_UNARY_SIGN
#define INEXACT_UNARY        \
    case CLS_UNARY_RECIP:    \
    case CLS_UNARY_EXP:      \
    case CLS_UNARY_LOG:      \
    case CLS_UNARY_SIN:      \
    case CLS_UNARY_COS:      \
    case CLS_UNARY_TANH:     \
    case CLS_UNARY_ERF:      \
    case CLS_UNARY_NORMCDF:  \
    case CLS_UNARY_SQRT:     \
    case CLS_UNARY_GELU:     \
    case CLS_UNARY_GELU_ERF: \
    case CLS_UNARY_SILU:     \
    case CLS_UNARY_SIGMOID
#define ARITHMETIC_BINARY \
    case CLS_BINARY_ADD:  \
    case CLS_BINARY_SUB:  \
    case CLS_BINARY_MUL:  \
    case CLS_BINARY_DIV:  \
    case CLS_BINARY_MIN:  \
    case CLS_BINARY_MAX:  \
    case CLS_BINARY_POW
#define GRADIENT                       \
    case CLS_BINARY_RELU_GRADIENT:     \
    case CLS_BINARY_GELU_GRADIENT:     \
    case CLS_BINARY_GELU_ERF_GRADIENT: \
    case CLS_BINARY_SILU_GRADIENT:     \
    case CLS_BINARY_SIGMOID_GRADIENT:  \
    case CLS_BINARY_TANH_GRADIENT
#define COMPARISON      \
    case CLS_BINARY_EQ: \
    case CLS_BINARY_NE: \
    case CLS_BINARY_LT: \
    case CLS_BINARY_LE: \
    case CLS_BINARY_GT: \
    case CLS_BINARY_GE

/* sin() and cos() of MinGW-w64 are the processor's instructions, which know pi to 66 bits: of large numbers they make
 * anything. Those of the system's C library are right. */
#if defined(__MINGW32__) && defined(_WIN64) /* 32 bits have other names */
extern double (*__imp_sin)(double), (*__imp_cos)(double);
static long double sin_of_double(long double x) { return __imp_sin((double)x); }
static long double cos_of_double(long double x) { return __imp_cos((double)x); }
#define sin __imp_sin
#define cos __imp_cos
#define sinl sin_of_double
#define cosl cos_of_double
#endif

#define REAL double
#define OF(name) name##_double
#define OF_MATH(name) name
#include "reference_real.h"
#undef REAL
#undef OF
#undef OF_MATH

#define REAL long double
#define OF(name) name##_long
#define OF_MATH(name) name##l
#include "reference_real.h"
#undef REAL
#undef OF
#undef OF_MATH

/* ---- Elements: an integer type's value as an i64, which holds all of them, a float type's as a
 * double. */

static int64_t int_at(cls_dtype type, const void *array, size_t i) {
    switch (type) {
    case CLS_I32:
        return ((const int32_t *)array)[i];
    case CLS_I64:
        return ((const int64_t *)array)[i];
    case CLS_I8:
        return ((const int8_t *)array)[i];
    case CLS_I16:
        return ((const int16_t *)array)[i];
    case CLS_U8:
        return ((const uint8_t *)array)[i];
    case CLS_U16:
        return ((const uint16_t *)array)[i];
    case CLS_U32:
        return ((const uint32_t *)array)[i];
    case CLS_F32:
    case CLS_F64:
    case CLS_F16:
    case CLS_BF16:
        break;
    }
    abort();
}

/* Keeps the low bits, as arithmetic modulo two to the width does. */
static void put_int(cls_dtype type, void *array, size_t i, uint64_t value) {
    switch (type) {
    case CLS_I32:
    case CLS_U32:
        ((uint32_t *)array)[i] = (uint32_t)value;
        break;
    case CLS_I8:
    case CLS_U8:
        ((uint8_t *)array)[i] = (uint8_t)value;
        break;
    case CLS_I16:
    case CLS_U16:
        ((uint16_t *)array)[i] = (uint16_t)value;
        break;
    case CLS_I64:
        ((uint64_t *)array)[i] = value;
        break;
    case CLS_F32:
    case CLS_F64:
    case CLS_F16:
    case CLS_BF16:
        abort();
    }
}

static int64_t least_of(cls_dtype type) {
    return type == CLS_I32   ? INT32_MIN
           : type == CLS_I64 ? INT64_MIN
           : type == CLS_I8  ? INT8_MIN
           : type == CLS_I16 ? INT16_MIN
                             : 0;
}

static int64_t greatest_of(cls_dtype type) {
    return type == CLS_I32   ? INT32_MAX
           : type == CLS_I64 ? INT64_MAX
           : type == CLS_U8  ? UINT8_MAX
           : type == CLS_I8  ? INT8_MAX
           : type == CLS_I16 ? INT16_MAX
           : type == CLS_U16 ? UINT16_MAX
                             : UINT32_MAX;
}

/* ---- cast and where */

static int64_t int_of_float(cls_dtype to, double x) {
    if (isnan(x))
        return 0;
    if (x <= (double)least_of(to))
        return least_of(to);
    /* As a double the greatest i64 is 2^63, the others are themselves. */
    return x >= (double)greatest_of(to) ? greatest_of(to) : (int64_t)x;
}

/* The 53 digits of a double: one that is lost makes the last of them odd, so that what rounds at fewer digits does it
 * as of the integer. */
static double near_double(int64_t x) {
    const int64_t kept = x / 2048 * 2048;
    const bool fits = x < INT64_C(1) << 53 && x > -(INT64_C(1) << 53);
    return fits || kept == x ? (double)x : (double)(kept + (x < 0 ? -1024 : 1024));
}

static void cast_int(cls_dtype to, void *out, size_t i, int64_t x) {
    if (to == CLS_F32)
        ((float *)out)[i] = (float)x;
    else if (to == CLS_F16 || to == CLS_BF16)
        reference_put_float(to, out, i, near_double(x));
    else if (to == CLS_F64)
        ((double *)out)[i] = (double)x;
    else if (x < least_of(to))
        put_int(to, out, i, (uint64_t)least_of(to));
    else
        put_int(to, out, i, (uint64_t)(x > greatest_of(to) ? greatest_of(to) : x));
}

bool reference_cast(cls_dtype from, cls_dtype to, const void *in, void *out, size_t count) {
    if (from == to)
        memmove(out, in, count * cls_dtype_size(to));
    else if (!reference_is_float(from))
        for (size_t i = 0; i < count; i++)
            cast_int(to, out, i, int_at(from, in, i));
    else if (reference_is_float(to))
        for (size_t i = 0; i < count; i++)
            reference_put_float(to, out, i, reference_float(from, in, i));
    else
        for (size_t i = 0; i < count; i++)
            put_int(to, out, i, (uint64_t)int_of_float(to, reference_float(from, in, i)));
    return true;
}

bool reference_where(cls_dtype condition_type, cls_dtype type, const void *condition,
                     const void *if_true, const void *if_false, void *out, size_t count) {
    const size_t size = cls_dtype_size(type);
    if (condition_type != CLS_U8 && condition_type != CLS_I32 && condition_type != CLS_I64)
        return false;
    for (size_t i = 0; i < count; i++) {
        const void *from = int_at(condition_type, condition, i) != 0 ? if_true : if_false;
        memmove((unsigned char *)out + i * size, (const unsigned char *)from + i * size, size);
    }
    return true;
}

/* ---- unary */

static bool is_exact(cls_unary_op op) {
    switch (op) {
    EXACT_UNARY:
        return true;
    INEXACT_UNARY:
        break;
    }
    return false;
}

/* In double, which for smaller types rounds once more without harm: a product of two floats fits. */
static double exact_unary(cls_unary_op op, double x) {
    switch (op) {
    case CLS_UNARY_NEG:
        return -x;
    case CLS_UNARY_CEIL:
        return ceil(x);
    case CLS_UNARY_FLOOR:
        return floor(x);
    case CLS_UNARY_ROUND:
        return round(x);
    case CLS_UNARY_ABS:
        return fabs(x);
    case CLS_UNARY_SQR:
        return x * x;
    case CLS_UNARY_RELU:
        return x <= 0 ? 0 : x;
    case CLS_UNARY_SIGN:
        return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x;
    case CLS_UNARY_COPY:
        return x;
    INEXACT_UNARY:
        break;
    }
    return NAN;
}

static uint64_t int_unary(cls_unary_op op, int64_t x) {
    switch (op) {
    case CLS_UNARY_NEG:
        return 0 - (uint64_t)x;
    case CLS_UNARY_ABS:
        return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    case CLS_UNARY_SQR:
        return (uint64_t)x * (uint64_t)x;
    case CLS_UNARY_RELU:
        return x < 0 ? 0 : (uint64_t)x;
    case CLS_UNARY_SIGN:
        return x > 0 ? 1 : x < 0 ? UINT64_MAX : 0;
    case CLS_UNARY_COPY:
    case CLS_UNARY_CEIL:
    case CLS_UNARY_FLOOR:
    case CLS_UNARY_ROUND:
        return (uint64_t)x;
    INEXACT_UNARY:
        break;
    }
    abort();
}

bool reference_unary(cls_unary_op op, cls_dtype type, const void *in, void *out, size_t count) {
    if (!reference_is_float(type) && !is_exact(op))
        return false;
    if (op == CLS_UNARY_COPY)
        return reference_cast(type, type, in, out, count);
    if (!reference_is_float(type))
        for (size_t i = 0; i < count; i++)
            put_int(type, out, i, int_unary(op, int_at(type, in, i)));
    else if (is_exact(op))
        for (size_t i = 0; i < count; i++)
            reference_put_float(type, out, i, exact_unary(op, reference_float(type, in, i)));
    else if (type != CLS_F64)
        for (size_t i = 0; i < count; i++)
            reference_put_float(type, out, i, unary_double(op, reference_float(type, in, i)));
    else
        for (size_t i = 0; i < count; i++)
            reference_put_float(type, out, i, (double)unary_long(op, reference_float(type, in, i)));
    return true;
}

/* Of glibc's two, powl makes an infinity of (-inf)^(-2^63). */
static double power(cls_dtype type, double a, double b) {
    return type != CLS_F64 || isinf(a) ? pow(a, b) : (double)powl(a, b);
}

/* ---- unary with a parameter */

static double float_param(cls_unary_param_op op, cls_dtype type, double x, double p) {
    switch (op) {
    case CLS_UNARY_ELU:
        if (x > 0)
            return x;
        return type != CLS_F64 ? p * expm1(x) : (double)(p * expm1l(x));
    case CLS_UNARY_POWF:
        return power(type, x, p);
    case CLS_UNARY_LEAKY_RELU:
        return x > 0 ? x : p * x;
    case CLS_UNARY_SCALE:
        return x * p;
    case CLS_UNARY_ADD_SCALAR:
        return x + p;
    case CLS_UNARY_CLAMP_MIN:
        return x < p ? p : x;
    case CLS_UNARY_CLAMP_MAX:
        return x > p ? p : x;
    }
    return NAN;
}

static uint64_t int_param(cls_unary_param_op op, int64_t x, int64_t p) {
    switch (op) {
    case CLS_UNARY_SCALE:
        return (uint64_t)x * (uint64_t)p;
    case CLS_UNARY_ADD_SCALAR:
        return (uint64_t)x + (uint64_t)p;
    case CLS_UNARY_CLAMP_MIN:
        return (uint64_t)(x < p ? p : x);
    case CLS_UNARY_CLAMP_MAX:
        return (uint64_t)(x > p ? p : x);
    case CLS_UNARY_ELU:
    case CLS_UNARY_POWF:
    case CLS_UNARY_LEAKY_RELU:
        break;
    }
    abort();
}

bool reference_unary_param(cls_unary_param_op op, cls_dtype type, const void *in, const void *param,
                           void *out, size_t count) {
    const bool floats_only =
        op == CLS_UNARY_ELU || op == CLS_UNARY_POWF || op == CLS_UNARY_LEAKY_RELU;
    if (reference_is_float(type)) {
        const double p = reference_float(type, param, 0);
        for (size_t i = 0; i < count; i++)
            reference_put_float(type, out, i,
                                float_param(op, type, reference_float(type, in, i), p));
        return true;
    }
    if (floats_only)
        return false;
    const int64_t p = int_at(type, param, 0);
    for (size_t i = 0; i < count; i++)
        put_int(type, out, i, int_param(op, int_at(type, in, i), p));
    return true;
}

/* ---- binary */

double reference_slope(cls_binary_op op, cls_dtype type, double x) {
    return type == CLS_F64 ? (double)slope_long(op, true, x) : slope_double(op, false, x);
}

static double gradient(cls_binary_op op, cls_dtype type, double x, double d) {
    if (op == CLS_BINARY_RELU_GRADIENT)
        return x <= 0 ? 0 : d;
    return type == CLS_F64 ? (double)(d * slope_long(op, true, x)) : d * slope_double(op, false, x);
}

static double float_binary(cls_binary_op op, cls_dtype type, double a, double b) {
    switch (op) {
    case CLS_BINARY_ADD:
        return a + b;
    case CLS_BINARY_SUB:
        return a - b;
    case CLS_BINARY_MUL:
        return a * b;
    case CLS_BINARY_DIV:
        return a / b;
    case CLS_BINARY_MIN:
        return a < b || isnan(a) ? a : b;
    case CLS_BINARY_MAX:
        return a > b || isnan(a) ? a : b;
    case CLS_BINARY_POW:
        return power(type, a, b);
    GRADIENT:
        return gradient(op, type, a, b);
    COMPARISON:
        break;
    }
    return NAN;
}

static uint64_t int_binary(cls_binary_op op, int64_t a, int64_t b) {
    switch (op) {
    case CLS_BINARY_ADD:
        return (uint64_t)a + (uint64_t)b;
    case CLS_BINARY_SUB:
        return (uint64_t)a - (uint64_t)b;
    case CLS_BINARY_MUL:
        return (uint64_t)a * (uint64_t)b;
    case CLS_BINARY_DIV:
        return b == 0 ? 0 : b == -1 ? 0 - (uint64_t)a : (uint64_t)(a / b);
    case CLS_BINARY_MIN:
        return (uint64_t)(a < b ? a : b);
    case CLS_BINARY_MAX:
        return (uint64_t)(a > b ? a : b);
    case CLS_BINARY_POW:
    GRADIENT:
    COMPARISON:
        break;
    }
    abort();
}

/* From how the two compare: any of the flags may be false with a NaN. */
static uint8_t truth(cls_binary_op op, bool less, bool equal, bool greater) {
    switch (op) {
    case CLS_BINARY_EQ:
        return equal;
    case CLS_BINARY_NE:
        return !equal;
    case CLS_BINARY_LT:
        return less;
    case CLS_BINARY_LE:
        return less || equal;
    case CLS_BINARY_GT:
        return greater;
    case CLS_BINARY_GE:
        return greater || equal;
    ARITHMETIC_BINARY:
    GRADIENT:
        break;
    }
    abort();
}

static uint8_t compare_at(cls_binary_op op, cls_dtype type, const void *a, const void *b,
                          size_t i) {
    if (reference_is_float(type)) {
        const double x = reference_float(type, a, i), y = reference_float(type, b, i);
        return truth(op, x<y, x == y, x> y);
    }
    const int64_t x = int_at(type, a, i), y = int_at(type, b, i);
    return truth(op, x<y, x == y, x> y);
}

bool reference_binary(cls_binary_op op, cls_dtype type, const void *a, const void *b, void *out,
                      size_t count) {
    if (!reference_takes(op, type))
        return false;
    if (reference_compares(op))
        for (size_t i = 0; i < count; i++)
            ((uint8_t *)out)[i] = compare_at(op, type, a, b, i);
    else if (reference_is_float(type))
        for (size_t i = 0; i < count; i++)
            reference_put_float(
                type, out, i,
                float_binary(op, type, reference_float(type, a, i), reference_float(type, b, i)));
    else
        for (size_t i = 0; i < count; i++)
            put_int(type, out, i, int_binary(op, int_at(type, a, i), int_at(type, b, i)));
    return true;
}
