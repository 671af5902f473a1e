/* SPDX-License-Identifier: MIT */
/* CLSTREAM_LAUNCH_BLOCKING=1: every command has completed when its call returns, and the call whose
 * command fails is the one that says so. */
#include "../support/rig.h"

#include <stdlib.h>
#include <string.h>

#include <clstream/graph.h>
#include <clstream/timeline.h>

static void count(void *arg) { ++*(unsigned *)arg; }

static void count_back(cls_stream stream, cls_status status, void *arg) {
    (void)stream;
    *(unsigned *)arg += !status;
}

static void count_failed(cls_stream stream, cls_status status, void *arg) {
    (void)stream;
    if (status)
        count(arg);
}

static void test_every_call_has_completed(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(4);
    cls_event event = rig_event();
    uint32_t seen[4] = {0}, words[4] = {9, 9, 9, 9};
    unsigned ran = 0;
    OK(rig_set(stream, cells, 1, 5, 30));
    OK(cls_stream_query(stream));
    OK(cls_event_record(event, stream));
    OK(cls_event_query(event));
    OK(cls_copy_d2h_async(seen, cells, 0, 16, stream));
    assert_int_equal(seen[1], 5);
    OK(cls_copy_h2d_async(cells, 0, words, 16, stream));
    memset(words, 0, sizeof words);
    OK(cls_stream_launch_host_async(stream, count, &ran));
    assert_int_equal(ran, 1);
    OK(cls_stream_add_callback(stream, count_back, &ran));
    assert_int_equal(ran, 2);
    OK(cls_copy_d2h_async(seen, cells, 0, 16, stream));
    assert_int_equal(seen[3], 9);
    OK(cls_stream_query(stream));
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
    OK(cls_event_destroy(event));
}

static void test_the_call_that_fails_says_so(void **state) {
    (void)state;
    cls_stream stream = rig_stream(), other = rig_stream();
    cls_buffer cells = rig_cells(1);
    unsigned ran = 0;
    OK(rig_set(stream, cells, 0, 1, 1));
    EXPECT(CLS_ERROR_COMMAND_FAILED, rig_fail(stream, "this one", -5));
    assert_non_null(strstr(cls_last_error_detail(), "this one"));
    assert_int_equal(cls_last_error_code(), -5);
    EXPECT(CLS_ERROR_COMMAND_FAILED, rig_set(stream, cells, 0, 2, 0));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_copy_h2d_async(cells, 0, &ran, 4, stream));
    OK(rig_set(other, cells, 0, 3, 0));
    OK(cls_stream_reset(stream));
    for (int i = 0; i < 50; i++) {
        OK(rig_set(stream, cells, 0, 1, 0));
        EXPECT(CLS_ERROR_COMMAND_FAILED, rig_fail(stream, "again", -5));
        EXPECT(CLS_ERROR_COMMAND_FAILED, rig_set(stream, cells, 0, 5, 0));
        OK(cls_stream_reset(stream));
    }
    OK(rig_set(stream, cells, 0, 4, 0));
    assert_int_equal(rig_cell(cells, 0), 4);
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(other));
    OK(cls_buffer_destroy(cells));
}

/* What a poisoned stream takes is taken here too, and what it marks carries the failure on. */
static void fail_in_words(void *unused) {
    (void)unused;
    cls_host_function_fail("the words of the program");
}

/* A launch is one command: its call returns what the node says, by the node's own name and number. */
static void test_a_failed_node_of_a_graph_says_so(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    OK(cls_stream_begin_capture(stream, "step"));
    OK(rig_set(stream, cells, 0, 1, 0));
    OK(cls_stream_launch_host_async(stream, fail_in_words, NULL));
    OK(rig_set(stream, cells, 0, 2, 0));
    cls_graph_exec exec = rig_end_capture(stream);
    for (unsigned launch = 0; launch < 2; launch++) {
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_graph_launch_async(exec, stream));
        expect_detail("the words of the program");
        expect_detail(launch ? "of stream 'step'" : "number 2 of stream 'step'");
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
        expect_detail("the words of the program");
        OK(cls_stream_reset(stream));
        assert_int_equal(rig_cell(cells, 0), 1);
    }
    OK(cls_graph_exec_destroy(exec));
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
}

static void test_a_failure_is_passed_on(void **state) {
    (void)state;
    const cls_event_config timed = {.size = sizeof timed, .timed = 1};
    cls_event events[2];
    unsigned called = 0;
    OK(cls_event_create(rig.context, NULL, &events[0]));
    OK(cls_event_create(rig.context, &timed, &events[1]));
    for (unsigned i = 0; i < 2; i++) {
        cls_stream first = rig_stream(), second = rig_stream(), third = rig_stream();
        EXPECT(CLS_ERROR_COMMAND_FAILED, rig_fail(first, "this one", -5));
        OK(cls_event_record(events[i], first));
        OK(cls_stream_wait_event(second, events[i]));
        OK(cls_event_record(events[i], second));
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_event_query(events[i]));
        OK(cls_stream_wait_event(third, events[i]));
        OK(cls_stream_add_callback(third, count_failed, &called));
        assert_int_equal(called, i + 1);
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_query(third));
        OK(cls_stream_destroy(first));
        OK(cls_stream_destroy(second));
        OK(cls_stream_destroy(third));
    }
    OK(cls_event_destroy(events[0]));
    OK(cls_event_destroy(events[1]));
}

struct inside {
    cls_stream stream;
    cls_buffer cells;
    unsigned refused, ran;
};

/* Submits to the stream it runs on, which cannot complete before it returns. */
static void submit_inside(void *arg) {
    struct inside *inside = arg;
    inside->refused += rig_step(inside->stream, inside->cells, 0, 1, 1, 0) != CLS_SUCCESS;
    inside->refused +=
        cls_stream_launch_host_async(inside->stream, count, &inside->ran) != CLS_SUCCESS;
}

static void test_submitting_inside_a_host_function_does_not_hang(void **state) {
    (void)state;
    struct inside inside = {rig_stream(), rig_cells(1), 0, 0};
    OK(cls_stream_launch_host_async(inside.stream, submit_inside, &inside));
    OK(cls_stream_synchronize(inside.stream));
    assert_int_equal(inside.refused, 0);
    assert_int_equal(inside.ran, 1);
    assert_int_equal(rig_cell(inside.cells, 0), 1);
    OK(cls_stream_destroy(inside.stream));
    OK(cls_buffer_destroy(inside.cells));
}

/* Two streams, the second of which comes after the first. */
static void submit_to_both(cls_stream first, cls_stream second, cls_buffer cells) {
    cls_event event = rig_event();
    OK(rig_set(first, cells, 0, 1, 0));
    OK(cls_event_record(event, first));
    OK(cls_stream_wait_event(second, event));
    OK(rig_set(second, cells, 1, 2, 0));
    EXPECT(CLS_NOT_READY, cls_stream_query(second));
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(second, 1000 * 1000));
    OK(cls_event_destroy(event));
}

static void end_both(cls_stream first, cls_stream second, cls_buffer cells) {
    OK(cls_stream_synchronize(second));
    assert_int_equal(rig_cell(cells, 0), 1);
    assert_int_equal(rig_cell(cells, 1), 2);
    OK(cls_stream_destroy(first));
    OK(cls_stream_destroy(second));
    OK(cls_buffer_destroy(cells));
}

/* What this thread alone is to signal holds it nowhere, not by way of another stream either. */
static void test_what_waits_for_a_timeline_is_excepted(void **state) {
    (void)state;
    cls_stream first = rig_stream(), second = rig_stream();
    cls_buffer cells = rig_cells(2);
    cls_timeline timeline;
    OK(cls_timeline_create(NULL, &timeline));
    OK(cls_stream_wait_timeline(first, timeline, 1));
    submit_to_both(first, second, cells);
    OK(cls_timeline_signal(timeline, 1));
    end_both(first, second, cells);
    OK(cls_timeline_destroy(timeline));
}

static void test_what_waits_for_a_user_event_is_excepted(void **state) {
    (void)state;
    cls_stream first = rig_stream(), second = rig_stream();
    cls_buffer cells = rig_cells(2);
    cl_event event = rig_user_event();
    OK(cls_stream_wait_cl(first, event));
    submit_to_both(first, second, cells);
    assert_int_equal(clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
    end_both(first, second, cells);
    assert_int_equal(clReleaseEvent(event), CL_SUCCESS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_call_has_completed),
        cmocka_unit_test(test_the_call_that_fails_says_so),
        cmocka_unit_test(test_a_failed_node_of_a_graph_says_so),
        cmocka_unit_test(test_a_failure_is_passed_on),
        cmocka_unit_test(test_submitting_inside_a_host_function_does_not_hang),
        cmocka_unit_test(test_what_waits_for_a_timeline_is_excepted),
        cmocka_unit_test(test_what_waits_for_a_user_event_is_excepted),
    };
    setenv("CLSTREAM_LAUNCH_BLOCKING", "1", 1);
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
