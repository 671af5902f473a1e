/* SPDX-License-Identifier: MIT */
/* Commands whose end no event of the driver's tells: spans of commands that share one, and a library's calls.
 * What they use is not given back before something else tells that they are over. */
#include "../support/test.h"

#include "../support/patience.h"
#include "command/op.h"
#include "driver/caps.h"
#include "made_up_caps.h"
#include "silent_driver.h"
#include "stream/command.h"

enum { SPAN = 12 };

/* Kernels on as many buffers, without events of their own but for the first, and the second is slow; then the
 * trouble begins, and the host asks. False where that came too late: the engine had a mark made before, or
 * everything was over.
 * A stream gives an event to the kernel behind which it was asked the time before; therefore it is asked behind
 * one at first, or after a try in vain the last kernel of every try would have one. */
static bool lose_span(const struct world *world, const cls_buffer *buffers, uint32_t rounds,
                      atomic_bool *trouble, atomic_bool *more_trouble) {
    assert_int_equal(launch(world->kernel, buffers[0], 1, world->stream), CLS_SUCCESS);
    assert_int_equal(cls_stream_synchronize(world->stream), CLS_SUCCESS);
    seen.markers = 0;
    for (unsigned i = 0; i < SPAN; i++)
        assert_int_equal(launch(world->kernel, buffers[i], i == 1 ? rounds : 1, world->stream),
                         CLS_SUCCESS);
    *trouble = *more_trouble = true;
    const bool marked = seen.markers > 0;
    const cls_status status = cls_stream_synchronize(world->stream);
    if (status && !marked)
        return true;
    *trouble = *more_trouble = false;
    assert_int_equal(cls_stream_reset(world->stream), CLS_SUCCESS);
    return false;
}

/* Events are dear on the device. */
static void without_events(struct caps *caps) { caps->event_less = true; }

/* No buffer is given back before something tells that the kernels are over. */
static void check_span_stays(atomic_bool *trouble, atomic_bool *more_trouble) {
    struct world world;
    cls_buffer buffers[SPAN];
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    config.order = CLS_ORDER_IN_ORDER;
    assert_int_equal(cls_context_create(NULL, &world.context), CLS_SUCCESS);
    make_up_caps(world.context, without_events);
    const uint32_t rounds = world_make(&world, &config);
    for (unsigned i = 0; i < SPAN; i++)
        assert_int_equal(cls_buffer_create(world.context, BYTES, &buffers[i]), CLS_SUCCESS);
    unsigned tries = 0;
    while (!lose_span(&world, buffers, rounds, trouble, more_trouble))
        assert_true(++tries < patience(100));
    seen.released = 0;
    for (unsigned i = 1; i < SPAN; i++)
        assert_int_equal(cls_buffer_destroy(buffers[i]), CLS_SUCCESS);
    nap(50);
    assert_int_equal(seen.released, 0);
    *trouble = *more_trouble = false;
    wait_until(&seen.released, SPAN - 1);
    assert_int_equal(cls_buffer_destroy(buffers[0]), CLS_SUCCESS);
    world_close(&world);
}

static void test_memory_of_a_span_that_nobody_tells_of_stays(void **state) {
    (void)state;
    check_span_stays(&silent.queries_fail, &silent.waits_fail);
}

static void test_memory_of_a_span_without_an_event_stays(void **state) {
    (void)state;
    check_span_stays(&silent.markers_fail, &silent.markers_fail);
}

/* As a library that enqueues by itself on a queue of its own, whose last mark is refused. */
static int call_of_a_library(const struct device *device, cl_command_queue queue,
                             const void *arguments, cl_event *event) {
    (void)device;
    (void)queue;
    (void)arguments;
    (void)event;
    silent.markers_fail = true;
    return CL_SUCCESS;
}

static bool is_compiled(const void *arguments) {
    (void)arguments;
    return true;
}

static cls_status call_library(cls_stream stream, cls_buffer cells,
                               const struct op_library_call *library) {
    struct op_call call;
    const cls_array array = cls_array_of(cells, CLS_U32, CELLS), *const views[] = {&array};
    assert_int_equal(op_begin(&call, stream, views, 1, false), CLS_SUCCESS);
    return op_end(&call, op_library(&call, library), false);
}

static void test_memory_of_a_library_call_without_an_event_stays(void **state) {
    static const struct foreign_library of = {call_of_a_library, is_compiled, NULL};
    const struct op_library_call library = {
        .library = &of, .arguments = "", .bytes = 1, .label = "library call"};
    struct world world;
    cls_buffer cells;
    (void)state;
    world_open(&world);
    assert_int_equal(cls_stream_synchronize(world.stream), CLS_SUCCESS);
    assert_int_equal(cls_buffer_create(world.context, BYTES, &cells), CLS_SUCCESS);
    assert_int_equal(cls_buffer_get_cl(cells, &seen.watched), CLS_SUCCESS);
    assert_int_equal(call_library(world.stream, cells, &library), CLS_SUCCESS);
    assert_int_not_equal(cls_stream_synchronize(world.stream), CLS_SUCCESS);
    seen.released = 0;
    assert_int_equal(cls_buffer_destroy(cells), CLS_SUCCESS);
    nap(50);
    assert_int_equal(seen.released, 0);
    silent.markers_fail = false;
    wait_until(&seen.released, 1);
    seen.watched = NULL;
    world_close(&world);
}

/* As a library that has enqueued some of its work when it fails, if it does. */
static int call_in_parts(const struct device *device, cl_command_queue queue, const void *arguments,
                         cl_event *event) {
    (void)device;
    const int code = *(const int *)arguments;
    return !code && event ? clEnqueueMarkerWithWaitList(queue, 0, NULL, event) : code;
}

/* Where a graph puts the memory of a view: the calls here have no use for it. */
static cl_mem *memory_of(void *arguments, unsigned view) {
    static cl_mem place;
    (void)arguments;
    (void)view;
    return &place;
}

static cls_status call_parts(cls_stream stream, cls_buffer cells, int code) {
    static const struct foreign_library of = {call_in_parts, is_compiled, memory_of};
    const struct op_library_call library = {
        .library = &of, .arguments = &code, .bytes = sizeof code, .label = "library call"};
    return call_library(stream, cells, &library);
}

/* A buffer whose release is counted, in a world whose stream is in-order; a kernel of so many rounds is slow. */
static cls_buffer watch_in_order(struct world *world, uint32_t *rounds) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_buffer cells;
    config.order = CLS_ORDER_IN_ORDER;
    assert_int_equal(cls_context_create(NULL, &world->context), CLS_SUCCESS);
    *rounds = world_make(world, &config);
    assert_int_equal(cls_buffer_create(world->context, BYTES, &cells), CLS_SUCCESS);
    assert_int_equal(cls_buffer_get_cl(cells, &seen.watched), CLS_SUCCESS);
    return cells;
}

/* The second call is enqueued by whoever submits it; what is enqueued of it runs behind a slow kernel. */
static void test_memory_of_a_library_call_that_fails_halfway_stays(void **state) {
    struct world world;
    uint32_t rounds;
    (void)state;
    const cls_buffer cells = watch_in_order(&world, &rounds);
    assert_int_equal(call_parts(world.stream, cells, CL_SUCCESS), CLS_SUCCESS);
    assert_int_equal(cls_stream_synchronize(world.stream), CLS_SUCCESS);
    assert_int_equal(launch(world.kernel, world.cells, 2 * rounds, world.stream), CLS_SUCCESS);
    assert_int_not_equal(call_parts(world.stream, cells, CL_OUT_OF_RESOURCES), CLS_SUCCESS);
    seen.released = 0;
    assert_int_equal(cls_buffer_destroy(cells), CLS_SUCCESS);
    const unsigned at_once = seen.released;
    assert_true(!at_once || cls_stream_query(world.stream) == CLS_SUCCESS);
    assert_int_equal(cls_stream_synchronize(world.stream), CLS_SUCCESS);
    wait_until(&seen.released, 1);
    seen.watched = NULL;
    world_close(&world);
}

static cls_graph_exec capture_failing_call(cls_stream stream, cls_buffer cells) {
    cls_graph graph;
    cls_graph_exec exec;
    assert_int_equal(cls_stream_begin_capture(stream, "graph"), CLS_SUCCESS);
    assert_int_equal(call_parts(stream, cells, CL_OUT_OF_RESOURCES), CLS_SUCCESS);
    assert_int_equal(cls_stream_end_capture(stream, &graph), CLS_SUCCESS);
    assert_int_equal(cls_graph_instantiate(graph, NULL, &exec), CLS_SUCCESS);
    assert_int_equal(cls_graph_destroy(graph), CLS_SUCCESS);
    return exec;
}

/* The first node of a graph: what is enqueued of it makes its launch a command that fails, and no call that is
 * refused. */
static void test_memory_of_a_graph_whose_first_call_fails_halfway_stays(void **state) {
    struct world world;
    uint32_t rounds;
    (void)state;
    const cls_buffer cells = watch_in_order(&world, &rounds);
    cls_graph_exec exec = capture_failing_call(world.stream, cells);
    assert_int_equal(launch(world.kernel, world.cells, 2 * rounds, world.stream), CLS_SUCCESS);
    assert_int_equal(cls_graph_launch_async(exec, world.stream), CLS_SUCCESS);
    seen.released = 0;
    assert_int_equal(cls_graph_exec_destroy(exec), CLS_SUCCESS);
    assert_int_equal(cls_buffer_destroy(cells), CLS_SUCCESS);
    assert_int_not_equal(cls_stream_synchronize(world.stream), CLS_SUCCESS);
    assert_non_null(strstr(cls_last_error_detail(), "library call"));
    wait_until(&seen.released, 1);
    seen.watched = NULL;
    world_close(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_of_a_span_that_nobody_tells_of_stays),
        cmocka_unit_test(test_memory_of_a_span_without_an_event_stays),
        cmocka_unit_test(test_memory_of_a_library_call_without_an_event_stays),
        cmocka_unit_test(test_memory_of_a_library_call_that_fails_halfway_stays),
        cmocka_unit_test(test_memory_of_a_graph_whose_first_call_fails_halfway_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
