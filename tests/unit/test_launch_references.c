/* SPDX-License-Identifier: MIT */
/* What launches use is given back when the last of them is over, whichever of them holds it meanwhile: one that
 * follows another takes over what both use. */
#include "../support/test.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include <clstream.h>
#include <clstream/opencl.h>

#include "latest_kernel.h"
#include "stream/command.h"

enum { BUFFERS = COMMAND_REFS + 2, CELLS = 16, BYTES = CELLS * 4, ROUNDS = 1 << 14 };

static const char source[] =
    "kernel void two(global uint *a, global uint *b, uint rounds) {\n"
    "    uint x = rounds | 1u;\n"
    "    for (uint i = 0; i < rounds; i++) {\n"
    "        x ^= x << 13; x ^= x >> 17; x ^= x << 5;\n"
    "    }\n"
    "    a[get_global_id(0)] += 1u | (x & 2u);\n"
    "    b[get_global_id(0)] += 1u | (x & 2u);\n"
    "}\n"
    "kernel void many(global uint *a, global uint *b, global uint *c, global uint *d,\n"
    "                 global uint *e, global uint *f, global uint *g, global uint *h) {\n"
    "    a[0]++; b[0]++; c[0]++; d[0]++; e[0]++; f[0]++; g[0]++; h[0]++;\n"
    "}\n";

static struct {
    cls_context context;
    cls_stream stream;
    cls_kernel two, many;
    cls_buffer buffers[BUFFERS];
} world;

/* Of each buffer: its memory, the event of the last launch that uses it, where there is one, and what has come
 * of it. */
static struct {
    cl_mem memory;
    cl_event last;
    unsigned released;
    bool early;
} watched[BUFFERS];

cl_int __real_clReleaseMemObject(cl_mem memory);
cl_int __wrap_clReleaseMemObject(cl_mem memory);

cl_int __wrap_clReleaseMemObject(cl_mem memory) {
    for (unsigned i = 0; i < BUFFERS; i++) {
        if (watched[i].memory != memory)
            continue;
        cl_int state = CL_COMPLETE;
        if (watched[i].last)
            clGetEventInfo(watched[i].last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state,
                           NULL);
        watched[i].early = watched[i].early || state > CL_COMPLETE;
        watched[i].released++;
    }
    return __real_clReleaseMemObject(memory);
}

static void watch_latest(unsigned i) {
    if (watched[i].last)
        clReleaseEvent(watched[i].last);
    watched[i].last = latest_kernel;
    if (latest_kernel)
        assert_int_equal(clRetainEvent(latest_kernel), CL_SUCCESS);
}

static void launch_two(unsigned a, unsigned b) {
    const cls_launch shape = cls_launch_1d(CELLS);
    const cls_arg args[] = {cls_arg_buffer(world.buffers[a]), cls_arg_buffer(world.buffers[b]),
                            cls_arg_u32(ROUNDS)};
    latest_kernel = NULL;
    assert_int_equal(cls_kernel_launch_async(world.two, &shape, args, 3, world.stream),
                     CLS_SUCCESS);
    watch_latest(a);
    watch_latest(b);
}

static void destroy(unsigned i) {
    assert_int_equal(cls_buffer_destroy(world.buffers[i]), CLS_SUCCESS);
}

static int open_world(void **state) {
    const uint32_t zero = 0;
    cls_program program;
    (void)state;
    memset(watched, 0, sizeof watched);
    assert_int_equal(cls_context_create(NULL, &world.context), CLS_SUCCESS);
    assert_int_equal(cls_stream_create(world.context, NULL, &world.stream), CLS_SUCCESS);
    assert_int_equal(cls_program_from_source(world.context, source, "lending.cl", NULL, &program),
                     CLS_SUCCESS);
    assert_int_equal(cls_kernel_create(program, "two", &world.two), CLS_SUCCESS);
    assert_int_equal(cls_kernel_create(program, "many", &world.many), CLS_SUCCESS);
    assert_int_equal(cls_program_destroy(program), CLS_SUCCESS);
    for (unsigned i = 0; i < BUFFERS; i++) {
        assert_int_equal(cls_buffer_create(world.context, BYTES, &world.buffers[i]), CLS_SUCCESS);
        assert_int_equal(cls_buffer_get_cl(world.buffers[i], &watched[i].memory), CLS_SUCCESS);
        assert_int_equal(cls_fill(world.buffers[i], 0, BYTES, &zero, 4, world.stream), CLS_SUCCESS);
    }
    return 0;
}

/* All buffers are destroyed by now. */
static int close_world(void **state) {
    (void)state;
    assert_int_equal(cls_stream_synchronize(world.stream), CLS_SUCCESS);
    for (unsigned i = 0; i < BUFFERS; i++) {
        assert_int_equal(watched[i].released, 1);
        assert_false(watched[i].early);
        if (watched[i].last)
            clReleaseEvent(watched[i].last);
    }
    assert_int_equal(cls_kernel_destroy(world.two), CLS_SUCCESS);
    assert_int_equal(cls_kernel_destroy(world.many), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(world.stream), CLS_SUCCESS);
    assert_int_equal(cls_context_destroy(world.context), CLS_SUCCESS);
    return 0;
}

static void destroy_from(unsigned i) {
    for (; i < BUFFERS; i++)
        destroy(i);
}

static void test_a_row_of_launches(void **state) {
    (void)state;
    for (unsigned i = 0; i < 20; i++)
        launch_two(0, 1);
    destroy(1);
    launch_two(0, 0);
    launch_two(2, 0);
    destroy(0);
    launch_two(2, 3);
    launch_two(3, 4);
    launch_two(4, 5);
    launch_two(4, 5);
    assert_int_equal(watched[0].released, 0);
    destroy_from(2);
}

/* More than a look for completions is apart. */
static void test_a_long_row(void **state) {
    const cls_launch shape = cls_launch_1d(1);
    (void)state;
    for (unsigned i = 0; i < 3000; i++) {
        const unsigned a = i / 7 % 3, b = i / 11 % 3;
        const cls_arg args[] = {cls_arg_buffer(world.buffers[a]), cls_arg_buffer(world.buffers[b]),
                                cls_arg_u32(1)};
        assert_int_equal(cls_kernel_launch_async(world.two, &shape, args, 3, world.stream),
                         CLS_SUCCESS);
        watch_latest(a);
        watch_latest(b);
    }
    destroy_from(0);
}

/* Each is over before the next, and known to be so with some of those. */
static void test_launches_that_are_over(void **state) {
    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        launch_two(0, 1);
        if (latest_kernel)
            assert_int_equal(clWaitForEvents(1, &latest_kernel), CL_SUCCESS);
    }
    destroy_from(0);
}

static void note_run(void *arg) { atomic_store((_Atomic bool *)arg, true); }

/* A launch that goes to the FIFO has references of its own. */
static void test_behind_a_host_function(void **state) {
    _Atomic bool ran = false;
    uint32_t cells[CELLS];
    (void)state;
    launch_two(0, 1);
    assert_int_equal(cls_stream_launch_host_async(world.stream, note_run, (void *)&ran),
                     CLS_SUCCESS);
    launch_two(0, 1);
    launch_two(1, 2);
    destroy(0);
    assert_int_equal(cls_copy_d2h(cells, world.buffers[1], 0, BYTES, world.stream), CLS_SUCCESS);
    assert_true(ran);
    assert_true(cells[0] >= 3);
    destroy_from(1);
}

static void test_more_than_a_flight_has_room_for(void **state) {
    const cls_launch shape = cls_launch_1d(1);
    cls_arg args[BUFFERS];
    uint32_t cells[CELLS];
    (void)state;
    launch_two(0, 1);
    for (unsigned i = 0; i < BUFFERS; i++)
        args[i] = cls_arg_buffer(world.buffers[i]);
    for (unsigned round = 0; round < 4; round++) {
        assert_int_equal(cls_kernel_launch_async(world.many, &shape, args, BUFFERS, world.stream),
                         CLS_SUCCESS);
        for (unsigned i = 0; i < BUFFERS; i++)
            watch_latest(i);
    }
    launch_two(0, 7);
    assert_int_equal(cls_copy_d2h(cells, world.buffers[6], 0, BYTES, world.stream), CLS_SUCCESS);
    assert_int_equal(cells[0], 4);
    destroy_from(0);
}

/* A launch that is refused leaves what was lent where it was. */
static void test_a_refused_launch(void **state) {
    const cls_launch shape = cls_launch_1d(CELLS);
    const cls_arg args[] = {cls_arg_buffer(world.buffers[0]), cls_arg_u32(1), cls_arg_u32(1)};
    (void)state;
    launch_two(0, 1);
    for (unsigned i = 0; i < 3; i++)
        assert_int_not_equal(cls_kernel_launch_async(world.two, &shape, args, 3, world.stream),
                             CLS_SUCCESS);
    destroy(0);
    const cls_arg stale[] = {cls_arg_buffer(world.buffers[0]), cls_arg_buffer(world.buffers[1]),
                             cls_arg_u32(1)};
    assert_int_equal(cls_kernel_launch_async(world.two, &shape, stale, 3, world.stream),
                     CLS_ERROR_INVALID_HANDLE);
    launch_two(1, 2);
    destroy_from(1);
}

/* What is no buffer is refused, also where the launch before holds it. */
static void test_a_handle_of_another_kind(void **state) {
    const cls_event_config timed = {.size = sizeof timed, .timed = true};
    const cls_launch shape = cls_launch_1d(CELLS);
    cls_event event;
    (void)state;
    assert_int_equal(cls_event_create(world.context, &timed, &event), CLS_SUCCESS);
    const cls_arg args[] = {cls_arg_buffer((cls_buffer)(void *)event),
                            cls_arg_buffer(world.buffers[1]), cls_arg_u32(1)};
    for (unsigned i = 0; i < 20; i++) {
        launch_two(0, 1);
        assert_int_equal(cls_event_record(event, world.stream), CLS_SUCCESS);
        assert_int_equal(cls_kernel_launch_async(world.two, &shape, args, 3, world.stream),
                         CLS_ERROR_INVALID_HANDLE);
    }
    assert_int_equal(cls_event_destroy(event), CLS_SUCCESS);
    destroy_from(0);
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_WORLD(test_a_row_of_launches),
        IN_WORLD(test_a_long_row),
        IN_WORLD(test_launches_that_are_over),
        IN_WORLD(test_behind_a_host_function),
        IN_WORLD(test_more_than_a_flight_has_room_for),
        IN_WORLD(test_a_refused_launch),
        IN_WORLD(test_a_handle_of_another_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
