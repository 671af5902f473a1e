/* SPDX-License-Identifier: MIT */
/* Events: a record is a snapshot, a wait takes the latest record at the time of the call. */
#include "../support/rig.h"

/* Two streams, two cells; torn down by each test. */
struct pair {
    cls_stream a, b;
    cls_buffer cells;
    cls_event event;
};

static struct pair pair_make(void) {
    return (struct pair){rig_stream(), rig_stream(), rig_cells(4), rig_event()};
}

static void pair_end(struct pair *p) {
    OK(cls_stream_synchronize(p->a));
    OK(cls_stream_synchronize(p->b));
    OK(cls_stream_destroy(p->a));
    OK(cls_stream_destroy(p->b));
    OK(cls_buffer_destroy(p->cells));
    OK(cls_event_destroy(p->event));
}

static void test_a_wait_orders_two_streams(void **state) {
    (void)state;
    struct pair p = pair_make();
    unsigned rounds = rig_scale(200, 10);
    uint32_t expected = 0;
    for (unsigned i = 0; i < rounds; i++) {
        OK(rig_step(p.a, p.cells, 0, 3, i, i % 20 == 0 ? 5 : 0));
        OK(cls_event_record(p.event, p.a));
        OK(cls_stream_wait_event(p.b, p.event));
        OK(rig_step(p.b, p.cells, 0, 5, 1, i % 20 == 10 ? 5 : 0));
        OK(cls_event_record(p.event, p.b));
        OK(cls_stream_wait_event(p.a, p.event));
        expected = (expected * 3 + i) * 5 + 1;
    }
    OK(cls_stream_synchronize(p.a));
    OK(cls_stream_synchronize(p.b));
    assert_int_equal(rig_cell(p.cells, 0), expected);
    pair_end(&p);
}

/* Held by a gate and by a running kernel: the wait covers what was submitted before the record only. */
static void test_a_record_is_a_snapshot(void **state) {
    (void)state;
    struct pair p = pair_make();
    struct gate gate;
    gate_init(&gate);
    OK(rig_set(p.a, p.cells, 0, 1, 20));
    OK(cls_event_record(p.event, p.a));
    OK(cls_stream_launch_host_async(p.a, gate_hold, &gate));
    OK(cls_stream_wait_event(p.b, p.event));
    OK(rig_step(p.b, p.cells, 0, 1, 10, 0));
    OK(cls_stream_synchronize(p.b)); /* returns: the gate came after the record */
    OK(cls_event_synchronize(p.event));
    assert_int_equal(rig_cell(p.cells, 0), 11);
    EXPECT(CLS_NOT_READY, cls_stream_query(p.a));
    gate_open(&gate);
    pair_end(&p);
    gate_destroy(&gate);
}

static void test_recording_again_does_not_disturb_a_wait(void **state) {
    (void)state;
    struct pair p = pair_make();
    struct gate first, second;
    gate_init(&first);
    gate_init(&second);
    OK(cls_stream_launch_host_async(p.a, gate_hold, &first));
    OK(rig_set(p.a, p.cells, 0, 1, 0));
    OK(cls_event_record(p.event, p.a));
    OK(cls_stream_wait_event(p.b, p.event));
    OK(cls_stream_launch_host_async(p.a, gate_hold, &second));
    OK(cls_event_record(p.event, p.a)); /* behind the second gate now */
    OK(rig_step(p.b, p.cells, 0, 1, 10, 0));
    EXPECT(CLS_NOT_READY, cls_stream_query(p.b));
    gate_open(&first);
    OK(cls_stream_synchronize(p.b));
    assert_int_equal(rig_cell(p.cells, 0), 11);
    EXPECT(CLS_NOT_READY, cls_event_query(p.event));
    gate_open(&second);
    OK(cls_event_synchronize(p.event));
    pair_end(&p);
    gate_destroy(&first);
    gate_destroy(&second);
}

static void test_recording_on_another_stream_moves_the_event(void **state) {
    (void)state;
    struct pair p = pair_make();
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(p.a, gate_hold, &gate));
    OK(cls_event_record(p.event, p.a));
    EXPECT(CLS_NOT_READY, cls_event_query(p.event));
    OK(cls_event_record(p.event, p.b));
    OK(cls_event_synchronize(p.event));
    gate_open(&gate);
    pair_end(&p);
    gate_destroy(&gate);
}

static void test_an_event_never_recorded_holds_nobody(void **state) {
    (void)state;
    struct pair p = pair_make();
    OK(cls_event_query(p.event));
    OK(cls_event_synchronize(p.event));
    OK(cls_event_wait(p.event, 0));
    OK(cls_stream_wait_event(p.a, p.event));
    OK(rig_set(p.a, p.cells, 0, 3, 0));
    OK(cls_stream_synchronize(p.a));
    /* recorded later: the wait above was taken before */
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_wait_event(p.a, p.event));
    OK(cls_stream_launch_host_async(p.b, gate_hold, &gate));
    OK(cls_event_record(p.event, p.b));
    OK(rig_set(p.a, p.cells, 0, 4, 0));
    OK(cls_stream_synchronize(p.a));
    assert_int_equal(rig_cell(p.cells, 0), 4);
    gate_open(&gate);
    pair_end(&p);
    gate_destroy(&gate);
}

static void test_an_event_on_an_idle_stream_is_done(void **state) {
    (void)state;
    struct pair p = pair_make();
    OK(cls_event_record(p.event, p.a));
    OK(cls_event_query(p.event));
    OK(rig_set(p.a, p.cells, 0, 1, 0));
    OK(cls_stream_synchronize(p.a));
    OK(cls_event_record(p.event, p.a));
    OK(cls_event_query(p.event));
    OK(cls_event_synchronize(p.event));
    pair_end(&p);
}

static void test_a_stream_may_wait_for_itself(void **state) {
    (void)state;
    struct pair p = pair_make();
    for (int i = 0; i < 10; i++) {
        OK(rig_step(p.a, p.cells, 0, 1, 1, 1));
        OK(cls_event_record(p.event, p.a));
        OK(cls_stream_wait_event(p.a, p.event));
    }
    OK(cls_stream_synchronize(p.a));
    assert_int_equal(rig_cell(p.cells, 0), 10);
    pair_end(&p);
}

/* B waits for A and records with no command between: who waits for that record waits for A. */
static void test_a_record_captures_waits_that_nothing_followed(void **state) {
    (void)state;
    struct pair p = pair_make();
    cls_stream c = rig_stream();
    cls_event through = rig_event();
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(p.a, gate_hold, &gate));
    OK(rig_set(p.a, p.cells, 0, 7, 0));
    OK(cls_event_record(p.event, p.a));
    OK(cls_stream_wait_event(p.b, p.event));
    OK(cls_event_record(through, p.b));
    EXPECT(CLS_NOT_READY, cls_event_query(through));
    OK(cls_stream_wait_event(c, through));
    OK(rig_step(c, p.cells, 0, 2, 0, 0));
    EXPECT(CLS_NOT_READY, cls_stream_query(c));
    EXPECT(CLS_NOT_READY, cls_stream_query(p.b));
    gate_open(&gate);
    OK(cls_stream_synchronize(c));
    OK(cls_event_query(through));
    assert_int_equal(rig_cell(p.cells, 0), 14);
    OK(cls_event_destroy(through));
    OK(cls_stream_destroy(c));
    pair_end(&p);
    gate_destroy(&gate);
}

/* The same on the driver's own waits, with a kernel in place of the gate. */
static void test_a_record_captures_waits_on_running_kernels(void **state) {
    (void)state;
    struct pair p = pair_make();
    cls_stream c = rig_stream();
    cls_event through = rig_event();
    for (uint32_t i = 1; i <= 5; i++) {
        OK(rig_set(p.a, p.cells, 0, 7 * i, 10));
        OK(cls_event_record(p.event, p.a));
        OK(cls_stream_wait_event(p.b, p.event));
        OK(cls_event_record(through, p.b));
        OK(cls_stream_wait_event(c, through));
        OK(rig_step(c, p.cells, 0, 2, 0, 0));
        OK(cls_stream_synchronize(c));
        assert_int_equal(rig_cell(p.cells, 0), 14 * i);
    }
    OK(cls_event_destroy(through));
    OK(cls_stream_destroy(c));
    pair_end(&p);
}

static void test_an_event_destroyed_after_the_wait_still_orders(void **state) {
    (void)state;
    struct pair p = pair_make();
    for (uint32_t i = 0; i < 20; i++) {
        cls_event event = rig_event();
        OK(rig_set(p.a, p.cells, 0, i, 2));
        OK(cls_event_record(event, p.a));
        OK(cls_stream_wait_event(p.b, event));
        OK(cls_event_destroy(event));
        OK(rig_step(p.b, p.cells, 0, 1, 100, 0));
        OK(cls_stream_synchronize(p.b));
        assert_int_equal(rig_cell(p.cells, 0), 100 + i);
    }
    pair_end(&p);
}

static void test_one_stream_waits_for_many(void **state) {
    (void)state;
    enum { STREAMS = 40 };
    cls_stream streams[STREAMS], last = rig_stream();
    cls_buffer cells = rig_cells(STREAMS);
    cls_event event = rig_event();
    uint32_t seen[STREAMS];
    for (uint32_t i = 0; i < STREAMS; i++) {
        streams[i] = rig_stream();
        OK(rig_set(streams[i], cells, i, i + 1, 1));
        OK(cls_event_record(event, streams[i]));
        OK(cls_stream_wait_event(last, event));
    }
    OK(cls_copy_d2h_async(seen, cells, 0, sizeof seen, last));
    OK(cls_stream_synchronize(last));
    for (uint32_t i = 0; i < STREAMS; i++)
        assert_int_equal(seen[i], i + 1);
    for (uint32_t i = 0; i < STREAMS; i++)
        OK(cls_stream_destroy(streams[i]));
    OK(cls_stream_destroy(last));
    OK(cls_event_destroy(event));
    OK(cls_buffer_destroy(cells));
}

/* --- time --- */

static void test_elapsed_time_lies_between_the_marks(void **state) {
    (void)state;
    struct pair p = pair_make();
    cls_event start = rig_timed_event(), middle = rig_timed_event(), end = rig_timed_event();
    double first = -1, second = -1, whole = -1;
    OK(cls_event_record(start, p.a));
    OK(rig_set(p.a, p.cells, 0, 1, 40));
    OK(cls_event_record(middle, p.a));
    OK(rig_set(p.a, p.cells, 0, 2, 1));
    OK(cls_event_record(end, p.a));
    OK(cls_stream_synchronize(p.a));
    OK(cls_event_elapsed(start, middle, &first));
    OK(cls_event_elapsed(middle, end, &second));
    OK(cls_event_elapsed(start, end, &whole));
    assert_true(first > 0 && second > 0);
    assert_true(first + second > whole * 0.999 && first + second < whole * 1.001);
    double back = 0;
    OK(cls_event_elapsed(end, start, &back));
    assert_true(back < 0 && -back > whole * 0.999 && -back < whole * 1.001);
    OK(cls_event_destroy(start));
    OK(cls_event_destroy(middle));
    OK(cls_event_destroy(end));
    pair_end(&p);
}

/* The device's time of a kernel is at most the host's time around it, and most of it. */
static void test_elapsed_time_is_that_of_the_work(void **state) {
    (void)state;
    struct pair p = pair_make();
    cls_event start = rig_timed_event(), end = rig_timed_event();
    OK(cls_stream_synchronize(p.a));
    double before = now_ms(), took = 0;
    OK(cls_event_record(start, p.a));
    OK(rig_set(p.a, p.cells, 0, 1, 100));
    OK(cls_event_record(end, p.a));
    OK(cls_event_synchronize(end));
    double host = now_ms() - before;
    OK(cls_event_elapsed(start, end, &took));
    if (took > host * 1.05 || took < host * 0.05)
        fail_msg("elapsed is %g ms, on the host's clock %g", took, host);
    OK(cls_event_destroy(start));
    OK(cls_event_destroy(end));
    pair_end(&p);
}

static void test_elapsed_time_refuses_what_it_cannot_tell(void **state) {
    (void)state;
    struct pair p = pair_make();
    cls_event start = rig_timed_event(), end = rig_timed_event();
    double ms = 123;
    struct gate gate;
    gate_init(&gate);
    EXPECT(CLS_ERROR_NOT_TIMED, cls_event_elapsed(start, end, &ms)); /* never recorded */
    OK(cls_event_record(start, p.a));
    OK(cls_event_synchronize(start));
    EXPECT(CLS_ERROR_NOT_TIMED, cls_event_elapsed(start, end, &ms));
    OK(cls_event_record(p.event, p.a));
    OK(cls_stream_synchronize(p.a));
    EXPECT(CLS_ERROR_NOT_TIMED, cls_event_elapsed(start, p.event, &ms)); /* not timed */
    OK(cls_stream_launch_host_async(p.a, gate_hold, &gate));
    OK(cls_event_record(end, p.a));
    EXPECT(CLS_NOT_READY, cls_event_elapsed(start, end, &ms));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_event_elapsed(start, end, NULL));
    assert_true(ms == 123);
    gate_open(&gate);
    OK(cls_event_synchronize(end));
    OK(cls_event_elapsed(start, end, &ms));
    assert_true(ms >= 0 && ms != 123);
    OK(cls_event_destroy(start));
    OK(cls_event_destroy(end));
    pair_end(&p);
    gate_destroy(&gate);
}

/* Of two events: what is wrong with either comes first, then a failure, then what is pending (clstream/status.h). */
static void test_elapsed_time_reports_mistakes_before_failures_before_pending_work(void **state) {
    (void)state;
    enum { DONE, PENDING, FAILED, UNTIMED, UNRECORDED, KINDS };
    static const cls_status status_of[KINDS] = {CLS_SUCCESS, CLS_NOT_READY,
                                                CLS_ERROR_COMMAND_FAILED, CLS_ERROR_NOT_TIMED,
                                                CLS_ERROR_NOT_TIMED};
    struct pair p = pair_make();
    cls_stream broken = rig_stream();
    cls_event events[KINDS] = {rig_timed_event(), rig_timed_event(), rig_timed_event(), p.event,
                               rig_timed_event()};
    struct gate gate;
    gate_init(&gate);
    OK(cls_event_record(events[DONE], p.a));
    OK(cls_event_synchronize(events[DONE]));
    OK(cls_stream_launch_host_async(p.b, gate_hold, &gate));
    OK(cls_event_record(events[PENDING], p.b));
    OK(cls_event_record(events[UNTIMED], p.b));
    OK(rig_fail(broken, "failing", CL_OUT_OF_RESOURCES));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(broken));
    OK(cls_event_record(events[FAILED], broken));
    for (int start = 0; start < KINDS; start++)
        for (int end = 0; end < KINDS; end++) {
            double ms = 123;
            const cls_status due = status_of[start > end ? start : end];
            EXPECT(due, cls_event_elapsed(events[start], events[end], &ms));
            assert_true(due == CLS_SUCCESS || ms == 123);
        }
    gate_open(&gate);
    OK(cls_stream_destroy(broken));
    for (int kind = 0; kind < KINDS; kind++)
        if (kind != UNTIMED)
            OK(cls_event_destroy(events[kind]));
    pair_end(&p);
    gate_destroy(&gate);
}

/* A record that does not go in makes the stream's work no dearer. */
static void test_a_refused_timed_record_leaves_the_stream_untimed(void **state) {
    (void)state;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_event_config timed = CLS_EVENT_CONFIG_INIT;
    cls_stream_info info = CLS_STREAM_INFO_INIT;
    struct gate gate;
    cls_stream stream;
    cls_event event;
    gate_init(&gate);
    config.fifo_limit = 1;
    timed.timed = 1;
    OK(cls_stream_create(rig.context, &config, &stream));
    OK(cls_event_create(rig.context, &timed, &event));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    EXPECT(CLS_ERROR_LIMIT, cls_event_record(event, stream));
    OK(cls_stream_get_info(stream, &info));
    /* where a stream cannot be moved to a profiled queue, it is on one from the start */
    assert_int_equal(!info.timing, rig_has_capability("events_across_queues"));
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    OK(cls_event_record(event, stream));
    OK(cls_stream_get_info(stream, &info));
    assert_true(info.timing);
    OK(cls_event_synchronize(event));
    OK(cls_event_destroy(event));
    OK(cls_stream_destroy(stream));
    gate_destroy(&gate);
}

static void test_a_timed_event_orders_too_and_may_be_recorded_again(void **state) {
    (void)state;
    struct pair p = pair_make();
    cls_event event = rig_timed_event(), start = rig_timed_event();
    uint32_t expected = 0;
    OK(cls_event_record(start, p.a));
    for (uint32_t i = 0; i < 30; i++) {
        OK(rig_step(p.a, p.cells, 0, 3, i, 1));
        OK(cls_event_record(event, p.a));
        OK(cls_stream_wait_event(p.b, event));
        OK(rig_step(p.b, p.cells, 0, 5, 1, 0));
        OK(cls_event_record(event, p.b));
        OK(cls_stream_wait_event(p.a, event));
        expected = (expected * 3 + i) * 5 + 1;
    }
    OK(cls_event_synchronize(event));
    assert_int_equal(rig_cell(p.cells, 0), expected);
    double ms = -1;
    OK(cls_event_elapsed(start, event, &ms));
    assert_true(ms > 0);
    OK(cls_event_destroy(event));
    OK(cls_event_destroy(start));
    pair_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wait_orders_two_streams),
        cmocka_unit_test(test_a_record_is_a_snapshot),
        cmocka_unit_test(test_recording_again_does_not_disturb_a_wait),
        cmocka_unit_test(test_recording_on_another_stream_moves_the_event),
        cmocka_unit_test(test_an_event_never_recorded_holds_nobody),
        cmocka_unit_test(test_an_event_on_an_idle_stream_is_done),
        cmocka_unit_test(test_a_stream_may_wait_for_itself),
        cmocka_unit_test(test_a_record_captures_waits_that_nothing_followed),
        cmocka_unit_test(test_a_record_captures_waits_on_running_kernels),
        cmocka_unit_test(test_an_event_destroyed_after_the_wait_still_orders),
        cmocka_unit_test(test_one_stream_waits_for_many),
        cmocka_unit_test(test_elapsed_time_lies_between_the_marks),
        cmocka_unit_test(test_elapsed_time_is_that_of_the_work),
        cmocka_unit_test(test_elapsed_time_refuses_what_it_cannot_tell),
        cmocka_unit_test(test_elapsed_time_reports_mistakes_before_failures_before_pending_work),
        cmocka_unit_test(test_a_refused_timed_record_leaves_the_stream_untimed),
        cmocka_unit_test(test_a_timed_event_orders_too_and_may_be_recorded_again),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
