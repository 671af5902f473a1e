/* SPDX-License-Identifier: MIT */
/* The call that would leave a stream waiting for itself is refused; what may still come is not. */
#include "../support/rig.h"

#include <stdio.h>
#include <string.h>

#include <clstream/timeline.h>

enum { MOST = 6 };

/* Streams a, b, c ..., and with each a timeline that it alone signals: of-a, of-b ... */
static struct ring {
    unsigned n;
    cls_stream streams[MOST];
    cls_timeline timelines[MOST];
    cls_buffer cells;
} ring;

static void open_ring(unsigned n) {
    ring.n = n;
    ring.cells = rig_cells(MOST);
    for (unsigned i = 0; i < n; i++) {
        char name[8];
        cls_stream_config stream = CLS_STREAM_CONFIG_INIT;
        cls_timeline_config timeline = CLS_TIMELINE_CONFIG_INIT;
        snprintf(name, sizeof name, "%c", 'a' + i);
        stream.name = name;
        OK(cls_stream_create(rig.context, &stream, &ring.streams[i]));
        snprintf(name, sizeof name, "of-%c", 'a' + i);
        timeline.name = name;
        timeline.signaller = ring.streams[i];
        OK(cls_timeline_create(&timeline, &ring.timelines[i]));
    }
}

static void close_ring(void) {
    for (unsigned i = 0; i < ring.n; i++) {
        OK(cls_stream_destroy(ring.streams[i]));
        OK(cls_timeline_destroy(ring.timelines[i]));
    }
    OK(cls_buffer_destroy(ring.cells));
}

/* Stream i waits for what j signals. */
static cls_status wait_for(unsigned i, unsigned j, uint64_t value) {
    return cls_stream_wait_timeline(ring.streams[i], ring.timelines[j], value);
}

static cls_status signal_of(unsigned i, uint64_t value) {
    return cls_stream_signal_timeline(ring.streams[i], ring.timelines[i], value);
}

static cls_status work(unsigned i) { return rig_step(ring.streams[i], ring.cells, i, 1, 1, 0); }

static void expect_details(const char *const *parts) {
    for (; *parts; parts++)
        expect_detail(*parts);
}

#define EXPECT_DETAIL(...) expect_details((const char *const[]){__VA_ARGS__, NULL})

/* All streams come to an end once every signaller has signalled. */
static void expect_life(uint64_t value) {
    for (unsigned i = 0; i < ring.n; i++)
        OK(signal_of(i, value));
    for (unsigned i = 0; i < ring.n; i++)
        OK(cls_stream_synchronize(ring.streams[i]));
}

/* --- refused --- */

static void test_a_stream_that_would_wait_for_itself(void **state) {
    (void)state;
    open_ring(1);
    OK(signal_of(0, 2));
    OK(wait_for(0, 0, 2)); /* its own, queued ahead */
    EXPECT(CLS_ERROR_DEADLOCK, wait_for(0, 0, 3));
    EXPECT_DETAIL("stream 'a' would wait for timeline 'of-a', at 2 of 3, which only stream 'a'");
    OK(work(0));
    expect_life(5);
    close_ring();
}

static void test_two_streams_and_the_whole_cycle_is_named(void **state) {
    (void)state;
    open_ring(2);
    OK(wait_for(0, 1, 1));
    OK(work(0));
    OK(signal_of(0, 1));
    EXPECT(CLS_ERROR_DEADLOCK, wait_for(1, 0, 1));
    EXPECT_DETAIL(
        "stream 'b' would wait for timeline 'of-a', at 0 of 1, which stream 'a' is to signal",
        "; stream 'a' waits at '", "' for timeline 'of-b', at 0 of 1, which only stream 'b'");
    /* Nothing has changed: b can do what it likes but this. */
    OK(work(1));
    EXPECT(CLS_ERROR_DEADLOCK, wait_for(1, 0, 1));
    OK(signal_of(1, 1));
    OK(wait_for(1, 0, 1));
    OK(work(1));
    for (unsigned i = 0; i < 2; i++)
        OK(cls_stream_synchronize(ring.streams[i]));
    assert_int_equal(rig_cell(ring.cells, 0), 1);
    assert_int_equal(rig_cell(ring.cells, 1), 2);
    close_ring();
}

static void test_waits_that_nothing_follows_count(void **state) {
    (void)state;
    open_ring(2);
    OK(wait_for(0, 1, 7));
    EXPECT(CLS_ERROR_DEADLOCK, wait_for(1, 0, 9));
    EXPECT_DETAIL("stream 'b' would wait for timeline 'of-a', at 0 of 9",
                  "stream 'a' waits for timeline 'of-b', at 0 of 7");
    expect_life(9);
    close_ring();
}

static void test_a_ring_of_six(void **state) {
    (void)state;
    open_ring(MOST);
    for (unsigned i = 1; i < MOST; i++) {
        OK(wait_for(i, i - 1, 1));
        OK(work(i));
    }
    EXPECT(CLS_ERROR_DEADLOCK, wait_for(0, MOST - 1, 1));
    EXPECT_DETAIL("'a' would", "'f' waits", "'e' waits", "'d' waits", "'c' waits", "'b' waits",
                  "'of-a'", "'of-b'", "'of-c'", "'of-d'", "'of-e'", "'of-f'");
    expect_life(1);
    close_ring();
}

static void test_events_are_a_part_of_cycles(void **state) {
    (void)state;
    cls_event event = rig_event();
    open_ring(3);
    OK(wait_for(1, 0, 1)); /* b waits for a */
    OK(work(1));
    OK(cls_event_record(event, ring.streams[1]));
    OK(cls_stream_wait_event(ring.streams[2], event)); /* c waits for b */
    OK(work(2));
    OK(cls_event_record(event, ring.streams[2]));
    EXPECT(CLS_ERROR_DEADLOCK, cls_stream_wait_event(ring.streams[0], event)); /* and a for c? */
    EXPECT_DETAIL("stream 'a' would wait for stream 'c' up to position", "stream 'c' waits at '",
                  "for stream 'b' up to position", "stream 'b' waits at '",
                  "timeline 'of-a', at 0 of 1, which only stream 'a'");
    EXPECT(CLS_ERROR_DEADLOCK, wait_for(0, 2, 1));
    OK(signal_of(0, 1));
    OK(cls_stream_wait_event(ring.streams[0], event));
    expect_life(2);
    OK(cls_event_destroy(event));
    close_ring();
}

/* Who waits for a cycle's streams is no part of it. */
static void test_the_cycle_is_named_without_its_approach(void **state) {
    (void)state;
    struct gate gate;
    gate_init(&gate);
    open_ring(3);
    OK(cls_stream_launch_host_async(ring.streams[0], gate_hold, &gate));
    OK(wait_for(0, 1, 1));
    OK(work(0));
    OK(wait_for(1, 0, 1)); /* the host function might signal */
    OK(work(1));
    gate_open(&gate);
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    while (counters.completed < 1)
        OK(cls_stream_get_counters(ring.streams[0], &counters));
    /* It did not: a and b wait for ever. */
    EXPECT(CLS_ERROR_DEADLOCK, wait_for(2, 1, 1));
    EXPECT_DETAIL("stream 'a' waits", "stream 'b' waits");
    assert_null(strstr(cls_last_error_detail(), "'c'"));
    EXPECT(CLS_ERROR_DEADLOCK, signal_of(0, 1));
    EXPECT_DETAIL("stream 'a' waits", "stream 'b' waits");
    OK(signal_of(2, 1));
    for (unsigned i = 0; i < 3; i++) { /* the only way out */
        OK(cls_timeline_destroy(ring.timelines[i]));
        ring.timelines[i] = NULL;
    }
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(ring.streams[0]));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(ring.streams[1]));
    OK(cls_stream_synchronize(ring.streams[2]));
    for (unsigned i = 0; i < 3; i++)
        OK(cls_stream_destroy(ring.streams[i]));
    OK(cls_buffer_destroy(ring.cells));
    gate_destroy(&gate);
}

static void test_the_cycle_is_drawn(void **state) {
    (void)state;
    char drawn[2048], part[16];
    size_t length = 0;
    open_ring(2);
    OK(wait_for(0, 1, 1));
    OK(work(0));
    EXPECT(CLS_ERROR_DEADLOCK, wait_for(1, 0, 4));
    OK(cls_timeline_export_cycle(drawn, sizeof drawn, &length));
    assert_int_equal(length, strlen(drawn));
    const char *const parts[] = {
        "digraph \"deadlock\"",      "stream a\\nwaits at ",      "stream b",
        "timeline of-a\\nat 0 of 4", "timeline of-b\\nat 0 of 1", "color=red"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(drawn, parts[i]))
            fail_msg("'%s' is not in the drawing:\n%s", parts[i], drawn);
    OK(cls_timeline_export_cycle(NULL, 0, &length));
    assert_int_equal(length, strlen(drawn));
    OK(cls_timeline_export_cycle(part, sizeof part, NULL));
    assert_int_equal(strlen(part), sizeof part - 1);
    assert_memory_equal(part, drawn, sizeof part - 1);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_timeline_export_cycle(NULL, 5, &length));
    expect_life(4);
    close_ring();
}

/* --- never refused --- */

static void test_what_anybody_may_signal_is_never_refused(void **state) {
    (void)state;
    cls_timeline open;
    OK(cls_timeline_create(NULL, &open));
    open_ring(2);
    OK(cls_stream_wait_timeline(ring.streams[0], open, 1));
    OK(work(0));
    OK(wait_for(1, 0, 1));
    OK(work(1));
    OK(cls_stream_signal_timeline(ring.streams[1], open, 1)); /* b's comes too late */
    OK(cls_stream_wait_timeline(ring.streams[1], open, 2));
    OK(work(1));
    EXPECT(CLS_NOT_READY, cls_stream_query(ring.streams[0]));
    OK(cls_timeline_signal(open, 1));
    OK(cls_timeline_signal(open, 2));
    expect_life(1);
    OK(cls_timeline_destroy(open));
    close_ring();
}

static void test_a_host_function_may_signal(void **state) {
    (void)state;
    struct gate gate;
    gate_init(&gate);
    open_ring(2);
    OK(cls_stream_launch_host_async(ring.streams[0], gate_hold, &gate));
    OK(wait_for(0, 1, 1));
    OK(work(0));
    OK(wait_for(1, 0, 1));
    OK(work(1));
    gate_await(&gate);
    OK(wait_for(1, 0, 2)); /* running is as good as queued */
    OK(work(1));
    OK(cls_timeline_destroy(ring.timelines[0]));
    EXPECT(CLS_NOT_READY, cls_stream_query(ring.streams[0]));
    gate_open(&gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(ring.streams[1]));
    OK(cls_stream_reset(ring.streams[1]));
    OK(signal_of(1, 1));
    OK(cls_stream_synchronize(ring.streams[0]));
    OK(cls_timeline_create(NULL, &ring.timelines[0])); /* for the end */
    close_ring();
    gate_destroy(&gate);
}

/* Behind the wait it is of no use. */
static void test_a_host_function_behind_the_wait_may_not(void **state) {
    (void)state;
    struct gate gate;
    gate_init(&gate);
    open_ring(2);
    OK(wait_for(0, 1, 1));
    OK(cls_stream_launch_host_async(ring.streams[0], gate_hold, &gate));
    EXPECT(CLS_ERROR_DEADLOCK, wait_for(1, 0, 1));
    EXPECT_DETAIL("stream 'a' waits at 'host function' for timeline 'of-b'");
    gate_open(&gate);
    expect_life(1);
    close_ring();
    gate_destroy(&gate);
}

static void test_criss_cross_events_and_re_records(void **state) {
    (void)state;
    enum { ROUNDS = 200 };
    cls_event events[2] = {rig_event(), rig_event()};
    struct gate gate;
    gate_init(&gate);
    open_ring(3);
    OK(wait_for(2, 0, 1000)); /* a signal is owed all the time, so everything is looked at */
    OK(cls_stream_launch_host_async(ring.streams[0], gate_hold, &gate));
    for (unsigned i = 0; i < ROUNDS; i++)
        for (unsigned s = 0; s < 2; s++) {
            OK(work(s));
            OK(cls_event_record(events[s], ring.streams[s]));
            OK(cls_stream_wait_event(ring.streams[1 - s], events[s]));
        }
    gate_open(&gate);
    expect_life(1000);
    assert_int_equal(rig_cell(ring.cells, 0), ROUNDS);
    OK(cls_event_destroy(events[0]));
    OK(cls_event_destroy(events[1]));
    close_ring();
    gate_destroy(&gate);
}

/* Consumers first, producers later: each wait is owed for a while. */
static void test_consumers_come_first(void **state) {
    (void)state;
    open_ring(4);
    for (uint64_t round = 1; round <= 20; round++)
        for (unsigned i = 3; i > 0; i--) {
            OK(wait_for(i, i - 1, round));
            OK(work(i));
            OK(signal_of(i, round));
        }
    for (uint64_t round = 1; round <= 20; round++) {
        OK(work(0));
        OK(signal_of(0, round));
    }
    for (unsigned i = 0; i < 4; i++)
        OK(cls_stream_synchronize(ring.streams[i]));
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(rig_cell(ring.cells, i), 20);
    close_ring();
}

/* Round and round: a primed cycle is legal however long it is. `held`: all of it is queued first. */
static void turn(unsigned rounds, bool held) {
    struct gate gate;
    gate_init(&gate);
    open_ring(2);
    if (held)
        OK(cls_stream_launch_host_async(ring.streams[0], gate_hold, &gate));
    OK(signal_of(0, 1));
    for (uint64_t i = 1; i <= rounds; i++) {
        OK(wait_for(1, 0, i));
        OK(signal_of(1, i));
        OK(wait_for(0, 1, i));
        OK(signal_of(0, i + 1));
    }
    if (held)
        gate_open(&gate);
    OK(cls_timeline_wait(ring.timelines[0], rounds + 1, UINT64_MAX));
    OK(cls_stream_synchronize(ring.streams[0]));
    OK(cls_stream_synchronize(ring.streams[1]));
    close_ring();
    gate_destroy(&gate);
}

#ifndef TURNS
#define TURNS 16384
#endif

static void test_a_primed_cycle_turns(void **state) {
    (void)state;
    turn(rig_scale(TURNS, 200), false);
}

static void test_a_held_primed_cycle_turns(void **state) {
    (void)state;
    turn(rig_scale(TURNS, 200), true);
}

/* One stream's half is queued as a whole, before the other's. */
static void test_a_primed_cycle_by_halves(void **state) {
    (void)state;
    unsigned rounds = rig_scale(TURNS, 200);
    open_ring(2);
    for (uint64_t i = 1; i <= rounds; i++) {
        OK(wait_for(1, 0, i));
        OK(signal_of(1, i));
    }
    OK(signal_of(0, 1));
    for (uint64_t i = 1; i <= rounds; i++) {
        OK(wait_for(0, 1, i));
        OK(signal_of(0, i + 1));
    }
    OK(cls_timeline_wait(ring.timelines[0], rounds + 1, UINT64_MAX));
    OK(cls_stream_synchronize(ring.streams[1]));
    close_ring();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stream_that_would_wait_for_itself),
        cmocka_unit_test(test_two_streams_and_the_whole_cycle_is_named),
        cmocka_unit_test(test_waits_that_nothing_follows_count),
        cmocka_unit_test(test_a_ring_of_six),
        cmocka_unit_test(test_events_are_a_part_of_cycles),
        cmocka_unit_test(test_the_cycle_is_named_without_its_approach),
        cmocka_unit_test(test_the_cycle_is_drawn),
        cmocka_unit_test(test_what_anybody_may_signal_is_never_refused),
        cmocka_unit_test(test_a_host_function_may_signal),
        cmocka_unit_test(test_a_host_function_behind_the_wait_may_not),
        cmocka_unit_test(test_criss_cross_events_and_re_records),
        cmocka_unit_test(test_consumers_come_first),
        cmocka_unit_test(test_a_primed_cycle_turns),
        cmocka_unit_test(test_a_held_primed_cycle_turns),
        cmocka_unit_test(test_a_primed_cycle_by_halves),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
