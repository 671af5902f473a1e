/* SPDX-License-Identifier: MIT */
/* Products of matrices of small integers, whose sums are exact in every order and in every type of products. */
#ifndef CLSTREAM_TOOLS_EXACT_H
#define CLSTREAM_TOOLS_EXACT_H

#include <stdbool.h>

#include <clstream/types.h>

/* Rows, columns and inner length; whether a and b lie transposed. */
struct exact_product {
    size_t m, n, k;
    bool ta, tb;
};

/* Element `i` of a (0) or b (1): -4 to 3. */
int exact_element(size_t i, unsigned which);

/* Compares so many elements of c, f32 or f64, the last row and column among them. */
bool exact_is_right(const struct exact_product *p, cls_dtype dtype, const void *c, size_t samples);

#endif
