/* SPDX-License-Identifier: MIT */
/* What callbacks of streams are told. */
#ifndef CLSTREAM_TESTS_OUTCOME_H
#define CLSTREAM_TESTS_OUTCOME_H

#include <string.h>

#include "rig.h"

struct outcome {
    sem_t called;
    unsigned calls;
    cls_status status;
    cls_stream stream;
};

static inline void outcome_init(struct outcome *outcome) {
    memset(outcome, 0, sizeof *outcome);
    assert_int_equal(sem_init(&outcome->called, 0, 0), 0);
}

static inline void keep_outcome(cls_stream stream, cls_status status, void *arg) {
    struct outcome *outcome = arg;
    outcome->calls++;
    outcome->status = status;
    outcome->stream = stream;
    sem_post(&outcome->called);
}

#endif
