/* SPDX-License-Identifier: MIT */
/*
 * Graphs of fused operations: cuts of a chain, values in memory and in none, changes, refusals, a failure before a
 * chain, and a fused graph in another one. For the bits of results see test_graphs_fused_bits.c.
 */
#include "../support/rig.h"

#include <clstream/binary.h>
#include <clstream/graph.h>
#include <clstream/mempool.h>
#include <clstream/unary.h>

enum { CELLS = 301 };

static cls_stream stream, elsewhere;

static int begin(void **state) {
    (void)state;
    stream = rig_named("main");
    elsewhere = rig_stream();
    return 0;
}

static int end(void **state) {
    (void)state;
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(elsewhere));
    return 0;
}

/* --- arrays, and operations of known effect --- */

static float numbers[CELLS], results[CELLS];

static cls_array floats(void) {
    cls_buffer buffer;
    for (int i = 0; i < CELLS; i++)
        numbers[i] = (float)(i - 100) / 8;
    OK(cls_buffer_from_host(rig.context, numbers, sizeof numbers, &buffer));
    return cls_array_of(buffer, CLS_F32, CELLS);
}

static void scale(cls_array in, cls_array out, double factor) {
    OK(cls_unary_param_async(CLS_UNARY_SCALE, in, out, factor, stream));
}

static void expect_scaled(cls_array array, float factor) {
    OK(cls_copy_d2h(results, array.buffer, array.offset * 4, array.count * 4, stream));
    for (size_t i = 0; i < array.count; i++)
        if (results[i] != numbers[i] * factor)
            fail_msg("element %zu is %g, not %g", i, (double)results[i],
                     (double)(numbers[i] * factor));
}

/* --- chains that are cut --- */

static void test_a_host_function_cuts(void **state) {
    (void)state;
    const cls_array x = floats(), y = floats();
    OK(cls_stream_begin_capture(stream, "cut"));
    scale(x, y, 2);
    scale(y, y, 2);
    OK(cls_stream_launch_host_async(stream, rig_do_nothing, NULL));
    scale(y, y, 2);
    scale(y, y, 2);
    scale(y, y, 2);
    cls_graph_exec exec = rig_end_fused(stream);
    rig_expect_fused(exec, 3, 5, 2);
    OK(cls_graph_launch(exec, stream));
    expect_scaled(y, 32);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(x.buffer));
    OK(cls_buffer_destroy(y.buffer));
}

static void test_another_branch_cuts(void **state) {
    (void)state;
    const cls_array x = floats(), y = floats(), z = floats();
    cls_event forked = rig_event(), joined = rig_event();
    OK(cls_stream_begin_capture(stream, "branch"));
    scale(x, y, 2);
    scale(y, y, 2);
    OK(cls_event_record(forked, stream));
    OK(cls_stream_wait_event(elsewhere, forked));
    OK(cls_copy_d2d_async(z.buffer, 0, y.buffer, 0, sizeof numbers, elsewhere));
    OK(cls_event_record(joined, elsewhere));
    scale(y, x, 2);
    scale(x, x, 2);
    OK(cls_stream_wait_event(stream, joined));
    scale(x, y, 2);
    cls_graph_exec exec = rig_end_fused(stream);
    rig_expect_fused(exec, 4, 4, 2);
    OK(cls_graph_launch(exec, stream));
    expect_scaled(z, 4);
    expect_scaled(x, 16);
    expect_scaled(y, 32);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_event_destroy(forked));
    OK(cls_event_destroy(joined));
    OK(cls_buffer_destroy(x.buffer));
    OK(cls_buffer_destroy(y.buffer));
    OK(cls_buffer_destroy(z.buffer));
}

/* The second operation reads what the first has written, but shifted. */
static void test_overlapping_views_cut(void **state) {
    (void)state;
    const cls_array x = floats(), y = floats(), z = floats();
    const cls_array first = cls_array_at(y.buffer, CLS_F32, 0, 200),
                    shifted = cls_array_at(y.buffer, CLS_F32, 1, 200),
                    from = cls_array_at(x.buffer, CLS_F32, 1, 200),
                    to = cls_array_at(z.buffer, CLS_F32, 0, 200);
    OK(cls_copy_h2d(y.buffer, 4, numbers, 4 * 300, stream));
    OK(cls_stream_begin_capture(stream, "shifted"));
    scale(from, first, 2);
    OK(cls_binary_async(CLS_BINARY_SUB, shifted, from, to, stream));
    cls_graph_exec exec = rig_end_fused(stream);
    rig_expect_fused(exec, 2, 0, 0);
    OK(cls_graph_launch(exec, stream));
    OK(cls_copy_d2h(results, z.buffer, 0, 800, stream));
    for (int i = 0; i < 199; i++)
        assert_true(results[i] == 2 * numbers[i + 2] - numbers[i + 1]);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(x.buffer));
    OK(cls_buffer_destroy(y.buffer));
    OK(cls_buffer_destroy(z.buffer));
}

/* More arguments than one kernel takes: several kernels, of which the last one writes what all read. */
static void test_many_outputs(void **state) {
    (void)state;
    enum { MANY = 63 };
    const cls_array x = floats();
    cls_array out[MANY];
    for (int i = 0; i < MANY; i++)
        out[i] = floats();
    OK(cls_stream_begin_capture(stream, "many"));
    for (int i = 0; i < MANY; i++)
        scale(x, out[i], i);
    scale(x, x, 2);
    cls_graph_exec exec = rig_end_fused(stream);
    const uint64_t kernels = rig_graph_statistics(exec).fused_kernels;
    assert_true(kernels >= 2 && kernels <= 4);
    OK(cls_graph_launch(exec, stream));
    for (int i = 0; i < MANY; i++)
        expect_scaled(out[i], (float)i);
    expect_scaled(x, 2);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(x.buffer));
    for (int i = 0; i < MANY; i++)
        OK(cls_buffer_destroy(out[i].buffer));
}

/* --- memory of the capture --- */

static cls_array temporary(void) {
    cls_buffer buffer;
    OK(cls_malloc_async(stream, sizeof numbers, &buffer));
    return cls_array_of(buffer, CLS_F32, CELLS);
}

/* Of three values in memory of the capture one is used outside of the chain, and one is not freed: these are written. */
static void test_values_in_no_memory(void **state) {
    (void)state;
    const cls_array x = floats(), y = floats();
    OK(cls_stream_begin_capture(stream, "values"));
    const cls_array inner = temporary(), copied = temporary(), left = temporary();
    scale(x, inner, 2);
    scale(inner, copied, 2);
    scale(copied, left, 2);
    OK(cls_copy_d2d_async(y.buffer, 0, copied.buffer, 0, sizeof numbers, stream));
    OK(cls_free_async(inner.buffer, stream));
    OK(cls_free_async(copied.buffer, stream));
    cls_graph_exec exec = rig_end_fused(stream);
    rig_expect_fused(exec, 2, 3, 1);
    OK(cls_graph_launch(exec, stream));
    expect_scaled(y, 4);
    expect_scaled(left, 8);
    EXPECT(CLS_ERROR_NOT_FOUND, cls_graph_bind(exec, inner.buffer, y.buffer));
    OK(cls_graph_bind(exec, copied.buffer, x.buffer));
    OK(cls_graph_bind(exec, left.buffer, y.buffer));
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(left.buffer));
    OK(cls_buffer_destroy(x.buffer));
    OK(cls_buffer_destroy(y.buffer));
}

/* A buffer that was not allocated in the capture may be in another graph too: it is written, freed or not. */
static void test_memory_from_outside_is_written(void **state) {
    (void)state;
    const cls_array x = floats(), y = floats(), outside = floats();
    cls_graph reader;
    OK(cls_stream_begin_capture(elsewhere, "reader"));
    OK(cls_copy_d2d_async(x.buffer, 0, outside.buffer, 0, sizeof numbers, elsewhere));
    OK(cls_stream_end_capture(elsewhere, &reader));
    cls_graph_exec reads;
    OK(cls_graph_instantiate(reader, NULL, &reads));
    OK(cls_stream_begin_capture(stream, "writer"));
    scale(x, outside, 2);
    scale(outside, y, 2);
    OK(cls_buffer_destroy(outside.buffer));
    cls_graph_exec writes = rig_end_fused(stream);
    rig_expect_fused(writes, 1, 2, 1);
    OK(cls_graph_launch(writes, stream));
    expect_scaled(y, 4);
    OK(cls_graph_launch(reads, stream));
    expect_scaled(x, 2);
    OK(cls_graph_exec_destroy(reads));
    OK(cls_graph_exec_destroy(writes));
    OK(cls_graph_destroy(reader));
    OK(cls_buffer_destroy(x.buffer));
    OK(cls_buffer_destroy(y.buffer));
}

/* --- changes --- */

/* Nodes 0 to 2 are fused, 3 is a copy to z, 4 and 5 are fused. */
static void submit_two_chains(cls_array x, cls_array y, cls_array z, double factor) {
    scale(x, y, factor);
    scale(y, y, 2);
    scale(y, y, 2);
    OK(cls_copy_d2d_async(z.buffer, 0, y.buffer, 0, 4 * z.count, stream));
    scale(y, y, 2);
    scale(y, y, 2);
}

static cls_graph_exec capture_two_chains(cls_array x, cls_array y, cls_array z) {
    OK(cls_stream_begin_capture(stream, "two"));
    submit_two_chains(x, y, z, 2);
    return rig_end_fused(stream);
}

static void test_other_buffers(void **state) {
    (void)state;
    const cls_array x = floats(), y = floats(), z = floats(), in = floats(), out = floats();
    cls_graph_exec exec = capture_two_chains(x, y, z);
    rig_expect_fused(exec, 3, 5, 2);
    for (int i = 0; i < 3; i++) {
        OK(cls_graph_launch(exec, stream));
        expect_scaled(i ? out : y, i == 2 ? 64 : 32);
        expect_scaled(z, i == 2 ? 16 : 8);
        OK(cls_graph_bind(exec, x.buffer, in.buffer));
        OK(cls_graph_bind(exec, y.buffer, out.buffer));
        scale(x, in, i ? 2 : 1);
    }
    expect_scaled(x, 1);
    OK(cls_graph_exec_destroy(exec));
    const cls_array all[] = {x, y, z, in, out};
    for (int i = 0; i < 5; i++)
        OK(cls_buffer_destroy(all[i].buffer));
}

/* Another capture of the same code: other arrays, of another length, and another parameter. */
static void test_update(void **state) {
    (void)state;
    cls_array x = floats(), y = floats(), z = floats(), in = floats(), out = floats();
    cls_graph_exec exec = capture_two_chains(x, y, z);
    cls_graph other;
    in.count = out.count = z.count = 200;
    OK(cls_stream_begin_capture(stream, "other"));
    submit_two_chains(in, out, z, 3);
    OK(cls_stream_end_capture(stream, &other));
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_graph_update(exec, other));
    OK(cls_graph_destroy(other));
    OK(cls_graph_launch(exec, stream));
    rig_expect_fused(exec, 3, 5, 2);
    expect_scaled(y, 32);
    expect_scaled(z, 12);
    expect_scaled(out, 48);
    const cls_array all[] = {x, y, z, in, out};
    for (int i = 0; i < 5; i++)
        OK(cls_buffer_destroy(all[i].buffer));
    OK(cls_graph_exec_destroy(exec));
}

/* Operations may become others: the kernels are built anew. */
static void test_update_to_other_operations(void **state) {
    (void)state;
    const cls_array x = floats(), y = floats(), z = floats();
    cls_graph_exec exec = capture_two_chains(x, y, z);
    cls_graph other;
    OK(cls_stream_begin_capture(stream, "other operation"));
    scale(x, y, 2);
    OK(cls_unary_async(CLS_UNARY_NEG, y, y, stream));
    scale(y, y, 2);
    OK(cls_copy_d2d_async(z.buffer, 0, y.buffer, 0, sizeof numbers, stream));
    scale(y, y, 2);
    scale(y, y, 2);
    OK(cls_stream_end_capture(stream, &other));
    OK(cls_graph_update(exec, other));
    OK(cls_graph_destroy(other));
    OK(cls_graph_launch(exec, stream));
    rig_expect_fused(exec, 3, 5, 2);
    expect_scaled(z, -4);
    expect_scaled(y, -16);
    const cls_array all[] = {x, y, z};
    for (int i = 0; i < 3; i++)
        OK(cls_buffer_destroy(all[i].buffer));
    OK(cls_graph_exec_destroy(exec));
}

/* Ends a capture, and expects the update to be refused with this detail. */
static void expect_refused(cls_graph_exec exec, const char *detail) {
    cls_graph other;
    OK(cls_stream_end_capture(stream, &other));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_graph_update(exec, other));
    expect_detail(detail);
    OK(cls_graph_destroy(other));
}

static void test_update_says_what_differs(void **state) {
    (void)state;
    const cls_array x = floats(), y = floats(), z = floats();
    cls_graph_exec exec = capture_two_chains(x, y, z);
    OK(cls_stream_begin_capture(stream, "shorter"));
    expect_refused(exec, "has 6 nodes, and the other one 0");
    OK(cls_stream_begin_capture(stream, "not connected"));
    scale(x, y, 2);
    scale(y, y, 2);
    scale(y, y, 2);
    OK(cls_copy_d2d_async(z.buffer, 0, y.buffer, 0, sizeof numbers, stream));
    scale(y, y, 2);
    scale(x, x, 2);
    expect_refused(exec, "node 4 of graph 'two' is not fused any more");
    OK(cls_graph_launch(exec, stream));
    expect_scaled(y, 32);
    expect_scaled(x, 1);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(x.buffer));
    OK(cls_buffer_destroy(y.buffer));
    OK(cls_buffer_destroy(z.buffer));
}

static void test_what_is_refused(void **state) {
    (void)state;
    const cls_array x = floats(), y = floats(), z = floats();
    const cls_launch shape = {1, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, NULL, 0};
    cls_graph_exec exec = capture_two_chains(x, y, z);
    const uint64_t fused[] = {0, 1, 2, 4, 5};
    for (int i = 0; i < 5; i++) {
        EXPECT(CLS_ERROR_UNSUPPORTED, cls_graph_set_enabled(exec, fused[i], 0));
        expect_detail("is fused");
        EXPECT(CLS_ERROR_UNSUPPORTED, cls_graph_set_args(exec, fused[i], &shape, NULL, 0));
        expect_detail("is fused");
    }
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_graph_set_enabled(exec, 6, 0));
    OK(cls_graph_set_enabled(exec, 3, 0));
    OK(cls_graph_launch(exec, stream));
    expect_scaled(y, 32);
    expect_scaled(z, 1);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(x.buffer));
    OK(cls_buffer_destroy(y.buffer));
    OK(cls_buffer_destroy(z.buffer));
}

/* --- failure and nesting --- */

static void test_a_failed_node_keeps_the_chain_from_running(void **state) {
    (void)state;
    const cls_array x = floats(), y = floats();
    OK(cls_stream_begin_capture(stream, "fails"));
    OK(rig_fail(stream, "broken", CL_INVALID_OPERATION));
    scale(x, y, 2);
    scale(y, y, 2);
    cls_graph_exec exec = rig_end_fused(stream);
    rig_expect_fused(exec, 2, 2, 1);
    assert_int_not_equal(cls_graph_launch(exec, stream), CLS_SUCCESS);
    expect_detail("broken");
    OK(cls_stream_reset(stream));
    expect_scaled(y, 1);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(x.buffer));
    OK(cls_buffer_destroy(y.buffer));
}

static void test_a_fused_graph_in_a_graph(void **state) {
    (void)state;
    const cls_array x = floats(), y = floats(), z = floats();
    cls_graph_exec inner = capture_two_chains(x, y, z);
    OK(cls_stream_begin_capture(stream, "outer"));
    OK(cls_graph_launch_async(inner, stream));
    scale(y, y, 2);
    scale(y, z, 2);
    cls_graph_exec outer = rig_end_fused(stream);
    rig_expect_fused(outer, 4, 2, 1);
    OK(cls_graph_exec_destroy(inner));
    OK(cls_graph_launch(outer, stream));
    expect_scaled(y, 64);
    expect_scaled(z, 128);
    OK(cls_graph_exec_destroy(outer));
    OK(cls_buffer_destroy(x.buffer));
    OK(cls_buffer_destroy(y.buffer));
    OK(cls_buffer_destroy(z.buffer));
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_host_function_cuts),
        TEST(another_branch_cuts),
        TEST(overlapping_views_cut),
        TEST(many_outputs),
        TEST(values_in_no_memory),
        TEST(memory_from_outside_is_written),
        TEST(other_buffers),
        TEST(update),
        TEST(update_to_other_operations),
        TEST(update_says_what_differs),
        TEST(what_is_refused),
        TEST(a_failed_node_keeps_the_chain_from_running),
        TEST(a_fused_graph_in_a_graph),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
