/* SPDX-License-Identifier: MIT */
/* The coordinator: what apply and barrier put in order, and being told when all is done. */
#include "../support/alike.h"
#include "coordinators.h"

#include <stdatomic.h>

#include <clstream/graph.h>

/* c waits for b waits for a: what c submits after apply sees what a held before it. */
static void test_apply_orders_what_is_submitted_so_far(void **state) {
    (void)state;
    struct team team = team_make(0, 3);
    struct gate gate;
    gate_init(&gate);
    OK(depend(&team, 1, 0));
    OK(depend(&team, 2, 1));
    OK(cls_stream_launch_host_async(team.streams[0], gate_hold, &gate));
    OK(rig_set(team.streams[0], team.cells, 0, 5, 0));
    OK(cls_coordinator_apply(team.coordinator));
    OK(rig_step(team.streams[2], team.cells, 0, 3, 1, 0));
    EXPECT(CLS_NOT_READY, cls_stream_query(team.streams[1])); /* the wait alone */
    EXPECT(CLS_NOT_READY, cls_stream_query(team.streams[2]));
    gate_open(&gate);
    OK(cls_stream_synchronize(team.streams[2]));
    assert_int_equal(rig_cell(team.cells, 0), 16);
    gate_await(&gate);
    OK(cls_stream_launch_host_async(team.streams[0], gate_hold,
                                    &gate)); /* after it: in no one's way */
    OK(rig_set(team.streams[1], team.cells, 1, 1, 0));
    OK(cls_stream_synchronize(team.streams[1]));
    gate_open(&gate);
    team_drop(&team);
    gate_destroy(&gate);
}

/* Each stream adds to its neighbour's cell what only the barrier makes right. */
static void test_barrier_makes_all_wait_for_all(void **state) {
    (void)state;
    enum { COUNT = 4 };
    struct team team = team_make(0, COUNT);
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(team.streams[2], gate_hold, &gate));
    for (uint32_t i = 0; i < COUNT; i++)
        OK(rig_set(team.streams[i], team.cells, i, i + 1, 3));
    OK(cls_coordinator_barrier(team.coordinator)); /* returns while c is held */
    for (uint32_t i = 0; i < COUNT; i++)
        OK(rig_step(team.streams[i], team.cells, (i + 1) % COUNT, 10, 5, 0));
    for (uint32_t i = 0; i < COUNT; i++)
        EXPECT(CLS_NOT_READY, cls_stream_query(team.streams[i]));
    gate_open(&gate);
    OK(cls_coordinator_wait_all(team.coordinator, UINT64_MAX));
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(rig_cell(team.cells, i), (i + 1) * 10 + 5);
    team_drop(&team);
    gate_destroy(&gate);
}

struct relay {
    _Atomic unsigned value;
    unsigned seen;
};

static void put_value(void *arg) { atomic_store(&((struct relay *)arg)->value, 7); }

static void see_value(void *arg) {
    struct relay *relay = arg;
    relay->seen = atomic_load(&relay->value);
}

static cls_status put_then_see(cls_stream stream, size_t index, void *arg) {
    return cls_stream_launch_host_async(stream, index ? see_value : put_value, arg);
}

/* Two contexts are as good as two devices: no native wait leads from one to the other. */
static void test_streams_of_several_contexts(void **state) {
    (void)state;
    struct team team = team_make(0, 1);
    struct relay relay = {0, 0};
    struct gate gate;
    cls_context other;
    cls_stream stream;
    gate_init(&gate);
    other = alike_context(1);
    OK(cls_stream_create(other, NULL, &stream));
    OK(cls_coordinator_add_stream(team.coordinator, stream, NULL));
    OK(cls_coordinator_add_dependency(team.coordinator, stream, team.streams[0]));
    OK(cls_stream_launch_host_async(team.streams[0], gate_hold, &gate));
    OK(cls_coordinator_run(team.coordinator, put_then_see, &relay));
    OK(cls_coordinator_barrier(team.coordinator));
    EXPECT(CLS_ERROR_TIMEOUT, cls_coordinator_wait(team.coordinator, stream, 1000000));
    gate_open(&gate);
    OK(cls_coordinator_wait_all(team.coordinator, UINT64_MAX));
    assert_int_equal(relay.seen, 7);
    OK(cls_coordinator_remove_stream(team.coordinator, stream));
    OK(cls_stream_destroy(stream));
    OK(cls_context_destroy(other));
    team_drop(&team);
    gate_destroy(&gate);
}

struct told {
    _Atomic unsigned one, whole, one_before_whole;
    _Atomic int status;
    cls_coordinator coordinator;
};

static void tell_one(cls_stream stream, cls_status status, void *arg) {
    struct told *told = arg;
    (void)stream;
    (void)status;
    atomic_fetch_add(&told->one, 1);
}

static void tell_whole(cls_coordinator coordinator, cls_status status, void *arg) {
    struct told *told = arg;
    told->coordinator = coordinator;
    atomic_store(&told->status, (int)status);
    atomic_store(&told->one_before_whole, atomic_load(&told->one));
    atomic_fetch_add(&told->whole, 1);
}

static void test_callbacks_of_one_and_of_all(void **state) {
    (void)state;
    struct team team = team_make(0, 3);
    struct told told = {0};
    struct gate gate;
    gate_init(&gate);
    for (size_t i = 0; i < team.count; i++) {
        OK(cls_stream_launch_host_async(team.streams[i], gate_hold, &gate));
        OK(cls_coordinator_add_stream_callback(team.coordinator, team.streams[i], tell_one, &told));
    }
    OK(cls_coordinator_add_callback(team.coordinator, tell_whole, &told));
    gate_open(&gate);
    gate_open(&gate);
    assert_true(counter_comes(&told.one, 2));
    assert_int_equal(told.whole, 0); /* one stream is held */
    gate_open(&gate);
    OK(cls_coordinator_wait_all(team.coordinator, UINT64_MAX));
    assert_int_equal(told.one, 3);
    assert_int_equal(told.whole, 1);
    assert_int_equal(told.one_before_whole, 3);
    assert_int_equal(told.status, CLS_SUCCESS);
    assert_ptr_equal(told.coordinator, team.coordinator);
    EXPECT(CLS_ERROR_NOT_FOUND,
           cls_coordinator_add_stream_callback(team.coordinator, NULL, tell_one, &told));
    team_drop(&team);
    gate_destroy(&gate);
}

static void test_the_whole_callback_hears_of_a_failure(void **state) {
    (void)state;
    struct team team = team_make(0, 3);
    struct told told = {0};
    OK(rig_fail(team.streams[1], "bad command", CL_OUT_OF_RESOURCES));
    OK(cls_coordinator_add_callback(team.coordinator, tell_whole, &told));
    OK(cls_coordinator_destroy(team.coordinator)); /* pending callbacks come all the same */
    assert_true(counter_comes(&told.whole, 1));
    assert_int_equal(told.status, CLS_ERROR_COMMAND_FAILED);
    OK(cls_stream_reset(team.streams[1]));
    OK(cls_coordinator_create(NULL, &team.coordinator));
    team_drop(&team);
}

/* A graph would call it again at each launch. */
static void test_a_captured_stream_takes_no_callback_of_all(void **state) {
    (void)state;
    struct team team = team_make(0, 2);
    struct told told = {0};
    cls_graph graph;
    OK(cls_stream_begin_capture(team.streams[1], "once"));
    EXPECT(CLS_ERROR_INVALID_STATE,
           cls_coordinator_add_callback(team.coordinator, tell_whole, &told));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_end_capture(team.streams[1], &graph));
    OK(cls_coordinator_wait_all(team.coordinator, UINT64_MAX));
    assert_int_equal(told.whole, 0);
    OK(cls_coordinator_add_callback(team.coordinator, tell_whole, &told));
    OK(cls_coordinator_wait_all(team.coordinator, UINT64_MAX));
    assert_int_equal(told.whole, 1);
    team_drop(&team);
}

static void test_waits_with_a_time(void **state) {
    (void)state;
    struct team team = team_make(0, 3);
    cls_stream *streams = team.streams, done[2] = {NULL, NULL};
    struct gate gate;
    gate_init(&gate);
    for (size_t i = 0; i < 3; i++)
        OK(cls_stream_launch_host_async(streams[i], gate_hold, &gate));
    for (size_t i = 0; i < 3; i++)
        gate_await(&gate);
    EXPECT(CLS_NOT_READY, cls_coordinator_query(team.coordinator));
    EXPECT(CLS_ERROR_TIMEOUT, cls_coordinator_wait_all(team.coordinator, 1000000));
    EXPECT(CLS_ERROR_TIMEOUT, cls_coordinator_wait(team.coordinator, streams[1], 1000000));
    EXPECT(CLS_ERROR_TIMEOUT, cls_coordinator_wait_any(team.coordinator, 0, &done[0]));
    EXPECT(CLS_ERROR_TIMEOUT, cls_coordinator_wait_any(team.coordinator, 1000000, &done[0]));
    assert_null(done[0]);
    gate_open(&gate);
    OK(cls_coordinator_wait_any(team.coordinator, UINT64_MAX, &done[0]));
    OK(cls_stream_query(done[0]));
    EXPECT(CLS_ERROR_TIMEOUT, cls_coordinator_wait_all(team.coordinator, 0));
    gate_open(&gate);
    gate_open(&gate);
    OK(cls_coordinator_wait_all(team.coordinator, UINT64_MAX));
    OK(cls_coordinator_query(team.coordinator));
    OK(cls_coordinator_wait(team.coordinator, streams[1], 0));
    for (size_t i = 0; i < 2; i++)
        OK(cls_coordinator_wait_any(team.coordinator, 0, &done[i]));
    assert_ptr_not_equal(done[0], done[1]); /* each has its turn */
    team_drop(&team);
    gate_destroy(&gate);
}

/* Where fifo_limit leaves no room for a mark behind a wait, who waits anyway waits for room too. */
static void test_waits_where_a_stream_takes_no_more(void **state) {
    (void)state;
    struct team team = team_make(0, 1);
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream full, done = NULL;
    cls_event event = rig_event();
    struct gate gate, other;
    gate_init(&gate);
    gate_init(&other);
    config.fifo_limit = 2;
    OK(cls_stream_create(rig.context, &config, &full));
    for (int round = 0; round < 2; round++) {
        OK(cls_stream_launch_host_async(team.streams[0], gate_hold, &other));
        OK(cls_event_record(event, team.streams[0]));
        if (!round)
            OK(cls_coordinator_add_stream(team.coordinator, full, NULL));
        for (int i = 0; i < 2; i++)
            OK(cls_stream_launch_host_async(full, gate_hold, &gate));
        OK(cls_stream_wait_event(full, event));
        EXPECT(CLS_ERROR_TIMEOUT, cls_coordinator_wait_all(team.coordinator, 1000000));
        EXPECT(CLS_ERROR_TIMEOUT, cls_coordinator_wait_any(team.coordinator, 1000000, &done));
        gate_open(&gate);
        gate_open(&gate);
        EXPECT(CLS_ERROR_TIMEOUT, cls_coordinator_wait_all(team.coordinator, 1000000));
        EXPECT(CLS_ERROR_TIMEOUT, cls_coordinator_wait_any(team.coordinator, 1000000, &done));
        gate_open(&other);
        if (round)
            OK(cls_coordinator_wait_all(team.coordinator, UINT64_MAX));
        else
            OK(cls_coordinator_wait_any(team.coordinator, UINT64_MAX, &done));
        OK(cls_stream_synchronize(full));
    }
    OK(cls_coordinator_remove_stream(team.coordinator, full));
    OK(cls_stream_destroy(full));
    OK(cls_event_destroy(event));
    team_drop(&team);
    gate_destroy(&gate);
    gate_destroy(&other);
}

static void nap(void *ms) { nap_ms(*(const unsigned *)ms); }

/* A wait that succeeds leaves the last error's words, also where it had to wait for room first. */
static void test_a_wait_for_room_leaves_the_words(void **state) {
    (void)state;
    static unsigned short_nap = 20, long_nap = 40;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream full, other = rig_stream();
    cls_event event = rig_event();
    config.fifo_limit = 1;
    OK(cls_stream_create(rig.context, &config, &full));
    OK(cls_stream_launch_host_async(other, nap, &long_nap));
    OK(cls_event_record(event, other));
    OK(cls_stream_launch_host_async(full, nap, &short_nap));
    OK(cls_stream_wait_event(full, event));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_create(rig.context, 0, NULL));
    OK(cls_stream_synchronize(full));
    OK(cls_event_query(event));
    assert_string_equal(cls_last_error_detail(), "cls_buffer_create: out is null");
    OK(cls_event_destroy(event));
    OK(cls_stream_destroy(other));
    OK(cls_stream_destroy(full));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apply_orders_what_is_submitted_so_far),
        cmocka_unit_test(test_barrier_makes_all_wait_for_all),
        cmocka_unit_test(test_streams_of_several_contexts),
        cmocka_unit_test(test_callbacks_of_one_and_of_all),
        cmocka_unit_test(test_the_whole_callback_hears_of_a_failure),
        cmocka_unit_test(test_a_captured_stream_takes_no_callback_of_all),
        cmocka_unit_test(test_waits_with_a_time),
        cmocka_unit_test(test_waits_where_a_stream_takes_no_more),
        cmocka_unit_test(test_a_wait_for_room_leaves_the_words),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
