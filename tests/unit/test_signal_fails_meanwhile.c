/* SPDX-License-Identifier: MIT */
/* A signal that fails while another one of the stream is being made: it leaves nothing behind. */
#include "../support/test.h"

#include <clstream.h>

#include "stream/stream.h"

/* What another thread does between this one's claim of a value and its position. */
static cls_timeline meanwhile;
static cls_stream signaller;
static bool refuse;

cls_status __real_stream_mark_for(struct stream *stream, unsigned use, uint64_t *position);
cls_status __wrap_stream_mark_for(struct stream *stream, unsigned use, uint64_t *position);

cls_status __wrap_stream_mark_for(struct stream *stream, unsigned use, uint64_t *position) {
    const cls_timeline timeline = meanwhile;
    if (refuse)
        return CLS_ERROR_OUT_OF_MEMORY;
    meanwhile = NULL;
    if (timeline) {
        refuse = true;
        assert_int_equal(cls_stream_signal_timeline(signaller, timeline, 6),
                         CLS_ERROR_OUT_OF_MEMORY);
        refuse = false;
    }
    return __real_stream_mark_for(stream, use, position);
}

static void hold(void *open) {
    while (!atomic_load((_Atomic bool *)open))
        continue;
}

static void test_a_failed_signal_claims_nothing(void **state) {
    (void)state;
    _Atomic bool open = false;
    cls_timeline timeline;
    assert_int_equal(cls_stream_create(NULL, NULL, &signaller), CLS_SUCCESS);
    assert_int_equal(cls_timeline_create(NULL, &timeline), CLS_SUCCESS);
    assert_int_equal(cls_stream_launch_host_async(signaller, hold, (void *)&open), CLS_SUCCESS);
    meanwhile = timeline;
    assert_int_equal(cls_stream_signal_timeline(signaller, timeline, 5), CLS_SUCCESS);
    assert_int_equal(cls_stream_signal_timeline(signaller, timeline, 5), CLS_ERROR_INVALID_VALUE);
    assert_int_equal(cls_stream_signal_timeline(signaller, timeline, 6), CLS_SUCCESS);
    atomic_store(&open, true);
    assert_int_equal(cls_timeline_wait(timeline, 6, UINT64_MAX), CLS_SUCCESS);
    assert_int_equal(cls_timeline_destroy(timeline), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(signaller), CLS_SUCCESS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_failed_signal_claims_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
