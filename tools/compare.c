/* SPDX-License-Identifier: MIT */
#include "compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "low_bytes.h"
#include "reference.h"

static uint64_t bits_at(const void *array, size_t size, size_t i) {
    return low_bytes_read((const unsigned char *)array + i * size, size);
}

/* Floats of one sign are ordered as their bits are; this puts both signs on one line, both zeros
 * at 0. */
static int64_t line_position(uint64_t bits, unsigned width) {
    const uint64_t sign = (uint64_t)1 << (width - 1);
    const int64_t magnitude = (int64_t)(bits & (sign - 1));
    return bits & sign ? -magnitude : magnitude;
}

static uint64_t magnitude_of(uint64_t bits, cls_dtype dtype) {
    return bits & (((uint64_t)1 << (8 * cls_dtype_size(dtype) - 1)) - 1);
}

static uint64_t infinity_of(cls_dtype dtype) {
    return dtype == CLS_F32    ? 0x7f800000u
           : dtype == CLS_F16  ? 0x7c00u
           : dtype == CLS_BF16 ? 0x7f80u
                               : 0x7ff0000000000000u;
}

static bool is_nan_bits(uint64_t bits, cls_dtype dtype) {
    return magnitude_of(bits, dtype) > infinity_of(dtype);
}

static bool is_inf_bits(uint64_t bits, cls_dtype dtype) {
    return magnitude_of(bits, dtype) == infinity_of(dtype);
}

/* Exact also where doubles lie further apart than the two numbers. */
static double distance(int64_t a, int64_t b) {
    return (double)(a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a);
}

static double float_error(cls_dtype dtype, uint64_t got, uint64_t expected) {
    const unsigned width = 8 * (unsigned)cls_dtype_size(dtype);
    if (is_nan_bits(got, dtype) || is_nan_bits(expected, dtype))
        return is_nan_bits(got, dtype) == is_nan_bits(expected, dtype) ? 0 : HUGE_VAL;
    /* An overflow is as wrong as the value it stands for: one step past the largest is one ULP
     * only in the bits, so an infinity on one side alone has no distance. */
    if (is_inf_bits(got, dtype) != is_inf_bits(expected, dtype))
        return HUGE_VAL;
    return distance(line_position(got, width), line_position(expected, width));
}

/* A zero of either sign where a number below the smallest normal one belongs. Those of f16 are normal in f32, in which
 * the device calculates. */
static bool is_flushed(cls_dtype dtype, uint64_t got, uint64_t expected) {
    const uint64_t normal = dtype == CLS_F32    ? 0x00800000u
                            : dtype == CLS_BF16 ? 0x0080u
                            : dtype == CLS_F64  ? 0x0010000000000000u
                                                : 0;
    const uint64_t magnitude = magnitude_of(expected, dtype);
    return magnitude_of(got, dtype) == 0 && magnitude != 0 && magnitude < normal;
}

/* The others are the same number without their sign. */
static int64_t integer_of(cls_dtype dtype, uint64_t bits) {
    return dtype == CLS_I8    ? (int8_t)(uint8_t)bits
           : dtype == CLS_I16 ? (int16_t)(uint16_t)bits
           : dtype == CLS_I32 ? (int32_t)(uint32_t)bits
                              : (int64_t)bits;
}

static double integer_error(cls_dtype dtype, uint64_t got, uint64_t expected) {
    return distance(integer_of(dtype, got), integer_of(dtype, expected));
}

/* The error of one pair whose bits differ. */
static double error_of(cls_dtype dtype, uint64_t got, uint64_t expected, double bound) {
    if (!reference_is_float(dtype))
        return integer_error(dtype, got, expected);
    if (is_flushed(dtype, got, expected))
        return 0;
    const double error = float_error(dtype, got, expected);
    const bool both_nan = is_nan_bits(got, dtype) && is_nan_bits(expected, dtype);
    /* Different bits at distance 0: NaNs, or zeros of two signs, which only a bound forgives. */
    return error > 0 || both_nan || bound > 0 ? error : 1;
}

static void note(struct comparison *result, size_t i, double error, double bound) {
    if (result->within && (error > bound || error > result->worst))
        result->at = i;
    if (error > bound)
        result->within = false;
    if (error > result->worst)
        result->worst = error;
    if (bound > 0 && error / bound > result->of_bound)
        result->of_bound = error / bound;
}

struct comparison compare_arrays(cls_dtype dtype, const void *got, const void *expected,
                                 const float *bounds, size_t count) {
    const size_t size = cls_dtype_size(dtype);
    struct comparison result = {.within = true};

    if (memcmp(got, expected, count * size) == 0)
        return result;
    for (size_t i = 0; i < count; i++) {
        const uint64_t a = bits_at(got, size, i), b = bits_at(expected, size, i);
        const double bound = bounds ? (double)bounds[i] : 0;
        const double error = a == b ? 0 : error_of(dtype, a, b, bound);
        note(&result, i, error, bound);
    }
    return result;
}

const char *element_format(cls_dtype dtype, const void *array, size_t i, char text[ELEMENT_TEXT]) {
    const uint64_t bits = bits_at(array, cls_dtype_size(dtype), i);
    float single;
    double number;
    switch (dtype) {
    case CLS_F32:
        low_bytes_write(&single, sizeof single, bits);
        snprintf(text, ELEMENT_TEXT, "%.9g", (double)single);
        break;
    case CLS_F64:
        memcpy(&number, &bits, sizeof number);
        snprintf(text, ELEMENT_TEXT, "%.17g", number);
        break;
    case CLS_F16:
    case CLS_BF16:
        snprintf(text, ELEMENT_TEXT, "%.5g", reference_float(dtype, array, i));
        break;
    case CLS_I8:
    case CLS_I16:
    case CLS_I32:
    case CLS_I64:
        snprintf(text, ELEMENT_TEXT, "%" PRId64, integer_of(dtype, bits));
        break;
    default:
        snprintf(text, ELEMENT_TEXT, "%" PRIu64, bits);
    }
    return text;
}
