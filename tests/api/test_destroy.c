/* SPDX-License-Identifier: MIT */
/* Destroying returns at once; pending work still completes, and its results arrive. */
#include "../support/rig.h"

#include <stdlib.h>
#include <string.h>

#include <clstream/check.h>
#include <clstream/graph.h>
#include <clstream/profiler.h>

static void pass(void *passed) { ++*(unsigned *)passed; }

static void arrive(cls_stream stream, cls_status status, void *arg) {
    (void)stream;
    if (status)
        return;
    cls_check_release(arg);
    sem_post(arg);
}

/* All the handles of a running chain are destroyed; the callback and the bytes still come. */
static void test_results_arrive_after_everything_is_destroyed(void **state) {
    (void)state;
    sem_t done;
    assert_int_equal(sem_init(&done, 0, 0), 0);
    for (uint32_t round = 1; round <= 20; round++) {
        cls_stream a = rig_stream(), b = rig_stream();
        cls_buffer from = rig_cells(4), to = rig_cells(4);
        cls_event event = rig_event();
        uint32_t seen[4] = {0};
        OK(rig_set(a, from, 1, round, 10));
        OK(cls_event_record(event, a));
        OK(cls_stream_wait_event(b, event));
        OK(cls_copy_d2d_async(to, 0, from, 0, 16, b));
        OK(rig_step(b, to, 1, 10, 1, 2));
        OK(cls_copy_d2h_async(seen, to, 0, 16, b));
        OK(cls_stream_add_callback(b, arrive, &done));
        OK(cls_stream_destroy(a));
        OK(cls_stream_destroy(b));
        OK(cls_buffer_destroy(from));
        OK(cls_buffer_destroy(to));
        OK(cls_event_destroy(event));
        assert_true(sem_comes(&done));
        assert_int_equal(seen[1], round * 10 + 1);
    }
    sem_destroy(&done);
}

/* The same while the library, not the driver, holds the work. */
static void test_held_work_survives_its_handles(void **state) {
    (void)state;
    sem_t done;
    struct gate gate;
    uint32_t seen[4] = {0}, source[4] = {1, 2, 3, 4};
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(4);
    gate_init(&gate);
    assert_int_equal(sem_init(&done, 0, 0), 0);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_copy_h2d_async(cells, 0, source, 16, stream));
    OK(rig_step(stream, cells, 1, 10, 1, 5));
    OK(cls_copy_d2h_async(seen, cells, 0, 16, stream));
    OK(cls_stream_add_callback(stream, arrive, &done));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
    gate_open(&gate);
    assert_true(sem_comes(&done));
    assert_int_equal(seen[0], 1);
    assert_int_equal(seen[1], 21);
    gate_destroy(&gate);
    sem_destroy(&done);
}

static cls_status destroy_it(void *arg) { return cls_stream_destroy(*(cls_stream *)arg); }

/* Destroys the stream with the kernel, and looks through an event. */
static void test_destroy_does_not_wait(void **state) {
    (void)state;
    if (rig_runs_inline())
        SKIP_BECAUSE("this driver runs commands inside the flush");
    bool early = false;
    for (double ms = 30; ms < 3000 && !early; ms *= 8) {
        cls_stream stream = rig_stream();
        cls_buffer cells = rig_cells(1);
        cls_event event = rig_event();
        OK(rig_set(stream, cells, 0, 1, ms));
        OK(cls_event_record(event, stream));
        OK(cls_buffer_destroy(cells));
        OK(destroy_it(&stream));
        early = rig_is_pending(event);
        OK(cls_event_synchronize(event));
        OK(cls_event_destroy(event));
    }
    assert_true(early);
}

static void test_a_destroyed_handle_is_stale_at_once(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    cls_event event = rig_event();
    OK(rig_set(stream, cells, 0, 1, 10));
    OK(cls_stream_destroy(stream));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_stream_query(stream));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_stream_synchronize(stream));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_stream_destroy(stream));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_event_record(event, stream));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_stream_wait_event(stream, event));
    EXPECT(CLS_ERROR_INVALID_HANDLE, rig_set(stream, cells, 0, 1, 0));
    OK(cls_event_destroy(event));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_event_query(event));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_event_destroy(event));
    OK(cls_buffer_destroy(cells));
    size_t size = 0;
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_buffer_get_size(cells, &size));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_buffer_destroy(cells));
    OK(cls_context_synchronize(rig.context));
    cls_stream next = rig_stream(); /* may have the slot, never the handle */
    assert_true(next != stream);
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_stream_query(stream));
    OK(cls_stream_destroy(next));
}

static const char source[] =
    "kernel void put(global uint *cells, uint value) { cells[0] = value; }";

static void test_program_and_kernel_may_go_before_their_launches(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    cls_program program;
    cls_kernel kernel;
    struct gate gate;
    cls_launch shape = cls_launch_1d(1);
    gate_init(&gate);
    OK(cls_program_from_source(rig.context, source, NULL, NULL, &program));
    OK(cls_kernel_create(program, "put", &kernel));
    OK(cls_program_destroy(program));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    for (uint32_t i = 0; i < 50; i++) {
        cls_arg args[] = {cls_arg_buffer(cells), cls_arg_u32(i)};
        OK(cls_kernel_launch_async(kernel, &shape, args, 2, stream));
    }
    OK(cls_kernel_destroy(kernel));
    cls_arg args[] = {cls_arg_buffer(cells), cls_arg_u32(0)};
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_kernel_launch_async(kernel, &shape, args, 2, stream));
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(cells, 0), 49);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
    gate_destroy(&gate);
}

static void test_a_context_may_go_before_its_work(void **state) {
    (void)state;
    sem_t done;
    uint32_t seen = 0, seven = 7;
    struct gate gate;
    cls_context context;
    cls_stream stream, fallback;
    cls_buffer buffer;
    cls_event event;
    gate_init(&gate);
    assert_int_equal(sem_init(&done, 0, 0), 0);
    OK(cls_context_create(NULL, &context));
    OK(cls_stream_create(context, NULL, &stream));
    OK(cls_context_default_stream(context, &fallback));
    OK(cls_buffer_create(context, 4, &buffer));
    OK(cls_event_create(context, NULL, &event));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_fill_async(buffer, 0, 4, &seven, 4, stream));
    OK(cls_copy_d2h_async(&seen, buffer, 0, 4, stream));
    OK(cls_event_record(event, stream));
    OK(cls_stream_wait_event(fallback, event));
    OK(cls_stream_add_callback(fallback, arrive, &done));
    OK(cls_context_destroy(context));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_stream_query(stream));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_stream_synchronize(stream));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_event_query(event));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_fill_async(buffer, 0, 4, &seven, 4, stream));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_context_destroy(context));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_context_synchronize(context));
    gate_open(&gate);
    assert_true(sem_comes(&done));
    assert_int_equal(seen, 7);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(buffer));
    OK(cls_event_destroy(event));
    gate_destroy(&gate);
    sem_destroy(&done);
}

/* The streams of some launches are made when they begin. */
static void launch_and_destroy(bool with_host_function, bool background) {
    sem_t done;
    uint32_t seen = 0, seven = 7;
    unsigned passed = 0;
    struct gate gate;
    cls_context context;
    cls_stream stream;
    cls_buffer buffer;
    cls_graph graph;
    cls_graph_exec exec;
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    config.background = background;
    gate_init(&gate);
    assert_int_equal(sem_init(&done, 0, 0), 0);
    OK(cls_context_create(NULL, &context));
    OK(cls_stream_create(context, NULL, &stream));
    OK(cls_buffer_create(context, 4, &buffer));
    OK(cls_stream_begin_capture(stream, "late"));
    OK(cls_fill_async(buffer, 0, 4, &seven, 4, stream));
    if (with_host_function)
        OK(cls_stream_launch_host_async(stream, pass, &passed));
    OK(cls_copy_d2h_async(&seen, buffer, 0, 4, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, &config, &exec));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_stream_add_callback(stream, arrive, &done));
    OK(cls_context_destroy(context));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_graph_launch_async(exec, stream));
    gate_open(&gate);
    assert_true(sem_comes(&done));
    assert_int_equal(seen, 7);
    assert_int_equal(passed, with_host_function);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(buffer));
    gate_destroy(&gate);
    sem_destroy(&done);
}

static void test_a_context_may_go_before_a_launch_of_a_graph(void **state) {
    (void)state;
    for (int kind = 0; kind < 4; kind++)
        launch_and_destroy(kind & 1, kind & 2);
}

/* It ends with its last launch, in whichever order those end. Two streams' locks are never held at once: a thread sanitizer
 * sees it. */
static void test_an_executable_graph_may_go_before_its_launches(void **state) {
    (void)state;
    enum { ROUNDS = 4, STREAMS = 2 };
    unsigned passed = 0;
    cls_stream streams[STREAMS];
    cls_graph graph;
    cls_graph_exec exec;
    for (int s = 0; s < STREAMS; s++)
        streams[s] = rig_stream();
    OK(cls_stream_begin_capture(streams[0], "passes"));
    OK(cls_stream_launch_host_async(streams[0], pass, &passed));
    OK(cls_stream_end_capture(streams[0], &graph));
    for (int round = 0; round < ROUNDS; round++)
        for (int s = 0; s < STREAMS; s++) {
            OK(cls_graph_instantiate(graph, NULL, &exec));
            OK(cls_graph_launch_async(exec, streams[(round + s) % STREAMS]));
            OK(cls_graph_exec_destroy(exec));
            OK(cls_stream_synchronize(streams[(round + s) % STREAMS]));
        }
    assert_int_equal(passed, ROUNDS * STREAMS);
    OK(cls_graph_destroy(graph));
    for (int s = 0; s < STREAMS; s++)
        OK(cls_stream_destroy(streams[s]));
}

/* The nodes of a launch that is profiled are commands of streams. */
static void test_a_context_may_go_before_a_profiled_launch(void **state) {
    (void)state;
    cls_profiler profiler;
    OK(cls_profiler_create(NULL, &profiler));
    OK(cls_profiler_start(profiler));
    launch_and_destroy(false, false);
    OK(cls_profiler_destroy(profiler));
}

static void test_default_objects_are_not_the_callers_to_destroy(void **state) {
    (void)state;
    cls_context context;
    cls_stream stream;
    OK(cls_context_default(&context));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_context_destroy(context));
    OK(cls_context_default_stream(context, &stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_destroy(stream));
    OK(cls_stream_synchronize(stream));
    OK(cls_context_default_stream(rig.context, &stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_destroy(stream));
    OK(cls_stream_synchronize(stream));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_stream_destroy(NULL));
}

/* Freeing waits for the copies that use the block. */
static void test_pinned_memory_is_freed_behind_its_copies(void **state) {
    (void)state;
    enum { BYTES = 1 << 20 };
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(BYTES / 4);
    for (unsigned char i = 1; i <= 10; i++) {
        void *memory;
        OK(cls_host_alloc(rig.context, BYTES, &memory));
        memset(memory, i, BYTES);
        OK(rig_step(stream, cells, 0, 1, 1, 10));
        OK(cls_copy_h2d_async(cells, 0, memory, BYTES, stream));
        OK(cls_host_free(memory));
        OK(cls_stream_synchronize(stream));
        assert_int_equal(rig_cell(cells, BYTES / 4 - 1), i * 0x01010101u);
    }
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
}

/* But for no others: they may be behind what the thread that frees is to let go. */
static void test_pinned_memory_is_freed_ahead_of_other_copies(void **state) {
    (void)state;
    enum { BYTES = 1 << 12 };
    static uint32_t seen[BYTES / 4];
    struct gate gate;
    void *memory, *other;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(BYTES / 4);
    gate_init(&gate);
    OK(cls_host_alloc(rig.context, BYTES, &memory));
    OK(cls_host_alloc(rig.context, BYTES, &other));
    OK(cls_copy_h2d_async(cells, 0, memory, BYTES, stream));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_copy_d2h_async(seen, cells, 0, BYTES, stream));
    OK(cls_copy_d2h_async(other, cells, 0, BYTES, stream));
    OK(cls_host_free(memory));
    gate_open(&gate);
    OK(cls_host_free(other));
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
    gate_destroy(&gate);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_arrive_after_everything_is_destroyed),
        cmocka_unit_test(test_held_work_survives_its_handles),
        cmocka_unit_test(test_destroy_does_not_wait),
        cmocka_unit_test(test_a_destroyed_handle_is_stale_at_once),
        cmocka_unit_test(test_program_and_kernel_may_go_before_their_launches),
        cmocka_unit_test(test_a_context_may_go_before_its_work),
        cmocka_unit_test(test_a_context_may_go_before_a_launch_of_a_graph),
        cmocka_unit_test(test_a_context_may_go_before_a_profiled_launch),
        cmocka_unit_test(test_an_executable_graph_may_go_before_its_launches),
        cmocka_unit_test(test_default_objects_are_not_the_callers_to_destroy),
        cmocka_unit_test(test_pinned_memory_is_freed_behind_its_copies),
        cmocka_unit_test(test_pinned_memory_is_freed_ahead_of_other_copies),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
