/* SPDX-License-Identifier: MIT */
/* Captures in a context with CUDA's legacy default stream: they take no part in its order, and launches do. */
#include "legacy_world.h"

#include <clstream/graph.h>

static cls_capture_info capture_of(cls_stream stream) {
    cls_capture_info info = CLS_CAPTURE_INFO_INIT;
    OK(cls_stream_get_capture(stream, &info));
    return info;
}

/* What is captured is behind nothing, and nothing is behind it; what a stream submitted before its capture counts. */
static void test_a_capture_takes_no_part(void **state) {
    (void)state;
    cls_event event = rig_event();
    hold(w.b);
    OK(cls_stream_begin_capture(w.a, "step"));
    OK(cls_stream_begin_capture(w.b, "other"));
    OK(set(w.a, 0, 5));
    OK(set(w.b, 1, 5));
    OK(set(w.first, 2, 1));
    expect_pending(w.first);
    gate_open(&w.gate);
    OK(cls_stream_synchronize(w.first));
    hold(w.first);
    OK(cls_stream_wait_event(w.a, event)); /* never recorded */
    OK(set(w.a, 3, 5));
    assert_int_equal(capture_of(w.a).nodes, 2);
    assert_int_equal(capture_of(w.b).nodes, 1);
    cls_graph_exec a = rig_end_capture(w.a), b = rig_end_capture(w.b);
    gate_open(&w.gate);
    OK(cls_stream_synchronize(w.first));
    assert_int_equal(rig_cell(w.cells, 0), 0);
    OK(cls_graph_launch(a, w.a));
    OK(cls_graph_launch(b, w.b));
    assert_int_equal(rig_cell(w.cells, 0), 5);
    assert_int_equal(rig_cell(w.cells, 1), 5);
    OK(cls_graph_exec_destroy(a));
    OK(cls_graph_exec_destroy(b));
    OK(cls_event_destroy(event));
}

static void test_blocking_streams_join_captures(void **state) {
    (void)state;
    cls_event event = rig_event();
    OK(cls_stream_begin_capture(w.apart, "step"));
    OK(rig_step(w.apart, w.cells, 0, 0, 3, 1));
    OK(cls_event_record(event, w.apart));
    OK(cls_stream_wait_event(w.a, event));
    OK(rig_step(w.a, w.cells, 0, 5, 1, 0));
    OK(set(w.first, 1, 9));
    OK(cls_event_record(event, w.a));
    OK(cls_stream_wait_event(w.apart, event));
    assert_int_equal(capture_of(w.apart).streams, 2);
    cls_graph_exec exec = rig_end_capture(w.apart);
    OK(cls_graph_launch(exec, w.b));
    assert_int_equal(rig_cell(w.cells, 0), 16);
    OK(cls_stream_synchronize(w.a));
    OK(cls_graph_exec_destroy(exec));
    OK(cls_event_destroy(event));
}

static void test_the_default_stream_is_not_captured(void **state) {
    (void)state;
    cls_event event = rig_event();
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_stream_begin_capture(w.first, NULL));
    expect_detail("default stream");
    OK(cls_stream_begin_capture(w.a, "step"));
    OK(set(w.a, 0, 5));
    OK(cls_event_record(event, w.a));
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_stream_wait_event(w.first, event));
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_stream_wait_event(NULL, event));
    OK(set(w.first, 1, 5));
    OK(cls_stream_synchronize(w.first));
    assert_int_equal(capture_of(w.a).state, CLS_CAPTURE_ACTIVE);
    OK(cls_graph_exec_destroy(rig_end_capture(w.a)));
    OK(cls_event_destroy(event));
}

enum { FORKED = 4, STEPS = 12 };

/* Later work of each of the two comes after earlier work of the other. */
static void exchange(cls_stream a, cls_stream b, cls_event event) {
    OK(cls_event_record(event, a));
    OK(cls_stream_wait_event(b, event));
    OK(cls_event_record(event, b));
    OK(cls_stream_wait_event(a, event));
}

/* A step of a random program on blocking streams, each of which has a cell. */
struct random_step {
    unsigned from, to; /* the same: the cell changes by itself */
    uint32_t add;
};

static struct random_step next_step(uint64_t *seed) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (struct random_step){*seed >> 33 & 3, *seed >> 40 & 3, *seed >> 50 & 15};
}

static void submit_step(const struct random_step *step, cls_stream *streams, cls_event event) {
    cls_stream from = streams[step->from], to = streams[step->to];
    if (step->from == step->to) {
        OK(rig_step(to, w.cells, step->to, 3, step->add, step->add == 15 ? 1 : 0));
        return;
    }
    exchange(from, to, event);
    OK(cls_copy_d2d_async(w.cells, 4 * step->to, w.cells, 4 * step->from, 4, to));
    exchange(from, to, event);
}

static void follow_step(const struct random_step *step, uint32_t *cells) {
    cells[step->to] = step->from == step->to ? cells[step->to] * 3 + step->add : cells[step->from];
}

/* All streams come after each other. */
static void exchange_all(cls_stream *streams, cls_event event) {
    for (unsigned i = 1; i < FORKED; i++)
        exchange(streams[0], streams[i], event);
}

/* The default stream goes on meanwhile. */
static cls_graph_exec capture_steps(uint64_t seed, cls_stream *streams, cls_event event) {
    OK(cls_stream_begin_capture(streams[0], NULL));
    exchange_all(streams, event);
    for (unsigned i = 0; i < STEPS; i++) {
        const struct random_step step = next_step(&seed);
        submit_step(&step, streams, event);
        OK(rig_step(w.first, w.cells, 8, 1, 1, 0));
    }
    exchange_all(streams, event);
    return rig_end_capture(streams[0]);
}

/* Two launches between work of the default stream, and what the cells hold then. */
static void launch_steps(uint64_t seed, cls_graph_exec exec, cls_stream *streams) {
    uint32_t cells[FORKED] = {0}, got[FORKED];
    OK(cls_fill_async(w.cells, 0, sizeof cells, cells, 4, w.first));
    for (unsigned launch = 0; launch < 2; launch++) {
        uint64_t at = seed;
        OK(cls_graph_launch_async(exec, streams[1 + launch]));
        for (unsigned i = 0; i < STEPS; i++) {
            const struct random_step step = next_step(&at);
            follow_step(&step, cells);
        }
        cells[0] += 5;
        OK(rig_step(w.first, w.cells, 0, 1, 5, 0));
    }
    OK(cls_copy_d2h(got, w.cells, 0, sizeof got, streams[3]));
    assert_memory_equal(got, cells, sizeof got);
}

static void test_random_captures_of_blocking_streams(void **state) {
    (void)state;
    const unsigned trials = rig_scale(40, 4);
    cls_event event = rig_event();
    cls_stream streams[FORKED];
    for (unsigned i = 0; i < FORKED; i++)
        streams[i] = stream_with(0);
    for (uint64_t seed = 1; seed <= trials; seed++) {
        cls_graph_exec exec = capture_steps(seed, streams, event);
        launch_steps(seed, exec, streams);
        OK(cls_graph_exec_destroy(exec));
    }
    assert_int_equal(rig_cell(w.cells, 8), trials * STEPS);
    for (unsigned i = 0; i < FORKED; i++)
        OK(cls_stream_destroy(streams[i]));
    OK(cls_event_destroy(event));
}

/* A launch is a command of its stream. */
static void test_launches_of_graphs_are_commands(void **state) {
    (void)state;
    uint32_t seen = 0;
    OK(cls_stream_begin_capture(w.a, "step"));
    OK(rig_step(w.a, w.cells, 0, 3, 1, 0));
    cls_graph_exec exec = rig_end_capture(w.a);
    hold(w.first);
    OK(set(w.first, 0, 2));
    OK(cls_graph_launch_async(exec, w.b));
    OK(cls_copy_d2h_async(&seen, w.cells, 0, 4, w.first));
    expect_pending(w.b);
    gate_open(&w.gate);
    OK(cls_stream_synchronize(w.first));
    assert_int_equal(seen, 7);
    OK(cls_graph_exec_destroy(exec));
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(test_##name, legacy_world_begin, legacy_world_end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_capture_takes_no_part),
        TEST(blocking_streams_join_captures),
        TEST(the_default_stream_is_not_captured),
        TEST(random_captures_of_blocking_streams),
        TEST(launches_of_graphs_are_commands),
    };
    return cmocka_run_group_tests(tests, legacy_setup, rig_teardown);
}
