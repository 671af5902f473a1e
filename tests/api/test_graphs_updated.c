/* SPDX-License-Identifier: MIT */
/* Updates of executable graphs: other kernels, and what differs where the shape is another one. */
#include "../support/rig.h"

#include <string.h>

#include <clstream/binary.h>
#include <clstream/graph.h>
#include <clstream/unary.h>

enum { CELLS = 64, BYTES = 4 * CELLS, MANY = 1000 };

static cls_stream stream, other;
static cls_buffer cells, from, extra;
static cls_kernel put, add, sum, set; /* the last one is of another program */
static cls_event event;
static const cls_launch one = {1, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, NULL, 0};

static const char source[] =
    "kernel void put(global uint *to, global const uint *from) { to[0] = from[0]; }\n"
    "kernel void add(global uint *to, global const uint *from) { to[0] += from[0]; }\n"
    "kernel void sum(global uint *to, global const uint *a, global const uint *b, uint c,\n"
    "                local uint *scratch) {\n"
    "    scratch[get_local_id(0)] = c;\n"
    "    to[0] = a[0] + b[0] + scratch[get_local_id(0)];\n"
    "}\n";
static const char another[] = "kernel void set(global uint *to) { to[0] = 77; }\n";

static cls_program program_of(const char *text, const char *name) {
    cls_program program;
    OK(cls_program_from_source(rig.context, text, name, NULL, &program));
    return program;
}

/* Built once for all tests. */
static int begin_all(void **state) {
    if (rig_setup(state))
        return -1;
    const cls_program own = program_of(source, "own"), foreign = program_of(another, "another");
    OK(cls_kernel_create(own, "put", &put));
    OK(cls_kernel_create(own, "add", &add));
    OK(cls_kernel_create(own, "sum", &sum));
    OK(cls_kernel_create(foreign, "set", &set));
    OK(cls_program_destroy(own));
    OK(cls_program_destroy(foreign));
    return 0;
}

static int end_all(void **state) {
    OK(cls_kernel_destroy(set));
    OK(cls_kernel_destroy(sum));
    OK(cls_kernel_destroy(add));
    OK(cls_kernel_destroy(put));
    return rig_teardown(state);
}

static int begin(void **state) {
    (void)state;
    stream = rig_stream();
    other = rig_stream();
    cells = rig_cells(CELLS);
    from = rig_cells(CELLS);
    extra = rig_cells(CELLS);
    event = rig_event();
    OK(rig_set(stream, from, 0, 10, 0));
    OK(rig_set(stream, extra, 0, 100, 0));
    OK(rig_set(stream, cells, 0, 1, 0));
    OK(cls_stream_synchronize(stream));
    return 0;
}

static int end(void **state) {
    (void)state;
    OK(cls_event_destroy(event));
    OK(cls_buffer_destroy(extra));
    OK(cls_buffer_destroy(from));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(other));
    OK(cls_stream_destroy(stream));
    return 0;
}

static void launch(cls_kernel kernel, cls_buffer to, cls_buffer what) {
    const cls_arg args[] = {cls_arg_buffer(to), cls_arg_buffer(what)};
    OK(cls_kernel_launch_async(kernel, &one, args, kernel == set ? 1 : 2, stream));
}

static void launch_sum(void) {
    const cls_arg args[] = {cls_arg_buffer(cells), cls_arg_buffer(from), cls_arg_buffer(extra),
                            cls_arg_u32(3), cls_arg_local(64)};
    OK(cls_kernel_launch_async(sum, &one, args, 5, stream));
}

static void begin_capture(void) { OK(cls_stream_begin_capture(stream, "updated")); }

static cls_graph end_capture(void) {
    cls_graph graph;
    OK(cls_stream_end_capture(stream, &graph));
    return graph;
}

static cls_graph captured(void (*submit)(void)) {
    begin_capture();
    submit();
    return end_capture();
}

static cls_graph_exec instantiated(void (*submit)(void), int fuse) {
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    cls_graph graph = captured(submit);
    cls_graph_exec exec;
    config.fuse = fuse;
    OK(cls_graph_instantiate(graph, &config, &exec));
    OK(cls_graph_destroy(graph));
    return exec;
}

static void update(cls_graph_exec exec, void (*submit)(void)) {
    cls_graph graph = captured(submit);
    OK(cls_graph_update(exec, graph));
    OK(cls_graph_destroy(graph));
}

static uint32_t launched(cls_graph_exec exec) {
    OK(cls_graph_launch(exec, stream));
    return rig_cell(cells, 0);
}

static void put_and_add(void) {
    launch(put, cells, from);
    launch(add, cells, extra);
}
static void sum_and_add(void) {
    launch_sum();
    launch(add, cells, extra);
}
static void set_and_put(void) {
    launch(set, cells, cells);
    launch(put, from, cells);
}

/* --- other kernels --- */

static void test_kernels_change(void **state) {
    (void)state;
    cls_graph_exec exec = instantiated(put_and_add, 0);
    assert_int_equal(launched(exec), 110);
    update(exec, sum_and_add); /* of more arguments */
    assert_int_equal(launched(exec), 213);
    update(exec, set_and_put); /* of another program, and fewer */
    assert_int_equal(launched(exec), 77);
    assert_int_equal(rig_cell(from, 0), 77);
    update(exec, put_and_add);
    assert_int_equal(launched(exec), 177);
    OK(cls_graph_exec_destroy(exec));
}

/* A launch that waits does what was bound at its call. */
static void test_a_launch_that_waits_keeps_its_kernels(void **state) {
    (void)state;
    struct gate gate;
    cls_graph_exec exec = instantiated(put_and_add, 0);
    gate_init(&gate);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_graph_launch_async(exec, stream));
    OK(rig_step(stream, cells, 0, 1000, 0, 0));
    OK(cls_copy_d2d_async(extra, 4, cells, 0, 4, stream));
    update(exec, set_and_put);
    OK(cls_graph_launch_async(exec, stream));
    gate_await(&gate);
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(extra, 1), 110000);
    assert_int_equal(rig_cell(cells, 0), 77);
    OK(cls_graph_exec_destroy(exec));
    gate_destroy(&gate);
}

static void many_puts(void) {
    for (int i = 0; i < MANY; i++)
        launch(put, cells, from);
}
static void many_adds(void) {
    for (int i = 0; i < MANY; i++)
        launch(add, cells, from);
}

static void test_many_kernels_change(void **state) {
    (void)state;
    cls_graph_exec exec = instantiated(many_puts, 0);
    assert_int_equal(launched(exec), 10);
    update(exec, many_adds);
    assert_int_equal(launched(exec), 10 + 10 * MANY);
    update(exec, many_puts);
    assert_int_equal(launched(exec), 10);
    OK(cls_graph_exec_destroy(exec));
}

static cls_status set_kernel(cls_graph_exec exec, uint64_t node, cls_kernel kernel) {
    const cls_arg args[] = {cls_arg_buffer(cells), cls_arg_buffer(from)};
    return cls_graph_set_kernel(exec, node, kernel, &one, args, kernel == set ? 1 : 2);
}

static cls_status set_sum(cls_graph_exec exec, uint32_t c) {
    const cls_arg args[] = {cls_arg_buffer(cells), cls_arg_buffer(from), cls_arg_buffer(from),
                            cls_arg_u32(c), cls_arg_local(64)};
    return cls_graph_set_kernel(exec, 0, sum, &one, args, 5);
}

static void test_the_kernel_of_one_node(void **state) {
    (void)state;
    cls_graph_exec exec = instantiated(put_and_add, 0);
    OK(set_kernel(exec, 1, set));
    assert_int_equal(launched(exec), 77);
    OK(set_kernel(exec, 1, add));
    OK(set_sum(exec, 5));
    assert_int_equal(launched(exec), 35);
    OK(set_sum(exec, 6));
    assert_int_equal(launched(exec), 36);
    OK(cls_graph_bind(exec, from, extra)); /* all of them are found */
    assert_int_equal(launched(exec), 306);
    const cls_arg args[] = {cls_arg_buffer(cells), cls_arg_buffer(extra), cls_arg_buffer(extra),
                            cls_arg_u32(1), cls_arg_local(64)};
    OK(cls_graph_set_args(exec, 0, &one, args, 5)); /* those of its kernel now */
    assert_int_equal(launched(exec), 301);
    OK(set_kernel(exec, 0, put));
    assert_int_equal(launched(exec), 110);
    OK(cls_graph_exec_destroy(exec));
}

static void test_a_kernel_that_is_destroyed_is_kept(void **state) {
    (void)state;
    cls_graph_exec exec = instantiated(put_and_add, 0);
    cls_kernel gone;
    const cls_program program = program_of(another, "set");
    const cls_arg args[] = {cls_arg_buffer(cells)};
    OK(cls_kernel_create(program, "set", &gone));
    OK(cls_program_destroy(program));
    OK(cls_graph_set_kernel(exec, 0, gone, &one, args, 1));
    OK(cls_kernel_destroy(gone));
    assert_int_equal(launched(exec), 177);
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_graph_set_args(exec, 0, &one, args, 1));
    assert_int_equal(launched(exec), 177);
    OK(cls_graph_exec_destroy(exec));
}

static void copy_and_put(void) {
    OK(cls_copy_d2d_async(cells, 0, from, 0, 4, stream));
    launch(put, cells, from);
}

static void test_a_kernel_is_checked(void **state) {
    (void)state;
    const cls_launch none = cls_launch_1d(0);
    const cls_arg args[] = {cls_arg_buffer(cells), cls_arg_buffer(from)};
    cls_graph_exec exec = instantiated(copy_and_put, 0);
    EXPECT(CLS_ERROR_INVALID_VALUE, set_kernel(exec, 0, add));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, set_kernel(exec, 2, add));
    EXPECT(CLS_ERROR_INVALID_HANDLE, set_kernel(exec, 1, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_graph_set_kernel(exec, 1, add, &none, args, 2));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_graph_set_kernel(exec, 1, add, &one, args, 1));
    assert_int_equal(launched(exec), 10);
    OK(cls_graph_exec_destroy(exec));
}

/* --- what differs --- */

static cls_graph_difference difference_of(cls_graph_exec exec, void (*submit)(void)) {
    cls_graph_difference difference = CLS_GRAPH_DIFFERENCE_INIT;
    cls_graph graph = captured(submit);
    OK(cls_graph_compare(exec, graph, &difference));
    EXPECT(difference.kind ? CLS_ERROR_INVALID_VALUE : CLS_SUCCESS, cls_graph_update(exec, graph));
    OK(cls_graph_destroy(graph));
    return difference;
}

static void expect_difference(cls_graph_difference difference, cls_graph_difference_kind kind,
                              uint64_t node, uint64_t own, uint64_t other_one) {
    assert_int_equal(difference.kind, kind);
    assert_int_equal(difference.node, node);
    assert_int_equal(difference.own, own);
    assert_int_equal(difference.other, other_one);
}

static void three_in_a_row(void) {
    put_and_add();
    launch(add, cells, from);
}
static void one_copied(void) {
    launch(put, cells, from);
    OK(cls_copy_d2d_async(cells, 0, from, 0, 4, stream));
    launch(add, cells, from);
}
static void one_beside(void) {
    const cls_arg args[] = {cls_arg_buffer(extra), cls_arg_buffer(from)};
    launch(put, cells, from);
    OK(cls_event_record(event, stream));
    OK(cls_stream_wait_event(other, event));
    launch(add, cells, extra);
    OK(cls_kernel_launch_async(put, &one, args, 2, other));
    OK(cls_event_record(event, other));
    OK(cls_stream_wait_event(stream, event));
}

static void test_differences(void **state) {
    (void)state;
    cls_graph_exec exec = instantiated(three_in_a_row, 0);
    expect_difference(difference_of(exec, three_in_a_row), CLS_GRAPH_SAME_SHAPE, UINT64_MAX, 0, 0);
    expect_difference(difference_of(exec, put_and_add), CLS_GRAPH_OTHER_NODES, UINT64_MAX, 3, 2);
    expect_difference(difference_of(exec, one_copied), CLS_GRAPH_OTHER_COMMAND, 1,
                      CLS_COMMAND_KERNEL, CLS_COMMAND_COPY_D2D);
    expect_difference(difference_of(exec, one_beside), CLS_GRAPH_OTHER_DEPENDENCIES, 2, 1, 0);
    assert_int_equal(launched(exec), 120);
    OK(cls_graph_exec_destroy(exec));
}

/* A comparison leaves the graph as it is bound. */
static void test_a_comparison_changes_nothing(void **state) {
    (void)state;
    cls_graph_difference difference = CLS_GRAPH_DIFFERENCE_INIT;
    cls_graph_exec exec = instantiated(put_and_add, 0);
    cls_graph same = captured(sum_and_add);
    OK(cls_graph_bind(exec, from, extra));
    OK(cls_graph_compare(exec, same, &difference));
    assert_int_equal(difference.kind, CLS_GRAPH_SAME_SHAPE);
    assert_int_equal(launched(exec), 200);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_graph_compare(exec, same, NULL));
    OK(cls_graph_destroy(same));
    OK(cls_graph_exec_destroy(exec));
}

static cls_array floats_of(cls_buffer buffer) { return cls_array_of(buffer, CLS_F32, CELLS); }

static void negated_and_doubled(void) {
    OK(cls_unary_async(CLS_UNARY_NEG, floats_of(from), floats_of(cells), stream));
    OK(cls_binary_async(CLS_BINARY_ADD, floats_of(cells), floats_of(cells), floats_of(cells),
                        stream));
}
static void squared_and_negated(void) {
    OK(cls_binary_async(CLS_BINARY_MUL, floats_of(from), floats_of(from), floats_of(cells),
                        stream));
    OK(cls_unary_async(CLS_UNARY_NEG, floats_of(cells), floats_of(cells), stream));
}
static void apart(void) {
    OK(cls_unary_async(CLS_UNARY_NEG, floats_of(from), floats_of(cells), stream));
    OK(cls_unary_async(CLS_UNARY_NEG, floats_of(extra), floats_of(extra), stream));
}

static float first_float(cls_graph_exec exec) {
    const uint32_t bits = launched(exec);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void check_operations(int fuse) {
    const float three = 3;
    cls_graph_exec exec = instantiated(negated_and_doubled, fuse);
    OK(cls_copy_h2d(from, 0, &three, sizeof three, stream));
    assert_true(first_float(exec) == -6);
    update(exec, squared_and_negated);
    assert_true(first_float(exec) == -9);
    cls_graph_difference difference = difference_of(exec, apart);
    assert_int_equal(difference.kind, fuse ? CLS_GRAPH_OTHER_FUSION : CLS_GRAPH_SAME_SHAPE);
    if (fuse)
        expect_difference(difference, CLS_GRAPH_OTHER_FUSION, 0, 1, 0);
    assert_true(first_float(exec) == (fuse ? -9 : -3));
    OK(cls_graph_exec_destroy(exec));
}

static void test_operations_change(void **state) {
    (void)state;
    check_operations(0);
    check_operations(1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(kernels_change),
        TEST(a_launch_that_waits_keeps_its_kernels),
        TEST(many_kernels_change),
        TEST(the_kernel_of_one_node),
        TEST(a_kernel_that_is_destroyed_is_kept),
        TEST(a_kernel_is_checked),
        TEST(differences),
        TEST(a_comparison_changes_nothing),
        TEST(operations_change),
    };
    return cmocka_run_group_tests(tests, begin_all, end_all);
}
