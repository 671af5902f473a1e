/* SPDX-License-Identifier: MIT */
/* Every call is safe from any thread. */
#include "threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* --- one stream, many threads --- */

struct shared {
    cls_stream stream;
    cls_buffer cells;
    unsigned each;
    _Atomic unsigned host_calls;
};

static void count(void *arg) { atomic_fetch_add((_Atomic unsigned *)arg, 1); }

static bool add_to_one_cell(void *arg, unsigned i) {
    struct shared *shared = arg;
    for (unsigned k = 0; k < shared->each; k++) {
        CHECK(!rig_step(shared->stream, shared->cells, 0, 1, 1, 0));
        if (k % 50 == i)
            CHECK(
                !cls_stream_launch_host_async(shared->stream, count, (void *)&shared->host_calls));
        if (k % 64 == 63) {
            cls_status status = cls_stream_query(shared->stream);
            CHECK(status == CLS_SUCCESS || status == CLS_NOT_READY);
        }
    }
    CHECK(!cls_stream_synchronize(shared->stream));
    return true;
}

/* Every increment reads what the one before has written: the order is total. */
static void test_eight_threads_share_a_stream(void **state) {
    (void)state;
    SKIP_ON_SINGLE_THREADED_DRIVERS();
    struct shared shared = {rig_stream(), rig_cells(1), rig_scale(1000, 50), 0};
    assert_int_equal(team_run(THREADS, add_to_one_cell, &shared), 0);
    assert_int_equal(rig_cell(shared.cells, 0), THREADS * shared.each);
    cls_stream_counters counters = {.size = sizeof counters};
    OK(cls_stream_get_counters(shared.stream, &counters));
    assert_int_equal(counters.commands[CLS_COMMAND_KERNEL], THREADS * shared.each);
    assert_int_equal(counters.commands[CLS_COMMAND_HOST], shared.host_calls);
    assert_int_equal(counters.completed, counters.submitted);
    OK(cls_stream_destroy(shared.stream));
    OK(cls_buffer_destroy(shared.cells));
}

/* --- many streams, many threads --- */

enum { STREAMS = 64 };

struct many {
    cls_stream streams[STREAMS];
    cls_event events[STREAMS];
    cls_buffer cells;
    unsigned rounds;
};

/* Each thread has its share of streams, and makes them wait for everybody's events. */
static bool work_on_many(void *arg, unsigned i) {
    struct many *many = arg;
    unsigned seed = i + 1;
    for (unsigned round = 0; round < many->rounds; round++)
        for (unsigned s = i; s < STREAMS; s += THREADS) {
            CHECK(!rig_step(many->streams[s], many->cells, s, 1, 1, 0));
            CHECK(!cls_event_record(many->events[s], many->streams[s]));
            unsigned other = (unsigned)rand_r(&seed) % STREAMS;
            CHECK(!cls_stream_wait_event(many->streams[s], many->events[other]));
        }
    for (unsigned s = i; s < STREAMS; s += THREADS)
        CHECK(!cls_stream_synchronize(many->streams[s]));
    return true;
}

static void test_sixty_four_streams(void **state) {
    (void)state;
    SKIP_ON_SINGLE_THREADED_DRIVERS();
    struct many many = {.cells = rig_cells(STREAMS), .rounds = rig_scale(50, 2)};
    for (unsigned s = 0; s < STREAMS; s++) {
        many.streams[s] = rig_stream();
        many.events[s] = rig_event();
    }
    assert_int_equal(team_run(THREADS, work_on_many, &many), 0);
    uint32_t seen[STREAMS];
    OK(cls_copy_d2h(seen, many.cells, 0, sizeof seen, NULL));
    for (unsigned s = 0; s < STREAMS; s++) {
        assert_int_equal(seen[s], many.rounds);
        OK(cls_stream_destroy(many.streams[s]));
        OK(cls_event_destroy(many.events[s]));
    }
    OK(cls_buffer_destroy(many.cells));
}

/* --- handles destroyed while others use them --- */

struct victims {
    cls_stream stream;
    cls_event event;
    cls_buffer cells;
    _Atomic unsigned destroyed;
};

static bool gone_or(cls_status status, cls_status also) {
    return status == CLS_SUCCESS || status == CLS_ERROR_INVALID_HANDLE || status == also;
}

static bool use_or_destroy(void *arg, unsigned i) {
    struct victims *v = arg;
    for (unsigned k = 0; k < 20; k++) {
        CHECK(gone_or(rig_step(v->stream, v->cells, 0, 1, 1, 0), 0));
        CHECK(gone_or(cls_event_record(v->event, v->stream), 0));
        CHECK(gone_or(cls_stream_wait_event(v->stream, v->event), 0));
        CHECK(gone_or(cls_event_query(v->event), CLS_NOT_READY));
        CHECK(gone_or(cls_stream_query(v->stream), CLS_NOT_READY));
        if (k == 3 + i) {
            v->destroyed += !cls_stream_destroy(v->stream);
            v->destroyed += !cls_event_destroy(v->event);
            v->destroyed += !cls_buffer_destroy(v->cells);
        }
    }
    CHECK(gone_or(cls_stream_synchronize(v->stream), 0));
    return true;
}

static void test_handles_are_destroyed_while_in_use(void **state) {
    (void)state;
    SKIP_ON_SINGLE_THREADED_DRIVERS();
    unsigned rounds = rig_scale(100, 10);
    for (unsigned i = 0; i < rounds; i++) {
        struct victims v = {rig_stream(), rig_event(), rig_cells(1), 0};
        assert_int_equal(team_run(4, use_or_destroy, &v), 0);
        assert_int_equal(v.destroyed, 3); /* each by exactly one thread */
    }
    OK(cls_context_synchronize(rig.context));
}

static bool live_and_die(void *arg, unsigned i) {
    unsigned rounds = *(unsigned *)arg;
    for (unsigned k = 0; k < rounds; k++) {
        cls_stream stream;
        cls_event event;
        cls_buffer buffer;
        uint32_t value = i * 1000 + k, seen = 0;
        CHECK(!cls_stream_create(rig.context, NULL, &stream));
        CHECK(!cls_event_create(rig.context, NULL, &event));
        CHECK(!cls_buffer_create(rig.context, 64, &buffer));
        CHECK(!rig_set(stream, buffer, 1, value, 0));
        CHECK(!cls_event_record(event, stream));
        CHECK(!cls_stream_wait_event(stream, event));
        CHECK(!cls_copy_d2h(&seen, buffer, 4, 4, stream));
        CHECK(seen == value);
        CHECK(!cls_stream_destroy(stream));
        CHECK(!cls_event_destroy(event));
        CHECK(!cls_buffer_destroy(buffer));
    }
    return true;
}

static void test_objects_come_and_go_on_all_threads(void **state) {
    (void)state;
    SKIP_ON_SINGLE_THREADED_DRIVERS();
    unsigned rounds = rig_scale(300, 20);
    assert_int_equal(team_run(THREADS, live_and_die, &rounds), 0);
}

/* --- a thousand threads --- */

static void count_callback(cls_stream stream, cls_status status, void *arg) {
    (void)stream;
    if (!status)
        count(arg);
}

static bool register_callback(void *arg, unsigned i) {
    struct shared *shared = arg;
    (void)i;
    CHECK(!rig_step(shared->stream, shared->cells, 0, 1, 1, 0));
    CHECK(!cls_stream_add_callback(shared->stream, count_callback, (void *)&shared->host_calls));
    return true;
}

static void test_a_thousand_threads_register_callbacks(void **state) {
    (void)state;
    SKIP_ON_SINGLE_THREADED_DRIVERS();
    struct shared shared = {rig_stream(), rig_cells(1), 1, 0};
    assert_int_equal(team_run(1000, register_callback, &shared), 0);
    OK(cls_stream_synchronize(shared.stream));
    assert_int_equal(shared.host_calls, 1000);
    assert_int_equal(rig_cell(shared.cells, 0), 1000);
    OK(cls_stream_destroy(shared.stream));
    OK(cls_buffer_destroy(shared.cells));
}

/* --- one event, many threads --- */

struct contested {
    cls_event event;
    cls_buffer cells;
    unsigned rounds;
};

static bool record_and_wait(void *arg, unsigned i) {
    struct contested *contested = arg;
    cls_stream stream;
    CHECK(!cls_stream_create(rig.context, NULL, &stream));
    for (unsigned k = 0; k < contested->rounds; k++) {
        CHECK(!rig_step(stream, contested->cells, i, 1, 1, 0));
        CHECK(!cls_event_record(contested->event, stream));
        CHECK(!cls_stream_wait_event(stream, contested->event)); /* own record, or another's */
        CHECK(gone_or(cls_event_query(contested->event), CLS_NOT_READY));
    }
    CHECK(!cls_event_synchronize(contested->event));
    CHECK(!cls_stream_synchronize(stream));
    CHECK(!cls_stream_destroy(stream));
    return true;
}

static void test_many_threads_record_one_event(void **state) {
    (void)state;
    SKIP_ON_SINGLE_THREADED_DRIVERS();
    for (int timed = 0; timed < 2; timed++) {
        cls_event_config config = CLS_EVENT_CONFIG_INIT;
        struct contested contested = {NULL, rig_cells(THREADS), rig_scale(200, 10)};
        config.timed = timed;
        OK(cls_event_create(rig.context, &config, &contested.event));
        assert_int_equal(team_run(THREADS, record_and_wait, &contested), 0);
        for (unsigned i = 0; i < THREADS; i++)
            assert_int_equal(rig_cell(contested.cells, i), contested.rounds);
        OK(cls_event_destroy(contested.event));
        OK(cls_buffer_destroy(contested.cells));
    }
}

/* --- the environment --- */

static cls_order order_of_a_stream(void) {
    cls_stream_info info = CLS_STREAM_INFO_INIT;
    cls_stream stream = rig_stream();
    OK(cls_stream_get_info(stream, &info));
    OK(cls_stream_destroy(stream));
    return info.order;
}

/* Once streams are made, a thread that sets variables is in nobody's way: that of their order is not read again. */
static void test_the_environment_is_read_once(void **state) {
    (void)state;
    const char *variable = "CLSTREAM_QUEUE_ORDER", *value = getenv(variable);
    char *before = value ? strdup(value) : NULL;
    const cls_order order = order_of_a_stream();
    assert_int_equal(setenv(variable, order == CLS_ORDER_IN_ORDER ? "out" : "in", 1), 0);
    const cls_order after = order_of_a_stream();
    assert_int_equal(before ? setenv(variable, before, 1) : unsetenv(variable), 0);
    free(before);
    assert_int_equal(after, order);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eight_threads_share_a_stream),
        cmocka_unit_test(test_sixty_four_streams),
        cmocka_unit_test(test_handles_are_destroyed_while_in_use),
        cmocka_unit_test(test_objects_come_and_go_on_all_threads),
        cmocka_unit_test(test_a_thousand_threads_register_callbacks),
        cmocka_unit_test(test_many_threads_record_one_event),
        cmocka_unit_test(test_the_environment_is_read_once),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
