/* SPDX-License-Identifier: MIT */
/* Graphs that are built node by node: dependencies of captured streams that are read, replaced and added to. */
#include "../support/rig.h"

#include <clstream/graph.h>
#include <clstream/mempool.h>
#include <clstream/unary.h>

enum { CELLS = 64, ROOM = 8 };

static cls_stream stream, other;
static cls_buffer cells, sums;
static cls_event event;

static int begin(void **state) {
    (void)state;
    stream = rig_stream();
    other = rig_stream();
    cells = rig_cells(CELLS);
    sums = rig_cells(CELLS);
    event = rig_event();
    return 0;
}

static int end(void **state) {
    (void)state;
    OK(cls_event_destroy(event));
    OK(cls_buffer_destroy(sums));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(other));
    OK(cls_stream_destroy(stream));
    return 0;
}

/* Expects the stream's next node to come after these. */
static void expect_nodes(cls_stream of, unsigned count, const uint64_t *expected) {
    uint64_t nodes[ROOM];
    unsigned found = ROOM + 1;
    OK(cls_stream_get_capture_nodes(of, nodes, ROOM, &found));
    assert_int_equal(found, count);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(nodes[i], expected[i]);
}

static void expect_node(cls_stream of, uint64_t node) { expect_nodes(of, 1, &node); }

/* Expects a node to depend on these. */
static void expect_deps(cls_graph graph, uint64_t node, unsigned count, uint64_t first,
                        uint64_t second) {
    cls_graph_node_info info = CLS_GRAPH_NODE_INFO_INIT;
    OK(cls_graph_get_node(graph, node, &info));
    assert_int_equal(info.n_dependencies, count);
    if (count)
        assert_int_equal(info.dependencies[0], first);
    if (count > 1)
        assert_int_equal(info.dependencies[1], second);
}

static void expect_count(cls_graph graph, uint64_t count) {
    uint64_t found;
    OK(cls_graph_get_nodes(graph, &found));
    assert_int_equal(found, count);
}

static uint64_t newest(cls_stream of) {
    uint64_t node;
    unsigned count;
    OK(cls_stream_get_capture_nodes(of, &node, 1, &count));
    assert_int_equal(count, 1);
    return node;
}

/* The lines of doc/guide.md. */
static void test_a_diamond(void **state) {
    (void)state;
    cls_graph graph;
    uint64_t a, bc[2];
    OK(cls_stream_begin_capture(stream, "diamond"));
    OK(rig_set(stream, cells, 0, 5, 5));
    a = newest(stream);
    OK(rig_step(stream, cells, 0, 3, 1, 0));
    bc[0] = newest(stream);
    OK(cls_stream_set_capture_nodes(stream, &a, 1));
    OK(rig_step(stream, sums, 0, 2, 1, 5));
    bc[1] = newest(stream);
    OK(cls_stream_set_capture_nodes(stream, bc, 2));
    OK(cls_copy_d2d_async(sums, 4, cells, 0, 4, stream));
    OK(cls_stream_end_capture(stream, &graph));
    expect_count(graph, 4);
    expect_deps(graph, 0, 0, 0, 0);
    expect_deps(graph, 1, 1, 0, 0);
    expect_deps(graph, 2, 1, 0, 0);
    expect_deps(graph, 3, 2, 2, 1);
    cls_graph_exec exec;
    OK(cls_graph_instantiate(graph, NULL, &exec));
    assert_int_equal(rig_graph_statistics(exec).streams, 2);
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(rig_cell(sums, 0), 1);
    assert_int_equal(rig_cell(sums, 1), 16);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
}

static void test_what_is_read(void **state) {
    (void)state;
    const uint64_t both[] = {0, 1};
    uint64_t one = 77;
    unsigned count = 77;
    cls_graph graph;
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_get_capture_nodes(stream, NULL, 0, &count));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_set_capture_nodes(stream, NULL, 0));
    OK(cls_stream_begin_capture(stream, "read"));
    expect_nodes(stream, 0, NULL);
    OK(cls_event_record(event, stream));
    OK(cls_stream_wait_event(other, event));
    OK(rig_set(stream, cells, 0, 1, 0));
    OK(rig_set(other, cells, 1, 1, 0));
    OK(cls_event_record(event, other));
    OK(cls_stream_wait_event(stream, event));
    expect_nodes(stream, 2, both);
    OK(cls_event_record(event, stream)); /* joins both to one that has no number */
    expect_nodes(stream, 2, both);
    OK(cls_stream_get_capture_nodes(stream, &one, 1, &count));
    assert_int_equal(count, 2);
    assert_int_equal(one, 0);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_get_capture_nodes(stream, &one, 1, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_get_capture_nodes(stream, NULL, 1, &count));
    OK(rig_set(stream, cells, 2, 1, 0));
    expect_node(stream, 2);
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_destroy(graph));
}

static void test_what_is_refused_leaves_the_capture_valid(void **state) {
    (void)state;
    const uint64_t nodes[] = {0, 1};
    cls_graph graph;
    OK(cls_stream_begin_capture(stream, "refused"));
    OK(rig_set(stream, cells, 0, 1, 0));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_stream_set_capture_nodes(stream, nodes, 2));
    expect_detail("none of number 1");
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_stream_add_capture_nodes(stream, &nodes[1], 1));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_set_capture_nodes(stream, NULL, 1));
    expect_node(stream, 0);
    OK(rig_step(stream, cells, 0, 3, 1, 0));
    OK(cls_stream_end_capture(stream, &graph));
    expect_deps(graph, 1, 1, 0, 0);
    OK(cls_graph_destroy(graph));
    OK(cls_stream_begin_capture(stream, "invalid"));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_synchronize(stream));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_set_capture_nodes(stream, NULL, 0));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_end_capture(stream, &graph));
}

static void test_nodes_are_added(void **state) {
    (void)state;
    const uint64_t twice[] = {0, 0};
    cls_graph graph;
    OK(cls_stream_begin_capture(stream, "added"));
    OK(rig_set(stream, cells, 0, 1, 0));
    OK(cls_stream_set_capture_nodes(stream, NULL, 0));
    OK(rig_set(stream, cells, 1, 1, 0));
    OK(cls_stream_add_capture_nodes(stream, twice, 2));
    OK(rig_step(stream, cells, 0, 3, 1, 0));
    OK(cls_stream_end_capture(stream, &graph));
    expect_deps(graph, 1, 0, 0, 0);
    expect_deps(graph, 2, 2, 1, 0);
    OK(cls_graph_destroy(graph));
}

/* --- what has to be joined --- */

static void fork_to_other(void) {
    OK(cls_stream_begin_capture(stream, "forked"));
    OK(rig_set(stream, cells, 0, 1, 0));
    OK(cls_event_record(event, stream));
    OK(cls_stream_wait_event(other, event));
    OK(rig_set(other, cells, 1, 1, 0));
}

/* What the origin leaves is an end, and what a stream records still has to be joined. */
static void test_a_stream_that_is_not_joined(void **state) {
    (void)state;
    cls_graph graph;
    fork_to_other();
    OK(cls_stream_set_capture_nodes(stream, NULL, 0));
    OK(rig_set(stream, cells, 2, 1, 0));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_end_capture(stream, &graph));
    expect_detail("not joined");
}

static void test_a_stream_whose_nodes_were_let_go(void **state) {
    (void)state;
    cls_graph graph;
    fork_to_other();
    OK(cls_stream_set_capture_nodes(other, NULL, 0));
    OK(cls_stream_end_capture(stream, &graph));
    expect_count(graph, 2);
    OK(cls_graph_destroy(graph));
    fork_to_other();
    OK(cls_stream_set_capture_nodes(other, NULL, 0));
    OK(rig_set(other, cells, 2, 1, 0)); /* a later one of the stream's */
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_end_capture(stream, &graph));
}

/* The origin takes over what another stream has recorded by its number, or leaves what it had joined. */
static void test_a_join_by_number(void **state) {
    (void)state;
    const uint64_t theirs = 1;
    cls_graph graph;
    fork_to_other();
    OK(cls_stream_add_capture_nodes(stream, &theirs, 1));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_destroy(graph));
    fork_to_other();
    OK(cls_stream_add_capture_nodes(stream, &theirs, 1));
    OK(cls_stream_set_capture_nodes(stream, NULL, 0));
    OK(rig_set(stream, cells, 2, 1, 0));
    OK(cls_stream_end_capture(stream, &graph));
    expect_deps(graph, 2, 0, 0, 0);
    OK(cls_graph_destroy(graph));
}

/* The nodes of a launch are numbered too, and its ends are the dependencies afterwards. */
static void test_a_graph_in_a_graph(void **state) {
    (void)state;
    const uint64_t first = 0, ends[] = {1, 2};
    cls_graph graph;
    OK(cls_stream_begin_capture(stream, "inner"));
    OK(rig_set(stream, cells, 0, 1, 0));
    OK(cls_stream_set_capture_nodes(stream, NULL, 0));
    OK(rig_set(stream, cells, 1, 1, 0));
    cls_graph_exec inner = rig_end_capture(stream);
    OK(cls_stream_begin_capture(stream, "outer"));
    OK(rig_set(stream, cells, 2, 1, 0));
    OK(cls_graph_launch_async(inner, stream));
    expect_nodes(stream, 2, ends);
    OK(cls_stream_set_capture_nodes(stream, &first, 1));
    OK(rig_step(stream, cells, 2, 3, 1, 0));
    OK(cls_stream_end_capture(stream, &graph));
    expect_deps(graph, 2, 1, 0, 0);
    expect_deps(graph, 3, 1, 0, 0);
    OK(cls_graph_destroy(graph));
    OK(cls_graph_exec_destroy(inner));
}

/* --- captures that begin with a graph --- */

static cls_graph begin_with(void (*submit)(void)) {
    cls_graph graph;
    OK(cls_stream_begin_capture(stream, "first"));
    submit();
    OK(cls_stream_end_capture(stream, &graph));
    return graph;
}

static uint32_t cell_after_launch(cls_graph graph, uint32_t i) {
    cls_graph_exec exec;
    OK(cls_graph_instantiate(graph, NULL, &exec));
    OK(cls_graph_launch(exec, stream));
    OK(cls_graph_exec_destroy(exec));
    return rig_cell(cells, i);
}

static void two_ends(void) {
    OK(rig_set(stream, cells, 0, 4, 0));
    OK(cls_stream_set_capture_nodes(stream, NULL, 0));
    OK(rig_set(stream, cells, 1, 5, 0));
}

static void test_a_capture_from_a_graph(void **state) {
    (void)state;
    const uint64_t ends[] = {0, 1};
    cls_graph first = begin_with(two_ends), second;
    OK(cls_stream_begin_capture_from(stream, "second", first));
    expect_nodes(stream, 2, ends);
    OK(rig_step(stream, cells, 0, 3, 1, 0));
    expect_node(stream, 2);
    OK(cls_stream_end_capture(stream, &second));
    expect_count(first, 2);
    expect_count(second, 3);
    expect_deps(second, 2, 2, 1, 0);
    assert_int_equal(cell_after_launch(first, 0), 4);
    OK(cls_graph_destroy(first));
    assert_int_equal(cell_after_launch(second, 0), 13);
    OK(cls_graph_destroy(second));
}

static void test_what_cannot_be_begun_from(void **state) {
    (void)state;
    cls_graph first = begin_with(two_ends), second;
    OK(cls_stream_begin_capture(stream, "second"));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_begin_capture_from(stream, "third", first));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_stream_begin_capture_from(other, "third", NULL));
    OK(cls_stream_end_capture(stream, &second));
    expect_count(second, 0);
    OK(cls_graph_destroy(second));
    OK(cls_graph_destroy(first));
}

/* cells[0] = 7 by way of memory of the capture. */
static void by_private_memory(void) {
    cls_buffer x, y;
    OK(cls_malloc_async(stream, 4 * CELLS, &x));
    OK(rig_set(stream, x, 0, 7, 0));
    OK(cls_malloc_async(stream, 4 * CELLS, &y));
    OK(cls_copy_d2d_async(y, 0, x, 0, 4, stream));
    OK(cls_copy_d2d_async(cells, 0, y, 0, 4, stream));
    OK(cls_free_async(x, stream));
    OK(cls_free_async(y, stream));
}

static void test_memory_of_both_captures(void **state) {
    (void)state;
    cls_graph first = begin_with(by_private_memory), second;
    cls_graph_exec exec;
    cls_buffer z;
    OK(cls_stream_begin_capture_from(stream, "second", first));
    OK(cls_malloc_async(stream, 4 * CELLS, &z));
    OK(cls_copy_d2d_async(z, 0, cells, 0, 4, stream));
    OK(rig_step(stream, z, 0, 2, 1, 0));
    OK(cls_copy_d2d_async(cells, 0, z, 0, 4, stream));
    OK(cls_free_async(z, stream));
    OK(cls_stream_end_capture(stream, &second));
    OK(cls_graph_destroy(first));
    OK(cls_graph_instantiate(second, NULL, &exec));
    OK(cls_graph_destroy(second));
    const cls_graph_statistics statistics = rig_graph_statistics(exec);
    assert_true(statistics.arena_bytes >= 8 * CELLS);
    assert_int_equal(statistics.arena_bytes, statistics.arena_least_bytes);
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(rig_cell(cells, 0), 15);
    OK(cls_graph_exec_destroy(exec));
}

static cls_event timed[2];

static void between_records(void) {
    OK(cls_event_record(timed[0], stream));
    OK(rig_set(stream, cells, 0, 1, 2));
    OK(cls_event_record(timed[1], stream));
}

static void test_records_are_copied(void **state) {
    (void)state;
    const cls_event_config config = {.size = sizeof config, .timed = 1};
    double ms = -1;
    for (int i = 0; i < 2; i++)
        OK(cls_event_create(rig.context, &config, &timed[i]));
    cls_graph first = begin_with(between_records), second;
    OK(cls_stream_begin_capture_from(stream, "second", first));
    OK(cls_stream_end_capture(stream, &second));
    OK(cls_graph_destroy(first));
    assert_int_equal(cell_after_launch(second, 0), 1);
    OK(cls_event_elapsed(timed[0], timed[1], &ms));
    assert_true(ms > 0);
    OK(cls_graph_destroy(second));
    for (int i = 0; i < 2; i++)
        OK(cls_event_destroy(timed[i]));
}

static void scaled(void) {
    const cls_array all = cls_array_of(cells, CLS_F32, CELLS);
    OK(cls_unary_param_async(CLS_UNARY_SCALE, all, all, 2, stream));
}

/* Operations of both captures become one kernel. */
static void test_operations_are_fused(void **state) {
    (void)state;
    const float one = 1;
    float value = 0;
    cls_graph first = begin_with(scaled);
    OK(cls_copy_h2d(cells, 0, &one, sizeof one, stream));
    OK(cls_stream_begin_capture_from(stream, "second", first));
    scaled();
    cls_graph_exec exec = rig_end_fused(stream);
    OK(cls_graph_destroy(first));
    rig_expect_fused(exec, 1, 2, 1);
    OK(cls_graph_launch(exec, stream));
    OK(cls_copy_d2h(&value, cells, 0, sizeof value, stream));
    assert_true(value == 4);
    OK(cls_graph_exec_destroy(exec));
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_diamond),
        TEST(what_is_read),
        TEST(what_is_refused_leaves_the_capture_valid),
        TEST(nodes_are_added),
        TEST(a_stream_that_is_not_joined),
        TEST(a_stream_whose_nodes_were_let_go),
        TEST(a_join_by_number),
        TEST(a_graph_in_a_graph),
        TEST(a_capture_from_a_graph),
        TEST(what_cannot_be_begun_from),
        TEST(memory_of_both_captures),
        TEST(records_are_copied),
        TEST(operations_are_fused),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
