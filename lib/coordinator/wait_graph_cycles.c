/* SPDX-License-Identifier: MIT */
/*
 * The questions that need a search over the whole graph: whether it has cycles, which, and its order.
 *
 * Cycles are found as strongly connected components (R. Tarjan, "Depth-first search and linear graph
 * algorithms", SIAM Journal on Computing 1(2), 1972, without recursion); of each component a shortest cycle
 * through one of its nodes is reported.
 */
#include "coordinator/wait_graph_state.h"

/* Tarjan's search along prerequisites. Of the work space `stack` is the path, `before` holds a node's
 * number, from 1, or 0 before it is reached, `link` its low link, and `after` its component's root once
 * that is known. `sequence` has the finished nodes at its front, component by component, prerequisites
 * first, and the open ones, which were reached but have no component yet, as a stack that grows down from
 * its end. */
struct components {
    struct wait_graph *graph;
    uint32_t depth, numbered, open, done;
    bool cyclic;
};

static void reach(struct components *c, uint32_t node) {
    c->graph->before[node] = c->graph->link[node] = ++c->numbered;
    c->graph->after[node] = GRAPH_NONE;
    c->graph->nodes[node].cursor = 0;
    c->graph->stack[c->depth++] = node;
    c->graph->sequence[c->graph->limit - ++c->open] = node;
}

static void close_component(struct components *c, uint32_t root) {
    uint32_t node, size = 0;
    do {
        node = c->graph->sequence[c->graph->limit - c->open--];
        c->graph->after[node] = root;
        c->graph->sequence[c->done++] = node;
        size++;
    } while (node != root);
    if (size > 1 || wait_graph_has_edge(c->graph, root, root))
        c->cyclic = true;
}

static void lower(struct components *c, uint32_t node, uint32_t number) {
    if (c->graph->link[node] > number)
        c->graph->link[node] = number;
}

static void leave(struct components *c, uint32_t node) {
    c->depth--;
    if (c->graph->link[node] == c->graph->before[node])
        close_component(c, node);
    else
        lower(c, c->graph->stack[c->depth - 1], c->graph->link[node]);
}

static void search_from(struct components *c, uint32_t start) {
    reach(c, start);
    while (c->depth) {
        uint32_t x = c->graph->stack[c->depth - 1];
        struct wait_graph_node *node = &c->graph->nodes[x];
        if (node->cursor == node->prerequisites.count) {
            leave(c, x);
            continue;
        }
        uint32_t y = node->prerequisites.nodes[node->cursor++];
        if (!c->graph->before[y])
            reach(c, y);
        else if (c->graph->after[y] == GRAPH_NONE)
            lower(c, x, c->graph->before[y]);
    }
}

/* Leaves the components in `sequence` and `after`; true if one of them has a cycle. */
static bool find_components(struct wait_graph *graph) {
    struct components c = {.graph = graph};
    graph->sorted = false;
    for (uint32_t i = 0; i < graph->limit; i++)
        graph->before[i] = 0;
    for (uint32_t i = 0; i < graph->limit; i++)
        if (graph->nodes[i].exists && !graph->before[i])
            search_from(&c, i);
    return c.cyclic;
}

/* Finds out whether the graph has cycles where that is not known; gives a graph without any its order back. */
static void update_knowledge(struct wait_graph *graph) {
    if (graph->knowledge != GRAPH_UNKNOWN)
        return;
    graph->knowledge = GRAPH_CYCLIC;
    if (find_components(graph))
        return;
    graph->knowledge = GRAPH_ORDERED;
    wait_graph_order_renew(graph);
}

bool wait_graph_has_cycles(struct wait_graph *graph) {
    update_knowledge(graph);
    return graph->knowledge == GRAPH_CYCLIC;
}

struct wait_graph_span wait_graph_order(struct wait_graph *graph) {
    if (wait_graph_has_cycles(graph))
        return (struct wait_graph_span){NULL, 0};
    size_t count = 0;
    for (uint32_t i = graph->first; i != GRAPH_NONE && !graph->sorted; i = graph->nodes[i].next)
        graph->sequence[count++] = i;
    graph->sorted = true;
    return (struct wait_graph_span){graph->sequence, graph->node_count};
}

/* The path from `root` to `last`, along the links, written to `before`. */
static struct wait_graph_span path_to(struct wait_graph *graph, uint32_t root, uint32_t last) {
    size_t count = 1;
    for (uint32_t x = last; x != root; x = graph->link[x])
        count++;
    size_t at = count;
    for (uint32_t x = last; x != root; x = graph->link[x])
        graph->before[--at] = x;
    graph->before[0] = root;
    return (struct wait_graph_span){graph->before, count};
}

/* A shortest cycle through `root`, in its component: breadth first, with `stack` as the queue. `link` is
 * GRAPH_NONE in the whole component and gets the node that each one was reached from. */
static struct wait_graph_span cycle_through(struct wait_graph *graph, uint32_t root) {
    uint32_t head = 0, tail = 0;
    graph->stack[tail++] = graph->link[root] = root;
    while (head < tail) {
        uint32_t x = graph->stack[head++];
        struct wait_graph_span next = wait_graph_prerequisites(graph, x);
        for (size_t i = 0; i < next.count; i++) {
            uint32_t y = next.nodes[i];
            if (y == root)
                return path_to(graph, root, x);
            if (graph->after[y] == root && graph->link[y] == GRAPH_NONE) {
                graph->link[y] = x;
                graph->stack[tail++] = y;
            }
        }
    }
    return (struct wait_graph_span){NULL, 0};
}

size_t wait_graph_cycles(struct wait_graph *graph,
                         void (*visit)(struct wait_graph_span cycle, void *arg), void *arg) {
    size_t cycles = 0;
    if (!wait_graph_has_cycles(graph))
        return 0;
    find_components(graph);
    for (uint32_t i = 0; i < graph->node_count; i++)
        graph->link[graph->sequence[i]] = GRAPH_NONE;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        uint32_t root = graph->sequence[i];
        struct wait_graph_span cycle = {NULL, 0};
        if (graph->after[root] == root)
            cycle = cycle_through(graph, root);
        if (!cycle.count)
            continue;
        cycles++;
        if (visit)
            visit(cycle, arg);
    }
    return cycles;
}
