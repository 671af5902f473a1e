/* SPDX-License-Identifier: MIT */
/* A phase: a caller's function for each stream of a plan, behind what the prerequisites were given. */
#ifndef CLSTREAM_COORDINATOR_PHASE_H
#define CLSTREAM_COORDINATOR_PHASE_H

#include "coordinator/coordinator.h"

enum part_state {
    PART_AHEAD,
    PART_DONE,
    PART_FAILED
}; /* failed: also not called for that reason */

struct phase {
    struct plan plan;
    enum part_state *parts; /* one a stream of the plan */
    cls_phase_fn fn;
    void *arg;
    /* The first failure. */
    cls_status status;
    int code;
    char *detail; /* NULL: there was no memory for it */
    cls_stream failed;
    char name[64];
};

cls_status phase_begin(struct coordinator *coordinator, cls_phase_fn fn, void *arg,
                       struct phase *out);

/* Whether a stream of the plan is to be called, its prerequisites being settled. */
bool phase_may_call(const struct phase *phase, size_t i);

/* Calls it, with waits and record in place; leaves the detail with this thread. `*told`: it did. */
cls_status phase_call(struct phase *phase, size_t i, bool *told);

/* What it came to; `told` says whether this thread's detail is about it. */
void phase_settle(struct phase *phase, size_t i, cls_status status, bool told);

/* Tells the coordinator, reports the first failure, and frees the phase. */
cls_status phase_end(struct coordinator *coordinator, struct phase *phase);

/* Only frees it. */
void phase_drop(struct phase *phase);

#endif
