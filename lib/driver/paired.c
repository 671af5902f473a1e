/* SPDX-License-Identifier: MIT */
#include "driver/paired.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct paired paired_judge(double *ratios, size_t rounds, double margin) {
    if (!rounds)
        return (struct paired){1, true};
    qsort(ratios, rounds, sizeof *ratios, by_value);
    double low = ratios[rounds / 5], high = ratios[rounds - 1 - rounds / 5];
    return (struct paired){low, low > margin || high <= margin};
}
