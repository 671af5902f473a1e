/* SPDX-License-Identifier: MIT */
#include "graph/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "graph/internals.h"

struct range_span {
    const struct open_range *range; /* of a node */
    uint64_t start, end;
};

static cls_status make(const struct open_range *outer, unsigned n_outer,
                       const struct open_range *inner, unsigned n_inner, struct node_ranges **out) {
    const size_t one = sizeof(struct open_range);
    *out = NULL;
    if (!n_outer && !n_inner)
        return CLS_SUCCESS;
    struct node_ranges *ranges = malloc(sizeof *ranges + (n_outer + n_inner) * one);
    if (!ranges)
        return error_no_memory("for the ranges of a node");
    ranges->count = n_outer + n_inner;
    if (n_outer)
        memcpy(ranges->items, outer, n_outer * one);
    if (n_inner)
        memcpy(ranges->items + n_outer, inner, n_inner * one);
    *out = ranges;
    return CLS_SUCCESS;
}

cls_status node_ranges_open(uint64_t since, struct node_ranges **out) {
    struct open_range open[RANGE_DEPTH];
    return make(open, ranges_open(since, open), NULL, 0, out);
}

cls_status node_ranges_join(const struct node_ranges *outer, const struct node_ranges *inner,
                            struct node_ranges **out) {
    return make(outer ? outer->items : NULL, outer ? outer->count : 0, inner ? inner->items : NULL,
                inner ? inner->count : 0, out);
}

/* Nodes of a range mostly follow one another. */
static struct range_span *find(struct spans *spans, const struct open_range *range) {
    for (unsigned i = spans->count; i-- > 0;)
        if (spans->items[i].range->number == range->number)
            return &spans->items[i];
    if (!ARRAY_ROOM(spans->items, spans->count, spans->room, 8))
        return NULL;
    struct range_span *span = &spans->items[spans->count++];
    *span = (struct range_span){range, UINT64_MAX, 0};
    return span;
}

void spans_cover(struct spans *spans, const struct node_ranges *ranges, uint64_t start,
                 uint64_t end) {
    for (unsigned i = 0; ranges && i < ranges->count; i++) {
        struct range_span *span = find(spans, &ranges->items[i]);
        spans->incomplete |= !span;
        if (span && span->start > start)
            span->start = start;
        if (span && span->end < end)
            span->end = end;
    }
}

/* Inner ranges first, as they are closed. */
void spans_record(struct spans *spans) {
    const struct observer *watcher = observer();
    for (unsigned i = spans->count; i-- > 0;)
        trace_span(spans->items[i].range->name, ranges_thread(), spans->items[i].start,
                   spans->items[i].end);
    if (spans->incomplete && watcher)
        watcher->missed();
    free(spans->items);
}
