/* SPDX-License-Identifier: MIT */
/* Graphs: other buffers, host memory, arguments and graphs for what was captured; listings; graphs in graphs. */
#include "../support/effort.h"
#include "../support/rig.h"

#include <string.h>

#include <clstream/blas.h>
#include <clstream/graph.h>
#include <clstream/mempool.h>
#include <clstream/unary.h>

enum { CELLS = 64, BYTES = 4 * CELLS };

static cls_stream stream, elsewhere;
static cls_buffer in, out, other;
static uint32_t host[CELLS], result[CELLS];
static cls_graph graph;
static cls_graph_exec exec;

static cls_graph captured(void (*submit)(void)) {
    cls_graph made;
    OK(cls_stream_begin_capture(stream, "rebound"));
    submit();
    OK(cls_stream_end_capture(stream, &made));
    return made;
}

/* out[1] = in[0] * 3 + 1, by way of the device; node 0 copies up, 1 computes, 2 copies across, 3 down. */
static void submit_four(void) {
    OK(cls_copy_h2d_async(in, 0, host, BYTES, stream));
    OK(rig_step(stream, in, 0, 3, 1, 0.5));
    OK(cls_copy_d2d_async(out, 4, in, 0, 4, stream));
    OK(cls_copy_d2h_async(result, out, 0, BYTES, stream));
}

static int begin(void **state) {
    (void)state;
    stream = rig_named("main");
    elsewhere = rig_stream();
    in = rig_cells(CELLS);
    out = rig_cells(CELLS);
    other = rig_cells(CELLS);
    for (uint32_t i = 0; i < CELLS; i++)
        host[i] = 10 + i;
    memset(result, 0, sizeof result);
    graph = captured(submit_four);
    OK(cls_graph_instantiate(graph, NULL, &exec));
    return 0;
}

static int end(void **state) {
    (void)state;
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_buffer_destroy(in));
    OK(cls_buffer_destroy(out));
    OK(cls_buffer_destroy(other));
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(elsewhere));
    return 0;
}

/* --- buffers --- */

static void test_another_buffer(void **state) {
    (void)state;
    OK(cls_graph_bind(exec, in, other));
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(result[1], 31);
    assert_int_equal(rig_cell(other, 0), 31);
    assert_int_equal(rig_cell(in, 0), 0);
    OK(cls_graph_bind(exec, in, in));
    host[0] = 20;
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(rig_cell(in, 0), 61);
    assert_int_equal(rig_cell(other, 0), 31);
    assert_int_equal(result[1], 61);
}

/* All of it is submitted before the gate opens: each launch keeps what was bound when it was submitted. */
static void test_launches_that_wait_keep_what_was_bound(void **state) {
    (void)state;
    enum { BUFFERS = 5 };
    cls_buffer buffers[BUFFERS];
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_graph_launch_async(exec, stream));
    for (int i = 0; i < BUFFERS; i++) {
        buffers[i] = rig_cells(CELLS);
        OK(cls_graph_bind(exec, out, other));
        OK(cls_graph_bind(exec, out, buffers[i]));
        if (i % 2)
            OK(cls_graph_launch_async(exec, i == 3 ? elsewhere : stream));
    }
    gate_await(&gate);
    OK(cls_buffer_destroy(buffers[1])); /* the graph keeps it */
    buffers[1] = rig_cells(CELLS);
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    OK(cls_stream_synchronize(elsewhere));
    assert_int_equal(rig_cell(out, 1), 31);
    assert_int_equal(rig_cell(other, 1), 0);
    for (int i = 0; i < BUFFERS; i++)
        assert_int_equal(rig_cell(buffers[i], 1), i == 3 ? 31 : 0);
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(rig_cell(buffers[4], 1), 31);
    gate_destroy(&gate);
    for (int i = 0; i < BUFFERS; i++)
        OK(cls_buffer_destroy(buffers[i]));
}

static void test_a_bound_buffer_is_kept_while_launches_use_it(void **state) {
    (void)state;
    for (int i = 0; i < 200; i++) {
        cls_buffer one = rig_cells(CELLS);
        OK(cls_graph_bind(exec, out, one));
        OK(cls_graph_launch_async(exec, i % 3 ? stream : elsewhere));
        OK(cls_buffer_destroy(one));
    }
    OK(cls_stream_synchronize(stream));
    OK(cls_stream_synchronize(elsewhere));
    assert_int_equal(result[1], 31);
}

static void test_what_cannot_be_bound(void **state) {
    (void)state;
    cls_buffer small = rig_cells(1), foreign;
    cls_context context;
    OK(cls_context_create(NULL, &context));
    OK(cls_buffer_create(context, BYTES, &foreign));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_graph_bind(exec, other, in));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_graph_bind(exec, in, small));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_graph_bind(exec, in, foreign));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_graph_bind(exec, in, NULL));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_graph_bind(exec, NULL, in));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_graph_bind_host(exec, &host[1], result));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_graph_bind_host(exec, host, NULL));
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(rig_cell(out, 1), 31);
    OK(cls_buffer_destroy(small));
    OK(cls_buffer_destroy(foreign));
    OK(cls_context_destroy(context));
}

static void test_other_host_memory(void **state) {
    (void)state;
    static uint32_t host_too[CELLS], result_too[CELLS];
    host_too[0] = 100;
    OK(cls_graph_bind_host(exec, host, host_too));
    OK(cls_graph_bind_host(exec, result, result_too));
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(result_too[1], 301);
    assert_int_equal(result[1], 0);
    OK(cls_graph_bind_host(exec, result, result));
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(result[1], 301);
}

static void submit_operation(void) {
    OK(cls_copy_h2d_async(in, 0, host, BYTES, stream));
    OK(cls_unary_async(CLS_UNARY_NEG, cls_array_of(in, CLS_I32, CELLS),
                       cls_array_of(out, CLS_I32, CELLS), stream));
}

static void test_buffers_of_operations(void **state) {
    (void)state;
    cls_graph operation = captured(submit_operation);
    cls_graph_exec of;
    OK(cls_graph_instantiate(operation, NULL, &of));
    OK(cls_graph_bind(of, out, other));
    OK(cls_graph_launch(of, stream));
    assert_int_equal((int32_t)rig_cell(other, 5), -15);
    assert_int_equal(rig_cell(out, 5), 0);
    OK(cls_graph_exec_destroy(of));
    OK(cls_graph_destroy(operation));
}

/* --- buffers of products --- */

enum { SIDE = 4, PRODUCTS = 6 };

/* x, y, A, B and the outputs; all are captured as different buffers. */
static cls_buffer operands[4], outputs[PRODUCTS];

static cls_vector vector(cls_buffer buffer) { return cls_vector_of(buffer, CLS_F32, SIDE); }

static cls_matrix matrix(cls_buffer buffer) { return cls_matrix_of(buffer, CLS_F32, SIDE, SIDE); }

/* One of each routine. */
static void submit_products(void) {
    const cls_buffer x = operands[0], y = operands[1], a = operands[2], b = operands[3];
    OK(cls_gemm_async(matrix(a), matrix(b), matrix(outputs[0]), NULL, stream));
    OK(cls_gemv_async(matrix(a), vector(x), vector(outputs[1]), NULL, stream));
    OK(cls_axpy_async(2, vector(x), vector(outputs[2]), stream));
    OK(cls_scal_async(3, vector(outputs[3]), stream));
    OK(cls_blas_dot_async(vector(x), vector(y), cls_array_of(outputs[4], CLS_F32, 1), stream));
    OK(cls_amax_async(vector(y), cls_array_of(outputs[5], CLS_U32, 1), stream));
}

/* SIDE x SIDE numbers that begin so and have that step. */
static cls_buffer numbers(float first, float step) {
    float values[SIDE * SIDE];
    cls_buffer buffer;
    for (int i = 0; i < SIDE * SIDE; i++)
        values[i] = first + step * (float)(i % 5);
    OK(cls_buffer_from_host(rig.context, values, sizeof values, &buffer));
    return buffer;
}

static void make_operands(cls_buffer *in_place, cls_buffer *out_place, float first) {
    for (int i = 0; i < 4; i++)
        in_place[i] = numbers(first + (float)i, 0.5F);
    for (int i = 0; i < PRODUCTS; i++)
        out_place[i] = numbers(1, 1);
}

static void drop_operands(const cls_buffer *in_place, const cls_buffer *out_place) {
    for (int i = 0; i < 4; i++)
        OK(cls_buffer_destroy(in_place[i]));
    for (int i = 0; i < PRODUCTS; i++)
        OK(cls_buffer_destroy(out_place[i]));
}

static void expect_same(const cls_buffer *x, const cls_buffer *y) {
    for (int i = 0; i < PRODUCTS; i++)
        for (size_t cell = 0; cell < SIDE * SIDE; cell++)
            assert_int_equal(rig_cell(x[i], cell), rig_cell(y[i], cell));
}

/* The products of these by calls, and by the graph that is bound to copies of theirs. */
static void compare_products(cls_graph_exec products, const cls_buffer *captured_in,
                             const cls_buffer *captured_out, float first) {
    cls_buffer bound[4], bound_out[PRODUCTS];
    make_operands(operands, outputs, first);
    make_operands(bound, bound_out, first);
    submit_products();
    OK(cls_stream_synchronize(stream));
    for (int i = 0; i < 4; i++)
        OK(cls_graph_bind(products, captured_in[i], bound[i]));
    for (int i = 0; i < PRODUCTS; i++)
        OK(cls_graph_bind(products, captured_out[i], bound_out[i]));
    OK(cls_graph_launch(products, stream));
    expect_same(outputs, bound_out);
    drop_operands(operands, outputs);
    drop_operands(bound, bound_out);
}

static void test_buffers_of_products(void **state) {
    (void)state;
    cls_buffer captured_in[4], captured_out[PRODUCTS], before[PRODUCTS];
    cls_graph_exec products;
    cls_graph_statistics statistics = CLS_GRAPH_STATISTICS_INIT;
    if (!cls_blas_available())
        SKIP_BECAUSE("this library was built without CLBlast");
    make_operands(operands, outputs, 1);
    memcpy(captured_in, operands, sizeof operands);
    memcpy(captured_out, outputs, sizeof outputs);
    cls_graph of = captured(submit_products);
    OK(cls_graph_instantiate(of, NULL, &products));
    OK(cls_graph_get_statistics(products, &statistics));
    assert_true(statistics.one_command);
    for (int i = 0; i < 3; i++)
        compare_products(products, captured_in, captured_out, (float)(i + 2));
    for (int i = 0; i < PRODUCTS; i++)
        before[i] = numbers(1, 1);
    expect_same(captured_out, before); /* nobody wrote to what was captured */
    for (int i = 0; i < PRODUCTS; i++)
        OK(cls_buffer_destroy(before[i]));
    OK(cls_graph_exec_destroy(products));
    OK(cls_graph_destroy(of));
    drop_operands(captured_in, captured_out);
}

static void submit_gemm(void) {
    OK(cls_gemm_async(matrix(operands[2]), matrix(operands[3]), matrix(outputs[0]), NULL, stream));
}

/* Two operands that one buffer was bound in the place of are two all the same. */
static void test_operands_that_shared_a_buffer(void **state) {
    (void)state;
    cls_graph_exec product;
    cls_buffer ones = numbers(1, 0), twos = numbers(2, 0);
    float cell;
    make_operands(operands, outputs, 1);
    cls_graph of = captured(submit_gemm);
    OK(cls_graph_instantiate(of, NULL, &product));
    OK(cls_graph_bind(product, operands[2], ones));
    OK(cls_graph_bind(product, operands[3], ones));
    OK(cls_graph_launch(product, stream));
    OK(cls_graph_bind(product, operands[3], twos));
    OK(cls_graph_launch(product, stream));
    OK(cls_copy_d2h(&cell, outputs[0], 0, sizeof cell, stream));
    assert_true(cell == 8);
    OK(cls_graph_exec_destroy(product));
    OK(cls_graph_destroy(of));
    drop_operands(operands, outputs);
    OK(cls_buffer_destroy(ones));
    OK(cls_buffer_destroy(twos));
}

/* --- arguments, and nodes left out --- */

/* The arguments of rig_step's kernel. */
static cls_status set_step(cls_buffer cells, uint32_t i, uint32_t factor, uint32_t add) {
    const cls_launch one = cls_launch_1d(1);
    const cls_arg args[] = {cls_arg_buffer(cells), cls_arg_u32(i), cls_arg_u32(factor),
                            cls_arg_u32(add), cls_arg_u32(1)};
    return cls_graph_set_args(exec, 1, &one, args, 5);
}

static void test_other_arguments(void **state) {
    (void)state;
    OK(set_step(in, 0, 7, 2));
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(result[1], 72);
    OK(set_step(other, 0, 7, 2)); /* what is copied on is not computed any more */
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(result[1], 10);
    assert_int_equal(rig_cell(other, 0), 2);
    OK(cls_graph_bind(exec, other, in)); /* the node is found by its new buffer */
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(result[1], 72);
}

static void test_arguments_are_checked(void **state) {
    (void)state;
    const cls_launch one = cls_launch_1d(1), none = cls_launch_1d(0);
    const cls_arg args[] = {cls_arg_buffer(in), cls_arg_u32(0), cls_arg_u32(1), cls_arg_u32(1),
                            cls_arg_u32(0)};
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_graph_set_args(exec, 1, &one, args, 2));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_graph_set_args(exec, 1, &none, args, 5));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_graph_set_args(exec, 0, &one, args, 5));
    expect_detail("copy_h2d");
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_graph_set_args(exec, 4, &one, args, 5));
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(result[1], 31);
}

static void test_nodes_left_out(void **state) {
    (void)state;
    OK(cls_graph_set_enabled(exec, 1, 0));
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(result[1], 10);
    OK(cls_graph_set_enabled(exec, 1, 1));
    OK(cls_graph_set_enabled(exec, 3, 0));
    result[1] = 0;
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(result[1], 0);
    assert_int_equal(rig_cell(out, 1), 31);
    for (uint64_t i = 0; i < 4; i++)
        OK(cls_graph_set_enabled(exec, i, 0));
    OK(cls_graph_launch(exec, stream));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_graph_set_enabled(exec, 4, 0));
}

/* --- another graph --- */

static void submit_four_others(void) {
    OK(cls_copy_h2d_async(other, 0, host, BYTES, stream));
    OK(rig_step(stream, other, 0, 5, 2, 0));
    OK(cls_copy_d2d_async(out, 8, other, 0, 4, stream));
    OK(cls_copy_d2h_async(result, out, 0, BYTES, stream));
}

static void submit_three(void) {
    OK(cls_copy_h2d_async(in, 0, host, BYTES, stream));
    OK(rig_step(stream, in, 0, 3, 1, 0));
    OK(cls_copy_d2h_async(result, out, 0, BYTES, stream));
}

static void submit_another_kind(void) {
    OK(cls_copy_h2d_async(in, 0, host, BYTES, stream));
    OK(rig_step(stream, in, 0, 3, 1, 0));
    OK(cls_fill_async(out, 0, 4, host, 4, stream));
    OK(cls_copy_d2h_async(result, out, 0, BYTES, stream));
}

static void test_update(void **state) {
    (void)state;
    struct gate gate;
    cls_graph with = captured(submit_four_others);
    gate_init(&gate);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_graph_bind(exec, in, in));
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_graph_update(exec, with));
    OK(cls_graph_destroy(with));
    OK(cls_graph_launch_async(exec, stream));
    gate_await(&gate);
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    assert_int_equal(result[1], 31);
    assert_int_equal(result[2], 52);
    EXPECT(CLS_ERROR_NOT_FOUND, cls_graph_bind(exec, in, in));
    OK(cls_graph_bind(exec, other, in));
    OK(cls_graph_launch(exec, elsewhere));
    assert_int_equal(rig_cell(in, 0), 52);
    gate_destroy(&gate);
}

static void test_update_says_what_differs(void **state) {
    (void)state;
    cls_graph three = captured(submit_three), kind = captured(submit_another_kind);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_graph_update(exec, three));
    expect_detail("4 nodes, and the other one 3");
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_graph_update(exec, kind));
    expect_detail("'fill', and not 'copy_d2d'");
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(result[1], 31);
    OK(cls_graph_destroy(three));
    OK(cls_graph_destroy(kind));
}

/* --- listings --- */

static void test_nodes_are_listed(void **state) {
    (void)state;
    static const cls_command_kind kinds[] = {CLS_COMMAND_COPY_H2D, CLS_COMMAND_KERNEL,
                                             CLS_COMMAND_COPY_D2D, CLS_COMMAND_COPY_D2H};
    cls_graph_node_info info = CLS_GRAPH_NODE_INFO_INIT;
    uint64_t count;
    OK(cls_graph_get_nodes(graph, &count));
    assert_int_equal(count, 4);
    for (uint64_t i = 0; i < 4; i++) {
        OK(cls_graph_get_node(graph, i, &info));
        assert_int_equal(info.kind, kinds[i]);
        assert_int_equal(info.n_dependencies, i != 0);
        if (i)
            assert_int_equal(info.dependencies[0], i - 1);
    }
    assert_string_equal(info.label, "copy_d2h");
    assert_int_equal(info.bytes, BYTES);
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_graph_get_node(graph, 4, &info));
}

static void test_dot(void **state) {
    (void)state;
    char text[1024] = "";
    FILE *file = tmpfile();
    OK(cls_graph_write_dot(graph, file));
    rewind(file);
    const size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    assert_true(length > 0);
    assert_non_null(strstr(text, "digraph \"rebound\" {"));
    assert_non_null(strstr(text, "n0 [label=\"copy_h2d\"];"));
    assert_non_null(strstr(text, "n2 -> n3;"));
    assert_null(strstr(text, "n0 -> n3;"));
}

static void submit_prefetch(void) {
    OK(cls_fill_async(in, 0, BYTES, host, 4, stream));
    OK(cls_prefetch_async(other, CLS_TO_DEVICE, stream));
}

/* Only the prefetch uses the buffer. */
static void test_the_buffer_of_a_prefetch(void **state) {
    (void)state;
    cls_graph_node_info info = CLS_GRAPH_NODE_INFO_INIT;
    cls_graph_exec fetching;
    cls_graph fetch = captured(submit_prefetch);
    OK(cls_graph_get_node(fetch, 1, &info));
    assert_string_equal(info.label, "prefetch");
    OK(cls_graph_instantiate(fetch, NULL, &fetching));
    OK(cls_graph_launch(fetching, stream));
    OK(cls_graph_bind(fetching, other, out));
    OK(cls_graph_launch(fetching, stream));
    OK(cls_graph_set_enabled(fetching, 1, 0));
    OK(cls_graph_launch(fetching, elsewhere));
    assert_int_equal(rig_cell(in, 3), host[0]);
    OK(cls_graph_exec_destroy(fetching));
    OK(cls_graph_destroy(fetch));
}

/* --- memory --- */

static void test_many_launches_leave_memory_flat(void **state) {
    (void)state;
    const unsigned launches = effort_is_long() ? 100000 : 2000, warm = launches / 4;
    long before = 0;
    rig_need_resident_memory();
    for (unsigned i = 0; i < launches; i++) {
        if (i == warm)
            before = rig_resident_pages();
        OK(cls_graph_bind(exec, in, i % 2 ? other : in));
        OK(cls_graph_launch_async(exec, i % 3 ? stream : elsewhere));
        if (i % 100 == 99)
            OK(cls_context_synchronize(rig.context));
    }
    OK(cls_context_synchronize(rig.context));
    const long more = rig_resident_pages() - before;
    if (more > 2048)
        fail_msg("%ld pages more after %u launches", more, launches - warm);
}

/* --- in the background --- */

enum { STEPS = 100 };

static uint64_t deferred(cls_stream of) {
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    OK(cls_stream_get_counters(of, &counters));
    return counters.deferred;
}

/* A cell counts the steps since it was set. */
static cls_graph_exec capture_steps(cls_stream on, cls_buffer cells) {
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    cls_graph_exec made;
    cls_graph steps;
    OK(cls_stream_begin_capture(on, "steps"));
    for (unsigned i = 0; i < STEPS; i++)
        OK(rig_step(on, cells, 0, 1, 1, 0));
    OK(cls_stream_end_capture(on, &steps));
    config.background = 1;
    OK(cls_graph_instantiate(steps, &config, &made));
    OK(cls_graph_destroy(steps));
    return made;
}

static void check_background(cls_stream on) {
    const cls_event event = rig_event();
    cls_graph_exec steps = capture_steps(on, in);
    OK(rig_set(on, in, 0, 0, 0));
    OK(rig_set(elsewhere, other, 0, 0, 0));
    OK(cls_event_record(event, elsewhere));
    OK(cls_stream_wait_event(on, event));
    for (unsigned i = 0; i < 6; i++) {
        OK(cls_graph_bind(steps, in, i % 3 ? in : other));
        OK(cls_graph_launch_async(steps, on));
    }
    OK(cls_copy_d2d_async(in, 4, in, 0, 4, on));
    OK(cls_graph_bind(steps, in, in));
    OK(cls_event_record(event, on));
    OK(cls_stream_wait_event(elsewhere, event));
    OK(cls_graph_launch_async(steps, elsewhere));
    OK(cls_stream_synchronize(elsewhere));
    assert_int_equal(rig_cell(in, 1), 4 * STEPS);
    assert_int_equal(rig_cell(in, 0), 5 * STEPS);
    assert_int_equal(rig_cell(other, 0), 2 * STEPS);
    const uint64_t before = deferred(on);
    OK(cls_graph_launch(steps, on)); /* the caller has nothing else to do */
    assert_int_equal(deferred(on), before);
    assert_true(before >= 6);
    OK(cls_graph_exec_destroy(steps));
    OK(cls_event_destroy(event));
}

static void test_in_the_background(void **state) {
    (void)state;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream in_order;
    rig_need("events_across_queues");
    config.order = CLS_ORDER_IN_ORDER;
    OK(cls_stream_create(rig.context, &config, &in_order));
    check_background(in_order);
    check_background(stream);
    OK(cls_stream_destroy(in_order));
}

/* --- graphs in graphs --- */

static void test_a_graph_in_a_graph(void **state) {
    (void)state;
    cls_graph whole;
    cls_graph_exec both;
    OK(cls_graph_bind(exec, out, other));
    OK(cls_stream_begin_capture(elsewhere, "whole"));
    OK(cls_fill_async(in, 0, BYTES, host, 4, elsewhere));
    OK(cls_graph_launch_async(exec, elsewhere));
    OK(cls_copy_d2d_async(out, 0, other, 4, 4, elsewhere));
    OK(cls_stream_end_capture(elsewhere, &whole));
    OK(cls_graph_instantiate(whole, NULL, &both));
    OK(cls_graph_bind(exec, out, out)); /* of no effect on the copy */
    OK(cls_graph_launch(both, stream));
    assert_int_equal(rig_cell(out, 0), 31);
    assert_int_equal(rig_cell(other, 1), 31);
    assert_int_equal(rig_cell(out, 1), 0);
    uint64_t count;
    OK(cls_graph_get_nodes(whole, &count));
    assert_int_equal(count, 6);
    OK(cls_graph_exec_destroy(both));
    OK(cls_graph_destroy(whole));
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(another_buffer),
        TEST(launches_that_wait_keep_what_was_bound),
        TEST(a_bound_buffer_is_kept_while_launches_use_it),
        TEST(what_cannot_be_bound),
        TEST(other_host_memory),
        TEST(buffers_of_operations),
        TEST(buffers_of_products),
        TEST(operands_that_shared_a_buffer),
        TEST(other_arguments),
        TEST(arguments_are_checked),
        TEST(nodes_left_out),
        TEST(update),
        TEST(update_says_what_differs),
        TEST(nodes_are_listed),
        TEST(dot),
        TEST(the_buffer_of_a_prefetch),
        TEST(many_launches_leave_memory_flat),
        TEST(in_the_background),
        TEST(a_graph_in_a_graph),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
