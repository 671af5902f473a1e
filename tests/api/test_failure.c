/* SPDX-License-Identifier: MIT */
/*
 * Failure: a command that fails poisons its stream and the streams that depend on it, and nothing else.
 * Commands are made to fail in three ways: a foreign call that returns an error, a cl_event of the
 * user's that is set to one, and a command that the driver itself fails late.
 */
#include "../support/rig.h"

#include <string.h>

static void ignore(void *arg) { ++*(unsigned *)arg; }

struct outcome {
    sem_t called;
    unsigned calls;
    cls_status status;
    cls_stream stream;
};

static void outcome_init(struct outcome *outcome) {
    memset(outcome, 0, sizeof *outcome);
    assert_int_equal(sem_init(&outcome->called, 0, 0), 0);
}

static void keep_outcome(cls_stream stream, cls_status status, void *arg) {
    struct outcome *outcome = arg;
    outcome->calls++;
    outcome->status = status;
    outcome->stream = stream;
    sem_post(&outcome->called);
}

static void expect_poison(cls_stream stream, const char *label) {
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_query(stream));
    assert_non_null(strstr(cls_last_error_detail(), label));
    cls_clear_last_error();
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    assert_non_null(strstr(cls_last_error_detail(), label));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_wait(stream, 1000));
}

static void await_poison(cls_stream stream) {
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
}

static cl_event user_event(void) {
    cl_context context;
    cl_int code;
    OK(cls_context_get_cl(rig.context, &context, NULL));
    cl_event event = clCreateUserEvent(context, &code);
    assert_int_equal(code, CL_SUCCESS);
    return event;
}

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

/* --- a user's event that fails --- */

static void test_a_failed_user_event_poisons(void **state) {
    (void)state;
    cls_stream a = rig_stream(), b = rig_stream();
    cls_buffer cells = rig_cells(2);
    cls_event event = rig_event();
    struct outcome outcome;
    unsigned ran = 0;
    cl_event gate = user_event();
    outcome_init(&outcome);
    OK(cls_stream_wait_cl(a, gate));
    OK(rig_set(a, cells, 0, 1, 0));
    OK(cls_stream_launch_host_async(a, ignore, &ran));
    OK(cls_event_record(event, a));
    OK(cls_stream_wait_event(b, event));
    OK(rig_set(b, cells, 1, 1, 0));
    OK(cls_stream_add_callback(b, keep_outcome, &outcome));
    OK(cls_event_destroy(event));
    EXPECT(CLS_NOT_READY, cls_stream_query(a));
    assert_int_equal(clSetUserEventStatus(gate, -7), CL_SUCCESS);
    assert_int_equal(clReleaseEvent(gate), CL_SUCCESS);
    assert_true(sem_comes(&outcome.called));
    assert_int_equal(outcome.status, CLS_ERROR_COMMAND_FAILED);
    expect_poison(a, "cl_event");
    expect_poison(b, "cl_event");
    OK(cls_stream_reset(a));
    OK(cls_stream_reset(b));
    OK(rig_set(a, cells, 1, 5, 0));
    OK(cls_stream_synchronize(a));
    assert_int_equal(rig_cell(cells, 0), 0);
    assert_int_equal(rig_cell(cells, 1), 5);
    assert_int_equal(ran, 0);
    OK(cls_stream_destroy(a));
    OK(cls_stream_destroy(b));
    OK(cls_buffer_destroy(cells));
}

static void test_a_user_event_that_failed_before_poisons(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    cl_event gate = user_event();
    assert_int_equal(clSetUserEventStatus(gate, -7), CL_SUCCESS);
    cls_status status = cls_stream_wait_cl(stream, gate);
    assert_int_equal(clReleaseEvent(gate), CL_SUCCESS);
    if (!status)
        status = rig_set(stream, cells, 0, 1, 0);
    assert_true(status == CLS_SUCCESS || status == CLS_ERROR_COMMAND_FAILED);
    await_poison(stream);
    expect_poison(stream, "cl_event");
    assert_int_equal(rig_cell(cells, 0), 0);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
}

/* The wait alone, without a command behind it, poisons too: query and synchronize agree. */
static void test_a_failed_user_event_poisons_a_stream_without_commands(void **state) {
    (void)state;
    for (int first = 0; first < 2; first++) {
        cls_stream stream = rig_stream();
        cl_event gate = user_event();
        OK(cls_stream_wait_cl(stream, gate));
        EXPECT(CLS_NOT_READY, cls_stream_query(stream));
        assert_int_equal(clSetUserEventStatus(gate, -7), CL_SUCCESS);
        assert_int_equal(clReleaseEvent(gate), CL_SUCCESS);
        cls_status status = CLS_NOT_READY;
        for (double until = now_ms() + 60000; status == CLS_NOT_READY && now_ms() < until;)
            status = first ? cls_stream_query(stream) : cls_stream_synchronize(stream);
        EXPECT(CLS_ERROR_COMMAND_FAILED, status);
        expect_poison(stream, "cl_event");
        OK(cls_stream_destroy(stream));
    }
}

/* --- a command that the driver fails late --- */

/* PoCL 3.1 aborts when a chain fails of which an event was released before, so the test, whose commands
 * these are, holds theirs. */
struct late {
    cl_event gate, marker;
};

/* Leaves a command on the queue that waits for the test's user event. */
static cl_int enqueue_gated(cl_command_queue queue, void *arg) {
    struct late *late = arg;
    return clEnqueueMarkerWithWaitList(queue, 1, &late->gate, &late->marker);
}

static cl_int event_status(cl_event event) {
    cl_int status = 0;
    assert_int_equal(
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL),
        CL_SUCCESS);
    return status;
}

/* Whether this driver fails what follows a failed command on an in-order queue. Where it does not, the
 * foreign call's failure is known to nobody. */
static bool driver_tells_of_late_failure(void) {
    cl_context context;
    cl_device_id device;
    cl_int code, status;
    cl_event gate = user_event(), first, second;
    OK(cls_context_get_cl(rig.context, &context, &device));
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clEnqueueMarkerWithWaitList(queue, 1, &gate, &first), CL_SUCCESS);
    assert_int_equal(clEnqueueMarkerWithWaitList(queue, 0, NULL, &second), CL_SUCCESS);
    assert_int_equal(clFlush(queue), CL_SUCCESS);
    assert_int_equal(clSetUserEventStatus(gate, -5), CL_SUCCESS);
    double until = now_ms() + 10000;
    while ((status = event_status(second)) > 0 && now_ms() < until)
        nap_ms(1);
    /* The queue and its events stay: releasing what failed is not every driver's strength. */
    return status < 0;
}

static cl_int enqueue_nothing(cl_command_queue queue, void *arg) {
    (void)queue;
    (void)arg;
    return CL_SUCCESS;
}

/* The whole chain is with the driver and every handle of it released when its first command fails. */
static void test_a_chain_that_the_driver_fails_late(void **state) {
    (void)state;
    if (rig_runs_inline())
        SKIP_BECAUSE("this driver hangs in the flush of a command that waits for a user event");
    if (!driver_tells_of_late_failure())
        SKIP_BECAUSE("this driver runs what follows a failed command on an in-order queue and "
                     "reports success for it");
    for (int round = 0; round < 20; round++) {
        cls_stream a = rig_stream(), b = rig_stream(), d = rig_stream();
        cls_buffer cells = rig_cells(4);
        cls_event event = rig_event();
        struct outcome told;
        unsigned ran = 0;
        struct late late = {user_event(), NULL};
        outcome_init(&told);
        OK(rig_set(a, cells, 0, 1, 1));
        OK(cls_stream_foreign_async(a, "late failure", enqueue_gated, &late));
        OK(rig_step(a, cells, 0, 1, 1, 1));
        OK(cls_stream_foreign_async(a, "in between", enqueue_nothing, NULL));
        OK(cls_event_record(event, a));
        OK(cls_stream_wait_event(b, event));
        OK(rig_set(b, cells, 1, 1, 1));
        OK(cls_event_record(event, b));
        OK(cls_stream_launch_host_async(b, ignore, &ran));
        OK(cls_stream_add_callback(b, keep_outcome, &told));
        OK(rig_set(d, cells, 3, 4, 1));
        cl_event last;
        OK(cls_event_wait_cl(event, UINT64_MAX, &last)); /* b's work is with the driver */
        assert_int_equal(clReleaseEvent(last), CL_SUCCESS);
        EXPECT(CLS_NOT_READY, cls_event_query(event));
        OK(cls_event_destroy(event));
        OK(cls_stream_destroy(a));
        OK(cls_buffer_destroy(cells));
        assert_int_equal(clSetUserEventStatus(late.gate, -5), CL_SUCCESS);
        assert_true(sem_comes(&told.called));
        assert_int_equal(told.status, CLS_ERROR_COMMAND_FAILED);
        expect_poison(b, "late failure");
        assert_int_equal(ran, 0);
        OK(cls_stream_synchronize(d));
        OK(cls_stream_reset(b));
        cells = rig_cells(1);
        OK(rig_set(b, cells, 0, 6, 1));
        OK(cls_stream_synchronize(b));
        assert_int_equal(rig_cell(cells, 0), 6);
        assert_int_equal(clReleaseEvent(late.marker), CL_SUCCESS);
        assert_int_equal(clReleaseEvent(late.gate), CL_SUCCESS);
        OK(cls_stream_destroy(b));
        OK(cls_stream_destroy(d));
        OK(cls_buffer_destroy(cells));
    }
}

/* Frees still happen: a failed stream's buffers do not pile up. */
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
        cmocka_unit_test(test_dependents_only_are_poisoned),
        cmocka_unit_test(test_waiting_for_known_failure_poisons),
        cmocka_unit_test(test_a_taken_wait_is_poisoned_without_a_command),
        cmocka_unit_test(test_reset_makes_a_stream_work_again),
        cmocka_unit_test(test_reset_waits_for_held_work),
        cmocka_unit_test(test_others_are_untouched),
        cmocka_unit_test(test_a_poisoned_stream_may_be_destroyed),
        cmocka_unit_test(test_a_failed_user_event_poisons),
        cmocka_unit_test(test_a_user_event_that_failed_before_poisons),
        cmocka_unit_test(test_a_failed_user_event_poisons_a_stream_without_commands),
        cmocka_unit_test(test_a_chain_that_the_driver_fails_late),
        cmocka_unit_test(test_failed_streams_let_go_of_their_memory),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
