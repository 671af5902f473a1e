/* SPDX-License-Identifier: MIT */
/*
 * Elements of the float types. Those of 16 bits by integer code, digit by digit from their definition, which shares
 * nothing with the library's.
 */
#include "reference.h"

#include <stdint.h>
#include <string.h>

/* Bits of the fraction, and the power of two of the least normal number and of the least that is infinite. */
struct narrow {
    unsigned fraction;
    int least;
    int infinite;
};

static const struct narrow f16 = {10, -14, 16}, bf16 = {7, -126, 128};

static double power_of_two(int exponent) {
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint16_t infinity_of(const struct narrow *type) {
    return (uint16_t)((type->infinite - type->least + 1) << type->fraction);
}

static double widen(const struct narrow *type, uint16_t bits) {
    const unsigned size = bits & 0x7fffu, exponent = size >> type->fraction;
    const unsigned fraction = size & ((1u << type->fraction) - 1);
    const double unit = power_of_two(type->least - (int)type->fraction);
    double value;
    if (size > infinity_of(type))
        value = 0.0 / 0.0;
    else if (size == infinity_of(type))
        value = 1 / 0.0;
    else if (exponent == 0)
        value = fraction * unit;
    else
        value = (fraction + (1u << type->fraction)) * unit * power_of_two((int)exponent - 1);
    return bits & 0x8000u ? -value : value;
}

/* The digits of |value| are taken one at a time, from the largest that the type has; whether to go up is seen from what
 * is left at the end. */
static uint16_t nearest(const struct narrow *type, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 63 << 15);
    double left = bits >> 63 ? -value : value;
    if (value != value)
        return (uint16_t)(sign | infinity_of(type) | 1u << (type->fraction - 1));
    if (left >= power_of_two(type->infinite))
        return sign | infinity_of(type);
    int exponent = type->least;
    while (exponent + 1 < type->infinite && left >= power_of_two(exponent + 1))
        exponent++;
    uint32_t digits = 0;
    for (int place = exponent; place >= exponent - (int)type->fraction; place--) {
        const bool set = left >= power_of_two(place);
        left -= set ? power_of_two(place) : 0; /* exact */
        digits = digits << 1 | set;
    }
    const double half = power_of_two(exponent - (int)type->fraction - 1);
    digits += left > half || (left == half && digits & 1);
    return (uint16_t)(sign | (digits + ((uint32_t)(exponent - type->least) << type->fraction)));
}

bool reference_is_float(cls_dtype type) {
    return type == CLS_F32 || type == CLS_F64 || type == CLS_F16 || type == CLS_BF16;
}

double reference_float(cls_dtype type, const void *array, size_t i) {
    if (type == CLS_F32)
        return (double)((const float *)array)[i];
    if (type == CLS_F64)
        return ((const double *)array)[i];
    return widen(type == CLS_F16 ? &f16 : &bf16, ((const uint16_t *)array)[i]);
}

void reference_put_float(cls_dtype type, void *array, size_t i, double value) {
    if (type == CLS_F32)
        ((float *)array)[i] = (float)value;
    else if (type == CLS_F64)
        ((double *)array)[i] = value;
    else
        ((uint16_t *)array)[i] = nearest(type == CLS_F16 ? &f16 : &bf16, value);
}
