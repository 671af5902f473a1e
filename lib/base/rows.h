/* SPDX-License-Identifier: MIT */
/* Rows of equal width and distance, as a rectangle in a buffer has them, and whether two such sets have a byte in common. */
#ifndef CLSTREAM_BASE_ROWS_H
#define CLSTREAM_BASE_ROWS_H

#include <stdbool.h>
#include <stddef.h>

struct rows {
    size_t start, width;
    size_t pitch; /* at least the width; of one row any */
    size_t count;
};

/* Exact, in a time that grows with the logarithm of the pitches. The ends of both do not overflow. */
bool rows_overlap(const struct rows *a, const struct rows *b);

#endif
