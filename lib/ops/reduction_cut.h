/* SPDX-License-Identifier: MIT */
/* How a reduction is divided over the two kernels of cl/reduce.cl. */
#ifndef CLSTREAM_OPS_REDUCTION_CUT_H
#define CLSTREAM_OPS_REDUCTION_CUT_H

#include <stdbool.h>

#include "driver/device.h"

enum { REDUCTION_PARTIAL_BYTES = 16 /* no op's struct partial is larger */ };

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
