/* SPDX-License-Identifier: MIT */
/* Records and signals that meet the beginning of their stream's capture are captured: they make no capture invalid. */
#include "../support/test.h"

#include <clstream.h>

#include "stream/stream.h"

static cls_stream to_capture; /* when the next mark is about to be made; NULL: none */

cls_status __real_stream_mark_for(struct stream *stream, unsigned use, uint64_t *position);
cls_status __wrap_stream_mark_for(struct stream *stream, unsigned use, uint64_t *position);

cls_status __wrap_stream_mark_for(struct stream *stream, unsigned use, uint64_t *position) {
    cls_stream handle = to_capture;
    to_capture = NULL;
    if (handle)
        assert_int_equal(cls_stream_begin_capture(handle, "meanwhile"), CLS_SUCCESS);
    return __real_stream_mark_for(stream, use, position);
}

static void hold(void *open) {
    while (!atomic_load((_Atomic bool *)open))
        continue;
}

/* A stream whose next command waits for what ends once `open` is set: a record of it takes a mark. */
static cls_stream waiting_stream(cls_stream other, _Atomic bool *open) {
    cls_stream stream;
    cls_event event;
    assert_int_equal(cls_stream_create(NULL, NULL, &stream), CLS_SUCCESS);
    assert_int_equal(cls_event_create(NULL, NULL, &event), CLS_SUCCESS);
    assert_int_equal(cls_stream_launch_host_async(other, hold, (void *)open), CLS_SUCCESS);
    assert_int_equal(cls_event_record(event, other), CLS_SUCCESS);
    assert_int_equal(cls_stream_wait_event(stream, event), CLS_SUCCESS);
    assert_int_equal(cls_event_destroy(event), CLS_SUCCESS);
    return stream;
}

static void end(cls_stream stream, cls_stream other, _Atomic bool *open) {
    cls_graph graph;
    assert_int_equal(cls_stream_end_capture(stream, &graph), CLS_SUCCESS);
    assert_int_equal(cls_graph_destroy(graph), CLS_SUCCESS);
    atomic_store(open, true);
    assert_int_equal(cls_stream_synchronize(stream), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(stream), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(other), CLS_SUCCESS);
}

static void test_a_record(void **state) {
    (void)state;
    _Atomic bool open = false;
    cls_event event;
    cls_stream other;
    assert_int_equal(cls_stream_create(NULL, NULL, &other), CLS_SUCCESS);
    assert_int_equal(cls_event_create(NULL, NULL, &event), CLS_SUCCESS);
    cls_stream stream = to_capture = waiting_stream(other, &open);
    assert_int_equal(cls_event_record(event, stream), CLS_SUCCESS);
    assert_int_equal(cls_stream_wait_event(stream, event), CLS_SUCCESS); /* of its own capture */
    end(stream, other, &open);
    assert_int_equal(cls_event_destroy(event), CLS_SUCCESS);
}

static void test_a_signal(void **state) {
    (void)state;
    _Atomic bool open = false;
    cls_timeline timeline;
    cls_stream other;
    assert_int_equal(cls_stream_create(NULL, NULL, &other), CLS_SUCCESS);
    assert_int_equal(cls_timeline_create(NULL, &timeline), CLS_SUCCESS);
    cls_stream stream = to_capture = waiting_stream(other, &open);
    assert_int_equal(cls_stream_signal_timeline(stream, timeline, 3), CLS_SUCCESS);
    assert_int_equal(cls_stream_wait_timeline(stream, timeline, 3), CLS_SUCCESS);
    end(stream, other, &open);
    assert_int_equal(cls_timeline_query(timeline, 3), CLS_NOT_READY);
    assert_int_equal(cls_timeline_destroy(timeline), CLS_SUCCESS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_record),
        cmocka_unit_test(test_a_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
