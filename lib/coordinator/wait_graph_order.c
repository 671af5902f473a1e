/* SPDX-License-Identifier: MIT */
/*
 * The topological order, kept edge by edge: the two-way search of B. Haeupler, T. Kavitha, R. Mathew, S. Sen and R. E.
 * Tarjan, "Incremental cycle detection, topological ordering, and strong component maintenance", ACM Transactions on
 * Algorithms 8(1), 2012. For m edges that stay it looks at O(m^1.5) together, whatever their order. (The simpler algorithm of
 * Pearce and Kelly takes n^2 for a chain built against the order, and a search at each edge without an order for a grid
 * whose edges come in random order.)
 *
 * An edge against the order starts a search forward from its dependent, with the first node of the order first, and one
 * backward from its prerequisite, with the last one first, an edge each in turn. Once they have passed each other and
 * not met there is no cycle, and what each has found on the other's side of that place moves there. The searches only
 * mark: until they have ended, nothing changes.
 *
 * The order is a list whose nodes have rising labels. Where two neighbours leave no label between them, the smallest
 * sparse range of labels around them is spread evenly: M. A. Bender, R. Cole, E. D. Demaine, M. Farach-Colton and J.
 * Zito, "Two simplified algorithms for maintaining order in a list", ESA 2002.
 */
#include "coordinator/wait_graph_state.h"

/* --- the list --- */

/* Between labels at an end of the list; and the smallest range that is spread, with the most nodes that it may have. */
#define END_STEP (UINT64_C(1) << 32)
enum { RANGE_LABELS = 256, RANGE_NODES = 24 };

static uint64_t label_of(const struct wait_graph *graph, uint32_t node) {
    return graph->nodes[node].order;
}

static bool order_before(const struct wait_graph *graph, uint32_t a, uint32_t b) {
    return label_of(graph, a) < label_of(graph, b);
}

/* GRAPH_NONE stands before the first node and behind the last one. */
static uint32_t *order_next(struct wait_graph *graph, uint32_t node) {
    return node == GRAPH_NONE ? &graph->first : &graph->nodes[node].next;
}

static uint32_t *order_previous(struct wait_graph *graph, uint32_t node) {
    return node == GRAPH_NONE ? &graph->last : &graph->nodes[node].previous;
}

/* 0: there is none. */
static uint64_t label_between(const struct wait_graph *graph, uint32_t previous, uint32_t next) {
    const uint64_t low = previous == GRAPH_NONE ? 0 : label_of(graph, previous);
    const uint64_t high = next == GRAPH_NONE ? UINT64_MAX : label_of(graph, next);
    const uint64_t half = (high - low) / 2;
    const bool at_one_end = (previous == GRAPH_NONE) != (next == GRAPH_NONE);
    if (at_one_end && half > END_STEP)
        return next == GRAPH_NONE ? low + END_STEP : high - END_STEP;
    return half ? low + half : 0;
}

struct label_range {
    uint64_t low, count; /* of nodes */
    uint32_t first;
};

static struct label_range range_around(const struct wait_graph *graph, uint32_t node,
                                       uint64_t labels) {
    struct label_range range = {.low = label_of(graph, node) / labels * labels};
    for (uint32_t i = node; i != GRAPH_NONE && label_of(graph, i) >= range.low;
         i = graph->nodes[i].previous)
        range.first = i;
    for (uint32_t i = range.first; i != GRAPH_NONE && label_of(graph, i) - range.low < labels;
         i = graph->nodes[i].next)
        range.count++;
    return range;
}

/* Spreads the labels around a node. A range of 2^i labels is sparse up to about 1.5^i nodes. */
static void spread_labels(struct wait_graph *graph, uint32_t node) {
    uint64_t labels = RANGE_LABELS, most = RANGE_NODES;
    struct label_range range = range_around(graph, node, labels);
    for (; range.count > most; most += most / 2)
        range = range_around(graph, node, labels *= 2);
    const uint64_t step = labels / (range.count + 1);
    for (uint32_t i = range.first; range.count--; i = graph->nodes[i].next)
        graph->nodes[i].order = range.low += step;
}

/* Puts a node, which is not in the list, before another one. */
static void order_place(struct wait_graph *graph, uint32_t node, uint32_t next) {
    const uint32_t previous = *order_previous(graph, next);
    uint64_t label = label_between(graph, previous, next);
    if (!label) {
        spread_labels(graph, previous == GRAPH_NONE ? next : previous);
        label = label_between(graph, previous, next);
    }
    graph->nodes[node].order = label;
    graph->nodes[node].previous = previous;
    graph->nodes[node].next = next;
    *order_next(graph, previous) = *order_previous(graph, next) = node;
    graph->sorted = false;
}

void wait_graph_order_append(struct wait_graph *graph, uint32_t node) {
    order_place(graph, node, GRAPH_NONE);
}

void wait_graph_order_remove(struct wait_graph *graph, uint32_t node) {
    const uint32_t previous = graph->nodes[node].previous, next = graph->nodes[node].next;
    *order_next(graph, previous) = next;
    *order_previous(graph, next) = previous;
    graph->sorted = false;
}

void wait_graph_order_renew(struct wait_graph *graph) {
    graph->first = graph->last = GRAPH_NONE;
    for (uint32_t i = 0; i < graph->node_count; i++)
        order_place(graph, graph->sequence[i], GRAPH_NONE);
}

/* --- a search --- */

/* `heap` has those of the nodes found that have edges to look at; on top the next one. */
struct side {
    bool forward;
    uint64_t mark;
    uint32_t *found, *heap;
    uint32_t n_found, n_live;
};

static bool is_above(const struct wait_graph *graph, const struct side *side, uint32_t a,
                     uint32_t b) {
    return side->forward ? order_before(graph, a, b) : order_before(graph, b, a);
}

static void heap_push(const struct wait_graph *graph, struct side *side, uint32_t node) {
    uint32_t at = side->n_live++;
    for (; at && is_above(graph, side, node, side->heap[(at - 1) / 2]); at = (at - 1) / 2)
        side->heap[at] = side->heap[(at - 1) / 2];
    side->heap[at] = node;
}

static uint32_t heap_pop(const struct wait_graph *graph, struct side *side) {
    const uint32_t top = side->heap[0], node = side->heap[--side->n_live];
    uint32_t at = 0, child;
    while ((child = 2 * at + 1) < side->n_live) {
        if (child + 1 < side->n_live &&
            is_above(graph, side, side->heap[child + 1], side->heap[child]))
            child++;
        if (!is_above(graph, side, side->heap[child], node))
            break;
        side->heap[at] = side->heap[child];
        at = child;
    }
    side->heap[at] = node;
    return top;
}

static const struct wait_graph_list *edges_of(const struct wait_graph *graph,
                                              const struct side *side, uint32_t node) {
    return side->forward ? &graph->nodes[node].dependents : &graph->nodes[node].prerequisites;
}

static void reach(struct wait_graph *graph, struct side *side, uint32_t node, uint32_t from) {
    graph->nodes[node].mark = side->mark;
    graph->nodes[node].cursor = 0;
    graph->link[node] = from;
    side->found[side->n_found++] = node;
    if (edges_of(graph, side, node)->count)
        heap_push(graph, side, node);
}

/* Looks at one edge, from `*from` to `*to`; true where it leads to a node of the other side. */
static bool look_at_edge(struct wait_graph *graph, struct side *side, uint64_t other,
                         uint32_t *from, uint32_t *to) {
    *from = side->heap[0];
    const struct wait_graph_list *edges = edges_of(graph, side, *from);
    *to = edges->nodes[graph->nodes[*from].cursor++];
    if (graph->nodes[*from].cursor == edges->count)
        heap_pop(graph, side);
    if (graph->nodes[*to].mark == other)
        return true;
    if (graph->nodes[*to].mark != side->mark)
        reach(graph, side, *to, *from);
    return false;
}

/* The searches met at an edge: `from` was found forward and `to` backward. */
static void set_cycle(struct wait_graph *graph, uint32_t dependent, uint32_t prerequisite,
                      uint32_t from, uint32_t to) {
    size_t back = 1;
    for (uint32_t x = to; x != prerequisite; x = graph->link[x])
        back++;
    size_t at = back;
    for (uint32_t x = to; x != prerequisite; x = graph->link[x])
        graph->cycle[at--] = x;
    graph->cycle[1] = prerequisite;
    graph->cycle[0] = dependent;
    at = back + 1;
    for (uint32_t x = from; x != dependent; x = graph->link[x])
        graph->cycle[at++] = x;
    graph->cycle_count = at;
}

static void order_move(struct wait_graph *graph, uint32_t node, uint32_t next) {
    wait_graph_order_remove(graph, node);
    order_place(graph, node, next);
}

/* The searches passed each other at `here`, where the forward one would go on, or had ended at the prerequisite: before
 * that place come the nodes found backward behind it, then those found forward before it. */
static void reorder(struct wait_graph *graph, struct side *forward, struct side *backward,
                    uint32_t prerequisite) {
    uint32_t here = prerequisite, next = *order_next(graph, prerequisite);
    if (forward->n_live && order_before(graph, forward->heap[0], prerequisite))
        here = next = forward->heap[0];
    forward->n_live = backward->n_live = 0;
    for (uint32_t i = 0; i < forward->n_found; i++)
        if (order_before(graph, forward->found[i], here))
            heap_push(graph, forward, forward->found[i]);
    for (uint32_t i = 0; i < backward->n_found; i++)
        if (order_before(graph, here, backward->found[i]))
            heap_push(graph, backward, backward->found[i]);
    for (uint32_t at = next; backward->n_live; at = *order_previous(graph, at))
        order_move(graph, heap_pop(graph, backward), at);
    while (forward->n_live)
        order_move(graph, heap_pop(graph, forward), next);
}

bool wait_graph_order_insert(struct wait_graph *graph, uint32_t dependent, uint32_t prerequisite) {
    if (order_before(graph, prerequisite, dependent))
        return true;
    struct side forward = {true, ++graph->mark, graph->after, graph->stack, 0, 0};
    struct side backward = {false, ++graph->mark, graph->before, graph->heap, 0, 0};
    uint32_t from, to;
    reach(graph, &forward, dependent, GRAPH_NONE);
    reach(graph, &backward, prerequisite, GRAPH_NONE);
    while (forward.n_live && backward.n_live &&
           order_before(graph, forward.heap[0], backward.heap[0])) {
        if (!look_at_edge(graph, &forward, backward.mark, &from, &to) &&
            !look_at_edge(graph, &backward, forward.mark, &to, &from))
            continue;
        set_cycle(graph, dependent, prerequisite, from, to);
        return false;
    }
    reorder(graph, &forward, &backward, prerequisite);
    return true;
}
