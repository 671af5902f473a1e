/* SPDX-License-Identifier: MIT */
/* What each call of the dependency graph promises, one by one, and without memory. */
#include <string.h>

#include "base/error.h"

#include "failing_memory.h"
#include "graph_model.h"
#include "labelled_graph.h"

static void refusal_names_the_cycle(void **state) {
    struct wait_graph *graph = make(false, 8);
    (void)state;
    edge(graph, 0, 1);
    edge(graph, 1, 7);
    assert_int_equal(wait_graph_add_edge(graph, 7, 0), CLS_ERROR_DEADLOCK);
    assert_string_equal(
        cls_last_error_detail(),
        "node 7 cannot wait for a, it would close a cycle: node 7 -> a -> b -> node 7");
    assert_int_equal(wait_graph_add_edge(graph, 2, 2), CLS_ERROR_DEADLOCK);
    assert_string_equal(cls_last_error_detail(),
                        "c cannot wait for c, it would close a cycle: c -> c");
    assert_int_equal(wait_graph_last_cycle(graph).count, 1);
    assert_int_equal(wait_graph_edge_count(graph), 2);
    wait_graph_destroy(graph);
}

static void last_cycle_goes_with_its_nodes(void **state) {
    struct wait_graph *graph = make(false, 4);
    (void)state;
    assert_int_equal(wait_graph_last_cycle(graph).count, 0);
    edge(graph, 0, 1);
    assert_int_equal(wait_graph_add_edge(graph, 1, 0), CLS_ERROR_DEADLOCK);
    assert_int_equal(wait_graph_remove_node(graph, 3), CLS_SUCCESS);
    assert_int_equal(wait_graph_remove_edge(graph, 0, 1), CLS_SUCCESS);
    assert_int_equal(wait_graph_last_cycle(graph).count, 2);
    assert_int_equal(wait_graph_remove_node(graph, 0), CLS_SUCCESS);
    assert_int_equal(wait_graph_last_cycle(graph).count, 0);
    wait_graph_destroy(graph);
}

static void permissive_graph_remembers_how_it_became_cyclic(void **state) {
    struct wait_graph *graph = make(true, 3);
    (void)state;
    edge(graph, 0, 1);
    edge(graph, 1, 2);
    edge(graph, 2, 0);
    const struct wait_graph_span cycle = wait_graph_last_cycle(graph);
    assert_int_equal(cycle.count, 3);
    assert_int_equal(cycle.nodes[0], 2);
    assert_int_equal(cycle.nodes[1], 0);
    assert_int_equal(cycle.nodes[2], 1);
    wait_graph_destroy(graph);
}

static void bad_ids_are_refused(void **state) {
    struct wait_graph *graph = make(false, 3);
    (void)state;
    assert_int_equal(wait_graph_remove_node(graph, 1), CLS_SUCCESS);
    static const uint32_t bad[] = {1, 3, GRAPH_NONE};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(wait_graph_add_edge(graph, 0, bad[i]), CLS_ERROR_INVALID_VALUE);
        assert_int_equal(wait_graph_add_edge(graph, bad[i], 0), CLS_ERROR_INVALID_VALUE);
        assert_int_equal(wait_graph_add_edge(graph, bad[i], bad[i]), CLS_ERROR_INVALID_VALUE);
        assert_int_equal(wait_graph_remove_edge(graph, 0, bad[i]), CLS_ERROR_INVALID_VALUE);
        assert_int_equal(wait_graph_remove_edge(graph, bad[i], 0), CLS_ERROR_INVALID_VALUE);
        assert_int_equal(wait_graph_remove_node(graph, bad[i]), CLS_ERROR_INVALID_VALUE);
        assert_false(wait_graph_has_node(graph, bad[i]));
        assert_false(wait_graph_has_edge(graph, 0, bad[i]));
        assert_false(wait_graph_has_edge(graph, bad[i], 0));
    }
    assert_int_equal(wait_graph_last_cycle(graph).count, 0);
    wait_graph_destroy(graph);
    wait_graph_destroy(NULL);
}

static void ids_and_labels_of_removed_nodes_are_free(void **state) {
    struct wait_graph *graph = make(false, 3);
    char label[] = "mine";
    uint32_t node;
    (void)state;
    assert_int_equal(wait_graph_remove_node(graph, 1), CLS_SUCCESS);
    assert_int_equal(wait_graph_add_node(graph, &node, label, &node), CLS_SUCCESS);
    label[0] = 'f';
    assert_int_equal(node, 1);
    assert_string_equal(wait_graph_label(graph, 1), "mine");
    assert_ptr_equal(wait_graph_user(graph, 1), &node);
    assert_int_equal(wait_graph_add_node(graph, NULL, NULL, &node), CLS_SUCCESS);
    assert_int_equal(node, 3);
    assert_null(wait_graph_label(graph, 3));
    assert_int_equal(wait_graph_id_limit(graph), 4);
    wait_graph_destroy(graph);
}

/* Each node takes the one before it for its prerequisite, or the one after; either way against the order
 * for half of them. Then both ends meet. */
static void long_chains_end_in_a_long_cycle(void **state) {
    enum { LENGTH = 20000 };
    (void)state;
    for (int up = 0; up < 2; up++) {
        struct wait_graph *graph = make(false, LENGTH);
        for (uint32_t i = 0; i + 1 < LENGTH; i++)
            edge(graph, up ? i : LENGTH - 2 - i, up ? i + 1 : LENGTH - 1 - i);
        const struct wait_graph_span order = wait_graph_order(graph);
        for (uint32_t i = 0; i < LENGTH; i++)
            assert_int_equal(order.nodes[i], LENGTH - 1 - i);
        assert_int_equal(wait_graph_add_edge(graph, LENGTH - 1, 0), CLS_ERROR_DEADLOCK);
        const struct wait_graph_span cycle = wait_graph_last_cycle(graph);
        assert_int_equal(cycle.count, LENGTH);
        for (uint32_t i = 0; i < LENGTH; i++)
            assert_int_equal(cycle.nodes[i], (i + LENGTH - 1) % LENGTH);
        wait_graph_destroy(graph);
    }
}

/* Each node moves in between the first one and the one that moved there last, where no labels are left soon. */
static void a_place_in_the_order_never_fills_up(void **state) {
    enum { LENGTH = 20000 };
    struct wait_graph *graph = make(false, LENGTH);
    (void)state;
    for (uint32_t i = 2; i < LENGTH; i++) {
        edge(graph, i, 0);
        edge(graph, i - 1, i);
    }
    expect_labels(graph);
    const struct wait_graph_span order = wait_graph_order(graph);
    assert_int_equal(order.nodes[0], 0);
    for (uint32_t i = 1; i < LENGTH; i++)
        assert_int_equal(order.nodes[i], LENGTH - i);
    wait_graph_destroy(graph);
}

/* ---- Without memory */

struct build {
    struct wait_graph *graph;
    struct model model;
};

enum { BUILD_NODES = 40, BUILD_EDGES = 600 };

/* Step i of a fixed program: nodes first, every second one with a label, then the random edge. */
static cls_status build_step(struct build *build, uint32_t i, uint32_t from, uint32_t to) {
    uint32_t node = GRAPH_NONE;
    if (i >= BUILD_NODES) {
        const cls_status status = wait_graph_add_edge(build->graph, from, to);
        if (status == CLS_SUCCESS)
            model_edge(&build->model, from, to, true);
        return status;
    }
    const cls_status status =
        wait_graph_add_node(build->graph, NULL, i % 2 ? "label" : NULL, &node);
    assert_int_equal(node, status == CLS_SUCCESS ? i : GRAPH_NONE);
    if (status == CLS_SUCCESS) {
        set_put(&build->model.nodes, node, true);
        build->model.limit = node + 1;
    }
    return status;
}

/* Runs the program with one allocation failing: the call that it is in changes nothing and succeeds when
 * repeated. False when there are not so many allocations. */
static bool build_with_failure(long fails_at) {
    static struct build build;
    memset(&build, 0, sizeof build);
    random_state = 77;
    allocations_left = fails_at;
    if (wait_graph_create(false, &build.graph) != CLS_SUCCESS) {
        assert_null(build.graph);
        assert_int_equal(wait_graph_create(false, &build.graph), CLS_SUCCESS);
    }
    for (uint32_t i = 0; i < BUILD_NODES + BUILD_EDGES; i++) {
        const uint32_t from = random_below(BUILD_NODES), to = random_below(BUILD_NODES);
        cls_status status = build_step(&build, i, from, to);
        if (status == CLS_ERROR_OUT_OF_MEMORY) {
            assert_non_null(strstr(cls_last_error_detail(), "no memory"));
            expect_agreement(build.graph, &build.model);
            status = build_step(&build, i, from, to);
        }
        if (status != CLS_SUCCESS)
            assert_int_equal(status, CLS_ERROR_DEADLOCK);
    }
    const bool reached = allocations_left < 0;
    allocations_left = -1;
    expect_agreement(build.graph, &build.model);
    wait_graph_destroy(build.graph);
    return reached;
}

static void every_failed_allocation_leaves_the_graph_alone(void **state) {
    long failures = 0;
    (void)state;
    while (build_with_failure(failures))
        failures++;
    print_message("# %ld allocations failed, one at a time\n", failures);
    assert_true(failures > 25);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusal_names_the_cycle),
        cmocka_unit_test(last_cycle_goes_with_its_nodes),
        cmocka_unit_test(permissive_graph_remembers_how_it_became_cyclic),
        cmocka_unit_test(bad_ids_are_refused),
        cmocka_unit_test(ids_and_labels_of_removed_nodes_are_free),
        cmocka_unit_test(long_chains_end_in_a_long_cycle),
        cmocka_unit_test(a_place_in_the_order_never_fills_up),
        cmocka_unit_test(every_failed_allocation_leaves_the_graph_alone),
    };
    return cmocka_run_group_tests_name("graph calls", tests, NULL, NULL);
}
