/* SPDX-License-Identifier: MIT */
/*
 * CUDA's legacy default stream: its commands come after all earlier work of the context's blocking streams, and their later
 * work comes after it.
 */
#include "legacy_world.h"

#include <string.h>

#include <clstream/mempool.h>
#include <clstream/pool.h>
#include <clstream/timeline.h>

static void expect_event_pending(cls_event event) {
    for (unsigned i = 0; i < 8; i++) {
        EXPECT(CLS_NOT_READY, cls_event_query(event));
        nap_ms(2);
    }
}

/* --- the rule --- */

static void test_the_default_stream_waits_for_blocking_streams(void **state) {
    uint32_t seen[2] = {0};
    (void)state;
    hold(w.a);
    OK(set(w.a, 0, 5));
    OK(rig_set(w.b, w.cells, 1, 6, 20));
    OK(cls_copy_d2h_async(seen, w.cells, 0, sizeof seen, w.first));
    expect_pending(w.first);
    assert_int_equal(seen[0], 0);
    gate_open(&w.gate);
    OK(cls_stream_synchronize(w.first));
    assert_int_equal(seen[0], 5);
    assert_int_equal(seen[1], 6);
}

static void test_blocking_streams_wait_for_the_default_stream(void **state) {
    (void)state;
    hold(w.first);
    OK(set(w.b, 1, 2));
    expect_pending(w.b);
    cls_stream late = stream_with(0);
    OK(set(late, 2, 3));
    expect_pending(late);
    gate_open(&w.gate);
    OK(cls_stream_synchronize(w.b));
    OK(cls_stream_synchronize(late));
    OK(cls_stream_destroy(late));
}

static void test_non_blocking_streams_are_exempt(void **state) {
    (void)state;
    hold(w.apart);
    OK(set(w.first, 0, 1));
    OK(cls_stream_synchronize(w.first));
    EXPECT(CLS_NOT_READY, cls_stream_query(w.apart));
    gate_open(&w.gate);
    hold(w.first);
    OK(cls_stream_synchronize(w.apart));
    OK(set(w.apart, 0, 1));
    OK(cls_stream_synchronize(w.apart));
    gate_open(&w.gate);
    OK(cls_stream_synchronize(w.first));
}

static void test_blocking_streams_do_not_wait_for_each_other(void **state) {
    (void)state;
    OK(set(w.first, 0, 1));
    hold(w.a);
    OK(set(w.b, 0, 1));
    OK(cls_stream_synchronize(w.b));
    gate_open(&w.gate);
    OK(cls_stream_synchronize(w.a));
}

/* The default stream passes on what it has waited for. */
static void test_the_order_is_transitive(void **state) {
    (void)state;
    hold(w.a);
    OK(set(w.first, 0, 1));
    OK(set(w.b, 1, 1));
    expect_pending(w.b);
    gate_open(&w.gate);
    OK(cls_stream_synchronize(w.b));
    OK(cls_stream_query(w.a));
}

static void test_a_destroyed_stream_still_counts(void **state) {
    cls_stream gone = stream_with(0);
    uint32_t seen = 0;
    (void)state;
    hold(gone);
    OK(set(gone, 3, 9));
    OK(cls_stream_destroy(gone));
    OK(cls_copy_d2h_async(&seen, w.cells, 12, 4, NULL));
    expect_pending(w.first);
    gate_open(&w.gate);
    OK(cls_stream_synchronize(w.first));
    assert_int_equal(seen, 9);
}

/* What the host computes beside it: each stream reads what the default stream wrote, and the other way round. */
static void test_a_long_program_computes_what_one_stream_would(void **state) {
    enum { STREAMS = 5 };
    cls_stream streams[STREAMS];
    uint32_t expected[CELLS] = {0}, got[CELLS];
    (void)state;
    for (unsigned i = 0; i < STREAMS; i++)
        streams[i] = stream_with(0);
    for (uint32_t step = 1; step <= rig_scale(300, 20); step++) {
        for (unsigned i = 0; i < STREAMS; i++) {
            if ((step + i) % 3 == 0) /* not each stream between any two */
                continue;
            OK(rig_step(streams[i], w.cells, i, 3, step, step % 16 == i ? 1 : 0));
            expected[i] = expected[i] * 3 + step;
        }
        OK(cls_copy_d2d_async(w.cells, 32, w.cells, 0, 4 * STREAMS, w.first));
        OK(rig_step(w.first, w.cells, 8 + step % STREAMS, 7, 1, 0));
        OK(cls_copy_d2d_async(w.cells, 0, w.cells, 32, 4 * STREAMS, w.first));
        expected[step % STREAMS] = expected[step % STREAMS] * 7 + 1;
    }
    OK(cls_copy_d2h(got, w.cells, 0, 4 * STREAMS, w.first));
    for (unsigned i = 0; i < STREAMS; i++) {
        assert_int_equal(got[i], expected[i]);
        OK(cls_stream_destroy(streams[i]));
    }
}

/* --- what counts as work --- */

static void test_records_are_commands(void **state) {
    cls_event event = rig_event();
    (void)state;
    hold(w.a);
    OK(cls_event_record(event, w.first)); /* with no command of its own */
    expect_event_pending(event);
    gate_open(&w.gate);
    OK(cls_event_synchronize(event));
    hold(w.first);
    OK(cls_event_record(event, w.b));
    expect_event_pending(event);
    gate_open(&w.gate);
    OK(cls_event_synchronize(event));
    OK(cls_event_destroy(event));
}

static void test_waits_are_commands(void **state) {
    cls_event event = rig_event();
    (void)state;
    hold(w.apart);
    OK(cls_event_record(event, w.apart));
    OK(cls_stream_wait_event(w.a, event));
    OK(set(w.first, 0, 1));
    expect_pending(w.first);
    gate_open(&w.gate);
    OK(cls_stream_synchronize(w.first));
    hold(w.apart);
    OK(cls_event_record(event, w.apart));
    OK(set(w.a, 1, 1));
    OK(cls_stream_wait_event(w.first, event));
    OK(set(w.a, 0, 1));
    expect_pending(w.a);
    gate_open(&w.gate);
    OK(cls_stream_synchronize(w.a));
    OK(cls_event_destroy(event));
}

static void test_waits_for_timelines_are_commands(void **state) {
    cls_timeline timeline;
    (void)state;
    OK(cls_timeline_create(NULL, &timeline));
    OK(cls_stream_wait_timeline(w.a, timeline, 1));
    OK(set(w.first, 0, 1));
    expect_pending(w.first);
    OK(cls_timeline_signal(timeline, 1));
    OK(cls_stream_synchronize(w.first));
    OK(cls_timeline_destroy(timeline));
}

/* What the host asks of the default stream without any command of it. */
static void test_the_host_asks_about_all_blocking_streams(void **state) {
    (void)state;
    OK(cls_stream_synchronize(w.first));
    hold(w.a);
    expect_pending(w.first);
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(w.first, 1000000));
    OK(cls_stream_synchronize(w.b));
    gate_open(&w.gate);
    OK(cls_stream_synchronize(w.first));
    OK(cls_stream_query(w.a));
}

/* What is ahead of a blocking stream's next command is part of the answer, also of a stream without later work. */
static void test_the_host_asks_about_the_default_stream_too(void **state) {
    (void)state;
    OK(set(w.a, 0, 1));
    hold(w.first);
    expect_pending(w.a);
    expect_pending(w.b);
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(w.a, 1000000));
    OK(cls_stream_synchronize(w.apart));
    OK(set(w.first, 1, 7));
    gate_open(&w.gate);
    OK(cls_stream_synchronize(w.b));
    OK(cls_stream_query(w.first));
    OK(cls_stream_synchronize(w.a));
    OK(cls_stream_query(w.a));
}

static void test_a_full_fifo_answers_not_ready(void **state) {
    cls_timeline timeline;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    (void)state;
    config.fifo_limit = 1;
    cls_stream small;
    OK(cls_timeline_create(NULL, &timeline));
    OK(cls_stream_create(rig.context, &config, &small));
    OK(cls_stream_wait_timeline(small, timeline, 1)); /* the wait itself is a command */
    EXPECT(CLS_ERROR_LIMIT, set(small, 0, 1));
    EXPECT(CLS_NOT_READY, cls_stream_query(small));
    expect_pending(w.first);
    OK(cls_timeline_signal(timeline, 1));
    OK(cls_stream_synchronize(w.first));
    OK(cls_stream_destroy(small));
    OK(cls_timeline_destroy(timeline));
}

static void submit_to_default(void *arg) {
    const uint32_t value = 7;
    *(cls_status *)arg = cls_fill_async(w.cells, 0, 4, &value, 4, w.first);
}

static void test_host_functions_may_submit_to_the_default_stream(void **state) {
    cls_status inside = CLS_NOT_READY;
    (void)state;
    OK(cls_stream_launch_host_async(w.a, submit_to_default, &inside));
    OK(cls_stream_synchronize(w.a));
    OK(inside);
    assert_int_equal(rig_cell(w.cells, 0), 7);
}

/* --- memory --- */

static cl_mem memory_of(cls_buffer buffer) {
    cl_mem memory = NULL;
    OK(cls_buffer_get_cl(buffer, &memory));
    return memory;
}

/* A blocking stream frees what the default stream still uses. */
static void test_a_free_waits_for_the_default_stream(void **state) {
    cls_buffer used, other;
    (void)state;
    OK(cls_malloc_async(w.a, 4096, &used));
    const cl_mem memory = memory_of(used);
    hold(w.first);
    OK(cls_copy_d2d_async(used, 0, w.cells, 0, 4, w.first));
    OK(cls_free_async(used, w.a));
    OK(cls_malloc_async(w.apart, 4096, &other));
    assert_ptr_not_equal(memory_of(other), memory);
    EXPECT(CLS_NOT_READY, cls_stream_query_frees(w.a));
    gate_open(&w.gate);
    OK(cls_free_async(other, w.apart));
    OK(cls_stream_synchronize(w.first));
    while (cls_stream_query_frees(w.a))
        nap_ms(1);
}

/* --- failure --- */

static void test_failure_follows_the_order(void **state) {
    cls_stream late = stream_with(0);
    (void)state;
    OK(set(w.b, 0, 1));
    OK(rig_fail(w.a, "the culprit", CL_OUT_OF_RESOURCES));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(w.a));
    OK(cls_stream_synchronize(w.b));
    EXPECT(CLS_ERROR_COMMAND_FAILED, set(w.first, 0, 1));
    assert_non_null(strstr(cls_last_error_detail(), "the culprit"));
    OK(set(w.apart, 1, 1));
    OK(cls_stream_synchronize(w.apart));
    OK(cls_stream_reset(w.a));
    OK(cls_stream_reset(w.first));
    OK(set(w.first, 2, 3)); /* what was reset fails nothing again */
    OK(set(w.a, 3, 3));
    OK(set(late, 4, 3));
    OK(cls_stream_synchronize(w.a));
    OK(cls_stream_synchronize(late));
    OK(cls_stream_synchronize(w.first));
    OK(cls_stream_destroy(late));
}

static void test_a_failure_of_the_default_stream_reaches_later_work(void **state) {
    (void)state;
    OK(rig_fail(w.first, "the culprit", CL_OUT_OF_RESOURCES));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(w.first));
    OK(cls_stream_synchronize(w.a));
    EXPECT(CLS_ERROR_COMMAND_FAILED, set(w.a, 0, 1));
    OK(cls_stream_reset(w.first));
    OK(cls_stream_reset(w.a));
    OK(set(w.a, 0, 1));
    OK(set(w.b, 1, 1));
    OK(cls_stream_synchronize(w.first));
    OK(cls_stream_synchronize(w.b));
}

static void test_a_cycle_by_the_order_is_refused(void **state) {
    cls_timeline_config config = CLS_TIMELINE_CONFIG_INIT;
    cls_timeline timeline;
    (void)state;
    config.signaller = w.a;
    OK(cls_timeline_create(&config, &timeline));
    OK(cls_stream_wait_timeline(w.first, timeline, 1));
    EXPECT(CLS_ERROR_DEADLOCK, set(w.a, 0, 1));
    EXPECT(CLS_ERROR_DEADLOCK, cls_stream_signal_timeline(w.a, timeline, 1));
    OK(cls_timeline_destroy(timeline)); /* so the wait fails */
    while (cls_stream_query(w.first) == CLS_NOT_READY)
        nap_ms(1);
    OK(cls_stream_reset(w.first));
}

/* --- threads --- */

enum { ROUNDS = 400 };

static bool count_up(void *arg, unsigned i) {
    cls_stream stream = i ? w.a : w.first;
    const unsigned n = rig_scale(ROUNDS, 40);
    (void)arg;
    for (unsigned k = 0; k < n; k++)
        if (rig_step(stream, w.cells, 0, 1, 1, 0))
            return false;
    return true;
}

/* The order of two threads' submissions is nobody's, but one of two commands comes first. */
static void test_commands_of_two_threads_exclude_each_other(void **state) {
    (void)state;
    assert_int_equal(team_run(2, count_up, NULL), 0);
    assert_int_equal(rig_cell(w.cells, 0), 2 * rig_scale(ROUNDS, 40));
}

static bool mix(void *arg, unsigned i) {
    cls_stream own = i % 4 ? stream_with(0) : w.first;
    const uint32_t value = i;
    bool good = true;
    (void)arg;
    for (unsigned k = 0; k < rig_scale(ROUNDS, 40) && good; k++)
        good = !cls_fill_async(w.cells, 4 * i, 4, &value, 4, own) &&
               (k % 32 || !cls_stream_synchronize(own));
    return good && (i % 4 == 0 || !cls_stream_destroy(own));
}

static void test_many_threads_get_through(void **state) {
    (void)state;
    assert_int_equal(team_run(8, mix, NULL), 0);
    OK(cls_stream_synchronize(w.first));
}

/* --- who takes part --- */

static int is_exempt(cls_stream stream) {
    cls_stream_info info = CLS_STREAM_INFO_INIT;
    OK(cls_stream_get_info(stream, &info));
    return info.non_blocking;
}

static void test_info_tells_who_takes_part(void **state) {
    cls_pool pool;
    cls_context plain;
    cls_stream stream;
    (void)state;
    assert_false(is_exempt(w.first));
    assert_false(is_exempt(w.a));
    assert_true(is_exempt(w.apart));
    OK(cls_pool_create(rig.context, NULL, &pool));
    OK(cls_pool_lease(pool, &stream));
    assert_true(is_exempt(stream));
    OK(cls_pool_release(pool, stream));
    OK(cls_pool_destroy(pool));
    OK(cls_context_create(NULL, &plain));
    OK(cls_context_default_stream(plain, &stream));
    assert_true(is_exempt(stream));
    OK(cls_context_destroy(plain));
}

/* Streams that are noted for a command of the default stream that never comes. */
static void test_idle_streams_end(void **state) {
    cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
    cls_context context;
    (void)state;
    config.legacy_default_stream = 1;
    OK(cls_context_create(&config, &context));
    for (unsigned i = 0; i < 20; i++) {
        const uint32_t zero = 0;
        cls_stream stream;
        cls_buffer buffer;
        OK(cls_stream_create(context, NULL, &stream));
        OK(cls_buffer_create(context, 64, &buffer));
        OK(cls_fill_async(buffer, 0, 64, &zero, 4, stream));
        OK(cls_stream_destroy(stream));
        if (i % 4 == 3)
            OK(cls_fill(buffer, 0, 64, &zero, 4, NULL));
        OK(cls_buffer_destroy(buffer));
    }
    OK(cls_context_destroy(context));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, legacy_world_begin, legacy_world_end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_the_default_stream_waits_for_blocking_streams),
        TEST(test_blocking_streams_wait_for_the_default_stream),
        TEST(test_non_blocking_streams_are_exempt),
        TEST(test_blocking_streams_do_not_wait_for_each_other),
        TEST(test_the_order_is_transitive),
        TEST(test_a_destroyed_stream_still_counts),
        TEST(test_a_long_program_computes_what_one_stream_would),
        TEST(test_records_are_commands),
        TEST(test_waits_are_commands),
        TEST(test_waits_for_timelines_are_commands),
        TEST(test_the_host_asks_about_all_blocking_streams),
        TEST(test_the_host_asks_about_the_default_stream_too),
        TEST(test_a_full_fifo_answers_not_ready),
        TEST(test_host_functions_may_submit_to_the_default_stream),
        TEST(test_a_free_waits_for_the_default_stream),
        TEST(test_failure_follows_the_order),
        TEST(test_a_failure_of_the_default_stream_reaches_later_work),
        TEST(test_a_cycle_by_the_order_is_refused),
        TEST(test_commands_of_two_threads_exclude_each_other),
        TEST(test_many_threads_get_through),
        TEST(test_info_tells_who_takes_part),
        TEST(test_idle_streams_end),
    };
    return cmocka_run_group_tests(tests, legacy_setup, rig_teardown);
}
