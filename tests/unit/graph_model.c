/* SPDX-License-Identifier: MIT */
#include "graph_model.h"

#include "../support/test.h"

#include <string.h>

uint64_t random_state;

uint32_t random_below(uint32_t limit) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state * UINT64_C(0x2545F4914F6CDD1D)) >> 33) % limit;
}

bool set_has(const struct set *set, uint32_t i) { return set->words[i / 64] >> i % 64 & 1; }

void set_put(struct set *set, uint32_t i, bool in) {
    const uint64_t bit = UINT64_C(1) << i % 64;
    set->words[i / 64] = in ? set->words[i / 64] | bit : set->words[i / 64] & ~bit;
}

void model_edge(struct model *model, uint32_t dependent, uint32_t prerequisite, bool there) {
    if (set_has(&model->rows[dependent], prerequisite) != there)
        model->edges += there ? 1 : (size_t)-1;
    set_put(&model->rows[dependent], prerequisite, there);
    set_put(&model->columns[prerequisite], dependent, there);
}

struct components {
    uint32_t of[MAX_NODES]; /* a number for each component */
    uint32_t size[MAX_NODES];
    uint32_t count;
};

/* Nodes reachable from `node` among the unseen, appended to `out` as they finish. */
static void finish(const struct set *rows, uint32_t node, struct set *unseen, uint32_t *out,
                   uint32_t *count) {
    set_put(unseen, node, false);
    for (uint32_t w = 0; w < WORDS; w++)
        for (uint64_t next; (next = rows[node].words[w] & unseen->words[w]) != 0;)
            finish(rows, w * 64 + (uint32_t)__builtin_ctzll(next), unseen, out, count);
    out[(*count)++] = node;
}

static void kosaraju(const struct model *model, struct components *components) {
    uint32_t finished[MAX_NODES], members[MAX_NODES], count = 0;
    struct set unseen = model->nodes;
    for (uint32_t i = 0; i < model->limit; i++)
        if (set_has(&unseen, i))
            finish(model->rows, i, &unseen, finished, &count);
    unseen = model->nodes;
    components->count = 0;
    while (count-- > 0) {
        uint32_t size = 0;
        if (!set_has(&unseen, finished[count]))
            continue;
        finish(model->columns, finished[count], &unseen, members, &size);
        for (uint32_t i = 0; i < size; i++)
            components->of[members[i]] = components->count;
        components->size[components->count++] = size;
    }
}

/* How many components have a cycle. */
static size_t cyclic_components(const struct model *model) {
    struct components components;
    size_t cyclic = 0;
    kosaraju(model, &components);
    for (uint32_t i = 0; i < components.count; i++)
        cyclic += components.size[i] > 1;
    for (uint32_t i = 0; i < model->limit; i++)
        if (set_has(&model->nodes, i) && components.size[components.of[i]] == 1)
            cyclic += set_has(&model->rows[i], i);
    return cyclic;
}

bool closes_cycle(struct model *model, uint32_t dependent, uint32_t prerequisite) {
    model_edge(model, dependent, prerequisite, true);
    const bool closes = cyclic_components(model) > 0;
    model_edge(model, dependent, prerequisite, false);
    return closes;
}

static struct set set_of(struct wait_graph_span span) {
    struct set set = {{0}};
    for (size_t i = 0; i < span.count; i++) {
        assert_true(span.nodes[i] < MAX_NODES && !set_has(&set, span.nodes[i]));
        set_put(&set, span.nodes[i], true);
    }
    return set;
}

static bool same_set(const struct set *a, const struct set *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

void expect_same_edges(const struct wait_graph *graph, const struct model *model) {
    assert_true(wait_graph_edge_count(graph) == model->edges);
    for (uint32_t i = 0; i < model->limit; i++) {
        assert_true(wait_graph_has_node(graph, i) == set_has(&model->nodes, i));
        if (!wait_graph_has_node(graph, i))
            continue;
        const struct set prerequisites = set_of(wait_graph_prerequisites(graph, i));
        const struct set dependents = set_of(wait_graph_dependents(graph, i));
        assert_true(same_set(&prerequisites, &model->rows[i]));
        assert_true(same_set(&dependents, &model->columns[i]));
    }
}

/* Every node once, after all its prerequisites. */
static void expect_order(struct wait_graph *graph, const struct model *model) {
    const struct wait_graph_span order = wait_graph_order(graph);
    struct set passed = {{0}};
    assert_true(order.count == wait_graph_node_count(graph));
    for (size_t i = 0; i < order.count; i++) {
        const struct set *row = &model->rows[order.nodes[i]];
        for (uint32_t w = 0; w < WORDS; w++)
            assert_true((row->words[w] & ~passed.words[w]) == 0);
        set_put(&passed, order.nodes[i], true);
    }
    assert_true(same_set(&passed, &model->nodes));
}

void expect_labels(const struct wait_graph *graph) {
    uint32_t previous = GRAPH_NONE;
    size_t count = 0;
    for (uint32_t i = graph->first; i != GRAPH_NONE; i = graph->nodes[i].next) {
        assert_true(wait_graph_has_node(graph, i) && graph->nodes[i].previous == previous);
        assert_true(!count++ || graph->nodes[previous].order < graph->nodes[i].order);
        previous = i;
    }
    assert_true(graph->last == previous && count == wait_graph_node_count(graph));
}

void expect_cycle(struct wait_graph_span cycle, const struct model *model, bool added) {
    assert_true(cycle.count > 0);
    set_of(cycle);
    for (size_t i = added; i < cycle.count; i++)
        assert_true(set_has(&model->rows[cycle.nodes[i]], cycle.nodes[(i + 1) % cycle.count]));
}

struct cycle_check {
    const struct model *model;
    struct components components;
    struct set seen; /* components */
};

static void check_one_cycle(struct wait_graph_span cycle, void *arg) {
    struct cycle_check *check = arg;
    const uint32_t component = check->components.of[cycle.nodes[0]];
    expect_cycle(cycle, check->model, false);
    assert_true(!set_has(&check->seen, component));
    set_put(&check->seen, component, true);
}

void expect_cycles(struct wait_graph *graph, const struct model *model) {
    struct cycle_check check = {.model = model};
    const size_t cyclic = cyclic_components(model);
    kosaraju(model, &check.components);
    assert_true(wait_graph_has_cycles(graph) == (cyclic > 0));
    assert_true(wait_graph_cycles(graph, check_one_cycle, &check) == cyclic);
    assert_true(wait_graph_cycles(graph, NULL, NULL) == cyclic);
    if (cyclic)
        assert_true(wait_graph_order(graph).count == 0);
    else
        expect_order(graph, model);
}

void expect_agreement(struct wait_graph *graph, const struct model *model) {
    expect_same_edges(graph, model);
    expect_cycles(graph, model);
    expect_labels(graph);
}
