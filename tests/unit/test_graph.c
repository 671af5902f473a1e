/* SPDX-License-Identifier: MIT */
/* Random programs on the dependency graph, compared with its model at every step. */
#include "../support/test.h"

#include <stdio.h>
#include <string.h>

#include "graph_model.h"

struct trial {
    struct wait_graph *graph;
    struct model model;
    bool permissive;
    uint32_t max_nodes;
    size_t accepted, refused, healed; /* healed: a permissive graph lost its last cycle */
};

static void add_node(struct trial *trial) {
    char label[16];
    uint32_t node = UINT32_MAX;
    if (wait_graph_node_count(trial->graph) == trial->max_nodes)
        return;
    snprintf(label, sizeof label, "s%zu", wait_graph_node_count(trial->graph));
    assert_true(wait_graph_add_node(trial->graph, trial, label, &node) == CLS_SUCCESS);
    assert_true(node < MAX_NODES && !set_has(&trial->model.nodes, node));
    assert_true(node <= trial->model.limit); /* ids are dense */
    assert_true(wait_graph_user(trial->graph, node) == trial &&
                !strcmp(wait_graph_label(trial->graph, node), label));
    set_put(&trial->model.nodes, node, true);
    trial->model.limit = wait_graph_id_limit(trial->graph);
    assert_true(node < trial->model.limit);
}

static uint32_t pick_node(const struct trial *trial) {
    uint32_t node;
    do
        node = random_below(trial->model.limit);
    while (!set_has(&trial->model.nodes, node));
    return node;
}

static void remove_node(struct trial *trial) {
    if (wait_graph_node_count(trial->graph) < 2)
        return;
    const uint32_t node = pick_node(trial);
    assert_true(wait_graph_remove_node(trial->graph, node) == CLS_SUCCESS);
    for (uint32_t i = 0; i < trial->model.limit; i++) {
        model_edge(&trial->model, i, node, false);
        model_edge(&trial->model, node, i, false);
    }
    set_put(&trial->model.nodes, node, false);
    assert_true(wait_graph_remove_node(trial->graph, node) == CLS_ERROR_INVALID_VALUE);
}

/* Any pair of nodes, or (mostly) an edge that is there. */
static void remove_edge(struct trial *trial) {
    const uint32_t dependent = pick_node(trial);
    const struct wait_graph_span prerequisites = wait_graph_prerequisites(trial->graph, dependent);
    uint32_t prerequisite = pick_node(trial);
    if (prerequisites.count && random_below(4))
        prerequisite = prerequisites.nodes[random_below((uint32_t)prerequisites.count)];
    const bool there = set_has(&trial->model.rows[dependent], prerequisite);
    assert_true(wait_graph_has_edge(trial->graph, dependent, prerequisite) == there);
    assert_true(wait_graph_remove_edge(trial->graph, dependent, prerequisite) ==
                (there ? CLS_SUCCESS : CLS_ERROR_NOT_FOUND));
    model_edge(&trial->model, dependent, prerequisite, false);
}

/* Refused with its cycle, and nothing has changed. */
static void expect_refusal(struct trial *trial, uint32_t dependent, uint32_t prerequisite) {
    uint32_t before[MAX_NODES];
    const size_t count = wait_graph_node_count(trial->graph);
    memcpy(before, wait_graph_order(trial->graph).nodes, count * sizeof *before);
    assert_true(wait_graph_add_edge(trial->graph, dependent, prerequisite) == CLS_ERROR_DEADLOCK);
    const struct wait_graph_span cycle = wait_graph_last_cycle(trial->graph);
    expect_cycle(cycle, &trial->model, true);
    assert_true(cycle.nodes[0] == dependent && cycle.nodes[cycle.count > 1] == prerequisite);
    assert_true((cycle.count == 1) == (dependent == prerequisite));
    assert_true(memcmp(before, wait_graph_order(trial->graph).nodes, count * sizeof *before) == 0);
    trial->refused++;
}

static void add_edge(struct trial *trial) {
    const uint32_t dependent = pick_node(trial), prerequisite = pick_node(trial);
    const bool there = set_has(&trial->model.rows[dependent], prerequisite);
    if (!trial->permissive && !there && closes_cycle(&trial->model, dependent, prerequisite)) {
        expect_refusal(trial, dependent, prerequisite);
        return;
    }
    assert_true(wait_graph_add_edge(trial->graph, dependent, prerequisite) == CLS_SUCCESS);
    assert_true(wait_graph_has_edge(trial->graph, dependent, prerequisite));
    model_edge(&trial->model, dependent, prerequisite, true);
    trial->accepted += !there;
}

static void random_step(struct trial *trial) {
    const uint32_t dice = random_below(100);
    if (dice < 70)
        add_edge(trial);
    else if (dice < 92)
        remove_edge(trial);
    else if (dice < 96)
        add_node(trial);
    else if (dice < 98)
        remove_node(trial);
}

/* Leaves no label between two nodes, and few at one end. */
static void squeeze_labels(struct wait_graph *graph) {
    uint64_t label = 1 + random_below(8);
    if (random_below(2))
        label = UINT64_MAX - graph->limit - label;
    for (uint32_t i = graph->first; i != GRAPH_NONE; i = graph->nodes[i].next)
        graph->nodes[i].order = label++;
}

/* Small graphs mostly; one in fifty has many nodes. */
static void run_trial(struct trial *trial, unsigned seed, bool permissive) {
    random_state = UINT64_C(0x9E3779B97F4A7C15) * (seed + 1);
    trial->permissive = permissive;
    trial->max_nodes = seed % 50 == 49 ? 40 + random_below(80) : 1 + random_below(16);
    const uint32_t steps = trial->max_nodes * (1 + random_below(5));
    memset(&trial->model, 0, sizeof trial->model);
    assert_true(wait_graph_create(permissive, &trial->graph) == CLS_SUCCESS);
    for (uint32_t i = 0; i < trial->max_nodes; i++)
        add_node(trial);
    for (uint32_t i = 0; i < steps; i++) {
        const bool had_cycles = wait_graph_has_cycles(trial->graph);
        if (seed % 3 == 0)
            squeeze_labels(trial->graph);
        random_step(trial);
        expect_same_edges(trial->graph, &trial->model);
        expect_cycles(trial->graph, &trial->model);
        expect_labels(trial->graph);
        trial->healed += had_cycles && !wait_graph_has_cycles(trial->graph);
    }
    wait_graph_destroy(trial->graph);
}

enum { RANDOM_GRAPHS = 10000 };

static void strict_graphs_agree_with_the_reference(void **state) {
    static struct trial trial;
    (void)state;
    for (unsigned seed = 0; seed < RANDOM_GRAPHS; seed++)
        run_trial(&trial, seed, false);
    print_message("# %zu edges accepted, %zu refused\n", trial.accepted, trial.refused);
    assert_true(trial.accepted > RANDOM_GRAPHS && trial.refused > RANDOM_GRAPHS);
}

static void permissive_graphs_agree_with_the_reference(void **state) {
    static struct trial trial;
    (void)state;
    for (unsigned seed = 0; seed < RANDOM_GRAPHS; seed++)
        run_trial(&trial, seed, true);
    print_message("# %zu edges accepted, %zu times the last cycle went\n", trial.accepted,
                  trial.healed);
    assert_true(trial.accepted > RANDOM_GRAPHS && trial.healed > RANDOM_GRAPHS / 10);
}

/* Questions asked seldom: several changes lie between them. */
static void cycles_may_be_asked_for_late(void **state) {
    static struct trial trial;
    (void)state;
    trial.permissive = true;
    trial.max_nodes = 12;
    for (unsigned seed = 0; seed < 2000; seed++) {
        random_state = seed + 1;
        memset(&trial.model, 0, sizeof trial.model);
        assert_int_equal(wait_graph_create(true, &trial.graph), CLS_SUCCESS);
        add_node(&trial);
        for (unsigned i = 0; i < 200; i++) {
            if (random_below(3))
                random_step(&trial);
            else
                remove_edge(&trial);
            if (random_below(20) == 0)
                expect_cycles(trial.graph, &trial.model);
        }
        wait_graph_destroy(trial.graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strict_graphs_agree_with_the_reference),
        cmocka_unit_test(permissive_graphs_agree_with_the_reference),
        cmocka_unit_test(cycles_may_be_asked_for_late),
    };
    return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
