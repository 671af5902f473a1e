/* SPDX-License-Identifier: MIT */
#include "ops/even_bins.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/types.h"

/* (part 2^64) / whole, rounded down, where part < whole; *rest becomes what is left. */
static uint64_t fraction_of(uint64_t part, uint64_t whole, uint64_t *rest) {
    uint64_t quotient = 0;
    for (int bit = 0; bit < 64; bit++) {
        const bool carry = part >> 63;
        part <<= 1;
        quotient <<= 1;
        if (carry || part >= whole) {
            part -= whole;
            quotient |= 1;
        }
    }
    *rest = part;
    return quotient;
}

static cls_status even_bins_of_integers(const char *name, int64_t lower, int64_t upper,
                                        uint32_t count, enum bin_rule *rule, uint64_t how[4]) {
    const uint64_t width = (uint64_t)upper - (uint64_t)lower;
    uint64_t rest;
    if (lower >= upper)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: bins from %lld to %lld", name,
                         (long long)lower, (long long)upper);
    *rule = width > (uint64_t)UINT32_MAX + 1 ? BINS_BY_LONGS : BINS_BY_WORDS;
    how[0] = (uint64_t)lower;
    how[1] = width;
    how[2] = *rule == BINS_BY_LONGS ? count : count / width;
    how[3] = fraction_of(count % width, width, &rest);
    if (*rule == BINS_BY_WORDS && rest > 0)
        how[3]++;
    return CLS_SUCCESS;
}

/* NaN is no bound. */
static bool are_bounds(double lower, double upper, double width, double scale, double least) {
    return lower < upper && isfinite(width) && isfinite(scale) && scale >= least;
}

static cls_status even_bins_of_floats(const char *name, cls_dtype dtype, double lower, double upper,
                                      uint32_t count, uint64_t how[4]) {
    const float narrow_lower = (float)lower, narrow_upper = (float)upper;
    const float narrow_width = narrow_upper - narrow_lower;
    const float narrow_scale = (float)count / narrow_width;
    const double width = upper - lower, scale = count / width;
    const double wide[] = {lower, upper, scale};
    const float narrow[] = {narrow_lower, narrow_upper, narrow_scale};
    const bool is_wide = dtype == CLS_F64;
    if (is_wide ? !are_bounds(lower, upper, width, scale, DBL_MIN)
                : !are_bounds((double)narrow_lower, (double)narrow_upper, (double)narrow_width,
                              (double)narrow_scale, (double)FLT_MIN))
        return error_set(CLS_ERROR_INVALID_VALUE, "%s of %s: %u bins from %g to %g", name,
                         cls_dtype_name(dtype), count, lower, upper);
    for (int i = 0; i < 3; i++) {
        uint32_t bits;
        memcpy(&how[i], &wide[i], sizeof how[i]);
        memcpy(&bits, &narrow[i], sizeof bits);
        if (!is_wide)
            how[i] = bits;
    }
    return CLS_SUCCESS;
}

cls_status even_bins(const char *name, cls_dtype dtype, const void *lower, const void *upper,
                     uint32_t count, enum bin_rule *rule, uint64_t how[4]) {
    int64_t integers[2];
    double floats[2];
    if (!type_row(dtype)->is_float) {
        memcpy(&integers[0], lower, sizeof *integers);
        memcpy(&integers[1], upper, sizeof *integers);
        return even_bins_of_integers(name, integers[0], integers[1], count, rule, how);
    }
    memcpy(&floats[0], lower, sizeof *floats);
    memcpy(&floats[1], upper, sizeof *floats);
    *rule = BINS_BY_SCALE;
    return even_bins_of_floats(name, dtype, floats[0], floats[1], count, how);
}
