/* SPDX-License-Identifier: MIT */
/* A reduction under way, under the group's lock: the arrays are cut into one slice per device, its owner, which computes
 * that slice of the result. */
#ifndef CLSTREAM_PIPELINE_GROUP_REDUCE_H
#define CLSTREAM_PIPELINE_GROUP_REDUCE_H

#include "pipeline/group.h"

struct reduction {
    struct group *group;
    cls_reduce_op op; /* CLS_REDUCE_SUM to CLS_REDUCE_MAX */
    const cls_array *arrays;
    const cls_array
        *results; /* of reduce-scatter, an owner's each; NULL: all get all, in their arrays */
    cls_dtype dtype;
    size_t size, count;                      /* of an element in bytes, and elements */
    size_t starts[CLS_DEVICE_GROUP_MAX + 1]; /* of the slices, elements */
    size_t stride; /* elements between the devices' slices in `others`, on the pinned way */
    size_t piece;  /* bytes that are sent at once, on the pinned way */
};

static inline size_t slice_start(const struct reduction *r, unsigned slice) {
    return r->starts[slice];
}

static inline size_t slice_count(const struct reduction *r, unsigned slice) {
    return r->starts[slice + 1] - r->starts[slice];
}

/* A device's elements of a slice. */
static inline cls_array slice_of(const struct reduction *r, unsigned device, unsigned slice) {
    const cls_array *array = &r->arrays[device];
    return cls_array_at(array->buffer, r->dtype, array->offset + slice_start(r, slice),
                        slice_count(r, slice));
}

/* Where an owner puts its slice of the result. */
static inline cls_array slice_result(const struct reduction *r, unsigned owner) {
    return r->results ? r->results[owner] : slice_of(r, owner, owner);
}

/* Submits the whole reduction as a kernel for each slice, which reads the arrays and writes the results where they belong
 * (group_sum.c). `taken` false: some device cannot reach another one's array, and nothing was submitted. */
cls_status group_reduce_directly(const struct reduction *r, bool *taken);

#endif
