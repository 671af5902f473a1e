/* SPDX-License-Identifier: MIT */
/* The launches of a scan, for calls that scan on the way. */
#ifndef CLSTREAM_OPS_SCAN_H
#define CLSTREAM_OPS_SCAN_H

#include "ops/look_back.h"
#include "ops/spec_scan.h"

struct scan_plan {
    struct kernel *kernel;
    struct look_back cut;
    size_t words; /* of the states */
    size_t count;
};

/* Elements, results, heads and length, each with the number of its first element; there is no length at UINT64_MAX. */
enum { SCAN_ARRAYS = 4 };
struct scan_arrays {
    struct op_arg args[SCAN_ARRAYS];
    uint64_t places[SCAN_ARRAYS];
};

/* `aligned`: elements and results begin at multiples of 16 bytes. */
cls_status scan_plan(struct op_call *call, const struct scan_kind *kind, bool aligned, size_t count,
                     struct scan_plan *plan);

/* Submits the launches: the first clears the states, which lie at the beginning of `scratch`. */
cls_status scan_launch(struct op_call *call, const struct scan_plan *plan,
                       const struct scan_arrays *arrays, struct buffer *scratch, size_t segment,
                       bool exclusive);

#endif
