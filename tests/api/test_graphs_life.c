/* SPDX-License-Identifier: MIT */
/* What graphs take of a context's memory, how it is given back, and functions that are called when nothing of one is left. */
#include "../support/rig.h"

#include <clstream/mempool.h>

enum { CELLS = 4096, BYTES = 4 * CELLS };

static cls_buffer in, out;
static cls_stream stream;

static int begin(void **state) {
    (void)state;
    stream = rig_stream();
    in = rig_cells(CELLS);
    out = rig_cells(CELLS);
    return 0;
}

static int end(void **state) {
    (void)state;
    OK(cls_buffer_destroy(in));
    OK(cls_buffer_destroy(out));
    OK(cls_stream_destroy(stream));
    return 0;
}

/* out = in * factor, through memory of the graph. */
static cls_graph capture(uint32_t factor) {
    cls_graph graph;
    cls_buffer inner;
    OK(cls_stream_begin_capture(stream, "through"));
    OK(cls_malloc_async(stream, BYTES, &inner));
    OK(cls_copy_d2d_async(inner, 0, in, 0, BYTES, stream));
    OK(rig_step(stream, inner, 7, factor, 0, 0));
    OK(cls_copy_d2d_async(out, 0, inner, 0, BYTES, stream));
    OK(cls_free_async(inner, stream));
    OK(cls_stream_end_capture(stream, &graph));
    return graph;
}

static cls_graph_exec instance(uint32_t factor) {
    const cls_graph graph = capture(factor);
    cls_graph_exec exec;
    OK(cls_graph_instantiate(graph, NULL, &exec));
    OK(cls_graph_destroy(graph));
    return exec;
}

static void expect_launch(cls_graph_exec exec, uint32_t value, uint32_t factor) {
    OK(cls_fill(in, 0, BYTES, &value, 4, stream));
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(rig_cell(out, 7), value * factor);
    assert_int_equal(rig_cell(out, 8), value);
}

static cls_graph_memory memory_now(void) {
    cls_graph_memory memory = CLS_GRAPH_MEMORY_INIT;
    OK(cls_context_get_graph_memory(rig.context, &memory));
    return memory;
}

/* What is used, once launches that the host has seen done have given back what they kept. */
static bool use_comes_to(uint64_t bytes) {
    for (unsigned i = 0; i < 1000 * patience(5) && memory_now().used != bytes; i++)
        nap_ms(1);
    return memory_now().used == bytes;
}

static void test_memory_is_counted(void **state) {
    (void)state;
    OK(cls_context_reset_graph_memory_peak(rig.context));
    assert_int_equal(memory_now().used_high, 0);
    const cls_graph_exec first = instance(3), second = instance(5);
    assert_int_equal(memory_now().used, 2 * BYTES);
    OK(cls_graph_exec_destroy(second));
    assert_true(use_comes_to(BYTES));
    assert_int_equal(memory_now().used_high, 2 * BYTES);
    OK(cls_context_reset_graph_memory_peak(rig.context));
    assert_int_equal(memory_now().used_high, BYTES);
    OK(cls_graph_exec_destroy(first));
    assert_true(use_comes_to(0));
}

static void test_idle_graphs_give_memory_back(void **state) {
    (void)state;
    const cls_graph_exec used = instance(3), fresh = instance(5);
    expect_launch(used, 4, 3);
    OK(cls_context_trim_graph_memory(rig.context));
    assert_true(use_comes_to(0));
    assert_int_equal(rig_graph_statistics(used).arena_bytes, BYTES);
    for (uint32_t i = 1; i < 4; i++) {
        expect_launch(used, i, 3);
        assert_int_equal(memory_now().used, BYTES);
        OK(cls_context_trim_graph_memory(rig.context));
        OK(cls_context_trim_graph_memory(rig.context));
        assert_true(use_comes_to(0));
    }
    expect_launch(fresh, 6, 5);
    OK(cls_graph_exec_destroy(used));
    OK(cls_graph_exec_destroy(fresh));
    assert_true(use_comes_to(0));
}

/* All that changes a graph works while it has no memory. */
static void test_a_graph_without_memory_changes(void **state) {
    (void)state;
    const cls_graph_exec exec = instance(3);
    const cls_graph other = capture(5);
    const cls_buffer elsewhere = rig_cells(CELLS);
    const uint32_t nine = 9;
    OK(cls_fill(elsewhere, 0, BYTES, &nine, 4, stream));
    OK(cls_context_trim_graph_memory(rig.context));
    OK(cls_graph_bind(exec, in, elsewhere));
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(rig_cell(out, 7), 27);
    OK(cls_context_trim_graph_memory(rig.context));
    OK(cls_graph_set_enabled(exec, 1, 0));
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(rig_cell(out, 7), 9);
    OK(cls_context_trim_graph_memory(rig.context));
    OK(cls_graph_update(exec, other));
    expect_launch(exec, 2, 5);
    OK(cls_graph_destroy(other));
    OK(cls_buffer_destroy(elsewhere));
    OK(cls_graph_exec_destroy(exec));
}

/* The launch's argument is no memory of the graph any more, which another node uses still. */
static void test_an_argument_is_replaced_without_memory(void **state) {
    (void)state;
    const cls_graph_exec exec = instance(3);
    const cls_launch one = {1, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, NULL, 0};
    const cls_arg args[] = {cls_arg_buffer(in), cls_arg_u32(7), cls_arg_u32(2), cls_arg_u32(0),
                            cls_arg_u32(1)};
    const uint32_t four = 4;
    OK(cls_context_trim_graph_memory(rig.context));
    OK(cls_graph_set_args(exec, 1, &one, args, 5));
    for (int i = 0; i < 2; i++) {
        OK(cls_fill(in, 0, BYTES, &four, 4, stream));
        OK(cls_graph_launch(exec, stream));
        assert_int_equal(rig_cell(in, 7), 8);
        assert_int_equal(rig_cell(out, 7), 4);
        OK(cls_context_trim_graph_memory(rig.context));
    }
    assert_true(use_comes_to(0));
    OK(cls_graph_exec_destroy(exec));
}

static void test_a_pending_launch_keeps_its_memory(void **state) {
    (void)state;
    struct gate gate;
    const cls_graph_exec exec = instance(3);
    const uint32_t two = 2;
    gate_init(&gate);
    OK(cls_fill(in, 0, BYTES, &two, 4, stream));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_graph_launch_async(exec, stream));
    gate_await(&gate);
    OK(cls_context_trim_graph_memory(rig.context));
    assert_int_equal(memory_now().used, BYTES);
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(out, 7), 6);
    OK(cls_context_trim_graph_memory(rig.context));
    assert_true(use_comes_to(0));
    OK(cls_graph_exec_destroy(exec));
    gate_destroy(&gate);
}

/* Nodes that another graph has copied keep the memory that they were copied with. */
static void test_copies_keep_their_memory(void **state) {
    (void)state;
    const cls_graph_exec inner = instance(3);
    OK(cls_stream_begin_capture(stream, "outer"));
    OK(cls_graph_launch_async(inner, stream));
    const cls_graph_exec outer = rig_end_capture(stream);
    OK(cls_context_trim_graph_memory(rig.context));
    assert_int_equal(memory_now().used, BYTES);
    expect_launch(outer, 5, 3);
    expect_launch(inner, 6, 3);
    expect_launch(outer, 7, 3);
    OK(cls_graph_exec_destroy(outer));
    OK(cls_graph_exec_destroy(inner));
    assert_true(use_comes_to(0));
}

/* --- destructors --- */

static _Atomic unsigned called;

static void count(void *arg) { called += arg ? *(unsigned *)arg : 1; }

static void test_a_destructor_is_called_once(void **state) {
    (void)state;
    unsigned ten = 10;
    const cls_graph graph = capture(3);
    called = 0;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_graph_add_destructor(graph, NULL, NULL));
    OK(cls_graph_add_destructor(graph, count, NULL));
    OK(cls_graph_add_destructor(graph, count, &ten));
    nap_ms(20);
    assert_int_equal(called, 0);
    OK(cls_graph_destroy(graph));
    assert_true(counter_comes(&called, 11));
    nap_ms(20);
    assert_int_equal(called, 11);
}

static void test_a_destructor_comes_after_all_that_uses_the_graph(void **state) {
    (void)state;
    struct gate gate;
    cls_graph_exec exec;
    const cls_graph graph = capture(3);
    called = 0;
    gate_init(&gate);
    OK(cls_graph_add_destructor(graph, count, NULL));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_graph_exec_destroy(exec));
    gate_await(&gate);
    nap_ms(20);
    assert_int_equal(called, 0);
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    assert_true(counter_comes(&called, 1));
    gate_destroy(&gate);
}

static void test_a_destructor_comes_after_copies(void **state) {
    (void)state;
    cls_graph_exec exec;
    const cls_graph graph = capture(3);
    called = 0;
    OK(cls_graph_add_destructor(graph, count, NULL));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    OK(cls_stream_begin_capture(stream, "outer"));
    OK(cls_graph_launch_async(exec, stream));
    const cls_graph_exec outer = rig_end_capture(stream);
    OK(cls_graph_destroy(graph));
    OK(cls_graph_exec_destroy(exec));
    nap_ms(20);
    assert_int_equal(called, 0);
    expect_launch(outer, 2, 3);
    OK(cls_graph_exec_destroy(outer));
    assert_true(counter_comes(&called, 1));
}

static void test_a_destructor_comes_after_graphs_that_go_on(void **state) {
    (void)state;
    cls_graph_exec exec;
    const cls_graph graph = capture(3);
    cls_graph longer;
    called = 0;
    OK(cls_graph_add_destructor(graph, count, NULL));
    OK(cls_stream_begin_capture_from(stream, "longer", graph));
    OK(rig_step(stream, out, 7, 1, 1, 0));
    OK(cls_stream_end_capture(stream, &longer));
    OK(cls_graph_destroy(graph));
    OK(cls_graph_instantiate(longer, NULL, &exec));
    OK(cls_graph_destroy(longer));
    nap_ms(20);
    assert_int_equal(called, 0);
    OK(cls_graph_launch(exec, stream));
    OK(cls_graph_exec_destroy(exec));
    assert_true(counter_comes(&called, 1));
}

/* What an update has replaced is gone, and what has replaced it is not. */
static void test_a_destructor_comes_after_updates(void **state) {
    (void)state;
    static unsigned ten = 10;
    cls_graph_exec exec;
    const cls_graph before = capture(3), after = capture(5);
    called = 0;
    OK(cls_graph_add_destructor(before, count, NULL));
    OK(cls_graph_add_destructor(after, count, &ten));
    OK(cls_graph_instantiate(before, NULL, &exec));
    OK(cls_graph_destroy(before));
    expect_launch(exec, 2, 3);
    assert_int_equal(called, 0);
    OK(cls_graph_update(exec, after));
    OK(cls_graph_destroy(after));
    expect_launch(exec, 2, 5);
    assert_true(counter_comes(&called, 1));
    OK(cls_graph_exec_destroy(exec));
    assert_true(counter_comes(&called, 11));
}

static void use_the_library(void *arg) {
    const cls_buffer cells = rig_cells(8);
    OK(cls_buffer_destroy(cells));
    *(cls_status *)arg = cls_stream_synchronize(stream);
    called++;
}

static void test_a_destructor_may_call_the_library(void **state) {
    (void)state;
    cls_status status = CLS_ERROR_TIMEOUT;
    const cls_graph graph = capture(3);
    called = 0;
    OK(cls_graph_add_destructor(graph, use_the_library, &status));
    OK(cls_graph_destroy(graph));
    assert_true(counter_comes(&called, 1));
    assert_int_equal(status, CLS_SUCCESS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(memory_is_counted),
        TEST(idle_graphs_give_memory_back),
        TEST(a_graph_without_memory_changes),
        TEST(an_argument_is_replaced_without_memory),
        TEST(a_pending_launch_keeps_its_memory),
        TEST(copies_keep_their_memory),
        TEST(a_destructor_is_called_once),
        TEST(a_destructor_comes_after_all_that_uses_the_graph),
        TEST(a_destructor_comes_after_copies),
        TEST(a_destructor_comes_after_graphs_that_go_on),
        TEST(a_destructor_comes_after_updates),
        TEST(a_destructor_may_call_the_library),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
