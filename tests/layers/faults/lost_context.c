/* SPDX-License-Identifier: MIT */
/*
 * A driver that loses a whole context: at a call, at a command that waited for its turn, and at one that ran.
 * All of the context says so, what was allocated still goes back, and other contexts are untouched.
 */
#include "../../support/rig.h"

#include <pthread.h>
#include <string.h>

#include <clstream/mempool.h>

#include "../loading.h"
#include "controls.h"

static const struct fault_controls *controls;

enum {
    HANG_S = 30,
    BYTES = 64,
    PAGEABLE = 1 << 20,
    ILLEGAL_ACCESS = -9999 /* what NVIDIA's driver says */
};

struct stage {
    cls_context context;
    cls_stream stream, other; /* `other` is of the same context */
    cls_buffer buffer, from_pool;
    const char *command; /* the one that loses it */
    cls_event event;
    struct gate gate;
};

static cls_status fill(cls_buffer buffer, cls_stream stream) {
    const uint32_t one = 1;
    return cls_fill_async(buffer, 0, BYTES, &one, sizeof one, stream);
}

static void build(struct stage *stage) {
    OK(cls_context_create(NULL, &stage->context));
    OK(cls_stream_create(stage->context, NULL, &stage->stream));
    OK(cls_stream_create(stage->context, NULL, &stage->other));
    OK(cls_buffer_create(stage->context, BYTES, &stage->buffer));
    OK(cls_event_create(stage->context, NULL, &stage->event));
    OK(cls_malloc_async(stage->stream, BYTES, &stage->from_pool));
    stage->command = "fill";
    gate_init(&stage->gate);
}

/* Every call on the context says so, and names the command. */
static void expect_lost(struct stage *stage) {
    cls_buffer made = NULL;
    cls_stream stream = NULL;
    EXPECT(CLS_ERROR_CONTEXT_LOST, cls_stream_synchronize(stage->stream));
    EXPECT(CLS_ERROR_CONTEXT_LOST, cls_stream_query(stage->other));
    assert_non_null(strstr(cls_last_error_detail(), stage->command));
    EXPECT(CLS_ERROR_CONTEXT_LOST, fill(stage->buffer, stage->other));
    EXPECT(CLS_ERROR_CONTEXT_LOST, cls_stream_reset(stage->stream));
    EXPECT(CLS_ERROR_CONTEXT_LOST, cls_event_record(stage->event, stage->other));
    EXPECT(CLS_ERROR_CONTEXT_LOST, cls_buffer_create(stage->context, BYTES, &made));
    EXPECT(CLS_ERROR_CONTEXT_LOST, cls_stream_create(stage->context, NULL, &stream));
    EXPECT(CLS_ERROR_CONTEXT_LOST, cls_malloc_async(stage->stream, BYTES, &made));
    assert_null(made);
    assert_null(stream);
}

/* Gives all back; nothing is left of it with the driver. */
static void take_down(struct stage *stage, long kept) {
    char text[256];
    long left = 0;
    controls->arm(NULL);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_create(stage->context, 0, NULL));
    OK(cls_free_async(stage->from_pool, stage->stream));
    assert_string_equal(cls_last_error_detail(), "cls_buffer_create: out is null");
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_free_async(stage->from_pool, stage->stream));
    OK(cls_event_destroy(stage->event));
    OK(cls_buffer_destroy(stage->buffer));
    OK(cls_stream_destroy(stage->stream));
    OK(cls_stream_destroy(stage->other));
    OK(cls_context_destroy(stage->context));
    gate_destroy(&stage->gate);
    for (unsigned ms = 0; (left = controls->live(text, "queues events")) > kept && ms < 5000; ms++)
        nap_ms(1);
    if (left > kept)
        fail_msg("alive: %s", text);
}

static void expect_untouched(cls_stream stream, cls_buffer buffer) {
    OK(fill(buffer, stream));
    OK(cls_stream_synchronize(stream));
}

static const struct fault_plan lost_at_call = {.function = "clEnqueueFillBuffer",
                                               .nth = 1,
                                               .persistence = FAULT_ONCE,
                                               .code = CL_INVALID_COMMAND_QUEUE};

static void lose_at_call(struct stage *stage) {
    controls->arm(&lost_at_call);
    EXPECT(CLS_ERROR_CONTEXT_LOST, fill(stage->buffer, stage->stream));
}

static void lose_in_turn(struct stage *stage) {
    OK(cls_stream_launch_host_async(stage->stream, gate_hold, &stage->gate));
    gate_await(&stage->gate);
    controls->arm(&lost_at_call);
    OK(fill(stage->buffer, stage->stream));
    gate_open(&stage->gate);
}

static struct late_plan illegal_access(const char *function) {
    return (struct late_plan){.function = function,
                              .nth = 1,
                              .status = ILLEGAL_ACCESS,
                              .wait = -14,
                              .callback = LATE_CALLBACK_FAILS};
}

static void lose_late(struct stage *stage) {
    const struct late_plan late = illegal_access("clEnqueueFillBuffer");
    controls->late_arm(&late);
    OK(fill(stage->buffer, stage->stream));
    assert_true(controls->late_fire());
}

/* In pageable memory, which the library copies by itself where the driver would do so in the caller. */
static void copy(struct stage *stage) {
    static unsigned char from[PAGEABLE];
    cls_buffer to;
    stage->command = "copy";
    OK(cls_buffer_create(stage->context, PAGEABLE, &to));
    cls_copy_h2d_async(to, 0, from, sizeof from, stage->stream);
    OK(cls_buffer_destroy(to));
}

static void lose_at_a_copy(struct stage *stage) {
    static const struct fault_plan refused = {.function = "clEnqueueWriteBuffer",
                                              .nth = 1,
                                              .persistence = FAULT_ONCE,
                                              .code = CL_INVALID_COMMAND_QUEUE};
    controls->arm(&refused);
    copy(stage);
}

static void lose_late_in_a_copy(struct stage *stage) {
    const struct late_plan late = illegal_access("clEnqueueWriteBuffer");
    controls->late_arm(&late);
    copy(stage);
    while (!controls->late_taken())
        nap_ms(1);
    assert_true(controls->late_fire());
}

static void test_lost(void **state) {
    void (*const *lose)(struct stage * stage) = *state;
    struct stage stage;
    char text[256];
    cls_stream stream = rig_stream();
    cls_buffer buffer = rig_cells(BYTES / 4);
    expect_untouched(stream, buffer);
    long kept = controls->live(text, "queues events");
    build(&stage);
    (*lose)(&stage);
    expect_lost(&stage);
    controls->late_arm(NULL);
    take_down(&stage, kept);
    expect_untouched(stream, buffer);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(buffer));
}

/* Of what waited for it one stream fails; its context is well. */
static void test_who_waited_for_it_goes_on(void **state) {
    struct stage stage;
    char text[256];
    cls_stream stream = rig_stream();
    cls_buffer buffer = rig_cells(BYTES / 4);
    (void)state;
    expect_untouched(stream, buffer);
    long kept = controls->live(text, "queues events");
    build(&stage);
    const struct late_plan late = illegal_access("clEnqueueFillBuffer");
    controls->late_arm(&late);
    OK(fill(stage.buffer, stage.stream));
    OK(cls_event_record(stage.event, stage.stream));
    OK(cls_stream_wait_event(stream, stage.event));
    OK(fill(buffer, stream));
    assert_true(controls->late_fire());
    expect_lost(&stage);
    EXPECT(CLS_ERROR_CONTEXT_LOST, cls_stream_synchronize(stream));
    OK(cls_stream_reset(stream));
    expect_untouched(stream, buffer);
    controls->late_arm(NULL);
    take_down(&stage, kept);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(buffer));
}

/* Says nothing to the other thread but what the library tells it. */
static void *ask_until_lost(void *context) {
    size_t device;
    while (!cls_context_get_device(context, &device))
        continue;
    return (void *)(uintptr_t)(strstr(cls_last_error_detail(), "a_name_of_its_own") != NULL);
}

static void test_another_thread_is_told_a_name_that_is_new(void **state) {
    const struct fault_plan lost_at_launch = {.function = "clEnqueueNDRangeKernel",
                                              .nth = 1,
                                              .persistence = FAULT_ONCE,
                                              .code = CL_INVALID_COMMAND_QUEUE};
    cls_launch shape = cls_launch_1d(1);
    cls_context context;
    cls_stream stream;
    cls_program program;
    cls_kernel kernel;
    pthread_t thread;
    void *named = NULL;
    (void)state;
    OK(cls_context_create(NULL, &context));
    OK(cls_stream_create(context, NULL, &stream));
    OK(cls_program_from_source(context, "kernel void a_name_of_its_own(void) {}", "name.cl", NULL,
                               &program));
    assert_int_equal(pthread_create(&thread, NULL, ask_until_lost, context), 0);
    OK(cls_kernel_create(program, "a_name_of_its_own", &kernel));
    controls->arm(&lost_at_launch);
    EXPECT(CLS_ERROR_CONTEXT_LOST, cls_kernel_launch_async(kernel, &shape, NULL, 0, stream));
    pthread_join(thread, &named);
    controls->arm(NULL);
    assert_non_null(named);
    OK(cls_kernel_destroy(kernel));
    OK(cls_program_destroy(program));
    OK(cls_stream_destroy(stream));
    OK(cls_context_destroy(context));
}

/* The default context is made by whoever needs it first; one that fails leaves that to the next. */
static void test_default_context_is_tried_again(void **state) {
    const struct fault_plan once = {
        .function = "clCreateContext", .nth = 1, .code = CL_OUT_OF_HOST_MEMORY};
    cls_context context = NULL;
    cls_stream stream = NULL;
    cls_event event =
        rig_event(); /* of another context, and without a record nothing to wait for */
    (void)state;
    controls->arm(&once);
    OK(cls_stream_wait_event(NULL, event));
    OK(cls_event_destroy(event));
    EXPECT(CLS_ERROR_OUT_OF_MEMORY, cls_stream_create(NULL, NULL, &stream));
    assert_null(stream);
    OK(cls_context_default(&context));
    controls->arm(NULL);
    OK(cls_stream_create(NULL, NULL, &stream));
    OK(cls_stream_destroy(stream));
}

static int each(void **state) {
    (void)state;
    watchdog(HANG_S);
    return 0;
}

int main(int argc, char **argv) {
    static void (*const at_call)(struct stage *) = lose_at_call;
    static void (*const in_turn)(struct stage *) = lose_in_turn;
    static void (*const late)(struct stage *) = lose_late;
    static void (*const at_a_copy)(struct stage *) = lose_at_a_copy;
    static void (*const in_a_copy)(struct stage *) = lose_late_in_a_copy;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_default_context_is_tried_again, each),
        {"test_lost_at_a_call", test_lost, each, NULL, (void *)(uintptr_t)&at_call},
        {"test_lost_in_its_turn", test_lost, each, NULL, (void *)(uintptr_t)&in_turn},
        {"test_lost_late", test_lost, each, NULL, (void *)(uintptr_t)&late},
        {"test_lost_at_a_copy", test_lost, each, NULL, (void *)(uintptr_t)&at_a_copy},
        {"test_lost_late_in_a_copy", test_lost, each, NULL, (void *)(uintptr_t)&in_a_copy},
        cmocka_unit_test_setup(test_who_waited_for_it_goes_on, each),
        cmocka_unit_test_setup(test_another_thread_is_told_a_name_that_is_new, each),
    };
    (void)argc;
    layer_start("fault_layer", argv);
    controls = layer_controls("fault_layer", FAULT_CONTROLS);
    layer_leave_quirks_aside();
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
