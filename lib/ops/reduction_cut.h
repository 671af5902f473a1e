/* SPDX-License-Identifier: MIT */
/* How a reduction is divided over the two kernels of cl/reduce.cl. */
#ifndef CLSTREAM_OPS_REDUCTION_CUT_H
#define CLSTREAM_OPS_REDUCTION_CUT_H

#include <stdbool.h>

#include "command/op.h"

enum {
    REDUCTION_PARTIAL_BYTES = 16,   /* no op's struct partial is larger */
    REDUCTION_MAX_STEPS = 65535,    /* of one work-item: a driver stops counting there */
    REDUCTION_ITEMS_PER_UNIT = 2048 /* of a GPU: as many as a unit has under way at once */
};

static inline size_t divide_up(size_t a, size_t b) { return a / b + (a % b != 0); }
static inline size_t lesser(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t clamp(size_t value, size_t low, size_t high) {
    return value < low ? low : lesser(value, high);
}
size_t power_of_two_below(size_t limit);

/* Compute units, of which there is one at least. */
static inline size_t reduction_units(const struct device *device) {
    return device->info.compute_units ? device->info.compute_units : 1;
}

/* Work-items of a group that merges in local memory: a power of two, at most `wanted`. */
size_t reduction_local(const struct op_call *call, struct kernel *kernel, size_t wanted);

/* What is reduced, by which kernels. */
struct reduction_size {
    size_t count;
    unsigned vector;     /* elements that a work-item takes in a step */
    size_t local;        /* wanted work-items of a group of the first stage; 1: one does all */
    size_t part_limit;   /* most work-items of a group of the first stage's kernel */
    size_t finish_limit; /* most work-items of a group of the second stage's kernel */
    bool alone;          /* groups of one work-item: local memory cannot be relied on */
    bool in_turn; /* groups take rows of vectors in turn, instead of one run of vectors each */
};

struct reduction_cut {
    size_t local;        /* work-items of a group of the first stage; a power of two */
    size_t groups;       /* of the first stage: the number of partials */
    size_t finish_local; /* a power of two, at most `groups` */
    uint32_t steps;
};

/* Depends only on the size and the device, so that results are the same from run to run. */
struct reduction_cut reduction_cut_of(const struct device *device,
                                      const struct reduction_size *size);

#endif
