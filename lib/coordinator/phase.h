/* SPDX-License-Identifier: MIT */
/*
 * A phase: calls the caller's function once for each stream of a coordinator, so that the work submitted for
 * a stream runs behind the work submitted for its prerequisites.
 */
#ifndef CLSTREAM_COORDINATOR_PHASE_H
#define CLSTREAM_COORDINATOR_PHASE_H

#include "coordinator/coordinator.h"

/* A stream's part of a phase. */
enum part_state {
    PART_WAITING,
    PART_DONE,
    PART_FAILED /* or not called, because a prerequisite's failed */
};

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

/* Whether to call the function for a stream, whose prerequisites are done or failed. */
bool phase_may_call(const struct phase *phase, size_t i);

/* Calls the function behind waits for the prerequisites, and marks the position behind its work.
 * `*has_detail`: the failure is explained by this thread's error detail. */
cls_status phase_call(struct phase *phase, size_t i, bool *has_detail);

/* Notes the outcome of phase_call. */
void phase_finish(struct phase *phase, size_t i, cls_status status, bool has_detail);

/* Stores the failed stream in the coordinator, reports the first failure, and frees the phase. */
cls_status phase_end(struct coordinator *coordinator, struct phase *phase);

/* Frees the phase without a report. */
void phase_drop(struct phase *phase);

#endif
