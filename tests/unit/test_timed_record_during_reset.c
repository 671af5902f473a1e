/* SPDX-License-Identifier: MIT */
/* A timed event that is recorded while another thread resets the stream has a time all the same. */
#include "../support/test.h"

#include <clstream.h>
#include <clstream/opencl.h>

#include "stream/stream.h"

static cls_stream to_reset; /* when the next mark is about to be made; NULL: none */

cls_status __real_stream_mark_for(struct stream *stream, unsigned use, uint64_t *position);
cls_status __wrap_stream_mark_for(struct stream *stream, unsigned use, uint64_t *position);

cls_status __wrap_stream_mark_for(struct stream *stream, unsigned use, uint64_t *position) {
    cls_stream handle = to_reset;
    to_reset = NULL;
    if (handle)
        assert_int_equal(cls_stream_reset(handle), CLS_SUCCESS);
    return __real_stream_mark_for(stream, use, position);
}

static int refuse(cl_command_queue queue, void *unused) {
    (void)queue;
    (void)unused;
    return CL_OUT_OF_RESOURCES;
}

static void test_a_reset_comes_between(void **state) {
    cls_event_config config = CLS_EVENT_CONFIG_INIT;
    cls_stream stream;
    cls_event from, to;
    double ms = -1;
    (void)state;
    config.timed = 1;
    assert_int_equal(cls_stream_create(NULL, NULL, &stream), CLS_SUCCESS);
    assert_int_equal(cls_event_create(NULL, &config, &from), CLS_SUCCESS);
    assert_int_equal(cls_event_create(NULL, &config, &to), CLS_SUCCESS);
    assert_int_equal(cls_stream_foreign_async(stream, "fails", refuse, NULL), CLS_SUCCESS);
    assert_int_equal(cls_stream_synchronize(stream), CLS_ERROR_COMMAND_FAILED);
    to_reset = stream;
    assert_int_equal(cls_event_record(from, stream), CLS_SUCCESS);
    assert_null(to_reset);
    assert_int_equal(cls_event_record(to, stream), CLS_SUCCESS);
    assert_int_equal(cls_stream_synchronize(stream), CLS_SUCCESS);
    assert_int_equal(cls_event_elapsed(from, to, &ms), CLS_SUCCESS);
    assert_true(ms >= 0);
    assert_int_equal(cls_event_destroy(from), CLS_SUCCESS);
    assert_int_equal(cls_event_destroy(to), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(stream), CLS_SUCCESS);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_reset_comes_between)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
