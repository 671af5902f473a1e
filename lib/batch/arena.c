/* SPDX-License-Identifier: MIT */
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
    size_t bytes; /* so far */
};

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

/* A placed value that conflicts with `value` and shares bytes with it at `offset`, or NULL. */
static const struct arena_value *obstacle(const struct placing *placing, unsigned value,
                                          size_t offset) {
    const size_t end = offset + placing->values[value].bytes;
    for (unsigned i = 0; i < placing->n_values; i++) {
        const struct arena_value *other = &placing->values[i];
        if (placing->placed[i] && other->offset < end && offset < other->offset + other->bytes &&
            placing->apart(placing->context, value, i))
            return other;
    }
    return NULL;
}

static size_t lowest(const struct placing *placing, unsigned value) {
    size_t offset = 0;
    const struct arena_value *other;
    while ((other = obstacle(placing, value, offset)) != NULL)
        offset = other->offset + other->bytes;
    return offset;
}

/* False: there is no room below `top`. */
static bool highest(const struct placing *placing, unsigned value, size_t top, size_t *offset) {
    const size_t bytes = placing->values[value].bytes;
    const struct arena_value *other;
    if (bytes > top)
        return false;
    size_t at = top - bytes;
    while ((other = obstacle(placing, value, at)) != NULL) {
        if (other->offset < bytes)
            return false;
        at = other->offset - bytes;
    }
    *offset = at;
    return true;
}

static void put(struct placing *placing, unsigned value, size_t offset) {
    const size_t end = offset + placing->values[value].bytes;
    placing->values[value].offset = offset;
    placing->placed[value] = true;
    placing->bytes = end > placing->bytes ? end : placing->bytes;
}

/* In turns at the bottom and at the top of `top` bytes: neighbours of a chain never meet. */
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

/* The largest first, each as low as it can lie. */
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

cls_status arena_place(struct arena_value *values, unsigned n_values, size_t least,
                       bool (*apart)(const void *context, unsigned a, unsigned b),
                       const void *context, size_t *bytes) {
    struct placing placing = {values, n_values, apart, context, NULL, 0};
    placing.placed = calloc(n_values ? n_values : 1, sizeof *placing.placed);
    if (!placing.placed)
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory to plan a batch");
    if (!place_at_both_ends(&placing, least)) {
        memset(placing.placed, 0, n_values * sizeof *placing.placed);
        placing.bytes = 0;
        place_by_size(&placing);
    }
    *bytes = placing.bytes;
    free(placing.placed);
    return CLS_SUCCESS;
}
