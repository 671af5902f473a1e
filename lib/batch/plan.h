/* SPDX-License-Identifier: MIT */
/* What executions of a batch do, as long as nothing more is recorded. */
#ifndef CLSTREAM_BATCH_PLAN_H
#define CLSTREAM_BATCH_PLAN_H

#include "batch/batch.h"
#include "batch/generate.h"
#include "ops/reduction_cut.h"

enum { STEP_LAUNCHES = 2 };

/* One region's kernels and its place among the others. */
struct step {
    struct region_shape shape;
    char *source;          /* the readable form */
    struct kernel *kernel; /* owned, as `finish` is */
    struct kernel *finish; /* of a reduction, or NULL */
    struct reduction_cut cut;
    size_t partials;   /* of a reduction: their offset in the arena, in bytes */
    unsigned lane;     /* 0 is the caller's stream */
    bool alone;        /* what it reads comes from its lane, or is there: nothing to wait for */
    uint64_t position; /* of the latest execution, in the lane's stream */
    /* bind.c; none of a product, nor of no elements. */
    struct op_repeat launches[STEP_LAUNCHES];
    unsigned n_launches;
};

/* Where the latest execution uploaded an input. */
struct upload_mark {
    uint64_t execution; /* counted by `executions` of the plan */
    unsigned lane;
    uint64_t position;
};

struct plan {
    struct regions regions;
    struct step *steps;          /* one for each region */
    size_t *offsets;             /* of each node in the arena, in bytes; SIZE_MAX: not there */
    struct upload_mark *uploads; /* one for each node */
    uint64_t executions;
    bool results_noted;    /* as ready, after the first execution */
    struct object *keeper; /* of the buffers that the launches name; NULL: not bound */
    bool may_lose;         /* one of those, or of a product's, may be the host's or freed later */
    unsigned n_lanes;
    unsigned n_kernels;
    size_t arena_bytes;
    size_t arena_least;
    size_t storage_bytes;
};

/* Makes the batch's plan where it has none; builds what it needs. */
cls_status plan_prepare(struct batch *batch);
void plan_free(struct plan *plan);

/* bind.c: gives every launch its arguments, but for the arena's buffer, where they have none. */
cls_status plan_bind(struct batch *batch);
void plan_unbind(struct plan *plan);

/* lanes.c: gives every step its lane. */
void plan_lanes(struct batch *batch, struct plan *plan);

/* layout.c: gives every intermediate value its place in the arena. */
cls_status plan_layout(struct batch *batch, struct plan *plan);

#endif
