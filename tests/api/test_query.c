/* SPDX-License-Identifier: MIT */
/* Query never lies and always progresses; work that nobody waits for runs all the same. */
#include "../support/rig.h"

#include <clstream/check.h>

#include <stdatomic.h>

/* Polls until it is not pending; the last answer. Never waits otherwise. */
static cls_status poll_stream(cls_stream stream) {
    double until = now_ms() + 60000;
    cls_status status;
    do
        status = cls_stream_query(stream);
    while (status == CLS_NOT_READY && now_ms() < until);
    return status;
}

static cls_status poll_event(cls_event event) {
    double until = now_ms() + 60000;
    cls_status status;
    do
        status = cls_event_query(event);
    while (status == CLS_NOT_READY && now_ms() < until);
    return status;
}

/* Memory that the device writes, looked at by the host alone. */
static bool word_comes(const volatile uint32_t *word, uint32_t value) {
    double until = now_ms() + 60000;
    while (*word != value && now_ms() < until)
        nap_ms(1);
    return *word == value;
}

static void test_polling_alone_finishes_the_work(void **state) {
    (void)state;
    unsigned rounds = rig_scale(100, 5);
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    cls_event event = rig_event();
    uint32_t seen = 0;
    for (uint32_t i = 1; i <= rounds; i++) {
        OK(rig_set(stream, cells, 0, i, i % 10 ? 0 : 5));
        OK(cls_copy_d2h_async(&seen, cells, 0, 4, stream));
        OK(cls_event_record(event, stream));
        if (i % 2)
            OK(poll_stream(stream));
        else
            OK(poll_event(event));
        assert_int_equal(seen, i);
    }
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
    OK(cls_event_destroy(event));
}

static void count(void *arg) {
    cls_check_release(arg);
    atomic_fetch_add((_Atomic unsigned *)arg, 1);
}

/* The last of a chain of streams is polled, and nothing else is asked of the library. */
static void test_polling_the_last_finishes_a_chain(void **state) {
    (void)state;
    enum { LINKS = 12 };
    cls_stream streams[LINKS];
    cls_buffer cells = rig_cells(1);
    cls_event event = rig_event();
    _Atomic unsigned ran = 0;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < LINKS; i++) {
        streams[i] = rig_stream();
        if (i)
            OK(cls_stream_wait_event(streams[i], event));
        OK(rig_step(streams[i], cells, 0, 2, 1, i % 4 ? 0 : 5));
        if (i % 3 == 1)
            OK(cls_stream_launch_host_async(streams[i], count, (void *)&ran));
        OK(cls_event_record(event, streams[i]));
    }
    OK(cls_copy_d2h_async(&seen, cells, 0, 4, streams[LINKS - 1]));
    OK(poll_stream(streams[LINKS - 1]));
    assert_int_equal(seen, (1u << LINKS) - 1);
    assert_int_equal(ran, 4);
    for (uint32_t i = 0; i < LINKS; i++)
        OK(cls_stream_destroy(streams[i]));
    OK(cls_buffer_destroy(cells));
    OK(cls_event_destroy(event));
}

/* Ready means that the effects are there. */
static void test_ready_is_never_early(void **state) {
    (void)state;
    unsigned rounds = rig_scale(40, 5);
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    uint32_t seen;
    for (uint32_t i = 1; i <= rounds; i++) {
        OK(rig_set(stream, cells, 0, i, 2));
        while (cls_stream_query(stream) == CLS_NOT_READY)
            continue;
        seen = 0;
        OK(cls_copy_d2h(&seen, cells, 0, 4, NULL)); /* the default stream waits for nobody */
        assert_int_equal(seen, i);
    }
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
}

static void test_pending_is_told_while_it_lasts(void **state) {
    (void)state;
    cls_stream stream = rig_stream(), other = rig_stream();
    cls_event event = rig_event();
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_event_record(event, stream));
    OK(cls_stream_wait_event(other, event)); /* and no command behind the wait */
    for (int i = 0; i < 1000; i++) {
        EXPECT(CLS_NOT_READY, cls_stream_query(stream));
        EXPECT(CLS_NOT_READY, cls_stream_query(other));
        EXPECT(CLS_NOT_READY, cls_event_query(event));
    }
    gate_open(&gate);
    OK(poll_stream(other));
    OK(poll_stream(stream));
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(other));
    OK(cls_event_destroy(event));
    gate_destroy(&gate);
}

/* No call of the library after the last submission; only memory is watched. */
static void test_work_that_nobody_waits_for_runs(void **state) {
    (void)state;
    static uint32_t seen;
    unsigned rounds = rig_scale(100, 5);
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    for (uint32_t i = 1; i <= rounds; i++) {
        OK(rig_set(stream, cells, 0, i, i % 10 ? 0 : 3));
        OK(cls_copy_d2h_async(&seen, cells, 0, 4, stream));
        assert_true(word_comes(&seen, i));
    }
    OK(cls_stream_synchronize(stream));
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
}

static void test_a_forgotten_chain_over_streams_runs(void **state) {
    (void)state;
    static uint32_t seen;
    cls_stream a = rig_stream(), b = rig_stream();
    cls_buffer cells = rig_cells(1);
    cls_event event = rig_event();
    _Atomic unsigned ran = 0;
    for (uint32_t i = 1; i <= 20; i++) {
        OK(rig_set(a, cells, 0, i, i % 5 ? 0 : 3));
        OK(cls_stream_launch_host_async(a, count, (void *)&ran));
        OK(cls_event_record(event, a));
        OK(cls_stream_wait_event(b, event));
        OK(rig_step(b, cells, 0, 2, 0, 0));
        OK(cls_copy_d2h_async(&seen, cells, 0, 4, b));
        OK(cls_stream_launch_host_async(b, count, (void *)&ran));
        assert_true(counter_comes(&ran, 2 * i));
        assert_int_equal(seen, 2 * i);
    }
    OK(cls_stream_destroy(a));
    OK(cls_stream_destroy(b));
    OK(cls_event_destroy(event));
    OK(cls_buffer_destroy(cells));
}

/* After a long idle time, when the library's own thread has gone to sleep. */
static void test_work_after_idleness_runs(void **state) {
    (void)state;
    static uint32_t seen;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    for (uint32_t i = 1; i <= 5; i++) {
        OK(cls_stream_synchronize(stream));
        nap_ms(60 * i);
        OK(rig_set(stream, cells, 0, i, 0));
        OK(cls_copy_d2h_async(&seen, cells, 0, 4, stream));
        assert_true(word_comes(&seen, i));
    }
    OK(cls_stream_synchronize(stream));
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_polling_alone_finishes_the_work),
        cmocka_unit_test(test_polling_the_last_finishes_a_chain),
        cmocka_unit_test(test_ready_is_never_early),
        cmocka_unit_test(test_pending_is_told_while_it_lasts),
        cmocka_unit_test(test_work_that_nobody_waits_for_runs),
        cmocka_unit_test(test_a_forgotten_chain_over_streams_runs),
        cmocka_unit_test(test_work_after_idleness_runs),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
