/* SPDX-License-Identifier: MIT */
/* Failure that comes by events: a user's cl_event that is set to an error, a command that the driver fails late. */
#include "failures.h"

static void test_a_failed_user_event_poisons(void **state) {
    (void)state;
    cls_stream a = rig_stream(), b = rig_stream();
    cls_buffer cells = rig_cells(2);
    cls_event event = rig_event();
    struct outcome outcome;
    unsigned ran = 0;
    cl_event gate = rig_user_event();
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
    cl_event gate = rig_user_event();
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
        cl_event gate = rig_user_event();
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

/* A wait that a poisoned stream took, and that has failed by the time of the reset, is forgotten as the stream's
 * own failure is. */
static void test_a_reset_forgets_a_failed_user_event(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    cl_event gate = rig_user_event();
    OK(rig_fail(stream, "fails", -5));
    await_poison(stream);
    OK(cls_stream_wait_cl(stream, gate));
    assert_int_equal(clSetUserEventStatus(gate, -7), CL_SUCCESS);
    assert_int_equal(clReleaseEvent(gate), CL_SUCCESS);
    OK(cls_stream_reset(stream));
    OK(cls_stream_synchronize(stream));
    OK(rig_set(stream, cells, 0, 3, 0));
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(cells, 0), 3);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
}

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
    cl_int status;
    cl_event gate = rig_user_event(), first, second;
    cl_command_queue queue = rig_own_queue();
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
        struct late late = {rig_user_event(), NULL};
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

/* A stream is behind all that it was to come after, also behind what that failed stream is still at. */
static void test_what_a_failed_stream_is_at_is_waited_for(void **state) {
    (void)state;
    if (rig_runs_inline())
        SKIP_BECAUSE("this driver hangs in the flush of a command that waits for a user event");
    for (int followed = 0; followed < 2; followed++) {
        cls_stream failed = rig_stream(), stream = rig_stream();
        cls_buffer cells = rig_cells(1);
        cls_event event = rig_event();
        struct late late = {rig_user_event(), NULL};
        OK(cls_stream_foreign_async(failed, "held", enqueue_gated, &late));
        OK(rig_fail(failed, "fails", -5));
        OK(cls_event_record(event, failed));
        OK(cls_stream_wait_event(stream, event));
        if (followed)
            (void)rig_set(stream, cells, 0, 1, 0);
        await_poison(stream);
        OK(cls_stream_reset(stream));
        OK(rig_set(stream, cells, 0, 6, 0));
        EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(stream, 30000000));
        assert_int_equal(clSetUserEventStatus(late.gate, CL_COMPLETE), CL_SUCCESS);
        OK(cls_stream_synchronize(stream));
        assert_int_equal(rig_cell(cells, 0), 6);
        OK(cls_stream_reset(failed));
        assert_int_equal(clReleaseEvent(late.marker), CL_SUCCESS);
        assert_int_equal(clReleaseEvent(late.gate), CL_SUCCESS);
        OK(cls_event_destroy(event));
        OK(cls_buffer_destroy(cells));
        OK(cls_stream_destroy(failed));
        OK(cls_stream_destroy(stream));
    }
}

/* What a call that succeeds comes to know of others' failure replaces no words about the caller's own. */
static void test_a_wait_for_failed_work_keeps_the_words(void **state) {
    (void)state;
    cls_stream failed = rig_stream(), other = rig_stream();
    cls_event event = rig_event();
    OK(rig_fail(failed, "the broken step", CL_OUT_OF_RESOURCES));
    OK(cls_event_record(event, failed));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(failed));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_event_create(rig.context, NULL, NULL));
    OK(cls_stream_wait_event(other, event));
    assert_null(strstr(cls_last_error_detail(), "the broken step"));
    assert_int_equal(cls_last_error_code(), 0);
    expect_poison(other, "the broken step");
    OK(cls_event_destroy(event));
    OK(cls_stream_destroy(failed));
    OK(cls_stream_destroy(other));
}

/* The wait for failed work is not forgotten for one of the same stream that comes after its reset. */
/* Of a cl_event that has failed by then a submission learns as it hands over what is held. */
static void test_a_command_behind_a_failed_user_event_keeps_the_words(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    cl_event gate = rig_user_event();
    OK(cls_stream_wait_cl(stream, gate));
    assert_int_equal(clSetUserEventStatus(gate, CL_OUT_OF_RESOURCES), CL_SUCCESS);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_event_create(rig.context, NULL, NULL));
    OK(cls_fill_async(cells, 0, sizeof(uint32_t), "\1", 1, stream));
    assert_non_null(strstr(cls_last_error_detail(), "cls_event_create"));
    assert_int_equal(cls_last_error_code(), 0);
    expect_poison(stream, "cl_event");
    assert_int_equal(cls_last_error_code(), CL_OUT_OF_RESOURCES);
    assert_int_equal(clReleaseEvent(gate), CL_SUCCESS);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
}

static void test_a_wait_after_a_reset_keeps_the_one_before(void **state) {
    (void)state;
    cls_stream failing = rig_stream(), waiting = rig_stream();
    cls_event event = rig_event();
    unsigned ran = 0, count = rig_scale(3000, 300);
    for (unsigned i = 0; i < count; i++) {
        const cls_status failed = rig_fail(failing, "fails", -5);
        assert_true(!failed || failed == CLS_ERROR_COMMAND_FAILED);
        OK(cls_event_record(event, failing));
        OK(cls_stream_wait_event(waiting, event));
        OK(cls_stream_reset(failing));
        OK(cls_stream_launch_host_async(failing, ignore, &ran));
        OK(cls_event_record(event, failing));
        OK(cls_stream_wait_event(waiting, event));
        OK(cls_stream_synchronize(failing));
        cls_stream_launch_host_async(waiting, ignore, &ran);
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(waiting));
        OK(cls_stream_reset(waiting));
    }
    assert_int_equal(ran, count);
    OK(cls_event_destroy(event));
    OK(cls_stream_destroy(failing));
    OK(cls_stream_destroy(waiting));
}

/* A stream as busy as it may be, so that the record's mark finds no room, and the failure comes meanwhile. */
static void record_as_it_fails(cls_event event, double ms) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream a = rig_stream(), b;
    cls_buffer cells = rig_cells(1);
    cls_event failing = rig_event();
    struct gate gate;
    gate_init(&gate);
    config.max_in_flight = 1;
    OK(cls_stream_create(rig.context, &config, &b));
    OK(cls_stream_launch_host_async(a, gate_hold, &gate));
    OK(rig_fail(a, "as it is recorded", -5));
    OK(cls_event_record(failing, a));
    OK(rig_set(b, cells, 0, 1, ms));
    OK(cls_stream_wait_event(b, failing));
    gate_await(&gate);
    gate_open(&gate);
    OK(cls_event_record(event, b));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_event_synchronize(event));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(b));
    OK(cls_stream_destroy(a));
    OK(cls_stream_destroy(b));
    OK(cls_event_destroy(failing));
    OK(cls_buffer_destroy(cells));
    gate_destroy(&gate);
}

static void test_a_record_is_taken_as_the_failure_comes(void **state) {
    (void)state;
    cls_event_config config = CLS_EVENT_CONFIG_INIT;
    cls_event plain = rig_event(), timed;
    config.timed = 1;
    OK(cls_event_create(rig.context, &config, &timed));
    for (unsigned i = 0; i < rig_scale(600, 20); i++)
        record_as_it_fails(i % 2 ? timed : plain, 1);
    OK(cls_event_destroy(plain));
    OK(cls_event_destroy(timed));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_failed_user_event_poisons),
        cmocka_unit_test(test_a_user_event_that_failed_before_poisons),
        cmocka_unit_test(test_a_failed_user_event_poisons_a_stream_without_commands),
        cmocka_unit_test(test_a_reset_forgets_a_failed_user_event),
        cmocka_unit_test(test_a_chain_that_the_driver_fails_late),
        cmocka_unit_test(test_what_a_failed_stream_is_at_is_waited_for),
        cmocka_unit_test(test_a_wait_for_failed_work_keeps_the_words),
        cmocka_unit_test(test_a_command_behind_a_failed_user_event_keeps_the_words),
        cmocka_unit_test(test_a_wait_after_a_reset_keeps_the_one_before),
        cmocka_unit_test(test_a_record_is_taken_as_the_failure_comes),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
