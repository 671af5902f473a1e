/* SPDX-License-Identifier: MIT */
/* No hidden synchronization: streams wait for what they were told to wait for and for nothing else. */
#include "../support/rig.h"

#include <string.h>

#include <clstream/opencl.h>

static const char source[] =
    "kernel void put(global uint *cells, uint value) { cells[0] = value; }";

/* A fresh stream does all kinds of work, and everything is made and destroyed beside it. */
static void work_and_finish(cls_stream stream, uint32_t value) {
    cls_buffer cells = rig_cells(4), more;
    cls_event event = rig_event();
    cls_program program;
    cls_kernel kernel;
    void *pinned;
    uint32_t seen[4] = {0};
    cls_launch shape = cls_launch_1d(1);
    OK(cls_program_from_source(rig.context, source, NULL, NULL, &program));
    OK(cls_kernel_create(program, "put", &kernel));
    cls_arg args[] = {cls_arg_buffer(cells), cls_arg_u32(value)};
    OK(cls_kernel_launch_async(kernel, &shape, args, 2, stream));
    OK(cls_buffer_create(rig.context, 16, &more));
    OK(cls_copy_d2d_async(more, 0, cells, 0, 16, stream));
    OK(cls_event_record(event, stream));
    OK(cls_event_synchronize(event));
    OK(cls_copy_d2h(seen, more, 0, 16, stream));
    assert_int_equal(seen[0], value);
    OK(cls_host_alloc(rig.context, 64, &pinned));
    OK(cls_copy_d2h(pinned, more, 0, 16, stream));
    assert_memory_equal(pinned, seen, 16);
    OK(cls_kernel_destroy(kernel));
    OK(cls_program_destroy(program));
    OK(cls_event_destroy(event));
    OK(cls_buffer_destroy(cells));
    OK(cls_buffer_destroy(more));
    OK(cls_stream_synchronize(stream));
}

static void test_a_held_stream_holds_no_other(void **state) {
    (void)state;
    cls_stream held = rig_stream(), fallback;
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(held, gate_hold, &gate));
    gate_await(&gate);
    OK(cls_context_default_stream(rig.context, &fallback));
    work_and_finish(fallback, 1);
    for (uint32_t i = 2; i < 6; i++) {
        cls_stream other = rig_stream();
        work_and_finish(other, i);
        OK(cls_stream_destroy(other));
    }
    EXPECT(CLS_NOT_READY, cls_stream_query(held));
    gate_open(&gate);
    OK(cls_stream_synchronize(held));
    OK(cls_stream_destroy(held));
    gate_destroy(&gate);
}

/* The default stream is an ordinary one: it neither waits for others nor holds them. */
static void test_the_default_stream_holds_no_other(void **state) {
    (void)state;
    cls_stream fallback, other = rig_stream();
    cls_buffer cells = rig_cells(1);
    uint32_t seen = 0;
    struct gate gate;
    gate_init(&gate);
    OK(cls_context_default_stream(rig.context, &fallback));
    OK(cls_stream_launch_host_async(fallback, gate_hold, &gate));
    gate_await(&gate);
    OK(rig_set(other, cells, 0, 9, 1));
    OK(cls_copy_d2h_async(&seen, cells, 0, 4, other));
    OK(cls_stream_synchronize(other));
    assert_int_equal(seen, 9);
    EXPECT(CLS_NOT_READY, cls_stream_query(fallback));
    gate_open(&gate);
    OK(cls_stream_synchronize(fallback));
    OK(cls_stream_destroy(other));
    OK(cls_buffer_destroy(cells));
    gate_destroy(&gate);
}

/* a holds b by an event; c, which stands beside them, does all its work meanwhile. */
static void test_a_wait_leaves_a_third_stream_alone(void **state) {
    (void)state;
    cls_stream a = rig_stream(), b = rig_stream(), c = rig_stream();
    cls_buffer cells = rig_cells(2);
    cls_event event = rig_event();
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(a, gate_hold, &gate));
    OK(rig_set(a, cells, 0, 3, 0));
    OK(cls_event_record(event, a));
    OK(cls_stream_wait_event(b, event));
    OK(rig_step(b, cells, 0, 2, 1, 0));
    work_and_finish(c, 5);
    EXPECT(CLS_NOT_READY, cls_stream_query(a));
    EXPECT(CLS_NOT_READY, cls_stream_query(b));
    gate_open(&gate);
    OK(cls_stream_synchronize(b));
    assert_int_equal(rig_cell(cells, 0), 7);
    OK(cls_stream_destroy(a));
    OK(cls_stream_destroy(b));
    OK(cls_stream_destroy(c));
    OK(cls_event_destroy(event));
    OK(cls_buffer_destroy(cells));
    gate_destroy(&gate);
}

struct trio {
    cls_stream a, b, c;
    cls_buffer cells;
    cls_event event;
};

/* Whether a short kernel on `c` is done while one of `ms` on `a` runs, for which `b` waits. */
static bool overtakes(const struct trio *trio, double ms) {
    OK(rig_set(trio->a, trio->cells, 0, 3, ms));
    OK(cls_event_record(trio->event, trio->a));
    OK(cls_stream_wait_event(trio->b, trio->event));
    OK(rig_set(trio->b, trio->cells, 1, 4, 0));
    OK(rig_set(trio->c, trio->cells, 2, 5, 1));
    OK(cls_stream_synchronize(trio->c));
    bool first = cls_stream_query(trio->b) == CLS_NOT_READY && rig_is_pending(trio->event);
    OK(cls_stream_synchronize(trio->a));
    OK(cls_stream_synchronize(trio->b));
    return first;
}

/* The same with a running kernel in place of the gate, where the device runs queues side by side: one try in
 * which c is not held will do. */
static void test_a_long_kernel_leaves_a_third_stream_alone(void **state) {
    (void)state;
    static const double lengths[] = {100, 300, 900, 100, 300, 900};
    enum { N = sizeof lengths / sizeof *lengths };
    if (rig_runs_inline())
        SKIP_BECAUSE("this driver runs commands inside the flush");
    const struct trio trio = {rig_stream(), rig_stream(), rig_stream(), rig_cells(3), rig_event()};
    bool alone = false;
    for (unsigned i = 0; i < N && !alone; i++)
        alone = overtakes(&trio, lengths[i]);
    OK(cls_stream_destroy(trio.a));
    OK(cls_stream_destroy(trio.b));
    OK(cls_stream_destroy(trio.c));
    OK(cls_event_destroy(trio.event));
    OK(cls_buffer_destroy(trio.cells));
    if (!alone && !rig_kernels_always_pass())
        SKIP_BECAUSE(
            "this driver does not always let a kernel pass a longer one on another queue, or tell");
    assert_true(alone);
}

/* Making and destroying objects does not wait for a kernel. */
static cls_status make_and_destroy(void *arg) {
    cls_stream stream = NULL;
    cls_event event = NULL;
    cls_buffer buffer = NULL;
    (void)arg;
    cls_status status = cls_stream_create(rig.context, NULL, &stream);
    status = status ? status : cls_event_create(rig.context, NULL, &event);
    status = status ? status : cls_buffer_create(rig.context, 1 << 20, &buffer);
    status = status ? status : cls_event_record(event, stream);
    status = status ? status : cls_event_synchronize(event);
    status = status ? status : cls_stream_synchronize(stream);
    status = status ? status : cls_buffer_destroy(buffer);
    status = status ? status : cls_event_destroy(event);
    return status ? status : cls_stream_destroy(stream);
}

static void test_making_objects_waits_for_nobody(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    if (rig_runs_inline())
        SKIP_BECAUSE("this driver runs commands inside the flush");
    assert_true(rig_returns_early(stream, make_and_destroy, NULL));
    OK(cls_stream_destroy(stream));
}

static cls_status pin(void *arg) {
    void *memory = NULL;
    (void)arg;
    cls_status status = cls_host_alloc(rig.context, 4096, &memory);
    return status ? status : cls_host_free(memory);
}

/* The same by hand, on a queue that nobody else has. */
static cls_status pin_by_hand(void *arg) {
    cl_command_queue queue = arg;
    cl_context context;
    cl_device_id device;
    cl_int code;
    OK(cls_context_get_cl(rig.context, &context, &device));
    const cl_mem_flags flags = CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR;
    cl_mem memory = clCreateBuffer(context, flags, 4096, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    void *host = clEnqueueMapBuffer(queue, memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 4096, 0,
                                    NULL, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clEnqueueUnmapMemObject(queue, memory, host, 0, NULL, NULL), CL_SUCCESS);
    assert_int_equal(clFinish(queue), CL_SUCCESS);
    clReleaseMemObject(memory);
    return CLS_SUCCESS;
}

/* Whether a call returns before a kernel does, on whichever of the streams that is. */
static bool passes_each(const cls_stream *streams, unsigned n, cls_status (*call)(void *),
                        void *arg) {
    bool early = true;
    for (unsigned i = 0; i < n && early; i++)
        early = rig_returns_early(streams[i], call, arg);
    return early;
}

/* Whether the driver lets memory be pinned while a kernel runs on any of so many queues: more of them than the
 * hardware has channels share those. */
static bool driver_pins_early(const cls_stream *streams, unsigned n) {
    cl_command_queue queue = rig_own_queue();
    const bool early = passes_each(streams, n, pin_by_hand, queue);
    clReleaseCommandQueue(queue);
    return early;
}

/* Nor does making pinned memory, where there are as many streams as there are to be queues: the first of the
 * program, before its queue is made. Drivers that let it pass do not all do so always, so there are a few tries. */
static void test_pinned_memory_waits_for_no_stream(void **state) {
    (void)state;
    enum { STREAMS = 64, TRIES = 3 };
    cls_stream streams[STREAMS];
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    bool early = false;
    config.order = CLS_ORDER_IN_ORDER;
    if (rig_runs_inline())
        SKIP_BECAUSE("this driver runs commands inside the flush");
    for (unsigned i = 0; i < STREAMS; i++)
        OK(cls_stream_create(rig.context, &config, &streams[i]));
    for (unsigned tries = 0; tries < TRIES && !early; tries++)
        early = passes_each(&streams[STREAMS - 2], 2, pin, NULL);
    const bool can = early || driver_pins_early(&streams[STREAMS - 2], 2);
    for (unsigned i = 0; i < STREAMS; i++)
        OK(cls_stream_destroy(streams[i]));
    if (!can)
        SKIP_BECAUSE("this driver pins memory behind a kernel of another queue among so many");
    assert_true(early);
}

/* Only context-wide synchronization waits for all. */
static void test_context_synchronize_waits_for_all(void **state) {
    (void)state;
    enum { STREAMS = 8 };
    cls_stream streams[STREAMS];
    cls_buffer cells = rig_cells(STREAMS);
    uint32_t seen[STREAMS] = {0};
    for (uint32_t i = 0; i < STREAMS; i++) {
        streams[i] = rig_stream();
        OK(rig_set(streams[i], cells, i, i + 1, 5));
        OK(cls_copy_d2h_async(&seen[i], cells, 4 * i, 4, streams[i]));
    }
    OK(cls_context_synchronize(rig.context));
    for (uint32_t i = 0; i < STREAMS; i++) {
        assert_int_equal(seen[i], i + 1);
        OK(cls_stream_query(streams[i]));
        OK(cls_stream_destroy(streams[i]));
    }
    OK(cls_buffer_destroy(cells));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pinned_memory_waits_for_no_stream),
        cmocka_unit_test(test_a_held_stream_holds_no_other),
        cmocka_unit_test(test_the_default_stream_holds_no_other),
        cmocka_unit_test(test_a_wait_leaves_a_third_stream_alone),
        cmocka_unit_test(test_a_long_kernel_leaves_a_third_stream_alone),
        cmocka_unit_test(test_making_objects_waits_for_nobody),
        cmocka_unit_test(test_context_synchronize_waits_for_all),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
