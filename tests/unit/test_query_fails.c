/* SPDX-License-Identifier: MIT */
/* A driver that cannot say how far a command is: the command counts as failed, but the caller's memory is not
 * given back before the driver is done with it, nor any memory that it uses where that is not to be known
 * either. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <clstream.h>
#include <clstream/opencl.h>

#include "core/context.h"
#include "core/op.h"

enum { CELLS = 1 << 16, BYTES = CELLS * 4 };

static const char source[] = "kernel void slow(global uint *cells, uint rounds) {\n"
                             "    uint x = rounds | 1u;\n"
                             "    for (uint i = 0; i < rounds; i++) {\n"
                             "        x ^= x << 13; x ^= x >> 17; x ^= x << 5;\n"
                             "    }\n"
                             "    cells[get_global_id(0)] = x | 1u;\n"
                             "}\n";

static atomic_bool armed, waits_fail, markers_fail;
static _Atomic(cl_event) mute; /* the only event that is concerned; NULL: all are */
static atomic_uint refused, unmapped, markers;
static cl_mem awaited; /* whose releases are counted; NULL: all are */
static atomic_uint released;

/* The latest kernel: its event, and whether it was to wait for `mute`. */
static cl_event latest;
static bool waits_for_mute;

cl_int __real_clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value,
                             size_t *needed);
cl_int __wrap_clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value,
                             size_t *needed);

cl_int __wrap_clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value,
                             size_t *needed) {
    if (!armed || (mute && event != mute))
        return __real_clGetEventInfo(event, what, size, value, needed);
    refused++;
    return CL_OUT_OF_RESOURCES;
}

cl_int __real_clWaitForEvents(cl_uint count, const cl_event *events);
cl_int __wrap_clWaitForEvents(cl_uint count, const cl_event *events);

cl_int __wrap_clWaitForEvents(cl_uint count, const cl_event *events) {
    const bool concerned = !mute || events[0] == mute;
    return waits_fail && concerned ? CL_OUT_OF_RESOURCES : __real_clWaitForEvents(count, events);
}

cl_int __real_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint n_waits, const cl_event *waits,
                                     cl_event *event);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint n_waits, const cl_event *waits,
                                     cl_event *event);

cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint n_waits, const cl_event *waits,
                                     cl_event *event) {
    cl_int code = __real_clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local,
                                                n_waits, waits, event);
    latest = event ? *event : NULL;
    waits_for_mute = false;
    for (cl_uint i = 0; i < n_waits; i++)
        waits_for_mute = waits_for_mute || waits[i] == mute;
    return code;
}

cl_int __real_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *mapped,
                                      cl_uint n_waits, const cl_event *waits, cl_event *event);
cl_int __wrap_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *mapped,
                                      cl_uint n_waits, const cl_event *waits, cl_event *event);

cl_int __wrap_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *mapped,
                                      cl_uint n_waits, const cl_event *waits, cl_event *event) {
    unmapped++;
    return __real_clEnqueueUnmapMemObject(queue, memory, mapped, n_waits, waits, event);
}

cl_int __real_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint n_waits,
                                          const cl_event *waits, cl_event *event);
cl_int __wrap_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint n_waits,
                                          const cl_event *waits, cl_event *event);

cl_int __wrap_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint n_waits,
                                          const cl_event *waits, cl_event *event) {
    markers++;
    return markers_fail ? CL_OUT_OF_RESOURCES
                        : __real_clEnqueueMarkerWithWaitList(queue, n_waits, waits, event);
}

cl_int __real_clReleaseMemObject(cl_mem memory);
cl_int __wrap_clReleaseMemObject(cl_mem memory);

cl_int __wrap_clReleaseMemObject(cl_mem memory) {
    if (!awaited || memory == awaited)
        released++;
    return __real_clReleaseMemObject(memory);
}

static void nap(long ms) {
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static cls_status launch(cls_kernel kernel, cls_buffer cells, uint32_t rounds, cls_stream stream) {
    const cls_launch shape = cls_launch_1d(16);
    const cls_arg args[] = {cls_arg_buffer(cells), cls_arg_u32(rounds)};
    return cls_kernel_launch_async(kernel, &shape, args, 2, stream);
}

/* So many rounds that a kernel takes about a fifth of a second. */
static uint32_t slow_rounds(cls_kernel kernel, cls_buffer cells, cls_stream stream) {
    for (uint32_t rounds = 1 << 16; rounds < 1u << 30; rounds *= 2) {
        double start = seconds();
        assert_int_equal(launch(kernel, cells, rounds, stream), CLS_SUCCESS);
        assert_int_equal(cls_stream_synchronize(stream), CLS_SUCCESS);
        if (seconds() - start > 0.2)
            return rounds;
    }
    return 1u << 30;
}

struct world {
    cls_context context;
    cls_stream stream;
    cls_program program;
    cls_kernel kernel;
    cls_buffer cells;
};

/* Returns as many rounds as make a kernel slow. */
static uint32_t world_make(struct world *world, const cls_stream_config *config) {
    assert_int_equal(cls_stream_create(world->context, config, &world->stream), CLS_SUCCESS);
    assert_int_equal(
        cls_program_from_source(world->context, source, "slow.cl", NULL, &world->program),
        CLS_SUCCESS);
    assert_int_equal(cls_kernel_create(world->program, "slow", &world->kernel), CLS_SUCCESS);
    assert_int_equal(cls_buffer_create(world->context, BYTES, &world->cells), CLS_SUCCESS);
    return slow_rounds(world->kernel, world->cells, world->stream);
}

/* All cells are 0, and a kernel that changes them is under way. */
static void world_open(struct world *world) {
    const uint32_t zero = 0;
    assert_int_equal(cls_context_create(NULL, &world->context), CLS_SUCCESS);
    const uint32_t rounds = world_make(world, NULL);
    assert_int_equal(cls_fill(world->cells, 0, BYTES, &zero, 4, world->stream), CLS_SUCCESS);
    assert_int_equal(launch(world->kernel, world->cells, rounds, world->stream), CLS_SUCCESS);
}

static void world_close(struct world *world) {
    assert_int_equal(cls_stream_reset(world->stream), CLS_SUCCESS);
    assert_int_equal(cls_kernel_destroy(world->kernel), CLS_SUCCESS);
    assert_int_equal(cls_program_destroy(world->program), CLS_SUCCESS);
    assert_int_equal(cls_buffer_destroy(world->cells), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(world->stream), CLS_SUCCESS);
    assert_int_equal(cls_context_destroy(world->context), CLS_SUCCESS);
}

static void test_a_download_is_over_when_it_returns(void **state) {
    static uint32_t words[CELLS], later[CELLS];
    struct world world;
    (void)state;
    world_open(&world);
    armed = true;
    assert_int_not_equal(cls_copy_d2h(words, world.cells, 0, BYTES, world.stream), CLS_SUCCESS);
    armed = false;
    assert_true(refused > 0);
    memcpy(later, words, sizeof words);
    nap(500);
    assert_memory_equal(words, later, sizeof words);
    world_close(&world);
}

static void wait_until(const atomic_uint *count, unsigned wanted) {
    for (unsigned ms = 0; *count < wanted && ms < 10000; ms++)
        nap(1);
    assert_int_equal(*count, wanted);
}

static void test_pinned_memory_stays_until_what_writes_it_is_known_to_be_over(void **state) {
    struct world world;
    void *pinned, *other;
    (void)state;
    world_open(&world);
    assert_int_equal(cls_host_alloc(world.context, BYTES, &pinned), CLS_SUCCESS);
    assert_int_equal(cls_host_alloc(world.context, BYTES, &other), CLS_SUCCESS);
    armed = waits_fail = true;
    assert_int_equal(cls_copy_d2h_async(pinned, world.cells, 0, BYTES, world.stream), CLS_SUCCESS);
    assert_int_not_equal(cls_stream_synchronize(world.stream), CLS_SUCCESS);
    unmapped = 0; /* the probes have pinned memory too */
    assert_int_equal(cls_host_free(pinned), CLS_SUCCESS);
    nap(50);
    assert_int_equal(unmapped, 0);
    assert_int_equal(cls_host_free(other), CLS_SUCCESS);
    assert_int_equal(unmapped, 1);
    armed = waits_fail = false;
    wait_until(&unmapped, 2);
    world_close(&world);
}

enum { SPAN = 12 };

/* Kernels on as many buffers, without events of their own but for the first, and the second is slow; then the
 * trouble begins, and the host asks. False where that came too late: the engine had a mark made before, or
 * everything was over. */
static bool lose_span(const struct world *world, const cls_buffer *buffers, uint32_t rounds,
                      atomic_bool *trouble, atomic_bool *more_trouble) {
    markers = 0;
    for (unsigned i = 0; i < SPAN; i++)
        assert_int_equal(launch(world->kernel, buffers[i], i == 1 ? rounds : 1, world->stream),
                         CLS_SUCCESS);
    *trouble = *more_trouble = true;
    const bool marked = markers > 0;
    const cls_status status = cls_stream_synchronize(world->stream);
    if (status && !marked)
        return true;
    *trouble = *more_trouble = false;
    assert_int_equal(cls_stream_reset(world->stream), CLS_SUCCESS);
    return false;
}

/* Events are dear on the device. The engine may look at that for as long as it likes. */
static void have_no_events(cls_context context) {
    static struct caps event_less;
    static bool made;
    struct context *inside;
    assert_int_equal(context_get(context, &inside), CLS_SUCCESS);
    if (!made) {
        event_less = *inside->caps;
        event_less.event_less = true;
        made = true;
    }
    inside->caps = &event_less;
    context_put(inside);
}

/* No buffer is given back before something tells that the kernels are over. */
static void check_span_stays(atomic_bool *trouble, atomic_bool *more_trouble) {
    struct world world;
    cls_buffer buffers[SPAN];
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    config.order = CLS_ORDER_IN_ORDER;
    assert_int_equal(cls_context_create(NULL, &world.context), CLS_SUCCESS);
    have_no_events(world.context);
    const uint32_t rounds = world_make(&world, &config);
    for (unsigned i = 0; i < SPAN; i++)
        assert_int_equal(cls_buffer_create(world.context, BYTES, &buffers[i]), CLS_SUCCESS);
    unsigned tries = 0;
    while (!lose_span(&world, buffers, rounds, trouble, more_trouble))
        assert_true(++tries < 100);
    released = 0;
    for (unsigned i = 1; i < SPAN; i++)
        assert_int_equal(cls_buffer_destroy(buffers[i]), CLS_SUCCESS);
    nap(50);
    assert_int_equal(released, 0);
    *trouble = *more_trouble = false;
    wait_until(&released, SPAN - 1);
    assert_int_equal(cls_buffer_destroy(buffers[0]), CLS_SUCCESS);
    world_close(&world);
}

static void test_memory_of_a_span_that_nobody_tells_of_stays(void **state) {
    (void)state;
    check_span_stays(&armed, &waits_fail);
}

static void test_memory_of_a_span_without_an_event_stays(void **state) {
    (void)state;
    check_span_stays(&markers_fail, &markers_fail);
}

/* As a library that enqueues by itself on a queue of its own, whose last mark is refused. */
static int call_of_a_library(const struct device *device, cl_command_queue queue,
                             const void *arguments, cl_event *event) {
    (void)device;
    (void)queue;
    (void)arguments;
    (void)event;
    markers_fail = true;
    return CL_SUCCESS;
}

static void test_memory_of_a_library_call_without_an_event_stays(void **state) {
    const struct op_library_call library = {.call = call_of_a_library,
                                            .arguments = "",
                                            .bytes = 1,
                                            .compiled = 1u << 31, /* of no other call */
                                            .label = "library call"};
    struct world world;
    struct op_call call;
    cls_buffer cells;
    (void)state;
    world_open(&world);
    assert_int_equal(cls_stream_synchronize(world.stream), CLS_SUCCESS);
    assert_int_equal(cls_buffer_create(world.context, BYTES, &cells), CLS_SUCCESS);
    assert_int_equal(cls_buffer_get_cl(cells, &awaited), CLS_SUCCESS);
    const cls_array array = cls_array_of(cells, CLS_U32, CELLS), *const views[] = {&array};
    assert_int_equal(op_begin(&call, world.stream, views, 1, false), CLS_SUCCESS);
    assert_int_equal(op_end(&call, op_library(&call, &library), false), CLS_SUCCESS);
    assert_int_not_equal(cls_stream_synchronize(world.stream), CLS_SUCCESS);
    released = 0;
    assert_int_equal(cls_buffer_destroy(cells), CLS_SUCCESS);
    nap(50);
    assert_int_equal(released, 0);
    markers_fail = false;
    wait_until(&released, 1);
    awaited = NULL;
    world_close(&world);
}

/* As a library that has enqueued some of its work when it fails, if it does. */
static int call_in_parts(const struct device *device, cl_command_queue queue, const void *arguments,
                         cl_event *event) {
    (void)device;
    const int code = *(const int *)arguments;
    return !code && event ? clEnqueueMarkerWithWaitList(queue, 0, NULL, event) : code;
}

static cls_status call_library(cls_stream stream, cls_buffer cells, int code) {
    const struct op_library_call library = {.call = call_in_parts,
                                            .arguments = &code,
                                            .bytes = sizeof code,
                                            .compiled = 1u << 30, /* of no other call */
                                            .label = "library call"};
    struct op_call call;
    const cls_array array = cls_array_of(cells, CLS_U32, CELLS), *const views[] = {&array};
    assert_int_equal(op_begin(&call, stream, views, 1, false), CLS_SUCCESS);
    return op_end(&call, op_library(&call, &library), false);
}

/* The second call is enqueued by whoever submits it; what is enqueued of it runs behind a slow kernel. */
static void test_memory_of_a_library_call_that_fails_halfway_stays(void **state) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    struct world world;
    cls_buffer cells;
    (void)state;
    config.order = CLS_ORDER_IN_ORDER;
    assert_int_equal(cls_context_create(NULL, &world.context), CLS_SUCCESS);
    const uint32_t rounds = world_make(&world, &config);
    assert_int_equal(cls_buffer_create(world.context, BYTES, &cells), CLS_SUCCESS);
    assert_int_equal(cls_buffer_get_cl(cells, &awaited), CLS_SUCCESS);
    assert_int_equal(call_library(world.stream, cells, CL_SUCCESS), CLS_SUCCESS);
    assert_int_equal(cls_stream_synchronize(world.stream), CLS_SUCCESS);
    assert_int_equal(launch(world.kernel, world.cells, 2 * rounds, world.stream), CLS_SUCCESS);
    assert_int_not_equal(call_library(world.stream, cells, CL_OUT_OF_RESOURCES), CLS_SUCCESS);
    released = 0;
    assert_int_equal(cls_buffer_destroy(cells), CLS_SUCCESS);
    const unsigned at_once = released;
    assert_true(!at_once || cls_stream_query(world.stream) == CLS_SUCCESS);
    assert_int_equal(cls_stream_synchronize(world.stream), CLS_SUCCESS);
    wait_until(&released, 1);
    awaited = NULL;
    world_close(&world);
}

/* Of two commands of an out-of-order stream the driver tells nothing of the first, which waits for another
 * stream's work: the second waits for the first all the same. */
static void test_what_nobody_tells_of_is_waited_for(void **state) {
    struct world world;
    cls_stream second;
    cls_event begun;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    (void)state;
    config.order = CLS_ORDER_OUT_OF_ORDER;
    world_open(&world);
    if (cls_stream_create(world.context, &config, &second) != CLS_SUCCESS) {
        world_close(&world);
        print_message("the device has no out-of-order queues\n");
        skip();
    }
    assert_int_equal(cls_event_create(world.context, NULL, &begun), CLS_SUCCESS);
    assert_int_equal(cls_event_record(begun, world.stream), CLS_SUCCESS);
    assert_int_equal(cls_stream_wait_event(second, begun), CLS_SUCCESS);
    assert_int_equal(launch(world.kernel, world.cells, 1, second), CLS_SUCCESS);
    mute = latest;
    armed = waits_fail = true;
    for (unsigned ms = 0; ms < 60; ms += 2) {
        cls_stream_query(second);
        nap(2);
    }
    /* A machine at work may have been away for so long that the first stream's work is over. */
    const cls_status status = launch(world.kernel, world.cells, 1, second);
    const bool pending = cls_stream_query(world.stream) == CLS_NOT_READY;
    assert_true(refused > 0);
    assert_true((!status && waits_for_mute) || !pending);
    armed = waits_fail = false;
    mute = NULL;
    assert_int_equal(cls_stream_reset(second), CLS_SUCCESS);
    assert_int_equal(cls_event_destroy(begun), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(second), CLS_SUCCESS);
    world_close(&world);
}

/* A later launch uses the same buffer, and is seen to end. */
static void test_what_a_lost_launch_uses_is_kept(void **state) {
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    cls_stream second;
    cls_buffer cells;
    struct world world;
    (void)state;
    world_open(&world);
    assert_int_equal(cls_stream_create(world.context, NULL, &second), CLS_SUCCESS);
    assert_int_equal(cls_buffer_create(world.context, BYTES, &cells), CLS_SUCCESS);
    assert_int_equal(cls_buffer_get_cl(cells, &awaited), CLS_SUCCESS);
    released = 0;
    assert_int_equal(launch(world.kernel, cells, 1, second), CLS_SUCCESS);
    mute = latest;
    assert_int_equal(launch(world.kernel, cells, 1, second), CLS_SUCCESS);
    if (!mute || mute == latest) {
        print_message("launches have no events of their own\n");
    } else {
        armed = waits_fail = true;
        for (unsigned ms = 0; ms < 10000 && (!ms || counters.in_flight); ms++) {
            cls_stream_query(second);
            assert_int_equal(cls_stream_get_counters(second, &counters), CLS_SUCCESS);
            nap(1);
        }
        assert_int_equal(counters.in_flight, 0);
    }
    const bool lost = cls_stream_query(second) < 0; /* or it was over before */
    assert_int_equal(cls_buffer_destroy(cells), CLS_SUCCESS);
    assert_int_equal(lost ? released : 0, 0);
    armed = waits_fail = false;
    mute = NULL;
    assert_int_equal(cls_stream_reset(second), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(second), CLS_SUCCESS);
    for (unsigned ms = 0; !released && ms < 10000; ms++)
        nap(1);
    assert_int_equal(released, 1);
    awaited = NULL;
    world_close(&world);
}

/* Until its stream sees nothing of a launch that the driver does not tell of. */
static bool lose_launch(struct world *world, cls_buffer cells, cls_stream stream) {
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    assert_int_equal(launch(world->kernel, cells, 1, stream), CLS_SUCCESS);
    mute = latest;
    armed = waits_fail = mute != NULL;
    for (unsigned ms = 0; ms < 10000 && (!ms || counters.in_flight); ms++) {
        cls_stream_query(stream);
        assert_int_equal(cls_stream_get_counters(stream, &counters), CLS_SUCCESS);
        nap(1);
    }
    assert_int_equal(counters.in_flight, 0);
    return cls_stream_query(stream) < 0; /* or it was over before */
}

/* Neither to its stream nor to others, long after the stream was reset. */
static void test_memory_of_a_lost_launch_is_not_given_again(void **state) {
    cls_stream second, third;
    cls_buffer cells, again, elsewhere;
    cl_mem memory, memories[2];
    struct world world;
    (void)state;
    world_open(&world);
    assert_int_equal(cls_stream_create(world.context, NULL, &second), CLS_SUCCESS);
    assert_int_equal(cls_stream_create(world.context, NULL, &third), CLS_SUCCESS);
    assert_int_equal(cls_malloc_async(second, BYTES, &cells), CLS_SUCCESS);
    assert_int_equal(cls_buffer_get_cl(cells, &memory), CLS_SUCCESS);
    const bool lost = lose_launch(&world, cells, second);
    assert_int_equal(cls_stream_reset(second), CLS_SUCCESS);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(launch(world.kernel, world.cells, 1, second), CLS_SUCCESS);
    assert_int_equal(cls_free_async(cells, second), CLS_SUCCESS);
    assert_int_equal(cls_malloc_async(second, BYTES, &again), CLS_SUCCESS);
    assert_int_equal(cls_malloc_async(third, BYTES, &elsewhere), CLS_SUCCESS);
    assert_int_equal(cls_buffer_get_cl(again, &memories[0]), CLS_SUCCESS);
    assert_int_equal(cls_buffer_get_cl(elsewhere, &memories[1]), CLS_SUCCESS);
    assert_true(!lost || (memories[0] != memory && memories[1] != memory));
    armed = waits_fail = false;
    mute = NULL;
    assert_int_equal(cls_free_async(again, second), CLS_SUCCESS);
    assert_int_equal(cls_free_async(elsewhere, third), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(second), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(third), CLS_SUCCESS);
    world_close(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_nobody_tells_of_is_waited_for),
        cmocka_unit_test(test_what_a_lost_launch_uses_is_kept),
        cmocka_unit_test(test_memory_of_a_lost_launch_is_not_given_again),
        cmocka_unit_test(test_a_download_is_over_when_it_returns),
        cmocka_unit_test(test_pinned_memory_stays_until_what_writes_it_is_known_to_be_over),
        cmocka_unit_test(test_memory_of_a_span_that_nobody_tells_of_stays),
        cmocka_unit_test(test_memory_of_a_span_without_an_event_stays),
        cmocka_unit_test(test_memory_of_a_library_call_without_an_event_stays),
        cmocka_unit_test(test_memory_of_a_library_call_that_fails_halfway_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
