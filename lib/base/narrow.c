/* SPDX-License-Identifier: MIT */
#include "base/narrow.h"

#include <string.h>

/* A format by the bits of its fraction and the bias of its exponent, whose largest value is twice that, and one more. */
struct narrow_format {
    int fraction;
    int bias;
};

enum { FRACTION = 52, BIAS = 1023, LARGEST = 2047 };

static uint64_t shift_to_nearest(uint64_t value, int by) {
    const uint64_t half = UINT64_C(1) << (by - 1), kept = value >> by;
    const uint64_t rest = value & (2 * half - 1);
    return kept + (rest > half || (rest == half && kept & 1));
}

/* Integer code, which no rounding mode of the caller's thread changes. */
static uint16_t narrow_to(struct narrow_format to, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t sign = bits >> 63 << 15, fraction = bits & ((UINT64_C(1) << FRACTION) - 1);
    const int exponent = (int)(bits >> FRACTION & LARGEST);
    const uint64_t infinity = (uint64_t)(2 * to.bias + 1) << to.fraction;
    if (exponent == LARGEST && fraction)
        return (uint16_t)(sign | infinity | UINT64_C(1) << (to.fraction - 1));
    /* Of a normal number the leading 1 counts the exponent up once. */
    const int above = exponent - BIAS + to.bias - 1, tiny = above < 0 ? -above : 0;
    const int drop = FRACTION - to.fraction + tiny;
    const uint64_t digits =
        drop > FRACTION + 2 ? 0 : shift_to_nearest(fraction | UINT64_C(1) << FRACTION, drop);
    const uint64_t size = digits + ((uint64_t)(above + tiny) << to.fraction);
    return (uint16_t)(sign | (size < infinity ? size : infinity));
}

uint16_t narrow_f16(double value) { return narrow_to((struct narrow_format){10, 15}, value); }

uint16_t narrow_bf16(double value) { return narrow_to((struct narrow_format){7, 127}, value); }

/* Every such element is a normal number of f64, or 0. */
static double wide_of(struct narrow_format from, uint16_t element) {
    const uint64_t sign = (uint64_t)(element >> 15) << 63;
    const uint64_t size = element & UINT64_C(0x7fff), one = UINT64_C(1) << from.fraction;
    const uint64_t exponent = size >> from.fraction, up = (uint64_t)(FRACTION - from.fraction);
    const uint64_t least = (uint64_t)(BIAS - from.bias + 1) << FRACTION;
    const uint64_t infinite = exponent == (uint64_t)(2 * from.bias + 1) ? LARGEST : 0;
    const uint64_t bits = infinite   ? infinite << FRACTION | (size & (one - 1)) << up
                          : exponent ? (size << up) + ((uint64_t)(BIAS - from.bias) << FRACTION)
                                     : least | size << up;
    double value, unit;
    memcpy(&value, &bits, sizeof value);
    memcpy(&unit, &least, sizeof unit);
    if (!exponent)
        value -= unit;
    return sign ? -value : value;
}

double wide_of_f16(uint16_t bits) { return wide_of((struct narrow_format){10, 15}, bits); }

double wide_of_bf16(uint16_t bits) { return wide_of((struct narrow_format){7, 127}, bits); }
