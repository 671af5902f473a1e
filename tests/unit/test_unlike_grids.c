/* SPDX-License-Identifier: MIT */
/* Where a driver aborts when launches of one kernel with unlike grids overlap, they wait for each other, and for
 * nothing else. The quirk is put on every device, whether it has it or not. */
#include "../support/test.h"

#include <stdbool.h>
#include <string.h>

#include <clstream.h>
#include <clstream/opencl.h>

#include "driver/device.h"
#include "driver/quirk.h"
#include "stream/blocking.h"
#include "wrapped_launch.h"

enum { AHEAD = 100, ROUNDS = 60000, WIDEST = 64 };

static const char source[] = "#define SLOW(name) \\\n"
                             "    kernel void name(global uint *words, uint rounds) { \\\n"
                             "        uint x = rounds | 1u; \\\n"
                             "        for (uint i = 0; i < rounds; i++) { \\\n"
                             "            x ^= x << 13; x ^= x >> 17; x ^= x << 5; \\\n"
                             "        } \\\n"
                             "        words[get_global_id(0)] = x | 1u; \\\n"
                             "    }\n"
                             "SLOW(slow)\n"
                             "SLOW(other)\n";

static cl_uint last_waits;

cl_int launch_instead(const struct wrapped_launch *call) {
    last_waits = call->n_waits;
    return launch_really(call);
}

struct side {
    cls_context context;
    cls_stream busy, idle;
    cls_program program;
    cls_kernel slow, other;
    cls_buffer words[2];
};

static void open_side(struct side *side) {
    assert_int_equal(cls_context_create(NULL, &side->context), CLS_SUCCESS);
    assert_int_equal(cls_stream_create(side->context, NULL, &side->busy), CLS_SUCCESS);
    assert_int_equal(cls_stream_create(side->context, NULL, &side->idle), CLS_SUCCESS);
    assert_int_equal(
        cls_program_from_source(side->context, source, "slow.cl", NULL, &side->program),
        CLS_SUCCESS);
    assert_int_equal(cls_kernel_create(side->program, "slow", &side->slow), CLS_SUCCESS);
    assert_int_equal(cls_kernel_create(side->program, "other", &side->other), CLS_SUCCESS);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            cls_buffer_create(side->context, WIDEST * sizeof(uint32_t), &side->words[i]),
            CLS_SUCCESS);
}

static void close_side(struct side *side) {
    assert_int_equal(cls_context_synchronize(side->context), CLS_SUCCESS);
    for (int i = 0; i < 2; i++)
        assert_int_equal(cls_buffer_destroy(side->words[i]), CLS_SUCCESS);
    assert_int_equal(cls_kernel_destroy(side->slow), CLS_SUCCESS);
    assert_int_equal(cls_kernel_destroy(side->other), CLS_SUCCESS);
    assert_int_equal(cls_program_destroy(side->program), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(side->busy), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(side->idle), CLS_SUCCESS);
    assert_int_equal(cls_context_destroy(side->context), CLS_SUCCESS);
}

static void launch(const struct side *side, cls_kernel kernel, cls_stream stream, size_t global,
                   size_t local, uint32_t rounds) {
    const cls_launch shape = {1,         {global, 1, 1}, {local, local ? 1 : 0, local ? 1 : 0},
                              {0, 0, 0}, NULL,           0};
    const cls_arg args[] = {cls_arg_buffer(side->words[stream == side->idle]), cls_arg_u32(rounds)};
    assert_int_equal(cls_kernel_launch_async(kernel, &shape, args, 2, stream), CLS_SUCCESS);
}

/* The waits of a launch on the idle stream, beside a busy one whose launches have `global` and `local` 1 or 0. */
static cl_uint waits_beside(const struct side *side, size_t busy_local, cls_kernel kernel,
                            size_t global, size_t local) {
    for (int i = 0; i < AHEAD; i++)
        launch(side, side->slow, side->busy, 8, busy_local, ROUNDS);
    launch(side, kernel, side->idle, global, local, 1);
    const cl_uint waits = last_waits;
    assert_int_equal(cls_context_synchronize(side->context), CLS_SUCCESS);
    return waits;
}

static void unlike_grids_wait_for_each_other(void **state) {
    struct side side;
    (void)state;
    open_side(&side);
    assert_int_not_equal(waits_beside(&side, 1, side.slow, 16, 1), 0);
    assert_int_not_equal(waits_beside(&side, 1, side.slow, 4, 1), 0);
    assert_int_not_equal(waits_beside(&side, 0, side.slow, 16, 0), 0);
    assert_int_not_equal(waits_beside(&side, 0, side.slow, 8, 1), 0);
    close_side(&side);
}

/* Launches of one kind are known by their queues only, until there is another kind. */
static void the_first_unlike_launch_waits_for_every_queue(void **state) {
    enum { BUSY = 3 };
    struct side side;
    cls_stream busy[BUSY];
    (void)state;
    open_side(&side);
    for (int i = 0; i < BUSY; i++) {
        assert_int_equal(cls_stream_create(side.context, NULL, &busy[i]), CLS_SUCCESS);
        for (int j = 0; j < AHEAD; j++)
            launch(&side, side.slow, busy[i], 8, 1, ROUNDS);
    }
    launch(&side, side.slow, side.idle, 16, 1, 1);
    assert_int_equal(last_waits, BUSY);
    for (int i = 0; i < BUSY; i++)
        assert_int_equal(cls_stream_destroy(busy[i]), CLS_SUCCESS);
    close_side(&side);
}

/* A queue that another stream still uses is not forgotten with the first. */
static void a_wrapped_queue_stays_with_its_other_stream(void **state) {
    struct side side;
    cl_context context;
    cl_device_id device;
    cls_stream streams[2];
    cl_int code;
    (void)state;
    open_side(&side);
    assert_int_equal(cls_context_get_cl(side.context, &context, &device), CLS_SUCCESS);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    for (int i = 0; i < 2; i++)
        assert_int_equal(cls_stream_wrap(side.context, queue, &streams[i]), CLS_SUCCESS);
    clReleaseCommandQueue(queue);
    launch(&side, side.other, streams[0], 8, 1, 1);
    assert_int_equal(cls_stream_synchronize(streams[0]), CLS_SUCCESS);
    for (int i = 0; i < AHEAD; i++)
        launch(&side, side.other, streams[1], 8, 1, ROUNDS);
    assert_int_equal(cls_stream_destroy(streams[0]), CLS_SUCCESS);
    launch(&side, side.other, side.idle, 16, 1, 1);
    assert_int_not_equal(last_waits, 0);
    assert_int_equal(cls_stream_destroy(streams[1]), CLS_SUCCESS);
    launch(&side, side.other, side.idle, 32, 1, 1);
    close_side(&side);
}

static void others_wait_for_nothing(void **state) {
    struct side side;
    (void)state;
    open_side(&side);
    assert_int_equal(waits_beside(&side, 1, side.slow, 8, 1), 0);
    assert_int_equal(waits_beside(&side, 0, side.slow, 8, 0), 0);
    assert_int_equal(waits_beside(&side, 1, side.slow, 16, 2), 0);
    assert_int_equal(waits_beside(&side, 1, side.other, 16, 1), 0);
    close_side(&side);
}

/* A stream of the side's that stands behind a user event in the driver. */
struct gated {
    cl_command_queue queue;
    cl_event gate;
    cls_stream stream;
};

static void gate(const struct side *side, struct gated *gated) {
    cl_context context;
    cl_device_id device;
    cl_int code;
    assert_int_equal(cls_context_get_cl(side->context, &context, &device), CLS_SUCCESS);
    gated->queue = clCreateCommandQueue(context, device, 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    gated->gate = clCreateUserEvent(context, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clEnqueueMarkerWithWaitList(gated->queue, 1, &gated->gate, NULL), CL_SUCCESS);
    assert_int_equal(cls_stream_wrap(side->context, gated->queue, &gated->stream), CLS_SUCCESS);
}

static void let_go(struct gated *gated) {
    assert_int_equal(cls_stream_destroy(gated->stream), CLS_SUCCESS);
    clReleaseEvent(gated->gate);
    clReleaseCommandQueue(gated->queue);
}

static void expect_held_back(const struct side *side) {
    char text[2048];
    assert_int_equal(cls_stream_query(side->idle), CLS_NOT_READY);
    assert_int_equal(cls_context_explain(side->context, text, sizeof text, NULL), CLS_SUCCESS);
    assert_non_null(strstr(text, "a launch of another context that it may not overlap"));
}

/* The call returns, whatever holds the other launch up, and nothing else is held up with it. */
static void a_launch_of_another_context_is_let_pass(void **state) {
    struct side here, there;
    struct gated gated;
    (void)state;
    open_side(&here);
    open_side(&there);
    gate(&here, &gated);
    launch(&here, here.slow, gated.stream, 8, 1, 1);
    launch(&there, there.slow, there.idle, 16, 1, 1);
    expect_held_back(&there);
    launch(&there, there.other, there.busy, 16, 1, 1);
    launch(&here, here.slow, here.idle, 8, 1, 1);
    assert_int_equal(cls_stream_synchronize(there.busy), CLS_SUCCESS);
    assert_int_equal(cls_stream_synchronize(here.idle), CLS_SUCCESS);
    assert_int_equal(clSetUserEventStatus(gated.gate, CL_COMPLETE), CL_SUCCESS);
    assert_int_equal(cls_stream_synchronize(there.idle), CLS_SUCCESS);
    assert_int_equal(cls_stream_query(gated.stream), CLS_SUCCESS);
    let_go(&gated);
    close_side(&here);
    close_side(&there);
}

/* However many come, one after the other. */
static void launches_of_other_contexts_come_in_turns(void **state) {
    enum { TURNS = 200 };
    struct side here, there;
    (void)state;
    open_side(&here);
    open_side(&there);
    for (int i = 0; i < TURNS; i++) {
        launch(&here, here.slow, here.busy, 8, 1, ROUNDS);
        launch(&there, there.slow, there.busy, 16, 1, ROUNDS);
    }
    assert_int_equal(cls_stream_synchronize(here.busy), CLS_SUCCESS);
    assert_int_equal(cls_stream_synchronize(there.busy), CLS_SUCCESS);
    close_side(&here);
    close_side(&there);
}

/* A blocking launch is done when its call returns, also where it lets another context's pass first. */
static void a_blocking_launch_is_waited_for_behind_another_context(void **state) {
    struct side here, there;
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    (void)state;
    open_side(&here);
    open_side(&there);
    for (int i = 0; i < AHEAD; i++)
        launch(&here, here.slow, here.busy, 8, 1, ROUNDS);
    atomic_store(&launch_mode, LAUNCH_BLOCKING);
    launch(&there, there.slow, there.idle, 16, 1, 1);
    atomic_store(&launch_mode, LAUNCH_ASYNC);
    assert_int_equal(cls_stream_get_counters(there.idle, &counters), CLS_SUCCESS);
    assert_int_equal(counters.completed, 1);
    close_side(&here);
    close_side(&there);
}

static int put_the_quirk_on(void **state) {
    struct device *const *devices;
    size_t n;
    (void)state;
    if (device_list(&devices, &n) != CLS_SUCCESS)
        return -1;
    for (size_t i = 0; i < n; i++)
        devices[i]->quirks |= QUIRK_UNLIKE_GRIDS_ABORT;
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        /* Each with a kernel that no test before has launched. */
        cmocka_unit_test(the_first_unlike_launch_waits_for_every_queue),
        cmocka_unit_test(a_wrapped_queue_stays_with_its_other_stream),
        cmocka_unit_test(unlike_grids_wait_for_each_other),
        cmocka_unit_test(others_wait_for_nothing),
        cmocka_unit_test(a_launch_of_another_context_is_let_pass),
        cmocka_unit_test(launches_of_other_contexts_come_in_turns),
        cmocka_unit_test(a_blocking_launch_is_waited_for_behind_another_context),
    };
    return cmocka_run_group_tests_name("grids", tests, put_the_quirk_on, NULL);
}
