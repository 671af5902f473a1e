/* SPDX-License-Identifier: MIT */
/* What the tests of failure share. */
#ifndef CLSTREAM_TESTS_FAILURES_H
#define CLSTREAM_TESTS_FAILURES_H

#include "../support/outcome.h"
#include "../support/rig.h"

#include <string.h>

/* A host function that counts its calls. */
static inline void ignore(void *arg) { ++*(unsigned *)arg; }

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
