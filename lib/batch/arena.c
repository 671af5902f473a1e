/* SPDX-License-Identifier: MIT */
/* Places values in an arena, by their sizes and by which may share bytes. */
#include "batch/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct placing {
    struct arena_value *values;
    unsigned n_values;
    bool (*apart)(const void *context, unsigned a, unsigned b);
    const void *context;
    bool *placed;
    /* The values placed so far, in two orders: a search goes along one of them once. */
    unsigned *by_start, *by_end;
    unsigned n_placed;
    size_t bytes; /* so far */
};

static size_t end_of(const struct arena_value *value) { return value->offset + value->bytes; }

size_t arena_least(const struct arena_value *values, unsigned n_values, unsigned n_steps) {
    size_t least = 0;
    for (unsigned step = 0; step < n_steps; step++) {
        size_t alive = 0;
        for (unsigned i = 0; i < n_values; i++)
            if (values[i].first <= step && step <= values[i].last)
                alive += values[i].bytes;
        least = alive > least ? alive : least;
    }
    return least;
}

/* The lowest offset at which the value fits. */
static size_t lowest(const struct placing *placing, unsigned value) {
    const size_t bytes = placing->values[value].bytes;
    size_t offset = 0;
    for (unsigned i = 0; i < placing->n_placed; i++) {
        const unsigned at = placing->by_start[i];
        const struct arena_value *other = &placing->values[at];
        if (other->offset >= offset + bytes)
            break;
        if (end_of(other) > offset && placing->apart(placing->context, value, at))
            offset = end_of(other);
    }
    return offset;
}

/* The highest offset at which the value fits below `top`; false: there is none. */
static bool highest(const struct placing *placing, unsigned value, size_t top, size_t *offset) {
    const size_t bytes = placing->values[value].bytes;
    size_t end = top;
    for (unsigned i = placing->n_placed; i-- > 0 && bytes <= end;) {
        const unsigned at = placing->by_end[i];
        const struct arena_value *other = &placing->values[at];
        if (end_of(other) <= end - bytes)
            break;
        if (other->offset < end && placing->apart(placing->context, value, at))
            end = other->offset;
    }
    if (bytes > end)
        return false;
    *offset = end - bytes;
    return true;
}

static void put(struct placing *placing, unsigned value, size_t offset) {
    struct arena_value *values = placing->values;
    unsigned start = placing->n_placed, end = placing->n_placed;
    values[value].offset = offset;
    for (; start && values[placing->by_start[start - 1]].offset > offset; start--)
        placing->by_start[start] = placing->by_start[start - 1];
    for (; end && end_of(&values[placing->by_end[end - 1]]) > end_of(&values[value]); end--)
        placing->by_end[end] = placing->by_end[end - 1];
    placing->by_start[start] = placing->by_end[end] = value;
    placing->n_placed++;
    placing->placed[value] = true;
    if (end_of(&values[value]) > placing->bytes)
        placing->bytes = end_of(&values[value]);
}

/* Places values alternately at the bottom and at the top of `top` bytes, so that neighbours of a chain never
 * overlap. */
static bool place_at_both_ends(struct placing *placing, size_t top) {
    for (unsigned i = 0; i < placing->n_values; i++) {
        size_t offset = lowest(placing, i);
        if (i % 2 == 1 && !highest(placing, i, top, &offset))
            return false;
        if (offset + placing->values[i].bytes > top)
            return false;
        put(placing, i, offset);
    }
    return true;
}

/* Places the largest first, each as low as possible. */
static void place_by_size(struct placing *placing) {
    for (unsigned done = 0; done < placing->n_values; done++) {
        unsigned next = placing->n_values;
        for (unsigned i = 0; i < placing->n_values; i++)
            if (!placing->placed[i] && (next == placing->n_values ||
                                        placing->values[i].bytes > placing->values[next].bytes))
                next = i;
        put(placing, next, lowest(placing, next));
    }
}

static void place(struct placing *placing, size_t least) {
    if (place_at_both_ends(placing, least))
        return;
    memset(placing->placed, 0, placing->n_values * sizeof *placing->placed);
    placing->n_placed = 0;
    placing->bytes = 0;
    place_by_size(placing);
}

cls_status arena_place(struct arena_value *values, unsigned n_values, size_t least,
                       bool (*apart)(const void *context, unsigned a, unsigned b),
                       const void *context, size_t *bytes) {
    struct placing placing = {
        .values = values, .n_values = n_values, .apart = apart, .context = context};
    const size_t room = n_values ? n_values : 1;
    placing.placed = calloc(room, sizeof *placing.placed);
    placing.by_start = calloc(2 * room, sizeof *placing.by_start);
    cls_status status = CLS_SUCCESS;
    if (!placing.placed || !placing.by_start) {
        status = error_no_memory("for the layout of an arena");
    } else {
        placing.by_end = placing.by_start + room;
        place(&placing, least);
        *bytes = placing.bytes;
    }
    free(placing.by_start);
    free(placing.placed);
    return status;
}
