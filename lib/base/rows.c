/* SPDX-License-Identifier: MIT */
#include "base/rows.h"

#include <stdint.h>

/* Holds the product of two sizes. */
#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 product;
#else
typedef uint64_t product;
#endif

/* The least x with low <= factor x mod modulus <= high; SIZE_MAX: none. 0 < low <= high < modulus, factor < modulus. Like
 * Euclid's algorithm: where no multiple of the factor lies in the interval, it is asked for in what the modulus leaves. */
static size_t first_within(size_t factor, size_t modulus, size_t low, size_t high) {
    if (!factor)
        return SIZE_MAX;
    const size_t steps = low / factor + (low % factor != 0);
    if ((product)steps * factor <= high)
        return steps;
    /* No multiple of the factor is in the interval, so that both ends leave a rest, and in this order. */
    const size_t turns =
        first_within(modulus % factor, factor, factor - high % factor, factor - low % factor);
    if (turns == SIZE_MAX)
        return SIZE_MAX;
    const product reached = (product)modulus * turns + low;
    return (size_t)(reached / factor + (reached % factor != 0));
}

static size_t end_of(const struct rows *rows) {
    return rows->start + (rows->count - 1) * rows->pitch + rows->width;
}

/* Whether one of `count` rows of a's pitch, the first at `from` in b and the last beginning before b's end, meets a row
 * of b: begins in one, or less than its width before the next. */
static bool some_meet(size_t from, const struct rows *a, size_t count, const struct rows *b) {
    const size_t modulus = b->pitch, window = a->width + b->width - 1;
    if (window >= modulus)
        return true;
    /* Counted from where a row of a just reaches one of b, the rows that meet begin in [0, window). */
    const size_t at = (from % modulus + a->width - 1) % modulus;
    if (at < window)
        return true;
    const size_t first =
        first_within(a->pitch % modulus, modulus, modulus - at, modulus - at + window - 1);
    return first < count;
}

/* Whether a row meets [start, end), which begins behind the first row's start: the last that begins there or before, or
 * the next. */
static bool some_meets_one(const struct rows *a, size_t start, size_t end) {
    const size_t before = (start - a->start) / a->pitch;
    const size_t row = before < a->count ? before : a->count - 1;
    const size_t begins = a->start + row * a->pitch;
    return begins + a->width > start || (row + 1 < a->count && begins + a->pitch < end);
}

bool rows_overlap(const struct rows *a, const struct rows *b) {
    const size_t a_end = end_of(a), b_end = end_of(b);
    if (a->start > b->start)
        return rows_overlap(b, a);
    if (a_end <= b->start || a->start == b->start)
        return a->start == b->start;
    if (a->count == 1)
        return true;
    if (b->count == 1)
        return some_meets_one(a, b->start, b_end);
    /* The rows of a that begin before b end before it or meet its first row. */
    const size_t skipped = (b->start - a->start + a->pitch - 1) / a->pitch;
    if (skipped && a->start + (skipped - 1) * a->pitch + a->width > b->start)
        return true;
    if (skipped >= a->count)
        return false;
    const size_t from = a->start + skipped * a->pitch - b->start;
    if (a->start + skipped * a->pitch >= b_end)
        return false;
    const size_t room = (b_end - 1 - b->start - from) / a->pitch + 1;
    const size_t left = a->count - skipped;
    return some_meet(from, a, left < room ? left : room, b);
}
