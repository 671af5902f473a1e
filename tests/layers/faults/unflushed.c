/* SPDX-License-Identifier: MIT */
/*
 * A driver that starts nothing before it is flushed, and whose flushes fail: a few that fail delay the work,
 * and where every one does, whoever waits hears of it.
 */
#include "../../support/outcome.h"
#include "../../support/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../loading.h"
#include "controls.h"

static const struct fault_controls *controls;

enum { HANG_S = 30 };

/* What a clFlush that says CL_OUT_OF_RESOURCES makes of a stream. */
static const cls_status FAILED = CLS_ERROR_OUT_OF_DEVICE_MEMORY;

static const struct fault_plan always = {
    .function = "clFlush", .nth = 1, .persistence = FAULT_STICKY, .code = CL_OUT_OF_RESOURCES};

static void count(void *arg) { ++*(_Atomic unsigned *)arg; }

static void expect_poison(cls_stream stream) {
    EXPECT(FAILED, cls_stream_synchronize(stream));
    assert_non_null(strstr(cls_last_error_detail(), "advance"));
    assert_int_equal(cls_last_error_code(), CL_OUT_OF_RESOURCES);
    EXPECT(FAILED, cls_stream_query(stream));
}

static void expect_use(cls_stream stream, cls_buffer cells, uint32_t i) {
    OK(rig_set(stream, cells, i, 40 + i, 0));
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(cells, i), 40 + i);
}

/* --- nothing fails: the layer's driver is as it should be --- */

static void test_held_until_flushed(void **state) {
    cls_order order = (cls_order)(uintptr_t)*state;
    cls_stream stream = rig_ordered(order);
    cls_buffer cells = rig_cells(4);
    expect_use(stream, cells, 1);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
}

/* --- some flushes fail --- */

static void test_a_flush_that_fails_is_tried_again(void **state) {
    cls_order order = (cls_order)(uintptr_t)*state;
    for (unsigned nth = 1; nth <= 6; nth++) {
        const struct fault_plan once = {
            .function = "clFlush", .nth = nth, .code = CL_OUT_OF_RESOURCES};
        cls_stream first = rig_ordered(order), second = rig_ordered(order);
        cls_event event = rig_event();
        cls_buffer cells = rig_cells(4);
        controls->arm(&once);
        OK(rig_set(first, cells, 0, 3, 0));
        OK(cls_event_record(event, first));
        OK(cls_stream_wait_event(second, event));
        OK(rig_step(second, cells, 0, 5, 1, 0));
        OK(cls_stream_synchronize(second));
        OK(cls_stream_synchronize(first));
        controls->arm(NULL);
        assert_int_equal(rig_cell(cells, 0), 16);
        OK(cls_stream_destroy(first));
        OK(cls_stream_destroy(second));
        OK(cls_event_destroy(event));
        OK(cls_buffer_destroy(cells));
    }
}

/* The caller has a queue, and says nothing of it but an event. */
static void test_a_wait_flushes_the_queue_of_the_callers_event(void **state) {
    const uint32_t one = 1;
    cls_stream stream = rig_ordered((cls_order)(uintptr_t)*state);
    cls_buffer cells = rig_cells(1);
    cl_command_queue queue = rig_own_queue();
    cl_mem memory;
    cl_event written;
    OK(cls_buffer_get_cl(cells, &memory));
    assert_int_equal(
        clEnqueueWriteBuffer(queue, memory, CL_FALSE, 0, sizeof one, &one, 0, NULL, &written),
        CL_SUCCESS);
    OK(cls_stream_wait_cl(stream, written));
    assert_int_equal(clReleaseEvent(written), CL_SUCCESS);
    OK(rig_step(stream, cells, 0, 3, 4, 0));
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(cells, 0), 7);
    assert_int_equal(clReleaseCommandQueue(queue), CL_SUCCESS);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
}

/* --- every flush fails --- */

struct stage {
    cls_stream failing, dependent, other;
    cls_event event;
    cls_buffer cells;
    struct outcome outcome;
    _Atomic unsigned host_calls;
};

static void build(struct stage *stage, cls_order order) {
    *stage = (struct stage){.failing = rig_ordered(order),
                            .dependent = rig_ordered(order),
                            .other = rig_ordered(order),
                            .event = rig_event(),
                            .cells = rig_cells(16)};
    outcome_init(&stage->outcome);
}

static void submit(struct stage *stage) {
    OK(rig_set(stage->failing, stage->cells, 1, 1, 0));
    OK(rig_set(stage->failing, stage->cells, 2, 1, 0));
    OK(cls_event_record(stage->event, stage->failing));
    OK(cls_stream_wait_event(stage->dependent, stage->event));
    OK(rig_set(stage->dependent, stage->cells, 3, 1, 0));
    OK(cls_stream_launch_host_async(stage->dependent, count, &stage->host_calls));
    OK(cls_stream_add_callback(stage->failing, keep_outcome, &stage->outcome));
}

static void expect_told(struct stage *stage) {
    expect_poison(stage->failing);
    expect_poison(stage->dependent);
    EXPECT(FAILED, cls_event_synchronize(stage->event));
    assert_true(sem_comes(&stage->outcome.called));
    assert_int_equal(stage->outcome.status, FAILED);
    EXPECT(FAILED, rig_set(stage->failing, stage->cells, 4, 1, 0));
    assert_int_equal(stage->host_calls, 0);
}

static void take_down(struct stage *stage) {
    OK(cls_stream_destroy(stage->failing));
    OK(cls_stream_destroy(stage->dependent));
    OK(cls_stream_destroy(stage->other));
    OK(cls_event_destroy(stage->event));
    OK(cls_buffer_destroy(stage->cells));
}

static void test_waiters_hear_when_every_flush_fails(void **state) {
    struct stage stage;
    build(&stage, (cls_order)(uintptr_t)*state);
    controls->arm(&always);
    submit(&stage);
    expect_told(&stage);
    controls->arm(NULL);
    expect_use(stage.other, stage.cells, 5);
    OK(cls_stream_reset(stage.failing));
    OK(cls_stream_reset(stage.dependent));
    expect_use(stage.failing, stage.cells, 6);
    expect_use(stage.dependent, stage.cells, 7);
    take_down(&stage);
}

static void test_polling_hears_when_every_flush_fails(void **state) {
    struct stage stage;
    build(&stage, (cls_order)(uintptr_t)*state);
    controls->arm(&always);
    submit(&stage);
    cls_status status;
    while ((status = cls_stream_query(stage.dependent)) == CLS_NOT_READY)
        nap_ms(1);
    EXPECT(FAILED, status);
    expect_told(&stage);
    controls->arm(NULL);
    take_down(&stage);
}

/* Streams of the user's own queues: one is deaf, and work on another waits for it. */
static cls_stream stream_on(cl_command_queue queue) {
    cls_stream stream;
    OK(cls_stream_wrap(rig.context, queue, &stream));
    return stream;
}

static void test_one_deaf_queue_takes_its_dependents_along(void **state) {
    (void)state;
    struct stage stage;
    cl_command_queue deaf = rig_own_queue();
    build(&stage, CLS_ORDER_AUTO);
    OK(cls_stream_destroy(stage.failing));
    stage.failing = stream_on(deaf);
    controls->hold(true, deaf, CL_OUT_OF_RESOURCES);
    submit(&stage);
    expect_use(stage.other, stage.cells, 5);
    expect_told(&stage);
    expect_use(stage.other, stage.cells, 6);
    OK(cls_stream_reset(stage.dependent));
    expect_use(stage.dependent, stage.cells, 7);
    controls->hold(true, NULL, CL_SUCCESS);
    controls->arm(NULL);
    take_down(&stage);
    assert_int_equal(clReleaseCommandQueue(deaf), CL_SUCCESS);
}

/* What was given up is the driver's until it has run it: it is given back then, and not before. */
static void test_what_is_given_up_is_kept_until_it_has_run(void **state) {
    (void)state;
    cls_context context;
    cls_stream stream;
    cls_buffer cells;
    char before[256], after[256];
    const uint32_t one = 1;
    /* The rig's come and go, and some drivers' queues are kept for good. */
    const char *apart =
        rig_has_quirk("queue_release_hangs") ? "kernels programs queues" : "kernels programs";
    long kept = controls->live(before, apart);
    OK(cls_context_create(NULL, &context));
    OK(cls_stream_create(context, NULL, &stream));
    OK(cls_buffer_create(context, 64, &cells));
    controls->arm(&always);
    OK(cls_fill_async(cells, 0, 64, &one, 4, stream));
    EXPECT(FAILED, cls_stream_synchronize(stream));
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
    OK(cls_context_destroy(context));
    nap_ms(100);
    assert_true(controls->live(after, apart) > kept);
    controls->arm(NULL);
    long left = 0;
    for (unsigned ms = 0; (left = controls->live(after, apart)) != kept && ms < 5000; ms++)
        nap_ms(1);
    if (left != kept)
        fail_msg("before: %s; after: %s", before, after);
}

static int setup(void **state) {
    if (rig_setup(state))
        return -1;
    controls->hold(true, NULL, CL_SUCCESS);
    return 0;
}

static int each(void **state) {
    (void)state;
    watchdog(HANG_S);
    return 0;
}

#define IN_ORDER(test)                                                      \
    {                                                                       \
        .name = #test " (in-order)", .test_func = test, .setup_func = each, \
        .initial_state = (void *)(uintptr_t)CLS_ORDER_IN_ORDER              \
    }
#define AUTO(test)                                            \
    {                                                         \
        .name = #test, .test_func = test, .setup_func = each, \
        .initial_state = (void *)(uintptr_t)CLS_ORDER_AUTO    \
    }

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        AUTO(test_what_is_given_up_is_kept_until_it_has_run), /* while nothing else comes or goes */
        AUTO(test_held_until_flushed),
        IN_ORDER(test_held_until_flushed),
        AUTO(test_a_wait_flushes_the_queue_of_the_callers_event),
        IN_ORDER(test_a_wait_flushes_the_queue_of_the_callers_event),
        AUTO(test_a_flush_that_fails_is_tried_again),
        IN_ORDER(test_a_flush_that_fails_is_tried_again),
        AUTO(test_waiters_hear_when_every_flush_fails),
        IN_ORDER(test_waiters_hear_when_every_flush_fails),
        AUTO(test_polling_hears_when_every_flush_fails),
        IN_ORDER(test_polling_hears_when_every_flush_fails),
        AUTO(test_one_deaf_queue_takes_its_dependents_along),
    };
    (void)argc;
    layer_start("fault_layer", argv);
    controls = layer_controls("fault_layer", FAULT_CONTROLS);
    layer_leave_quirks_aside();
    return cmocka_run_group_tests(tests, setup, rig_teardown);
}
