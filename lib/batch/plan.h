/* SPDX-License-Identifier: MIT */
/* The plan of a batch: what its executions submit, until more is recorded. */
#ifndef CLSTREAM_BATCH_PLAN_H
#define CLSTREAM_BATCH_PLAN_H

#include "batch/batch.h"
#include "batch/generate.h"
#include "ops/reduction_cut.h"

enum { STEP_LAUNCHES = 2 };

/* One region: its kernels, its lane, and its launches. */
struct plan_step {
    struct region_shape shape;
    char *source;          /* the readable form */
    struct kernel *kernel; /* owned, as `finish` is */
    struct kernel *finish; /* of a reduction, or NULL */
    struct reduction_cut cut;
    size_t partials;   /* of a reduction: their offset in the arena, in bytes */
    unsigned lane;     /* 0 is the caller's stream */
    bool alone;        /* needs no waits: what it reads comes from its lane, or exists already */
    uint64_t position; /* of the latest execution, in the lane's stream */
    /* Made by bind.c; none for a call, or without elements. */
    struct op_repeat launches[STEP_LAUNCHES];
    unsigned n_launches;
};

/* Where the latest execution uploaded an input. */
struct upload_mark {
    uint64_t execution; /* counted by `executions` of the plan */
    unsigned lane;
    uint64_t position;
};

struct batch_plan {
    struct regions regions;
    struct plan_step *steps;     /* one for each region */
    size_t *offsets;             /* of each node in the arena, in bytes; SIZE_MAX: not there */
    struct upload_mark *uploads; /* one for each node */
    uint64_t executions;
    bool results_noted;    /* results were marked as ready, by the first execution */
    struct object *keeper; /* retains the buffers of the launches; NULL: not bound */
    bool may_lose;         /* places_may_lose, when bound */
    unsigned n_lanes;
    unsigned n_kernels;
    size_t arena_bytes;
    size_t arena_least;
    size_t storage_bytes;
};

/* Makes the batch's plan where it has none; builds what it needs. */
cls_status plan_prepare(struct batch *batch);
void plan_free(struct batch_plan *plan);

/* bind.c: gives every launch its arguments, except for the arena's buffer; does nothing when they have them. */
cls_status plan_bind(struct batch *batch);
void plan_unbind(struct batch_plan *plan);

/* lanes.c: gives every step its lane. */
void plan_lanes(struct batch *batch, struct batch_plan *plan);

/* layout.c: gives every intermediate value its place in the arena. */
cls_status plan_layout(struct batch *batch, struct batch_plan *plan);

#endif
