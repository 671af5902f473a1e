/* SPDX-License-Identifier: MIT */
/* What the tests of failure share. */
#ifndef CLSTREAM_TESTS_FAILURES_H
#define CLSTREAM_TESTS_FAILURES_H

#include "../support/rig.h"

#include <string.h>

/* A host function that counts its calls. */
static inline void ignore(void *arg) { ++*(unsigned *)arg; }

/* What a callback was told. */
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

static inline void expect_poison(cls_stream stream, const char *label) {
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_query(stream));
    assert_non_null(strstr(cls_last_error_detail(), label));
    cls_clear_last_error();
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    assert_non_null(strstr(cls_last_error_detail(), label));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_wait(stream, 1000));
}

static inline void await_poison(cls_stream stream) {
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
}

#endif
