/* SPDX-License-Identifier: MIT */
#include "silent_driver.h"

#include "../support/test.h"

#include <time.h>

struct silent silent;
struct seen seen;

/* Takes one of the queries that are told so. */
static bool is_told_running(cl_event_info what) {
    unsigned left = silent.running;
    while (what == CL_EVENT_COMMAND_EXECUTION_STATUS && left)
        if (atomic_compare_exchange_weak(&silent.running, &left, left - 1))
            return true;
    return false;
}

cl_int __real_clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value,
                             size_t *needed);
cl_int __wrap_clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value,
                             size_t *needed);

cl_int __wrap_clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value,
                             size_t *needed) {
    if (is_told_running(what)) {
        *(cl_int *)value = CL_RUNNING;
        return CL_SUCCESS;
    }
    if (!silent.queries_fail || (silent.about && event != silent.about))
        return __real_clGetEventInfo(event, what, size, value, needed);
    seen.refused++;
    return CL_OUT_OF_RESOURCES;
}

cl_int __real_clWaitForEvents(cl_uint count, const cl_event *events);
cl_int __wrap_clWaitForEvents(cl_uint count, const cl_event *events);

cl_int __wrap_clWaitForEvents(cl_uint count, const cl_event *events) {
    const bool concerned = !silent.about || events[0] == silent.about;
    return silent.waits_fail && concerned ? CL_OUT_OF_RESOURCES
                                          : __real_clWaitForEvents(count, events);
}

cl_int __real_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *mapped,
                                      cl_uint n_waits, const cl_event *waits, cl_event *event);
cl_int __wrap_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *mapped,
                                      cl_uint n_waits, const cl_event *waits, cl_event *event);

cl_int __wrap_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *mapped,
                                      cl_uint n_waits, const cl_event *waits, cl_event *event) {
    seen.unmapped++;
    return __real_clEnqueueUnmapMemObject(queue, memory, mapped, n_waits, waits, event);
}

cl_int __real_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint n_waits,
                                          const cl_event *waits, cl_event *event);
cl_int __wrap_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint n_waits,
                                          const cl_event *waits, cl_event *event);

cl_int __wrap_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint n_waits,
                                          const cl_event *waits, cl_event *event) {
    seen.markers++;
    return silent.markers_fail ? CL_OUT_OF_RESOURCES
                               : __real_clEnqueueMarkerWithWaitList(queue, n_waits, waits, event);
}

cl_int __real_clReleaseMemObject(cl_mem memory);
cl_int __wrap_clReleaseMemObject(cl_mem memory);

cl_int __wrap_clReleaseMemObject(cl_mem memory) {
    if (!seen.watched || memory == seen.watched)
        seen.released++;
    return __real_clReleaseMemObject(memory);
}

static const char source[] = "kernel void slow(global uint *cells, uint rounds) {\n"
                             "    uint x = rounds | 1u;\n"
                             "    for (uint i = 0; i < rounds; i++) {\n"
                             "        x ^= x << 13; x ^= x >> 17; x ^= x << 5;\n"
                             "    }\n"
                             "    cells[get_global_id(0)] = x | 1u;\n"
                             "}\n";

void nap(long ms) {
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

cls_status launch(cls_kernel kernel, cls_buffer cells, uint32_t rounds, cls_stream stream) {
    const cls_launch shape = cls_launch_1d(16);
    const cls_arg args[] = {cls_arg_buffer(cells), cls_arg_u32(rounds)};
    return cls_kernel_launch_async(kernel, &shape, args, 2, stream);
}

/* So many rounds that a kernel takes about a fifth of a second. The first launch compiles on some drivers. */
static uint32_t slow_rounds(cls_kernel kernel, cls_buffer cells, cls_stream stream) {
    assert_int_equal(launch(kernel, cells, 1, stream), CLS_SUCCESS);
    assert_int_equal(cls_stream_synchronize(stream), CLS_SUCCESS);
    for (uint32_t rounds = 1 << 16; rounds < 1u << 30; rounds *= 2) {
        double start = seconds();
        assert_int_equal(launch(kernel, cells, rounds, stream), CLS_SUCCESS);
        assert_int_equal(cls_stream_synchronize(stream), CLS_SUCCESS);
        if (seconds() - start > 0.2)
            return rounds;
    }
    return 1u << 30;
}

uint32_t world_make(struct world *world, const cls_stream_config *config) {
    assert_int_equal(cls_stream_create(world->context, config, &world->stream), CLS_SUCCESS);
    assert_int_equal(
        cls_program_from_source(world->context, source, "slow.cl", NULL, &world->program),
        CLS_SUCCESS);
    assert_int_equal(cls_kernel_create(world->program, "slow", &world->kernel), CLS_SUCCESS);
    assert_int_equal(cls_buffer_create(world->context, BYTES, &world->cells), CLS_SUCCESS);
    return slow_rounds(world->kernel, world->cells, world->stream);
}

void world_open(struct world *world) {
    const uint32_t zero = 0;
    assert_int_equal(cls_context_create(NULL, &world->context), CLS_SUCCESS);
    const uint32_t rounds = world_make(world, NULL);
    assert_int_equal(cls_fill(world->cells, 0, BYTES, &zero, 4, world->stream), CLS_SUCCESS);
    assert_int_equal(launch(world->kernel, world->cells, rounds, world->stream), CLS_SUCCESS);
}

void world_close(struct world *world) {
    assert_int_equal(cls_stream_reset(world->stream), CLS_SUCCESS);
    assert_int_equal(cls_kernel_destroy(world->kernel), CLS_SUCCESS);
    assert_int_equal(cls_program_destroy(world->program), CLS_SUCCESS);
    assert_int_equal(cls_buffer_destroy(world->cells), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(world->stream), CLS_SUCCESS);
    assert_int_equal(cls_context_destroy(world->context), CLS_SUCCESS);
}

void wait_until(const atomic_uint *count, unsigned wanted) {
    for (unsigned ms = 0; *count < wanted && ms < 10000; ms++)
        nap(1);
    assert_int_equal(*count, wanted);
}
