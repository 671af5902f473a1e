/* SPDX-License-Identifier: MIT */
/* A sort whose operands are checked: its passes, and the temporary memory between them. */
#ifndef CLSTREAM_OPS_SORT_JOB_H
#define CLSTREAM_OPS_SORT_JOB_H

#include "ops/sort_pass.h"

/* The caller fills in the members before `plan`. Keys out may be missing. Values have sizes, or there are none; values
 * without a buffer are the numbers of the elements. */
struct sort_job {
    struct sort_input input;
    struct sort_move move;
    bool in_place; /* an output is the same view as its input */
    struct sort_plan {
        struct sort_cut cut;
        struct sort_digits digits;
        bool by_rows; /* all passes in one launch, a row to a group or to an item */
        /* Temporary memory: keys and values of two rooms, and counts; where each begins, and where the last one ends. */
        size_t rooms[2][2], counts, bytes;
    } plan;
};

/* Chooses the kernels, and how much temporary memory they take. */
cls_status sort_job_plan(struct sort_job *job);

/* Submits the launches, in temporary memory of `plan.bytes` from byte `at`, a multiple of 256, on. `scratch` may be NULL
 * if that is none. */
cls_status sort_job_submit(const struct sort_job *job, struct buffer *scratch, size_t at);

/* The bytes up to the next place where a part of temporary memory may begin. */
static inline size_t sort_part(size_t bytes) { return (bytes + 255) / 256 * 256; }

#endif
