/* SPDX-License-Identifier: MIT */
/* Launches that wait for events which work outside of their capture records. */
#include "../support/rig.h"

#include <clstream/graph.h>
#include <clstream/timeline.h>

enum { CELLS = 64 };

static cls_stream stream, other, third;
static cls_buffer cells, results;
static cls_event event, second;
static cls_timeline timeline;

static int begin(void **state) {
    (void)state;
    stream = rig_stream();
    other = rig_stream();
    third = rig_stream();
    cells = rig_cells(CELLS);
    results = rig_cells(CELLS);
    event = rig_event();
    second = rig_event();
    OK(cls_timeline_create(NULL, &timeline));
    return 0;
}

static int end(void **state) {
    (void)state;
    OK(cls_timeline_destroy(timeline));
    OK(cls_event_destroy(second));
    if (event)
        OK(cls_event_destroy(event));
    OK(cls_buffer_destroy(results));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(third));
    OK(cls_stream_destroy(other));
    OK(cls_stream_destroy(stream));
    return 0;
}

/* results[1] = cells[0], behind the event. */
static cls_graph captured_wait(cls_event of) {
    cls_graph graph;
    OK(cls_stream_begin_capture(stream, "waiting"));
    OK(cls_stream_wait_external_event(stream, of));
    OK(cls_copy_d2d_async(results, 4, cells, 0, 4, stream));
    OK(cls_stream_end_capture(stream, &graph));
    return graph;
}

static cls_graph_exec waiting(void) {
    cls_graph graph = captured_wait(event);
    cls_graph_exec exec;
    OK(cls_graph_instantiate(graph, NULL, &exec));
    OK(cls_graph_destroy(graph));
    return exec;
}

/* Sets cells[0] on the other stream once the timeline has the value, and records the event. */
static void set_later(cls_event of, uint64_t reached, uint32_t value) {
    OK(cls_stream_wait_timeline(other, timeline, reached));
    OK(rig_set(other, cells, 0, value, 0));
    OK(cls_event_record(of, other));
}

static void expect_result(uint32_t value) {
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(results, 1), value);
}

static void test_each_launch_waits_for_the_latest_record(void **state) {
    (void)state;
    cls_graph_exec exec = waiting();
    OK(cls_graph_launch(exec, stream)); /* never recorded: no wait */
    assert_int_equal(rig_cell(results, 1), 0);
    for (uint32_t i = 1; i <= 3; i++) {
        set_later(event, i, 10 * i);
        OK(cls_graph_launch_async(exec, stream));
        EXPECT(CLS_NOT_READY, cls_stream_query(stream));
        OK(cls_timeline_signal(timeline, i));
        expect_result(10 * i);
    }
    OK(cls_graph_launch(exec, stream));
    OK(cls_graph_exec_destroy(exec));
}

/* A record after the launch's call is no matter of that launch. */
static void test_a_later_record_is_not_waited_for(void **state) {
    (void)state;
    cls_graph_exec exec = waiting();
    OK(rig_set(other, cells, 0, 5, 0));
    OK(cls_event_record(event, other));
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_stream_wait_timeline(other, timeline, 1));
    OK(cls_event_record(event, other));
    expect_result(5);
    OK(cls_timeline_signal(timeline, 1));
    OK(cls_graph_exec_destroy(exec));
}

static void test_a_node_that_is_left_out_does_not_wait(void **state) {
    (void)state;
    cls_graph_node_info info = CLS_GRAPH_NODE_INFO_INIT;
    cls_graph graph = captured_wait(event);
    OK(cls_graph_get_node(graph, 0, &info));
    assert_int_equal(info.kind, CLS_COMMAND_MARKER);
    assert_string_equal(info.label, "event wait");
    OK(cls_graph_destroy(graph));
    cls_graph_exec exec = waiting();
    set_later(event, 1, 7);
    OK(cls_graph_set_enabled(exec, 0, 0));
    OK(cls_graph_launch_async(exec, stream));
    expect_result(0);
    OK(cls_graph_set_enabled(exec, 0, 1));
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_timeline_signal(timeline, 1));
    expect_result(7);
    OK(cls_graph_exec_destroy(exec));
}

static void test_an_update_takes_the_other_event(void **state) {
    (void)state;
    cls_graph_exec exec = waiting();
    cls_graph graph = captured_wait(second);
    OK(cls_graph_update(exec, graph));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_wait_timeline(third, timeline, 2));
    OK(cls_event_record(event, third)); /* nobody waits for that */
    set_later(second, 1, 9);
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_timeline_signal(timeline, 1));
    expect_result(9);
    OK(cls_timeline_signal(timeline, 2));
    OK(cls_graph_exec_destroy(exec));
}

static void test_the_graph_keeps_the_event(void **state) {
    (void)state;
    cls_graph_exec exec = waiting();
    set_later(event, 1, 4);
    OK(cls_event_destroy(event));
    event = NULL;
    OK(cls_graph_launch_async(exec, stream));
    EXPECT(CLS_NOT_READY, cls_stream_query(stream));
    OK(cls_timeline_signal(timeline, 1));
    expect_result(4);
    OK(cls_graph_exec_destroy(exec));
}

static void test_launches_on_captured_streams_carry_it_on(void **state) {
    (void)state;
    cls_graph graph;
    cls_graph_exec inner = waiting(), outer;
    OK(cls_stream_begin_capture(third, "outer"));
    OK(cls_graph_launch_async(inner, third));
    OK(cls_stream_end_capture(third, &graph));
    OK(cls_graph_exec_destroy(inner));
    OK(cls_stream_begin_capture_from(third, "copy", graph));
    OK(cls_graph_destroy(graph));
    outer = rig_end_capture(third);
    set_later(event, 1, 6);
    OK(cls_graph_launch_async(outer, stream));
    OK(cls_timeline_signal(timeline, 1));
    expect_result(6);
    OK(cls_graph_exec_destroy(outer));
}

/* --- inside the capture, and without one --- */

static void test_a_record_of_the_capture_is_a_dependency(void **state) {
    (void)state;
    cls_graph graph;
    uint64_t count;
    OK(cls_stream_begin_capture(stream, "inside"));
    OK(rig_set(stream, cells, 0, 3, 5));
    OK(cls_event_record(event, stream));
    OK(cls_stream_wait_external_event(other, event)); /* not captured: it joins, as by any wait */
    OK(cls_stream_wait_external_event(other, event));
    OK(cls_copy_d2d_async(results, 4, cells, 0, 4, other));
    OK(cls_event_record(event, other));
    OK(cls_stream_wait_external_event(stream, event));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_get_nodes(graph, &count));
    assert_int_equal(count, 2);
    cls_graph_exec exec;
    OK(cls_graph_instantiate(graph, NULL, &exec));
    OK(cls_graph_destroy(graph));
    OK(cls_graph_launch_async(exec, stream));
    expect_result(3);
    OK(cls_graph_exec_destroy(exec));
}

static void test_without_a_capture_it_is_a_wait(void **state) {
    (void)state;
    OK(cls_stream_wait_external_event(stream, event));
    set_later(event, 1, 8);
    OK(cls_stream_wait_external_event(stream, event));
    OK(cls_copy_d2d_async(results, 4, cells, 0, 4, stream));
    EXPECT(CLS_NOT_READY, cls_stream_query(stream));
    OK(cls_timeline_signal(timeline, 1));
    expect_result(8);
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_stream_wait_external_event(stream, NULL));
}

/* --- what is refused --- */

static void test_an_event_of_another_capture(void **state) {
    (void)state;
    cls_graph graph;
    cls_graph_exec exec = waiting();
    OK(cls_stream_begin_capture(third, "another"));
    OK(cls_event_record(event, third));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_graph_launch_async(exec, stream));
    expect_detail("latest record is in a capture");
    OK(cls_stream_end_capture(third, &graph));
    OK(cls_graph_destroy(graph));
    OK(cls_event_record(event, other));
    OK(cls_graph_launch(exec, stream));
    OK(cls_graph_exec_destroy(exec));
}

static void test_a_failure_is_inherited(void **state) {
    (void)state;
    cls_graph_exec exec = waiting();
    rig_fail(other, "on purpose", CL_INVALID_VALUE);
    OK(cls_event_record(event, other));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(other));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_graph_launch_async(exec, stream));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    OK(cls_stream_reset(other));
    OK(cls_stream_reset(stream));
    OK(cls_event_record(event, other));
    OK(cls_graph_launch(exec, stream));
    OK(cls_graph_exec_destroy(exec));
}

/* The other stream waits for what only this one signals, after the launch. */
static void test_a_cycle_of_waits(void **state) {
    (void)state;
    cls_timeline_config config = CLS_TIMELINE_CONFIG_INIT;
    cls_timeline own;
    cls_graph_exec exec = waiting();
    config.signaller = stream;
    OK(cls_timeline_create(&config, &own));
    OK(cls_stream_wait_timeline(other, own, 1));
    OK(cls_event_record(event, other));
    EXPECT(CLS_ERROR_DEADLOCK, cls_graph_launch_async(exec, stream));
    OK(cls_stream_signal_timeline(stream, own, 1));
    OK(cls_graph_launch(exec, stream));
    OK(cls_stream_synchronize(other));
    OK(cls_graph_exec_destroy(exec));
    OK(cls_timeline_destroy(own));
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(each_launch_waits_for_the_latest_record),
        TEST(a_later_record_is_not_waited_for),
        TEST(a_node_that_is_left_out_does_not_wait),
        TEST(an_update_takes_the_other_event),
        TEST(the_graph_keeps_the_event),
        TEST(launches_on_captured_streams_carry_it_on),
        TEST(a_record_of_the_capture_is_a_dependency),
        TEST(without_a_capture_it_is_a_wait),
        TEST(an_event_of_another_capture),
        TEST(a_failure_is_inherited),
        TEST(a_cycle_of_waits),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
