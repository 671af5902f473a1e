/* SPDX-License-Identifier: MIT */
/* An all-reduce under way, under the group's lock: the arrays are cut into one slice per device, its owner. */
#ifndef CLSTREAM_PIPELINE_GROUP_REDUCE_H
#define CLSTREAM_PIPELINE_GROUP_REDUCE_H

#include "pipeline/group.h"

struct reduction {
    struct group *group;
    const cls_array *arrays;
    cls_dtype dtype;
    size_t size, count, per_slice; /* of an element in bytes, and elements */
    size_t piece;                  /* bytes that are sent at once, on the pinned way */
};

static inline size_t slice_start(const struct reduction *r, unsigned slice) {
    const size_t start = slice * r->per_slice;
    return start < r->count ? start : r->count;
}

static inline size_t slice_count(const struct reduction *r, unsigned slice) {
    return slice_start(r, slice + 1) - slice_start(r, slice);
}

/* Submits the whole reduction as a kernel for each slice, which reads the arrays and writes the sums where they lie
 * (group_sum.c). `taken` false: some device cannot reach another one's array, and nothing was submitted. */
cls_status group_reduce_directly(const struct reduction *r, bool *taken);

#endif
