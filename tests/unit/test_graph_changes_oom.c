/* SPDX-License-Identifier: MIT */
/* Changes and launches of an executable graph, where there is no memory for a part of them: nothing has changed. */
#include "../support/test.h"

#include <clstream.h>

#include "failing_memory.h"

enum { FILLER = 12, MOST = 1000 };

static const char source[] =
    "kernel void put(global uint *to, global const uint *from, uint add) {\n"
    "    to[0] = from[0] + add;\n"
    "}\n"
    "kernel void sum(global uint *to, global const uint *a, global const uint *b, uint add) {\n"
    "    to[0] = a[0] + b[0] + add;\n"
    "}\n";

/* Two nodes: *to = *from + 1 and *also = *from + 1. */
static cls_stream stream;
static cls_kernel kernel, sum;
static cls_buffer to, from, also, others[2], fillers[FILLER];
static cls_graph graph;
static cls_graph_exec exec;
static const cls_launch one = {1, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, NULL, 0};

static cls_buffer cell(uint32_t value) {
    cls_buffer buffer;
    OK(cls_buffer_from_host(NULL, &value, sizeof value, &buffer));
    return buffer;
}

static uint32_t value_of(cls_buffer buffer) {
    uint32_t value = 0;
    OK(cls_copy_d2h(&value, buffer, 0, sizeof value, stream));
    return value;
}

static void put(cls_buffer into, cls_buffer what, uint32_t add) {
    const cls_arg args[] = {cls_arg_buffer(into), cls_arg_buffer(what), cls_arg_u32(add)};
    OK(cls_kernel_launch_async(kernel, &one, args, 3, stream));
}

static int begin(void **state) {
    (void)state;
    cls_program program;
    OK(cls_stream_create(NULL, NULL, &stream));
    OK(cls_program_from_source(NULL, source, "put", NULL, &program));
    OK(cls_kernel_create(program, "put", &kernel));
    OK(cls_kernel_create(program, "sum", &sum));
    OK(cls_program_destroy(program));
    to = cell(0);
    from = cell(10);
    also = cell(0);
    others[0] = cell(0);
    others[1] = cell(20);
    for (int i = 0; i < FILLER; i++)
        fillers[i] = cell(0);
    OK(cls_stream_begin_capture(stream, "put"));
    put(to, from, 1);
    put(also, from, 1);
    for (int i = 0; i < FILLER; i++) /* as many that the next buffer's name needs a longer list */
        put(fillers[i], fillers[i], 0);
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    return 0;
}

static int end(void **state) {
    (void)state;
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    for (int i = 0; i < FILLER; i++)
        OK(cls_buffer_destroy(fillers[i]));
    OK(cls_buffer_destroy(others[1]));
    OK(cls_buffer_destroy(others[0]));
    OK(cls_buffer_destroy(also));
    OK(cls_buffer_destroy(from));
    OK(cls_buffer_destroy(to));
    OK(cls_kernel_destroy(sum));
    OK(cls_kernel_destroy(kernel));
    OK(cls_stream_destroy(stream));
    return 0;
}

/* The call with its n-th allocation refused, for each n, until it has all: the number of times that it failed. After each of
 * them `check` sees that the graph is as it was. Where it does without the allocation, `undo` makes it so. */
static unsigned sweep(cls_status (*call)(void), void (*check)(void), cls_status (*undo)(void)) {
    unsigned failed = 0;
    bool refused = true;
    for (long n = 0; n < MOST && refused; n++) {
        allocations_left = n;
        const cls_status status = call();
        refused = allocations_left < 0;
        allocations_left = -1;
        if (!refused)
            OK(status);
        else if (!status)
            OK(undo());
        else
            EXPECT(CLS_ERROR_OUT_OF_MEMORY, status);
        failed += status != CLS_SUCCESS;
        if (status)
            check();
    }
    assert_false(refused);
    return failed;
}

/* Both nodes are found by the buffers that they were captured with. */
static void expect_as_captured(void) {
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(value_of(to), 11);
    assert_int_equal(value_of(also), 11);
    OK(cls_graph_bind(exec, from, others[1]));
    OK(cls_graph_bind(exec, to, others[0]));
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(value_of(others[0]), 21);
    assert_int_equal(value_of(also), 21);
    assert_int_equal(value_of(to), 11);
    OK(cls_graph_bind(exec, from, from));
    OK(cls_graph_bind(exec, to, to));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_graph_bind(exec, others[0], to));
}

static cls_status update(void) { return cls_graph_update(exec, graph); }

static cls_status set_args(void) {
    const cls_arg args[] = {cls_arg_buffer(others[0]), cls_arg_buffer(others[1]), cls_arg_u32(5)};
    return cls_graph_set_args(exec, 0, &one, args, 3);
}

static void test_arguments(void **state) {
    (void)state;
    assert_true(sweep(set_args, expect_as_captured, update) > 2);
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(value_of(others[0]), 25);
    assert_int_equal(value_of(also), 11);
    OK(cls_graph_bind(exec, others[0], to));
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(value_of(to), 25);
    EXPECT(CLS_ERROR_NOT_FOUND, cls_graph_bind(exec, to, others[0]));
}

/* A kernel of more arguments, whose places lie elsewhere. */
static cls_status set_kernel(void) {
    const cls_arg args[] = {cls_arg_buffer(others[0]), cls_arg_buffer(others[1]),
                            cls_arg_buffer(from), cls_arg_u32(5)};
    return cls_graph_set_kernel(exec, 0, sum, &one, args, 4);
}

static void test_another_kernel(void **state) {
    (void)state;
    assert_true(sweep(set_kernel, expect_as_captured, update) > 2);
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(value_of(others[0]), 35);
    OK(cls_graph_bind(exec, from, others[1]));
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(value_of(others[0]), 45);
    assert_int_equal(value_of(also), 21);
    EXPECT(CLS_ERROR_INVALID_VALUE, set_args()); /* of the kernel that was captured */
}

static cls_status compare(void) {
    cls_graph_difference difference = CLS_GRAPH_DIFFERENCE_INIT;
    const cls_status status = cls_graph_compare(exec, graph, &difference);
    assert_int_equal(difference.kind, CLS_GRAPH_SAME_SHAPE);
    return status;
}

static void test_comparison(void **state) {
    (void)state;
    assert_true(sweep(compare, expect_as_captured, compare) > 2);
    expect_as_captured();
}

/* A capture that begins with the graph, and adds a node behind its first one. */
static cls_status capture_more(void) {
    const cls_arg args[] = {cls_arg_buffer(to), cls_arg_buffer(from), cls_arg_u32(5)};
    const uint64_t first = 0;
    uint64_t node;
    unsigned count;
    cls_graph more;
    cls_status status = cls_stream_begin_capture_from(stream, "more", graph);
    if (status)
        return status;
    status = cls_stream_set_capture_nodes(stream, &first, 1);
    if (!status)
        status = cls_kernel_launch_async(kernel, &one, args, 3, stream);
    if (!status)
        status = cls_stream_get_capture_nodes(stream, &node, 1, &count);
    if (!status)
        status = cls_stream_add_capture_nodes(stream, &first, 1);
    const cls_status ended = cls_stream_end_capture(stream, &more);
    if (!ended)
        OK(cls_graph_destroy(more));
    return status ? status : ended;
}

static cls_status nothing(void) { return CLS_SUCCESS; }

static void test_capture_from_the_graph(void **state) {
    (void)state;
    assert_true(sweep(capture_more, expect_as_captured, nothing) > 5);
    expect_as_captured();
}

static void test_update(void **state) {
    (void)state;
    assert_true(sweep(update, expect_as_captured, update) > 2);
    expect_as_captured();
}

static cls_status launch(void) { return cls_graph_launch_async(exec, stream); }

static void expect_nothing_launched(void) {
    OK(cls_stream_synchronize(stream));
    assert_int_equal(value_of(to), 0);
}

static cls_status clear(void) {
    const uint32_t zero = 0;
    return cls_fill(to, 0, sizeof zero, &zero, sizeof zero, stream);
}

static void test_launch(void **state) {
    (void)state;
    OK(cls_graph_bind(exec, from, others[1])); /* so that the launch is of a version of its own */
    assert_true(sweep(launch, expect_nothing_launched, clear) > 2);
    OK(cls_stream_synchronize(stream));
    assert_int_equal(value_of(to), 21);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(arguments),  TEST(another_kernel),
                                       TEST(comparison), TEST(capture_from_the_graph),
                                       TEST(update),     TEST(launch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
