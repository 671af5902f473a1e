/* SPDX-License-Identifier: MIT */
/* Graphs: each launch records the timed events that were recorded in the capture. */
#include "profilers.h"

#include <string.h>

#include <clstream/batch.h>
#include <clstream/graph.h>
#include <clstream/unary.h>

enum { CELLS = 8, LAUNCHES = 3 };

static cls_stream stream, beside;
static cls_buffer cells;
static cls_event before, start, middle, last, after;

static int begin_on(cls_order order) {
    cls_event *const events[] = {&before, &start, &middle, &last, &after};
    stream = rig_ordered(order);
    beside = rig_ordered(order);
    cells = rig_cells(CELLS);
    for (unsigned i = 0; i < 5; i++)
        *events[i] = rig_timed_event();
    return 0;
}

static int begin(void **state) {
    (void)state;
    return begin_on(CLS_ORDER_AUTO);
}

static int begin_in_order(void **state) {
    (void)state;
    return begin_on(CLS_ORDER_IN_ORDER);
}

/* On a queue of the program's, which stays one without times. */
static int begin_wrapped(void **state) {
    begin_in_order(state);
    OK(cls_stream_destroy(stream));
    stream = rig_own_stream();
    return 0;
}

static int finish(void **state) {
    const cls_event events[] = {before, start, middle, last, after};
    (void)state;
    for (unsigned i = 0; i < 5; i++)
        OK(cls_event_destroy(events[i]));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(beside));
    return 0;
}

static double between(cls_event from, cls_event to) {
    double ms = -1e9;
    OK(cls_event_elapsed(from, to, &ms));
    return ms;
}

/* cells[0] = cells[0] * 3 + 1 between `start` and `middle`, and then cells[1] likewise before `last`; also on another
 * stream, which the timed events fork and join. */
static void submit_steps(void) {
    OK(cls_event_record(start, stream));
    OK(rig_step(stream, cells, 0, 3, 1, 5));
    OK(cls_event_record(middle, stream));
    OK(cls_stream_wait_event(beside, middle));
    OK(rig_step(beside, cells, 1, 3, 1, 5));
    OK(cls_event_record(last, beside));
    OK(cls_stream_wait_event(stream, last));
}

static cls_graph captured(void (*submit)(void)) {
    cls_graph graph;
    OK(cls_stream_begin_capture(stream, "timed"));
    submit();
    OK(cls_stream_end_capture(stream, &graph));
    return graph;
}

static cls_graph_exec instantiated_as(void (*submit)(void), bool background) {
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    cls_graph_exec exec;
    cls_graph graph = captured(submit);
    config.background = background;
    OK(cls_graph_instantiate(graph, &config, &exec));
    OK(cls_graph_destroy(graph));
    return exec;
}

static cls_graph_exec instantiated(void (*submit)(void)) { return instantiated_as(submit, false); }

/* Whether clocks are compared that are those of one device, or of the host. */
static void expect_times_in_order(void) {
    assert_true(between(before, start) >= 0);
    assert_true(between(start, middle) > 0);
    assert_true(between(middle, last) > 0);
    assert_true(between(last, after) >= 0);
    assert_true(between(start, last) > between(start, middle));
}

/* Launches one by one: events around each tell that its own records are new. */
static void expect_a_record_at_each_launch(cls_graph_exec exec) {
    for (unsigned i = 0; i < LAUNCHES; i++) {
        OK(cls_event_record(before, stream));
        OK(cls_graph_launch_async(exec, stream));
        OK(cls_event_record(after, stream));
        OK(cls_event_synchronize(last));
        OK(cls_event_query(start));
        OK(cls_event_synchronize(after));
        expect_times_in_order();
    }
    assert_int_equal(rig_cell(cells, 0), 13);
    assert_int_equal(rig_cell(cells, 1), 13);
}

static void test_recorded_at_each_launch(void **state) {
    (void)state;
    cls_graph_exec exec = instantiated(submit_steps);
    expect_a_record_at_each_launch(exec);
    OK(cls_graph_exec_destroy(exec));
}

static void test_recorded_in_the_background(void **state) {
    (void)state;
    cls_graph_exec exec = instantiated_as(submit_steps, true);
    expect_a_record_at_each_launch(exec);
    OK(cls_graph_exec_destroy(exec));
}

static void submit_steps_and_host(void) {
    submit_steps();
    OK(cls_stream_launch_host_async(stream, rig_do_nothing, NULL));
}

static void test_recorded_by_a_worker(void **state) {
    (void)state;
    cls_graph_exec exec = instantiated(submit_steps_and_host);
    assert_false(rig_graph_statistics(exec).one_command);
    expect_a_record_at_each_launch(exec);
    OK(cls_graph_exec_destroy(exec));
}

static void test_recorded_while_profiled(void **state) {
    (void)state;
    cls_graph_exec exec = instantiated(submit_steps);
    cls_profiler profiler = started();
    expect_a_record_at_each_launch(exec);
    cls_profile profile = snapshot(profiler);
    const size_t count = summary_of(profile).records;
    unsigned records = 0;
    for (size_t i = 0; i < count; i++)
        records += !strcmp(record_at(profile, i).label, "event record");
    assert_int_equal(records, 3 * LAUNCHES);
    end(profile, profiler);
    OK(cls_graph_exec_destroy(exec));
}

/* Until a launch has recorded it, the event is one of a capture. */
static void test_not_recorded_before_a_launch(void **state) {
    (void)state;
    double ms;
    cls_graph_exec exec = instantiated(submit_steps);
    EXPECT(CLS_ERROR_INVALID_STATE, cls_event_query(start));
    expect_detail("has ended");
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_wait_event(beside, start));
    EXPECT(CLS_ERROR_NOT_TIMED, cls_event_elapsed(start, last, &ms));
    OK(cls_graph_launch(exec, stream));
    OK(cls_event_query(start));
    assert_true(between(start, last) > 0);
    OK(cls_graph_exec_destroy(exec));
}

/* The record is that of the call: while the launch waits for its turn, so do waits for the event. */
static void test_another_stream_waits_for_the_launch(void **state) {
    (void)state;
    double ms;
    struct gate gate;
    gate_init(&gate);
    cls_graph_exec exec = instantiated(submit_steps);
    OK(cls_graph_launch(exec, stream));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_stream_wait_event(beside, middle));
    OK(rig_step(beside, cells, 0, 5, 0, 0));
    OK(cls_event_record(after, beside));
    gate_await(&gate);
    EXPECT(CLS_NOT_READY, cls_event_query(start));
    EXPECT(CLS_NOT_READY, cls_event_query(after));
    EXPECT(CLS_NOT_READY, cls_event_elapsed(start, last, &ms));
    gate_open(&gate);
    OK(cls_event_synchronize(after));
    OK(cls_event_query(middle));
    assert_true(between(start, middle) > 0);
    assert_int_equal(rig_cell(cells, 0), 20);
    gate_destroy(&gate);
    OK(cls_graph_exec_destroy(exec));
}

/* A later record, of a stream or of another graph, replaces that of a launch. */
static void test_the_latest_record_counts(void **state) {
    (void)state;
    cls_graph_exec exec = instantiated(submit_steps);
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_event_record(start, stream));
    OK(cls_stream_synchronize(stream));
    assert_true(between(last, start) >= 0);
    OK(cls_graph_launch(exec, stream));
    assert_true(between(start, last) > 0);
    OK(cls_graph_exec_destroy(exec));
}

static int refuse(cl_command_queue queue, void *arg) {
    (void)queue;
    return *(const int *)arg;
}

static int outcome;

static void submit_unlucky(void) {
    OK(cls_event_record(start, stream));
    OK(cls_stream_foreign_async(stream, "unlucky", refuse, &outcome));
    OK(cls_event_record(last, stream));
}

static void test_the_record_of_a_failed_launch_fails(void **state) {
    (void)state;
    double ms;
    cls_graph_exec exec = instantiated(submit_unlucky);
    outcome = -5;
    OK(cls_graph_launch_async(exec, stream));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_event_synchronize(start));
    expect_detail("unlucky");
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_event_query(last));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_event_elapsed(start, last, &ms));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_graph_launch_async(exec, stream));
    OK(cls_stream_wait_event(beside, last));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(beside));
    expect_detail("unlucky");
    OK(cls_stream_reset(stream));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_event_query(last));
    outcome = 0;
    OK(cls_graph_launch(exec, stream));
    assert_true(between(start, last) >= 0);
    OK(cls_graph_exec_destroy(exec));
}

/* A launch that is refused leaves the record as it was. */
static void test_a_refused_launch_records_nothing(void **state) {
    (void)state;
    cls_graph_exec exec = instantiated(submit_steps);
    OK(cls_graph_launch(exec, stream));
    const double once = between(start, last);
    OK(rig_fail(beside, "unlucky", -5));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(beside));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_graph_launch_async(exec, beside));
    OK(cls_event_query(start));
    assert_true(between(start, last) == once);
    OK(cls_graph_exec_destroy(exec));
}

/* Node 0 records `start`. Launches that wait in the stream leave it out or not as they were submitted. */
static void test_left_out(void **state) {
    (void)state;
    struct gate gate;
    gate_init(&gate);
    cls_graph_exec exec = instantiated(submit_steps);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_event_record(before, stream));
    OK(cls_graph_set_enabled(exec, 0, 0));
    OK(cls_graph_launch_async(exec, stream));
    gate_await(&gate);
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    assert_true(between(start, before) > 0);
    assert_true(between(before, last) > 0);
    OK(cls_graph_set_enabled(exec, 0, 1));
    OK(cls_graph_launch(exec, stream));
    assert_true(between(before, start) > 0);
    assert_int_equal(rig_cell(cells, 0), 13);
    gate_destroy(&gate);
    OK(cls_graph_exec_destroy(exec));
}

static void submit_one(void) {
    OK(cls_event_record(start, stream));
    OK(rig_step(stream, cells, 0, 3, 1, 5));
    OK(cls_event_record(last, stream));
}

static void submit_one_elsewhere(void) {
    OK(cls_event_record(before, stream));
    OK(rig_step(stream, cells, 0, 3, 1, 5));
    OK(cls_event_record(after, stream));
}

static void test_update_takes_over_events(void **state) {
    (void)state;
    cls_graph_exec exec = instantiated(submit_one);
    cls_graph other = captured(submit_one_elsewhere);
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_graph_update(exec, other));
    OK(cls_graph_destroy(other));
    OK(cls_graph_launch(exec, stream));
    assert_true(between(last, before) >= 0);
    assert_true(between(start, last) > 0);
    assert_true(between(before, after) > 0);
    OK(cls_graph_exec_destroy(exec));
}

static void test_a_graph_in_a_graph(void **state) {
    (void)state;
    cls_graph_exec inner = instantiated(submit_one);
    OK(cls_stream_begin_capture(stream, "outer"));
    OK(cls_event_record(before, stream));
    OK(cls_graph_launch_async(inner, stream));
    OK(cls_event_record(after, stream));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_event_query(last)); /* no launch: nothing is recorded */
    EXPECT(CLS_ERROR_INVALID_STATE, cls_event_query(start));
    cls_graph_exec exec = rig_end_capture(stream);
    OK(cls_graph_exec_destroy(inner));
    OK(cls_graph_launch(exec, stream));
    assert_true(between(before, start) >= 0);
    assert_true(between(start, last) > 0);
    assert_true(between(last, after) >= 0);
    OK(cls_graph_exec_destroy(exec));
}

/* relu, which the record of an event comes behind, and two more. */
static void submit_operations(void) {
    const cls_array array = cls_array_of(cells, CLS_F32, CELLS);
    OK(cls_unary_async(CLS_UNARY_RELU, array, array, stream));
    OK(cls_unary_async(CLS_UNARY_ABS, array, array, stream));
    OK(cls_event_record(start, stream));
    OK(cls_unary_async(CLS_UNARY_RELU, array, array, stream));
    OK(cls_unary_async(CLS_UNARY_ABS, array, array, stream));
    OK(cls_event_record(last, stream));
}

static void test_a_record_ends_a_fused_chain(void **state) {
    (void)state;
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    cls_graph_exec exec;
    cls_graph graph = captured(submit_operations);
    config.fuse = 1;
    OK(cls_graph_instantiate(graph, &config, &exec));
    assert_int_equal(rig_graph_statistics(exec).fused_nodes, 4);
    assert_int_equal(rig_graph_statistics(exec).fused_kernels, 2);
    OK(cls_graph_launch(exec, stream));
    assert_true(between(start, last) >= 0);
    OK(cls_graph_set_enabled(exec, 2, 0));
    OK(cls_event_record(before, stream));
    OK(cls_graph_launch(exec, stream));
    assert_true(between(start, before) >= 0);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
}

static void test_the_graph_keeps_its_events(void **state) {
    (void)state;
    cls_event gone = start, new = rig_timed_event();
    cls_graph_exec exec = instantiated(submit_one);
    OK(cls_event_destroy(gone));
    start = new;
    OK(cls_graph_launch(exec, stream));
    OK(cls_event_query(last));
    assert_int_equal(rig_cell(cells, 0), 1);
    OK(cls_graph_exec_destroy(exec));
}

static void test_listed_and_refused(void **state) {
    (void)state;
    const cls_launch one = cls_launch_1d(1);
    cls_graph_node_info info = CLS_GRAPH_NODE_INFO_INIT;
    uint64_t count;
    cls_graph graph = captured(submit_one);
    cls_graph_exec exec;
    OK(cls_graph_get_nodes(graph, &count));
    assert_int_equal(count, 3);
    OK(cls_graph_get_node(graph, 2, &info));
    assert_int_equal(info.kind, CLS_COMMAND_MARKER);
    assert_string_equal(info.label, "event record");
    assert_int_equal(info.n_dependencies, 1);
    assert_int_equal(info.dependencies[0], 1);
    OK(cls_graph_instantiate(graph, NULL, &exec));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_graph_set_args(exec, 0, &one, NULL, 0));
    expect_detail("event record");
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
}

/* An event of another context is refused, and the capture goes on. */
static void test_another_context(void **state) {
    (void)state;
    cls_event_config timed = CLS_EVENT_CONFIG_INIT;
    cls_context context;
    cls_event event;
    cls_graph graph;
    timed.timed = 1;
    OK(cls_context_create(NULL, &context));
    OK(cls_event_create(context, &timed, &event));
    OK(cls_stream_begin_capture(stream, "timed"));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_event_record(event, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_destroy(graph));
    OK(cls_event_destroy(event));
    OK(cls_context_destroy(context));
}

/* Threads launch and read: whoever sees the records done gets their times. */
static bool launch_and_read(void *arg, unsigned i) {
    cls_graph_exec exec = arg;
    for (unsigned n = 0; n < 20; n++) {
        double ms;
        if (i % 2 && cls_graph_launch_async(exec, i == 1 ? stream : beside))
            return false;
        const cls_status status = cls_event_elapsed(start, last, &ms);
        if (status && status != CLS_NOT_READY)
            return false;
    }
    return true;
}

static void test_threads(void **state) {
    (void)state;
    cls_graph_exec exec = instantiated(submit_operations);
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(team_run(4, launch_and_read, exec), 0);
    OK(cls_stream_synchronize(stream));
    OK(cls_stream_synchronize(beside));
    assert_true(between(start, last) >= 0);
    OK(cls_graph_exec_destroy(exec));
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, finish)
#define TEST_IN_ORDER(name) cmocka_unit_test_setup_teardown(test_##name, begin_in_order, finish)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(recorded_at_each_launch),
        TEST_IN_ORDER(recorded_at_each_launch),
        cmocka_unit_test_setup_teardown(test_recorded_at_each_launch, begin_wrapped, finish),
        TEST(recorded_in_the_background),
        TEST_IN_ORDER(recorded_in_the_background),
        TEST(recorded_by_a_worker),
        TEST_IN_ORDER(recorded_by_a_worker),
        TEST(recorded_while_profiled),
        TEST(not_recorded_before_a_launch),
        TEST(another_stream_waits_for_the_launch),
        TEST_IN_ORDER(another_stream_waits_for_the_launch),
        TEST(the_latest_record_counts),
        TEST(the_record_of_a_failed_launch_fails),
        TEST(a_refused_launch_records_nothing),
        TEST(left_out),
        TEST_IN_ORDER(left_out),
        TEST(update_takes_over_events),
        TEST(a_graph_in_a_graph),
        TEST(a_record_ends_a_fused_chain),
        TEST(the_graph_keeps_its_events),
        TEST(listed_and_refused),
        TEST(another_context),
        TEST(threads),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
