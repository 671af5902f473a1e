/* SPDX-License-Identifier: MIT */
/* Bytes in up to three dimensions, as a copy or an operand has them in a buffer or in host memory. */
#ifndef CLSTREAM_BASE_BYTE_SPAN_H
#define CLSTREAM_BASE_BYTE_SPAN_H

#include <stdbool.h>
#include <stddef.h>

/* `depth` slices of `height` rows of `width` bytes; `pitch` bytes from row to row and `slice` from slice to slice. */
struct byte_span {
    size_t start, width, pitch, height, slice, depth;
};

static inline struct byte_span byte_span_1d(size_t offset, size_t bytes) {
    return (struct byte_span){offset, bytes, bytes, 1, bytes, 1};
}

static inline size_t byte_span_bytes(const struct byte_span *span) {
    return span->width * span->height * span->depth;
}

/* Of a span that is not empty. */
static inline size_t byte_span_end(const struct byte_span *span) {
    return span->start + (span->depth - 1) * span->slice + (span->height - 1) * span->pitch +
           span->width;
}

/* Whether two spans, neither of them empty, have a byte in common. No row or slice begins before the one ahead of it has
 * ended, and the ends do not overflow. Exact, in a time that grows with the number of slices: a copy of them takes longer. */
bool byte_spans_overlap(const struct byte_span *a, const struct byte_span *b);

#endif
