/* SPDX-License-Identifier: MIT */
#include "reference.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

/* A sum with the rounding errors of its additions carried beside it. */
struct total {
    long double sum;
    long double error;
    long double magnitude; /* the sum of the absolute values */
};

static void add(struct total *to, long double x) {
    const long double sum = to->sum + x, back = sum - to->sum;
    to->error += (to->sum - (sum - back)) + (x - back);
    to->sum = sum;
    to->magnitude += fabsl(x);
}

static long double value_of(const struct total *total) {
    return isfinite(total->sum) ? total->sum + total->error : total->sum;
}

static int64_t int_at(cls_dtype type, const void *array, size_t i) {
    int64_t wide = 0;
    reference_cast(type, CLS_I64, (const unsigned char *)array + i * cls_dtype_size(type), &wide,
                   1);
    return wide;
}

static bool is_narrow(cls_dtype type) { return type == CLS_F16 || type == CLS_BF16; }

/* From the nearest element to the next. */
static double narrow_ulp(cls_dtype type, double magnitude) {
    uint16_t pair[2];
    reference_put_float(type, pair, 0, magnitude);
    pair[1] = (uint16_t)(pair[0] + 1);
    const double ulp = reference_float(type, pair, 1) - reference_float(type, pair, 0);
    return isfinite(ulp) ? ulp : 0;
}

static double ulp_of(cls_dtype type, double x) {
    if (!isfinite(x))
        return 0;
    const double magnitude = fabs(x);
    if (is_narrow(type))
        return narrow_ulp(type, magnitude);
    return type == CLS_F32 ? (double)(nextafterf((float)magnitude, INFINITY) - (float)magnitude)
                           : nextafter(magnitude, INFINITY) - magnitude;
}

static double unit_roundoff(cls_dtype type) {
    return type == CLS_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
}

static double least_normal(cls_dtype type) { return type == CLS_F32 ? (double)FLT_MIN : DBL_MIN; }

/* What summing on a device may be off: half of the bounds in reduce.h comes from the last
 * rounding, the rest grows with the count and the square of the unit. */
static double sum_slack(cls_dtype type, const struct total *total, size_t count) {
    if (is_narrow(type)) /* summed in f32 and rounded once more */
        return sum_slack(CLS_F32, total, count) + ulp_of(type, (double)value_of(total));
    const double unit = unit_roundoff(type), value = (double)value_of(total);
    return 2 * ulp_of(type, value) + least_normal(type) +
           4 * (double)count * unit * unit * (double)total->magnitude;
}

static void sum_floats(cls_dtype type, const void *in, size_t count, bool mean, void *result,
                       double *slack) {
    struct total total = {0, 0, 0};
    for (size_t i = 0; i < count; i++)
        add(&total, reference_float(type, in, i));
    *slack = sum_slack(type, &total, count);
    if (mean) {
        const double value = (double)(value_of(&total) / (long double)count);
        *slack = *slack / (double)count + 3 * ulp_of(type, value);
        reference_put_float(type, result, 0, value);
    } else
        reference_put_float(type, result, 0, (double)value_of(&total));
}

static void sum_ints(cls_dtype type, const void *in, size_t count, bool mean, void *result,
                     double *slack) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (uint64_t)int_at(type, in, i);
    *slack = 0;
    if (mean) {
        const double value = (double)(int64_t)sum / (double)count;
        *slack = 2 * ulp_of(CLS_F64, value);
        *(double *)result = value;
    } else
        *(uint64_t *)result = sum;
}

static bool wants_least(cls_reduce_op op) {
    return op == CLS_REDUCE_MIN || op == CLS_REDUCE_ARGMIN;
}

/* Is element i to be preferred to the best so far? The first NaN beats everything. */
static bool beats(cls_reduce_op op, cls_dtype type, const void *in, size_t i, size_t best) {
    if (reference_is_float(type)) {
        const double x = reference_float(type, in, i), y = reference_float(type, in, best);
        if (isnan(x) || isnan(y))
            return !isnan(y);
        return wants_least(op) ? x < y : x > y;
    }
    const int64_t x = int_at(type, in, i), y = int_at(type, in, best);
    return wants_least(op) ? x < y : x > y;
}

static bool pick(cls_reduce_op op, cls_dtype type, const void *in, size_t count, void *result) {
    size_t best = 0;
    if (count == 0)
        return false;
    for (size_t i = 1; i < count; i++)
        if (beats(op, type, in, i, best))
            best = i;
    if (op == CLS_REDUCE_ARGMAX || op == CLS_REDUCE_ARGMIN)
        *(int64_t *)result = (int64_t)best;
    else
        reference_cast(type, type, (const unsigned char *)in + best * cls_dtype_size(type), result,
                       1);
    return true;
}

static bool is_zero(cls_dtype type, const void *in, size_t i) {
    return reference_is_float(type) ? reference_float(type, in, i) == 0 : int_at(type, in, i) == 0;
}

/* `any` or all. */
static uint8_t truth(bool any, cls_dtype type, const void *in, size_t count) {
    size_t i = 0;
    while (i < count && is_zero(type, in, i) == any)
        i++;
    return any == (i < count);
}

bool reference_reduce(cls_reduce_op op, cls_dtype type, const void *in, size_t count, void *result,
                      double *slack) {
    const bool mean = op == CLS_REDUCE_MEAN;
    if (op == CLS_REDUCE_ANY || op == CLS_REDUCE_ALL) {
        *slack = 0;
        *(uint8_t *)result = truth(op == CLS_REDUCE_ANY, type, in, count);
        return true;
    }
    if (op != CLS_REDUCE_SUM && !mean) {
        *slack = 0;
        return pick(op, type, in, count, result);
    }
    if (reference_is_float(type))
        sum_floats(type, in, count, mean, result, slack);
    else
        sum_ints(type, in, count, mean, result, slack);
    return true;
}

bool reference_dot(cls_dtype type, const void *a, const void *b, size_t count, void *result,
                   double *slack) {
    if (!reference_is_float(type)) {
        uint64_t sum = 0;
        for (size_t i = 0; i < count; i++)
            sum += (uint64_t)int_at(type, a, i) * (uint64_t)int_at(type, b, i);
        *(uint64_t *)result = sum;
        *slack = 0;
        return true;
    }
    struct total total = {0, 0, 0};
    for (size_t i = 0; i < count; i++)
        add(&total, (long double)reference_float(type, a, i) * reference_float(type, b, i));
    *slack = sum_slack(type, &total, count) + (double)count *
                                                  unit_roundoff(is_narrow(type) ? CLS_F32 : type) *
                                                  (double)total.magnitude;
    reference_put_float(type, result, 0, (double)value_of(&total));
    return true;
}
