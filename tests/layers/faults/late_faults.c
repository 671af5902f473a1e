/* SPDX-License-Identifier: MIT */
/*
 * Commands that are accepted and fail later, told in every way in which drivers have been seen to tell
 * it, or to hide it. The layer holds the chosen command until the test lets it fail.
 */
#include "../../support/outcome.h"
#include "../../support/rig.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/managed.h>
#include <clstream/opencl.h>
#include <clstream/task.h>

#include "../loading.h"
#include "controls.h"

static const struct fault_controls *controls;

/* How a driver tells of a failure. `name` stands for the driver where its quirks matter. */
static const struct manner {
    const char *name;
    cl_int status, wait;
    enum late_callback callback;
    bool dependents_run, kills_queue, dependents_stay;
} manners[] = {
#ifdef LATE_UNKNOWN_DRIVER
    {"status -1, dependents never told", -1, -14, LATE_CALLBACK_NEVER, false, false, true},
#elif defined LATE_PLATFORM
    {"status says complete, dependents run", CL_COMPLETE, -14, LATE_CALLBACK_FAILS, true, false,
     false},
    {"status says complete, callback says so too", CL_COMPLETE, -14, LATE_CALLBACK_COMPLETE, true,
     false, false},
    {"status says complete, no callback", CL_COMPLETE, -14, LATE_CALLBACK_NEVER, false, false,
     false},
#else
    {"status -1, no callback", -1, -14, LATE_CALLBACK_NEVER, false, false, false},
    {"status -14, no callback", -14, -14, LATE_CALLBACK_NEVER, false, false, false},
    {"status -42, callback says complete", -42, -14, LATE_CALLBACK_COMPLETE, false, false, false},
    {"status -42, callback fails, queue dead", -42, -14, LATE_CALLBACK_FAILS, false, true, false},
    {"status -14, dependents run, callback says complete", -14, -14, LATE_CALLBACK_COMPLETE, true,
     false, false},
    {"status -1, dependents run, queue dead, no callback", -1, -14, LATE_CALLBACK_NEVER, true, true,
     false},
#endif
};

static cls_status step(cls_stream stream, cls_buffer cells) {
    return rig_set(stream, cells, 0, 1, 0);
}

static cls_status copy(cls_stream stream, cls_buffer cells) {
    return cls_copy_d2d_async(cells, 0, cells, 64, 4, stream);
}

static cls_status fill(cls_stream stream, cls_buffer cells) {
    const uint32_t one = 1;
    return cls_fill_async(cells, 0, 4, &one, 4, stream);
}

static const uint32_t upload_from[4] = {1, 1, 1, 1};

static cls_status upload(cls_stream stream, cls_buffer cells) {
    return cls_copy_h2d_async(cells, 0, upload_from, sizeof upload_from, stream);
}

/* The command that fails, and the name that errors must give it. */
static const struct victim {
    const char *function, *label;
    cls_status (*submit)(cls_stream stream, cls_buffer cells);
} victims[] = {
    {"clEnqueueNDRangeKernel", "advance", step},
    {"clEnqueueCopyBuffer", "copy_d2d", copy},
    {"clEnqueueFillBuffer", "fill", fill},
    {"clEnqueueWriteBuffer", "copy_h2d", upload},
};

enum { N_VICTIMS = sizeof victims / sizeof *victims };

static void count(void *arg) { ++*(_Atomic unsigned *)arg; }

/* Streams with all that can be around a failing command. */
struct stage {
    cls_stream failing, dependent, held, other;
    cls_event event;
    cls_buffer cells;
    struct gate gate; /* holds `held` */
    struct outcome first, second;
    _Atomic unsigned host_calls;
    const struct victim *victim;
};

static void build(struct stage *stage, cls_order order) {
    stage->failing = rig_ordered(order);
    stage->dependent = rig_ordered(order);
    stage->held = rig_ordered(order);
    stage->other = rig_ordered(order);
    stage->event = rig_event();
    stage->cells = rig_cells(32);
    gate_init(&stage->gate);
    outcome_init(&stage->first);
    outcome_init(&stage->second);
}

/* All commands are accepted while the chosen one is held. */
static void submit(struct stage *stage) {
    OK(stage->victim->submit(stage->failing, stage->cells));
    assert_true(controls->late_taken());
    OK(rig_set(stage->failing, stage->cells, 1, 1, 0));
    OK(cls_event_record(stage->event, stage->failing));
    OK(cls_stream_wait_event(stage->dependent, stage->event));
    OK(rig_set(stage->dependent, stage->cells, 2, 1, 0));
    OK(cls_stream_launch_host_async(stage->held, gate_hold, &stage->gate));
    OK(cls_stream_wait_event(stage->held, stage->event));
    OK(rig_set(stage->held, stage->cells, 3, 1, 0));
    OK(cls_stream_add_callback(stage->failing, keep_outcome, &stage->first));
    OK(cls_stream_launch_host_async(stage->dependent, count, &stage->host_calls));
    OK(cls_stream_add_callback(stage->dependent, keep_outcome, &stage->second));
    OK(rig_set(stage->other, stage->cells, 4, 7, 0));
    OK(cls_stream_synchronize(stage->other));
    EXPECT(CLS_NOT_READY, cls_stream_query(stage->failing));
    EXPECT(CLS_NOT_READY, cls_event_query(stage->event));
}

static void expect_poison(struct stage *stage, cls_stream stream) {
    const char *label = stage->victim->label;
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    assert_non_null(strstr(cls_last_error_detail(), label));
    cls_clear_last_error();
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_query(stream));
    assert_non_null(strstr(cls_last_error_detail(), label));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_wait(stream, 1000000));
}

static bool sees_poison(void *arg, unsigned i) {
    struct stage *stage = arg;
    cls_stream stream = i % 2 ? stage->failing : stage->dependent;
    return cls_stream_query(stream) == CLS_ERROR_COMMAND_FAILED &&
           cls_stream_synchronize(stream) == CLS_ERROR_COMMAND_FAILED &&
           strstr(cls_last_error_detail(), stage->victim->label);
}

static unsigned enqueued(void) {
    unsigned sum = 0;
    const char *name;
    for (unsigned i = 0; (name = controls->function(i)) != NULL; i++)
        sum += strncmp(name, "clEnqueue", 9) ? 0 : controls->calls(name);
    return sum;
}

/* From now on nothing that depends on the failure reaches the driver. */
static void expect_nothing_handed_over(struct stage *stage, cls_order order) {
    cls_stream late_comer = rig_ordered(order);
    expect_poison(stage, stage->failing);
    expect_poison(stage, stage->dependent);
    unsigned before = enqueued();
    EXPECT(CLS_ERROR_COMMAND_FAILED, rig_set(stage->failing, stage->cells, 5, 1, 0));
    EXPECT(CLS_ERROR_COMMAND_FAILED, rig_set(stage->dependent, stage->cells, 6, 1, 0));
    gate_open(&stage->gate);
    expect_poison(stage, stage->held);
    OK(cls_stream_wait_event(late_comer, stage->event));
    EXPECT(CLS_ERROR_COMMAND_FAILED, rig_set(late_comer, stage->cells, 7, 1, 0));
    expect_poison(stage, late_comer);
    OK(cls_stream_destroy(late_comer));
    assert_int_equal(enqueued(), before);
    assert_int_equal(controls->late_trespasses(), 0);
}

static void expect_callback(struct outcome *outcome) {
    assert_true(sem_comes(&outcome->called));
    assert_int_equal(outcome->status, CLS_ERROR_COMMAND_FAILED);
    assert_int_equal(outcome->calls, 1);
}

/* What has not failed goes on, and reset makes the rest usable again. */
static void expect_recovery(struct stage *stage) {
    cls_stream streams[] = {stage->failing, stage->dependent, stage->held};
    OK(rig_set(stage->other, stage->cells, 8, 9, 0));
    OK(cls_stream_synchronize(stage->other));
    assert_int_equal(rig_cell(stage->cells, 8), 9);
    for (uint32_t i = 0; i < 3; i++) {
        OK(cls_stream_reset(streams[i]));
        OK(rig_set(streams[i], stage->cells, 10 + i, 5, 0));
        OK(cls_stream_synchronize(streams[i]));
        assert_int_equal(rig_cell(stage->cells, 10 + i), 5);
    }
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_event_query(stage->event));
}

static void take_down(struct stage *stage) {
    controls->late_arm(NULL);
    OK(cls_stream_destroy(stage->failing));
    OK(cls_stream_destroy(stage->dependent));
    OK(cls_stream_destroy(stage->held));
    OK(cls_stream_destroy(stage->other));
    OK(cls_event_destroy(stage->event));
    OK(cls_buffer_destroy(stage->cells));
    OK(cls_context_synchronize(rig.context));
    gate_destroy(&stage->gate);
}

/* Where order comes by wait lists, a driver whose status lies has what waits for a failed command fail as well. */
static bool dependents_run(const struct manner *manner, cls_order order) {
    return manner->dependents_run && (order == CLS_ORDER_IN_ORDER || manner->status < 0);
}

static void play(const struct manner *manner, const struct victim *victim, cls_order order) {
    struct stage stage = {.victim = victim};
    const struct late_plan plan = {
        .function = victim->function,
        .nth = 1,
        .status = manner->status,
        .wait = manner->wait,
        .callback = manner->callback,
        .dependents_run = dependents_run(manner, order),
        .kills_queue = manner->kills_queue,
        .dependents_stay = manner->dependents_stay,
    };
    print_message("# %s, %s, %s\n", manner->name, victim->label,
                  order == CLS_ORDER_IN_ORDER ? "in-order" : "out-of-order");
    build(&stage, order);
    controls->late_arm(&plan);
    submit(&stage);
    assert_true(controls->late_fire());
    expect_poison(&stage, stage.failing);
    assert_int_equal(team_run(4, sees_poison, &stage), 0);
    expect_nothing_handed_over(&stage, order);
    expect_callback(&stage.first);
    expect_callback(&stage.second);
    assert_int_equal(stage.host_calls, 0);
    expect_recovery(&stage);
    take_down(&stage);
}

/* Commands that share an event fail together or not at all: such streams are for drivers that do not run
 * what follows a failure. On an in-order queue, what follows a failure may still be waiting for the device. */
static bool can_be_seen(const struct manner *manner, cls_order order) {
    const bool in_order = order == CLS_ORDER_IN_ORDER;
    if (in_order && manner->dependents_stay)
        return false;
    return !dependents_run(manner, order) ||
           !rig_has_capability(in_order ? "event_less" : "chain_shares");
}

static void test_late_failure(void **state) {
    const struct manner *manner = *state;
    static const cls_order orders[] = {CLS_ORDER_OUT_OF_ORDER, CLS_ORDER_IN_ORDER};
    if (manner->dependents_stay && !rig_has_capability("out_of_order"))
        SKIP_BECAUSE("the driver orders by its queues alone, not by wait lists");
    for (size_t order = rig_has_capability("out_of_order") ? 0 : 1; order < 2; order++)
        if (can_be_seen(manner, orders[order]))
            for (size_t i = 0; i < (manner->dependents_stay ? 1 : N_VICTIMS); i++)
                play(manner, &victims[i], orders[order]);
        else
            print_message("# %s: not to be seen on this order's streams\n", manner->name);
}

/* Among so many, done at once behind a long one, that the library asks about several together. */
static void play_amid_many(cls_order order) {
    enum { HELD_MS = 200, BEFORE = 40, BEHIND = 60 };
    const struct late_plan plan = {.function = "clEnqueueNDRangeKernel",
                                   .nth = BEFORE + 1,
                                   .status = manners[0].status,
                                   .wait = manners[0].wait,
                                   .callback = LATE_CALLBACK_NEVER,
                                   .dependents_run = order == CLS_ORDER_IN_ORDER};
    cls_stream stream = rig_ordered(order);
    cls_buffer cells = rig_cells(4);
    print_message("# %s\n", order == CLS_ORDER_IN_ORDER ? "in-order" : "out-of-order");
    controls->late_arm(&plan);
    for (unsigned i = 0; i <= BEFORE; i++)
        OK(rig_set(stream, cells, 0, 1, i ? 0 : HELD_MS));
    assert_true(controls->late_taken());
    for (unsigned i = 0; i < BEHIND; i++)
        OK(rig_set(stream, cells, 0, 1, 0));
    assert_true(controls->late_fire());
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    assert_non_null(strstr(cls_last_error_detail(), "'advance'"));
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    OK(cls_stream_get_counters(stream, &counters));
    assert_true(counters.failed > BEHIND && counters.completed == BEFORE + 1 + BEHIND);
    controls->late_arm(NULL);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
    OK(cls_context_synchronize(rig.context));
}

static void test_failure_amid_many(void **state) {
    (void)state;
    if (rig_has_capability("out_of_order"))
        play_amid_many(CLS_ORDER_OUT_OF_ORDER);
    if (!rig_has_capability("event_less"))
        play_amid_many(CLS_ORDER_IN_ORDER);
}

static cls_status set_a_cell(cls_stream stream, void *cells) {
    return rig_set(stream, *(cls_buffer *)cells, 0, 1, 0);
}

/* Whoever asks a task graph may be the first to notice that a task's command is over: no answer may say that it
 * went well. */
static void ask_graph(cls_task_graph graph) {
    const struct late_plan plan = {.function = "clEnqueueNDRangeKernel",
                                   .nth = 1,
                                   .status = manners[0].status,
                                   .wait = manners[0].wait,
                                   .callback = LATE_CALLBACK_NEVER};
    cls_task_info info = CLS_TASK_INFO_INIT;
    cls_status status;
    controls->late_arm(&plan);
    OK(cls_task_graph_run(graph));
    assert_true(controls->late_taken());
    EXPECT(CLS_NOT_READY, cls_task_graph_query(graph));
    assert_true(controls->late_fire());
    while ((status = cls_task_graph_query(graph)) == CLS_NOT_READY)
        continue;
    assert_int_equal(status, CLS_ERROR_COMMAND_FAILED);
    OK(cls_task_graph_get_info(graph, 0, &info));
    assert_int_equal(info.state, CLS_TASK_FAILED);
    controls->late_arm(NULL);
}

static void test_failure_of_a_task(void **state) {
    enum { TIMES = 20 };
    cls_coordinator coordinator;
    cls_buffer cells = rig_cells(1);
    cls_task task = CLS_TASK_INIT;
    (void)state;
    task.fn = set_a_cell;
    task.arg = &cells;
    for (unsigned i = 0; i < TIMES; i++) {
        cls_task_graph graph;
        cls_stream stream = rig_stream();
        OK(cls_coordinator_create(NULL, &coordinator));
        OK(cls_coordinator_add_stream(coordinator, stream, NULL));
        OK(cls_task_graph_create(coordinator, &graph));
        OK(cls_task_graph_add(graph, &task, NULL));
        ask_graph(graph);
        OK(cls_task_graph_destroy(graph));
        OK(cls_coordinator_destroy(coordinator));
        OK(cls_stream_destroy(stream));
        OK(cls_context_synchronize(rig.context));
    }
    OK(cls_buffer_destroy(cells));
}

static const struct late_plan bad_fill = {.function = "clEnqueueFillBuffer",
                                          .nth = 1,
                                          .status = -1,
                                          .wait = -14,
                                          .callback = LATE_CALLBACK_NEVER,
                                          .kills_queue = true};

static cls_stream_counters counters_of(cls_stream stream) {
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    OK(cls_stream_get_counters(stream, &counters));
    return counters;
}

/* Once the first prefetch, the fill and the prefetch behind it are submitted. */
static void *fire_behind(void *stream) {
    while (counters_of(stream).submitted < 3)
        nap_ms(1);
    return controls->late_fire() ? stream : NULL;
}

/* The map is with the driver when the work before it fails: the memory is the host's all the same. */
static void test_a_prefetch_behind_a_failure(void **state) {
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1), shared;
    pthread_t thread;
    (void)state;
    assert_int_equal(setenv("CLSTREAM_MANAGED", "coarse", 1), 0);
    const cls_status there = cls_managed_alloc(rig.context, 64, &shared, NULL);
    if (there == CLS_ERROR_UNSUPPORTED)
        SKIP_BECAUSE("the device shares no memory with the host");
    OK(there);
    OK(cls_prefetch(shared, CLS_TO_DEVICE, stream));
    controls->late_arm(&bad_fill);
    OK(fill(stream, cells));
    assert_int_equal(pthread_create(&thread, NULL, fire_behind, stream), 0);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_prefetch(shared, CLS_TO_HOST, stream));
    pthread_join(thread, NULL);
    controls->late_arm(NULL);
    OK(cls_stream_reset(stream));
    if (!counters_of(stream).deferred) /* what the library held it has dropped */
        EXPECT(CLS_ERROR_INVALID_STATE, fill(stream, shared));
    OK(cls_prefetch(shared, CLS_TO_DEVICE, stream));
    OK(fill(stream, shared));
    OK(cls_stream_synchronize(stream));
    assert_int_equal(unsetenv("CLSTREAM_MANAGED"), 0);
    OK(cls_buffer_destroy(shared));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

static cl_int fill_there(cl_command_queue queue, void *memory) {
    const cl_uint one = 1;
    return clEnqueueFillBuffer(queue, *(cl_mem *)memory, &one, sizeof one, 0, 64, 0, NULL, NULL);
}

/* Foreign work goes to a queue of the library's, also where the stream's own is the user's, and stays his. */
static void test_reset_replaces_what_foreign_work_has_killed(void **state) {
    cl_context context;
    cl_device_id device;
    cl_int code;
    cls_stream stream;
    cls_buffer cells = rig_cells(16);
    cl_mem memory;
    (void)state;
    OK(cls_context_get_cl(rig.context, &context, &device));
    OK(cls_buffer_get_cl(cells, &memory));
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    OK(cls_stream_wrap(rig.context, queue, &stream));
    controls->late_arm(&bad_fill);
    OK(cls_stream_foreign_async(stream, "a bad fill", fill_there, &memory));
    while (!controls->late_taken())
        nap_ms(1);
    assert_true(controls->late_fire());
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    OK(cls_stream_reset(stream));
    OK(cls_stream_foreign_async(stream, "a fill", fill_there, &memory));
    OK(cls_stream_synchronize(stream));
    controls->late_arm(NULL);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
    assert_int_equal(clReleaseCommandQueue(queue), CL_SUCCESS);
}

int main(int argc, char **argv) {
    enum { N = sizeof manners / sizeof *manners };
    struct CMUnitTest tests[N + 4];
    size_t n = N + 2;
    (void)argc;
#ifdef LATE_PLATFORM
    setenv("CLS_FAULT_PLATFORM", LATE_PLATFORM, 1);
#endif
    layer_start("fault_layer", argv);
    controls = layer_controls("fault_layer", FAULT_CONTROLS);
    for (size_t i = 0; i < N; i++)
        tests[i] = (struct CMUnitTest){.name = manners[i].name,
                                       .test_func = test_late_failure,
                                       .initial_state = (void *)(uintptr_t)&manners[i]};
    tests[N] = (struct CMUnitTest){.name = "a failure amid many commands",
                                   .test_func = test_failure_amid_many};
    tests[N + 1] = (struct CMUnitTest){.name = "a failure of a task that is asked about",
                                       .test_func = test_failure_of_a_task};
#if !defined LATE_UNKNOWN_DRIVER && !defined LATE_PLATFORM
    tests[n++] = (struct CMUnitTest){.name = "a prefetch behind a failure",
                                     .test_func = test_a_prefetch_behind_a_failure};
    tests[n++] = (struct CMUnitTest){.name = "reset replaces what foreign work has killed",
                                     .test_func = test_reset_replaces_what_foreign_work_has_killed};
#else
    (void)test_a_prefetch_behind_a_failure;
    (void)test_reset_replaces_what_foreign_work_has_killed;
#endif
    return _cmocka_run_group_tests("late_faults", tests, n, rig_setup, rig_teardown);
}
