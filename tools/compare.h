/* SPDX-License-Identifier: MIT */
/* The deviation of an array from its reference. */
#ifndef CLSTREAM_TOOLS_COMPARE_H
#define CLSTREAM_TOOLS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include <clstream/types.h>

struct comparison {
    bool within;     /* no error is above its bound */
    double worst;    /* the largest error in ULP; HUGE_VAL where the distance has no meaning */
    double of_bound; /* the largest error in parts of its element's bound, where that is above 0 */
    size_t at; /* the first element that is not within its bound; else where the worst one is */
};

/*
 * Compares `count` elements. `bounds` is the error allowed to each, in ULP; NULL: 0 for all. With
 * a bound of 0 an element must be equal bit for bit, except that any NaN equals any other; above 0
 * the sign of zero does not matter. Zero is always accepted for a number below the smallest normal
 * one, which a device may flush. The worst error is counted in units of the last place even where
 * bits are compared (for integers: their difference).
 */
struct comparison compare_arrays(cls_dtype dtype, const void *got, const void *expected,
                                 const float *bounds, size_t count);

enum { ELEMENT_TEXT = 48 };

/* An element as text that names it exactly. */
const char *element_format(cls_dtype dtype, const void *array, size_t i, char text[ELEMENT_TEXT]);

#endif
