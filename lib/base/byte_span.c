/* SPDX-License-Identifier: MIT */
#include "base/byte_span.h"

#include "base/rows.h"

static struct rows slice_at(const struct byte_span *span, size_t i) {
    return (struct rows){span->start + i * span->slice, span->width, span->pitch, span->height};
}

static size_t end_of(const struct rows *rows) {
    return rows->start + (rows->count - 1) * rows->pitch + rows->width;
}

/* Both lists of slices are sorted, so that the one that ends first meets no later one of the other list. */
bool byte_spans_overlap(const struct byte_span *a, const struct byte_span *b) {
    size_t i = 0, k = 0;
    while (i < a->depth && k < b->depth) {
        const struct rows x = slice_at(a, i), y = slice_at(b, k);
        if (rows_overlap(&x, &y))
            return true;
        if (end_of(&x) < end_of(&y))
            i++;
        else
            k++;
    }
    return false;
}
