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

/* Slices of rows, `pitch` bytes apart; none begins before the one ahead of it has ended. */
struct slices {
    struct rows first;
    size_t pitch; /* of one slice any */
    size_t count;
};

/* Exact, in a time that grows with the number of slices: a copy of them takes longer. */
bool slices_overlap(const struct slices *a, const struct slices *b);

#endif
