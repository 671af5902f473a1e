/* SPDX-License-Identifier: MIT */
/*
 * Failure: a command that fails poisons its stream and the streams that depend on it, and nothing else.
 * The commands here are foreign calls that return an error.
 */
#include "failures.h"

static void test_a_failure_is_sticky_and_names_the_command(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    OK(rig_set(stream, cells, 0, 1, 10));
    OK(rig_fail(stream, "the broken step", -5));
    await_poison(stream);
    expect_poison(stream, "the broken step");
    assert_int_equal(cls_last_error_code(), -5);
    expect_poison(stream, "the broken step");
    EXPECT(CLS_ERROR_COMMAND_FAILED, rig_set(stream, cells, 0, 2, 0));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_launch_host_async(stream, ignore, NULL));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_copy_h2d_async(cells, 0, &cells, 4, stream));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_copy_h2d(cells, 0, &cells, 4, stream));
    assert_non_null(strstr(cls_last_error_detail(), "the broken step"));
    assert_int_equal(rig_cell(cells, 0), 1); /* what came before had its effect */
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

static bool sees_poison(void *arg, unsigned i) {
    (void)i;
    return cls_stream_query(arg) == CLS_ERROR_COMMAND_FAILED &&
           cls_stream_synchronize(arg) == CLS_ERROR_COMMAND_FAILED &&
           strstr(cls_last_error_detail(), "told to all") && cls_last_error_code() == -6;
}

static void test_every_thread_is_told(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    OK(rig_fail(stream, "told to all", -6));
    await_poison(stream);
    assert_int_equal(team_run(8, sees_poison, stream), 0);
    OK(cls_stream_destroy(stream));
}

static void test_the_first_error_stays(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(rig_fail(stream, "first", -5));
    OK(rig_fail(stream, "second", -6));
    gate_open(&gate);
    await_poison(stream);
    expect_poison(stream, "first");
    assert_int_equal(cls_last_error_code(), -5);
    OK(cls_stream_destroy(stream));
    gate_destroy(&gate);
}

static void test_host_functions_are_skipped_and_callbacks_told(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    struct outcome before, after, late;
    struct gate gate;
    unsigned ran = 0;
    outcome_init(&before);
    outcome_init(&after);
    outcome_init(&late);
    gate_init(&gate);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_stream_add_callback(stream, keep_outcome, &before));
    OK(rig_fail(stream, "fails", -5));
    OK(cls_stream_launch_host_async(stream, ignore, &ran));
    OK(cls_stream_add_callback(stream, keep_outcome, &after));
    OK(cls_stream_launch_host_async(stream, ignore, &ran));
    gate_open(&gate);
    await_poison(stream);
    OK(cls_stream_add_callback(stream, keep_outcome, &late));
    assert_true(sem_comes(&late.called) && sem_comes(&after.called) && sem_comes(&before.called));
    assert_int_equal(ran, 0);
    assert_int_equal(before.status, CLS_SUCCESS);
    assert_int_equal(after.status, CLS_ERROR_COMMAND_FAILED);
    assert_int_equal(late.status, CLS_ERROR_COMMAND_FAILED);
    assert_int_equal(before.calls + after.calls + late.calls, 3);
    assert_true(after.stream == stream);
    OK(cls_stream_destroy(stream));
    gate_destroy(&gate);
}

/* a fails; b and c depend on it directly and through b; d does not. */
static void test_dependents_only_are_poisoned(void **state) {
    (void)state;
    cls_stream a = rig_stream(), b = rig_stream(), c = rig_stream(), d = rig_stream();
    cls_buffer cells = rig_cells(4);
    cls_event event = rig_event(), early = rig_event(), unrelated = rig_event();
    struct gate gate;
    unsigned ran = 0;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(a, gate_hold, &gate));
    OK(cls_event_record(early, a));
    OK(cls_stream_wait_event(d, early)); /* before the failure: d depends on what succeeds */
    OK(rig_fail(a, "root cause", -5));
    OK(cls_event_record(event, a));
    OK(rig_set(b, cells, 1, 1, 1));
    OK(cls_event_record(unrelated, b));
    OK(cls_stream_wait_event(b, event));
    OK(rig_set(b, cells, 1, 2, 0));
    OK(cls_event_record(event, b));
    OK(cls_stream_wait_event(c, event));
    OK(cls_stream_launch_host_async(c, ignore, &ran));
    OK(rig_set(d, cells, 3, 4, 0));
    gate_open(&gate);
    await_poison(c);
    expect_poison(a, "root cause");
    expect_poison(b, "root cause");
    expect_poison(c, "root cause");
    OK(cls_stream_synchronize(d));
    OK(cls_event_query(early));
    OK(cls_event_query(unrelated));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_event_query(event));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_event_synchronize(event));
    assert_non_null(strstr(cls_last_error_detail(), "root cause"));
    assert_int_equal(ran, 0);
    assert_int_equal(rig_cell(cells, 1), 1); /* b's second command never ran */
    assert_int_equal(rig_cell(cells, 3), 4);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_context_synchronize(rig.context));
    cls_stream all[] = {a, b, c, d};
    for (int i = 0; i < 4; i++)
        OK(cls_stream_destroy(all[i]));
    OK(cls_event_destroy(event));
    OK(cls_event_destroy(early));
    OK(cls_event_destroy(unrelated));
    OK(cls_buffer_destroy(cells));
    gate_destroy(&gate);
}

/* Also where others have failed that nobody can ask any more, which an event keeps. */
static void test_a_context_tells_of_the_failure_that_it_returns(void **state) {
    (void)state;
    const char *const names[] = {"gone", "living", "gone as well"};
    cls_stream streams[3];
    cls_event events[3];
    for (int i = 0; i < 3; i++) {
        streams[i] = rig_stream();
        events[i] = rig_event();
        OK(cls_event_record(events[i], streams[i]));
        OK(rig_fail(streams[i], names[i], -5 - i));
        await_poison(streams[i]);
        if (i != 1)
            OK(cls_stream_destroy(streams[i]));
    }
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_context_synchronize(rig.context));
    assert_non_null(strstr(cls_last_error_detail(), "living"));
    assert_int_equal(cls_last_error_code(), -6);
    OK(cls_stream_destroy(streams[1]));
    for (int i = 0; i < 3; i++)
        OK(cls_event_destroy(events[i]));
}

static void test_waiting_for_known_failure_poisons(void **state) {
    (void)state;
    cls_stream a = rig_stream(), b = rig_stream(), c = rig_stream();
    cls_buffer cells = rig_cells(1);
    cls_event event = rig_event(), through = rig_event();
    OK(rig_fail(a, "known", -5));
    OK(cls_event_record(event, a));
    await_poison(a);
    cls_status status = cls_stream_wait_event(b, event);
    if (status)
        EXPECT(CLS_ERROR_COMMAND_FAILED, status);
    EXPECT(CLS_ERROR_COMMAND_FAILED, rig_set(b, cells, 0, 1, 0));
    expect_poison(b, "known");
    /* on through b, which has no command of its own */
    cls_event_record(through, b);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_event_query(through));
    cls_stream_wait_event(c, through);
    expect_poison(c, "known");
    assert_int_equal(rig_cell(cells, 0), 0);
    OK(cls_stream_destroy(a));
    OK(cls_stream_destroy(b));
    OK(cls_stream_destroy(c));
    OK(cls_event_destroy(event));
    OK(cls_event_destroy(through));
    OK(cls_buffer_destroy(cells));
}

/* b has taken its wait, and nothing more, when a fails. */
static void test_a_taken_wait_is_poisoned_without_a_command(void **state) {
    (void)state;
    cls_stream a = rig_stream(), b = rig_stream();
    cls_event event = rig_event(), after = rig_event();
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(a, gate_hold, &gate));
    OK(rig_fail(a, "far away", -5));
    OK(cls_event_record(event, a));
    OK(cls_stream_wait_event(b, event));
    EXPECT(CLS_NOT_READY, cls_stream_query(b));
    gate_open(&gate);
    await_poison(a);
    expect_poison(b, "far away");
    cls_event_record(after, b);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_event_query(after));
    OK(cls_stream_destroy(a));
    OK(cls_stream_destroy(b));
    OK(cls_event_destroy(event));
    OK(cls_event_destroy(after));
    gate_destroy(&gate);
}

static void test_reset_makes_a_stream_work_again(void **state) {
    (void)state;
    cls_stream a = rig_stream(), b = rig_stream();
    cls_buffer cells = rig_cells(2);
    cls_event old = rig_event();
    struct gate gate;
    gate_init(&gate);
    for (uint32_t i = 1; i <= 5; i++) {
        OK(cls_stream_launch_host_async(a, gate_hold, &gate));
        OK(rig_fail(a, "fails", -5));
        OK(cls_event_record(old, a));
        OK(cls_stream_wait_event(b, old));
        OK(rig_set(b, cells, 1, 99, 0));
        gate_open(&gate);
        await_poison(b);
        OK(cls_stream_reset(a));
        OK(cls_stream_query(a));
        OK(cls_stream_synchronize(a));
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_query(b)); /* has its own reset */
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_event_query(old));
        OK(cls_stream_reset(b));
        OK(cls_event_record(old, b)); /* of nothing but failed work, but after the reset */
        OK(cls_event_synchronize(old));
        OK(cls_context_synchronize(rig.context));
        OK(rig_set(a, cells, 0, i, 5));
        OK(cls_event_record(old, a));
        OK(cls_stream_wait_event(b, old));
        OK(rig_step(b, cells, 0, 10, 1, 0));
        OK(cls_stream_synchronize(b));
        OK(cls_stream_synchronize(a));
        OK(cls_event_query(old));
        assert_int_equal(rig_cell(cells, 0), i * 10 + 1);
        assert_int_equal(rig_cell(cells, 1), 0);
    }
    OK(cls_stream_reset(a)); /* healthy: only waits */
    OK(cls_stream_destroy(a));
    OK(cls_stream_destroy(b));
    OK(cls_event_destroy(old));
    OK(cls_buffer_destroy(cells));
    gate_destroy(&gate);
}

static void test_reset_waits_for_held_work(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    struct outcome outcome;
    struct gate gate;
    gate_init(&gate);
    outcome_init(&outcome);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(rig_fail(stream, "fails", -5));
    for (unsigned i = 0; i < 100; i++)
        OK(cls_stream_add_callback(stream, keep_outcome, &outcome));
    gate_open(&gate);
    OK(cls_stream_reset(stream));
    assert_int_equal(outcome.calls, 100);
    assert_int_equal(outcome.status, CLS_ERROR_COMMAND_FAILED);
    OK(cls_stream_query(stream));
    OK(cls_stream_destroy(stream));
    gate_destroy(&gate);
}

static void test_others_are_untouched(void **state) {
    (void)state;
    cls_stream bad = rig_stream(), good = rig_stream(), fallback;
    cls_buffer cells = rig_cells(2);
    OK(cls_context_default_stream(rig.context, &fallback));
    OK(rig_set(good, cells, 0, 1, 20));
    OK(rig_fail(bad, "alone", -5));
    await_poison(bad);
    OK(rig_step(good, cells, 0, 10, 1, 0));
    OK(cls_stream_synchronize(good));
    OK(rig_set(fallback, cells, 1, 3, 0));
    OK(cls_stream_synchronize(fallback));
    assert_int_equal(rig_cell(cells, 0), 11);
    OK(cls_stream_destroy(bad));
    OK(cls_stream_destroy(good));
    OK(cls_buffer_destroy(cells));
}

/* Poisoned, then destroyed, with dependents yet to come. */
static void test_a_poisoned_stream_may_be_destroyed(void **state) {
    (void)state;
    cls_stream a = rig_stream(), b = rig_stream();
    cls_event event = rig_event();
    struct outcome outcome;
    struct gate gate;
    gate_init(&gate);
    outcome_init(&outcome);
    OK(cls_stream_launch_host_async(a, gate_hold, &gate));
    OK(rig_fail(a, "buried", -5));
    OK(cls_event_record(event, a));
    OK(cls_stream_destroy(a));
    OK(cls_stream_wait_event(b, event));
    OK(cls_event_destroy(event));
    OK(cls_stream_add_callback(b, keep_outcome, &outcome));
    gate_open(&gate);
    await_poison(b);
    expect_poison(b, "buried");
    assert_true(sem_comes(&outcome.called));
    assert_int_equal(outcome.status, CLS_ERROR_COMMAND_FAILED);
    OK(cls_stream_destroy(b));
    gate_destroy(&gate);
}

/* Frees still happen: a failed stream's buffers do not pile up. */
struct waits {
    struct outcome outcome;
    cls_status synchronize, wait;
};

static void try_to_wait(cls_stream stream, cls_status status, void *arg) {
    struct waits *waits = arg;
    waits->synchronize = cls_stream_synchronize(stream);
    waits->wait = cls_stream_wait(stream, 0);
    keep_outcome(stream, status, &waits->outcome);
}

/* Whatever the stream has come to. */
static void test_callbacks_of_failed_streams_may_not_wait(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    struct waits waits;
    outcome_init(&waits.outcome);
    OK(rig_fail(stream, "fails", -5));
    OK(cls_stream_add_callback(stream, try_to_wait, &waits));
    assert_true(sem_comes(&waits.outcome.called));
    assert_int_equal(waits.outcome.status, CLS_ERROR_COMMAND_FAILED);
    assert_int_equal(waits.synchronize, CLS_ERROR_WOULD_DEADLOCK);
    assert_int_equal(waits.wait, CLS_ERROR_WOULD_DEADLOCK);
    OK(cls_stream_destroy(stream));
}

static void test_failed_streams_let_go_of_their_memory(void **state) {
    (void)state;
    for (int i = 0; i < 30; i++) {
        cls_stream stream = rig_stream();
        cls_buffer big;
        struct gate gate;
        const unsigned char byte = 1;
        gate_init(&gate);
        OK(cls_buffer_create(rig.context, 64 << 20, &big));
        OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
        OK(rig_fail(stream, "fails", -5));
        OK(cls_fill_async(big, 0, 64 << 20, &byte, 1, stream));
        OK(cls_buffer_destroy(big));
        gate_open(&gate);
        await_poison(stream);
        OK(cls_stream_destroy(stream));
        gate_destroy(&gate);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_failure_is_sticky_and_names_the_command),
        cmocka_unit_test(test_every_thread_is_told),
        cmocka_unit_test(test_the_first_error_stays),
        cmocka_unit_test(test_host_functions_are_skipped_and_callbacks_told),
        cmocka_unit_test(test_callbacks_of_failed_streams_may_not_wait),
        cmocka_unit_test(test_dependents_only_are_poisoned),
        cmocka_unit_test(test_a_context_tells_of_the_failure_that_it_returns),
        cmocka_unit_test(test_waiting_for_known_failure_poisons),
        cmocka_unit_test(test_a_taken_wait_is_poisoned_without_a_command),
        cmocka_unit_test(test_reset_makes_a_stream_work_again),
        cmocka_unit_test(test_reset_waits_for_held_work),
        cmocka_unit_test(test_others_are_untouched),
        cmocka_unit_test(test_a_poisoned_stream_may_be_destroyed),
        cmocka_unit_test(test_failed_streams_let_go_of_their_memory),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
