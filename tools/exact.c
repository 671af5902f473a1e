/* SPDX-License-Identifier: MIT */
#include "exact.h"

#include <stdint.h>

int exact_element(size_t i, unsigned which) {
    return (int)((uint32_t)(i + which) * 2654435769u >> 29) - 4;
}

static int sum_of(const struct exact_product *p, size_t i, size_t j) {
    int sum = 0;
    for (size_t l = 0; l < p->k; l++)
        sum += exact_element(p->ta ? l * p->m + i : i * p->k + l, 0) *
               exact_element(p->tb ? j * p->k + l : l * p->n + j, 1);
    return sum;
}

bool exact_is_right(const struct exact_product *p, cls_dtype dtype, const void *c, size_t samples) {
    for (size_t s = 0; s < samples; s++) {
        const size_t i = s % 3 ? s * 7919 % p->m : p->m - 1,
                     j = s % 5 ? s * 104729 % p->n : p->n - 1, at = i * p->n + j;
        const double seen =
            dtype == CLS_F64 ? ((const double *)c)[at] : (double)((const float *)c)[at];
        if (seen != sum_of(p, i, j))
            return false;
    }
    return true;
}
