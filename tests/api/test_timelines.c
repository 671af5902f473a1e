/* SPDX-License-Identifier: MIT */
/* Timelines: counters that streams and hosts signal and wait for, also before the signal exists. */
#include "../support/alike.h"
#include "timelines.h"

#include <stdatomic.h>

static void test_a_stream_waits_for_the_host(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    cls_timeline timeline = make(NULL, 0, NULL);
    OK(cls_stream_wait_timeline(stream, timeline, 3));
    OK(rig_set(stream, cells, 0, 5, 0));
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(stream, 30 * MS));
    OK(cls_timeline_signal(timeline, 2));
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(stream, 30 * MS));
    OK(cls_timeline_signal(timeline, 3));
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(cells, 0), 5);
    OK(cls_timeline_destroy(timeline));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

static void test_a_wait_may_come_before_its_signal(void **state) {
    (void)state;
    cls_stream early = rig_stream(), late = rig_stream();
    cls_buffer cells = rig_cells(1);
    cls_timeline timeline = make("handover", 0, NULL);
    OK(cls_stream_wait_timeline(early, timeline, 1));
    OK(rig_step(early, cells, 0, 10, 1, 0));
    EXPECT(CLS_NOT_READY, cls_stream_query(early));
    OK(rig_set(late, cells, 0, 4, 30));
    OK(cls_stream_signal_timeline(late, timeline, 1));
    OK(cls_stream_synchronize(early));
    assert_int_equal(rig_cell(cells, 0), 41);
    OK(cls_timeline_query(timeline, 1));
    assert_int_equal(value_of(timeline), 1);
    OK(cls_timeline_destroy(timeline));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(early));
    OK(cls_stream_destroy(late));
}

/* The signal is with the device: the wait is its own, and nothing goes through the library's queue. */
static void test_a_wait_for_a_queued_signal_is_the_devices_own(void **state) {
    (void)state;
    rig_need("events_across_queues");
    cls_stream from = rig_stream(), to = rig_stream();
    cls_buffer cells = rig_cells(1);
    cls_timeline timeline = make(NULL, 0, NULL);
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    OK(rig_set(from, cells, 0, 7, 50));
    OK(cls_stream_signal_timeline(from, timeline, 9));
    OK(cls_stream_wait_timeline(to, timeline, 2));
    OK(rig_step(to, cells, 0, 2, 0, 0));
    OK(cls_stream_get_counters(to, &counters));
    assert_int_equal(counters.deferred, 0);
    OK(cls_stream_synchronize(to));
    assert_int_equal(rig_cell(cells, 0), 14);
    OK(cls_timeline_destroy(timeline));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(from));
    OK(cls_stream_destroy(to));
}

/* A wait that nothing follows counts for query and synchronize all the same. */
static void test_a_wait_alone_keeps_the_stream_pending(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_timeline timeline = make(NULL, 0, NULL);
    OK(cls_stream_wait_timeline(stream, timeline, 1));
    EXPECT(CLS_NOT_READY, cls_stream_query(stream));
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(stream, 10 * MS));
    OK(cls_timeline_signal(timeline, 1));
    while (cls_stream_query(stream) == CLS_NOT_READY)
        continue;
    OK(cls_stream_query(stream));
    OK(cls_stream_wait_timeline(stream, timeline, 1));
    OK(cls_stream_query(stream));
    OK(cls_timeline_destroy(timeline));
    OK(cls_stream_destroy(stream));
}

static void test_one_signal_opens_all_lower_values(void **state) {
    (void)state;
    enum { WAITERS = 6 };
    cls_stream streams[WAITERS], signaller = rig_stream();
    cls_buffer cells = rig_cells(WAITERS);
    cls_timeline timeline = make(NULL, 10, NULL);
    for (unsigned i = 0; i < WAITERS; i++) {
        streams[i] = rig_stream();
        OK(cls_stream_wait_timeline(streams[i], timeline, 9 + i));
        OK(rig_set(streams[i], cells, i, i + 1, 0));
    }
    OK(cls_stream_synchronize(streams[0]));
    OK(cls_stream_synchronize(streams[1])); /* at 10 from the start */
    OK(cls_stream_signal_timeline(signaller, timeline, 13));
    for (unsigned i = 2; i < 5; i++)
        OK(cls_stream_synchronize(streams[i]));
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(streams[5], 20 * MS));
    OK(cls_timeline_signal(timeline, 100));
    OK(cls_stream_synchronize(streams[5]));
    for (unsigned i = 0; i < WAITERS; i++) {
        assert_int_equal(rig_cell(cells, i), i + 1);
        OK(cls_stream_destroy(streams[i]));
    }
    OK(cls_timeline_destroy(timeline));
    OK(cls_stream_destroy(signaller));
    OK(cls_buffer_destroy(cells));
}

static void append(void *arg) { ++*(_Atomic unsigned *)arg; }

static void test_host_functions_wait_too(void **state) {
    (void)state;
    cls_stream stream = rig_stream(), other = rig_stream();
    cls_timeline timeline = make(NULL, 0, NULL);
    _Atomic unsigned ran = 0;
    OK(cls_stream_wait_timeline(stream, timeline, 1));
    OK(cls_stream_launch_host_async(stream, append, (void *)&ran));
    nap_ms(20);
    assert_int_equal(atomic_load(&ran), 0);
    OK(cls_stream_signal_timeline(other, timeline, 1));
    OK(cls_stream_synchronize(stream));
    assert_int_equal(atomic_load(&ran), 1);
    OK(cls_timeline_destroy(timeline));
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(other));
}

/* A signal behind a host function comes after it. */
static void test_a_signal_comes_in_stream_order(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_timeline timeline = make(NULL, 0, NULL);
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_signal_timeline(stream, timeline, 1));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_stream_signal_timeline(stream, timeline, 2));
    gate_await(&gate);
    OK(cls_timeline_query(timeline, 1));
    EXPECT(CLS_NOT_READY, cls_timeline_query(timeline, 2));
    EXPECT(CLS_ERROR_TIMEOUT, cls_timeline_wait(timeline, 2, 20 * MS));
    gate_open(&gate);
    OK(cls_timeline_wait(timeline, 2, UINT64_MAX));
    OK(cls_timeline_destroy(timeline));
    OK(cls_stream_destroy(stream));
    gate_destroy(&gate);
}

static void test_polling_alone_finishes_the_work(void **state) {
    (void)state;
    cls_stream first = rig_stream(), second = rig_stream();
    cls_buffer cells = rig_cells(1);
    cls_timeline a = make(NULL, 0, NULL), b = make(NULL, 0, NULL);
    OK(cls_stream_wait_timeline(second, a, 1));
    OK(cls_stream_signal_timeline(second, b, 1));
    OK(rig_set(first, cells, 0, 1, 5));
    OK(cls_stream_signal_timeline(first, a, 1));
    while (cls_timeline_query(b, 1) == CLS_NOT_READY)
        continue;
    OK(cls_timeline_query(b, 1));
    OK(cls_timeline_destroy(a));
    OK(cls_timeline_destroy(b));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(first));
    OK(cls_stream_destroy(second));
}

static void test_streams_of_two_contexts_meet(void **state) {
    (void)state;
    cls_context other;
    cls_stream here = rig_stream(), there;
    cls_timeline ping = make("ping", 0, NULL), pong = make("pong", 0, NULL);
    cls_buffer cells = rig_cells(1), theirs;
    uint32_t seen[8] = {0}, words[8];
    other = alike_context(1);
    OK(cls_stream_create(other, NULL, &there));
    OK(cls_buffer_create(other, sizeof *words, &theirs));
    for (uint32_t i = 0; i < 8; i++) {
        words[i] = i + 100;
        OK(cls_stream_wait_timeline(there, ping, i + 1));
        OK(cls_copy_h2d_async(theirs, 0, &words[i], 4, there));
        OK(cls_copy_d2h_async(&seen[i], theirs, 0, 4, there));
        OK(cls_stream_signal_timeline(there, pong, i + 1));
    }
    for (uint32_t i = 0; i < 8; i++) {
        OK(rig_set(here, cells, 0, i, 1));
        OK(cls_stream_signal_timeline(here, ping, i + 1));
        OK(cls_stream_wait_timeline(here, pong, i + 1));
    }
    OK(cls_stream_synchronize(here));
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(seen[i], i + 100);
    OK(cls_timeline_destroy(ping));
    OK(cls_timeline_destroy(pong));
    OK(cls_stream_destroy(there));
    OK(cls_buffer_destroy(theirs));
    OK(cls_buffer_destroy(cells));
    OK(cls_context_destroy(other));
    OK(cls_stream_destroy(here));
}

enum { TEAM = 8, ROUNDS = 200 };

struct relay {
    cls_timeline timeline;
    cls_stream streams[TEAM];
    cls_buffer cells;
};

/* Member i takes every TEAM-th turn, in an order of its own making: the waits come first or last. */
static bool run_leg(void *arg, unsigned i) {
    struct relay *relay = arg;
    cls_stream stream = relay->streams[i];
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t turn = (uint64_t)round * TEAM + i;
        if (cls_stream_wait_timeline(stream, relay->timeline, turn) ||
            rig_step(stream, relay->cells, 0, 3, (uint32_t)turn, 0) ||
            cls_stream_signal_timeline(stream, relay->timeline, turn + 1))
            return false;
    }
    return true;
}

static void test_many_threads_relay(void **state) {
    (void)state;
    struct relay relay = {.timeline = make("relay", 0, NULL), .cells = rig_cells(1)};
    uint32_t expected = 0;
    for (unsigned i = 0; i < TEAM; i++)
        relay.streams[i] = rig_stream();
    assert_int_equal(team_run(TEAM, run_leg, &relay), 0);
    OK(cls_timeline_wait(relay.timeline, TEAM * ROUNDS, UINT64_MAX));
    for (uint32_t turn = 0; turn < TEAM * ROUNDS; turn++)
        expected = expected * 3 + turn;
    assert_int_equal(rig_cell(relay.cells, 0), expected);
    for (unsigned i = 0; i < TEAM; i++)
        OK(cls_stream_destroy(relay.streams[i]));
    OK(cls_timeline_destroy(relay.timeline));
    OK(cls_buffer_destroy(relay.cells));
}

/* Each waits for what the others signal from the host, before or after. */
static bool meet(void *arg, unsigned i) {
    cls_timeline *timelines = arg;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        if (cls_timeline_signal(timelines[i], round))
            return false;
        for (unsigned j = 0; j < TEAM; j++)
            if (cls_timeline_wait(timelines[j], round, UINT64_MAX))
                return false;
    }
    return true;
}

static void test_hosts_meet(void **state) {
    (void)state;
    cls_timeline timelines[TEAM];
    for (unsigned i = 0; i < TEAM; i++)
        timelines[i] = make(NULL, 0, NULL);
    assert_int_equal(team_run(TEAM, meet, timelines), 0);
    for (unsigned i = 0; i < TEAM; i++)
        OK(cls_timeline_destroy(timelines[i]));
}

static void test_the_default_stream_takes_part(void **state) {
    (void)state;
    cls_timeline timeline = make(NULL, 0, NULL);
    OK(cls_stream_signal_timeline(NULL, timeline, 1));
    OK(cls_stream_wait_timeline(NULL, timeline, 1));
    OK(cls_stream_synchronize(NULL));
    OK(cls_timeline_query(timeline, 1));
    OK(cls_timeline_destroy(timeline));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stream_waits_for_the_host),
        cmocka_unit_test(test_a_wait_may_come_before_its_signal),
        cmocka_unit_test(test_a_wait_for_a_queued_signal_is_the_devices_own),
        cmocka_unit_test(test_a_wait_alone_keeps_the_stream_pending),
        cmocka_unit_test(test_one_signal_opens_all_lower_values),
        cmocka_unit_test(test_host_functions_wait_too),
        cmocka_unit_test(test_a_signal_comes_in_stream_order),
        cmocka_unit_test(test_polling_alone_finishes_the_work),
        cmocka_unit_test(test_streams_of_two_contexts_meet),
        cmocka_unit_test(test_many_threads_relay),
        cmocka_unit_test(test_hosts_meet),
        cmocka_unit_test(test_the_default_stream_takes_part),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
