/* SPDX-License-Identifier: MIT */
/*
 * The topological order, kept edge by edge. This is the two-way search for sparse graphs of M. A. Bender,
 * J. T. Fineman, S. Gilbert and R. E. Tarjan, "A new approach to incremental cycle detection and related
 * problems", ACM Transactions on Algorithms 12(2), 2016: m edges cost O(m^1.5) together, whatever their
 * order. (The simpler algorithm of Pearce and Kelly is faster still on random graphs, but a chain built
 * against the order costs it n^2.)
 *
 * Nodes have levels that never fall along an edge, and are ordered by level, then by index. An edge from
 * v to w against the order starts a search backward from v among the nodes of its level, over a bounded
 * number of edges. If that ends by itself, w needs to rise to v's level at most; otherwise it rises one
 * above. A search forward from w then lifts what is reached and lies lower. The nodes that were found
 * move to the front of their level. The searches only mark: until neither has met a cycle, nothing
 * changes.
 *
 * Backward search only follows edges within a level, which a node keeps apart as its mates.
 */
#include "coordinator/wait_graph_state.h"

#include <stdlib.h>
#include <string.h>

/* The bound on a backward search is this plus a part of the square root of the number of edges, which
 * balances it against the number of levels. */
enum { SEARCH_MIN = 16, SEARCH_PART = 8 };

enum outcome { COMPLETE, CUT_SHORT, MET };

/* A search in progress. `before` collects what the backward search finished, `after` what the forward
 * search did, each node behind those that the search reached through it. `link` leads from a node of the
 * backward search towards v, from one of the forward search towards w. */
struct search {
    uint32_t v, w;
    uint32_t back_mark, forward_mark;
    uint32_t before_count, after_count;
    uint32_t level; /* w's new one */
};

static void next_stamps(struct wait_graph *graph, struct search *search) {
    if (graph->stamp > UINT32_MAX - 2) {
        for (uint32_t i = 0; i < graph->limit; i++)
            graph->a.ranks[i].mark = 0;
        graph->stamp = 0;
    }
    search->back_mark = ++graph->stamp;
    search->forward_mark = ++graph->stamp;
}

static uint32_t search_bound(struct wait_graph *graph) {
    while ((uint64_t)(graph->root + 1) * (graph->root + 1) <= graph->edge_count)
        graph->root++;
    while ((uint64_t)graph->root * graph->root > graph->edge_count)
        graph->root--;
    return SEARCH_MIN + graph->root / SEARCH_PART;
}

static void reach(struct wait_graph *graph, uint32_t node, uint32_t mark, uint32_t from,
                  uint32_t *depth) {
    graph->a.ranks[node].mark = mark;
    graph->a.nodes[node].cursor = 0;
    graph->a.link[node] = from;
    graph->a.stack[(*depth)++] = node;
}

static enum outcome search_backward(struct wait_graph *graph, struct search *search) {
    uint32_t bound = search_bound(graph), depth = 0;
    search->before_count = 0;
    reach(graph, search->v, search->back_mark, GRAPH_NONE, &depth);
    while (depth) {
        uint32_t x = graph->a.stack[depth - 1];
        struct wait_graph_node *node = &graph->a.nodes[x];
        if (node->cursor == node->mates.count) {
            graph->a.before[search->before_count++] = x;
            depth--;
            continue;
        }
        if (bound-- == 0)
            return CUT_SHORT;
        uint32_t y = node->mates.nodes[node->cursor++];
        if (y == search->w) {
            graph->a.link[y] = x;
            return MET;
        }
        if (graph->a.ranks[y].mark != search->back_mark)
            reach(graph, y, search->back_mark, x, &depth);
    }
    return COMPLETE;
}

/* On MET, `*from` waits to be passed by `*to`, a node of the backward search. */
static enum outcome search_forward(struct wait_graph *graph, struct search *search, uint32_t *from,
                                   uint32_t *to) {
    uint32_t depth = 0;
    reach(graph, search->w, search->forward_mark, GRAPH_NONE, &depth);
    while (depth) {
        uint32_t x = graph->a.stack[depth - 1];
        struct wait_graph_node *node = &graph->a.nodes[x];
        if (node->cursor == node->dependents.count) {
            graph->a.after[search->after_count++] = x;
            depth--;
            continue;
        }
        uint32_t y = node->dependents.nodes[node->cursor++];
        const struct wait_graph_rank *rank = &graph->a.ranks[y];
        if (rank->mark == search->back_mark) {
            *from = x;
            *to = y;
            return MET;
        }
        if (rank->level < search->level && rank->mark != search->forward_mark)
            reach(graph, y, search->forward_mark, x, &depth);
    }
    return COMPLETE;
}

/* The searches met: `from`, reached from w, comes before `to`, from which v is reached. */
static void set_cycle(struct wait_graph *graph, const struct search *search, uint32_t from,
                      uint32_t to) {
    uint32_t *cycle = graph->a.cycle;
    size_t back = 1;
    for (uint32_t x = to; x != search->v; x = graph->a.link[x])
        back++;
    size_t at = back;
    for (uint32_t x = to; x != search->v; x = graph->a.link[x])
        cycle[at--] = x;
    cycle[1] = search->v;
    cycle[0] = search->w;
    at = back + 1;
    for (uint32_t x = from; x != search->w; x = graph->a.link[x])
        cycle[at++] = x;
    graph->cycle_count = at;
}

/* Lifts what the forward search found. A node lifted so far has lost its mates: they were on its old
 * level. An edge from outside into what was lifted comes from below, or its end would have been at the
 * level before. */
static void lift(struct wait_graph *graph, const struct search *search) {
    for (uint32_t i = 0; i < search->after_count; i++) {
        uint32_t x = graph->a.after[i];
        graph->a.ranks[x].level = search->level;
        graph->a.nodes[x].mates.count = 0;
    }
    for (uint32_t i = 0; i < search->after_count; i++) {
        uint32_t x = graph->a.after[i];
        const struct wait_graph_list *dependents = &graph->a.nodes[x].dependents;
        for (uint32_t j = 0; j < dependents->count; j++)
            if (graph->a.ranks[dependents->nodes[j]].level == search->level)
                wait_graph_push(&graph->a.nodes[dependents->nodes[j]].mates, x);
    }
    if (graph->top_level < search->level)
        graph->top_level = search->level;
}

/* To the front of the level: first what was found backward, then what was found forward. `before` has
 * its nodes in that order, `after` in the opposite one. */
static void move_to_front(struct wait_graph *graph, const struct search *search) {
    for (uint32_t i = 0; i < search->after_count; i++)
        graph->a.ranks[graph->a.after[i]].index = --graph->first_index;
    for (uint32_t i = search->before_count; i-- > 0;)
        graph->a.ranks[graph->a.before[i]].index = --graph->first_index;
    graph->sorted = false;
}

static bool order_search(struct wait_graph *graph, struct search *search) {
    uint32_t from = search->w, to = GRAPH_NONE;
    enum outcome outcome = search_backward(graph, search);
    if (outcome == MET) {
        set_cycle(graph, search, from, graph->a.link[from]);
        return false;
    }
    search->level = graph->a.ranks[search->v].level;
    if (outcome == COMPLETE && graph->a.ranks[search->w].level == search->level)
        return true;
    if (outcome == CUT_SHORT) {
        search->level++;
        search->before_count = 0;
        next_stamps(graph, search);
        graph->a.ranks[search->v].mark = search->back_mark;
    }
    if (search_forward(graph, search, &from, &to) == MET) {
        set_cycle(graph, search, from, to);
        return false;
    }
    return true;
}

bool wait_graph_order_insert(struct wait_graph *graph, uint32_t dependent, uint32_t prerequisite) {
    struct search search = {.v = prerequisite, .w = dependent};
    if (wait_graph_before(graph, prerequisite, dependent))
        return true;
    next_stamps(graph, &search);
    if (!order_search(graph, &search))
        return false;
    lift(graph, &search);
    move_to_front(graph, &search);
    return true;
}

void wait_graph_order_renew(struct wait_graph *graph) {
    for (uint32_t i = 0; i < graph->node_count; i++) {
        uint32_t node = graph->a.sequence[i];
        const struct wait_graph_list *prerequisites = &graph->a.nodes[node].prerequisites;
        struct wait_graph_list *mates = &graph->a.nodes[node].mates;
        graph->a.ranks[node].level = 0;
        graph->a.ranks[node].index = i;
        mates->count = prerequisites->count;
        if (mates->count)
            memcpy(mates->nodes, prerequisites->nodes, mates->count * sizeof *mates->nodes);
    }
    graph->first_index = 0;
    graph->last_index = (int64_t)graph->node_count - 1;
    graph->top_level = 0;
    graph->edges_added = 0;
    graph->sorted = true;
}

static int compare_places(const void *left, const void *right) {
    const struct wait_graph_place *a = left, *b = right;
    if (a->level != b->level)
        return a->level < b->level ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

void wait_graph_order_sort(struct wait_graph *graph) {
    struct wait_graph_place *places = graph->a.places;
    size_t count = 0;
    if (graph->sorted)
        return;
    for (uint32_t i = 0; i < graph->limit; i++) {
        const struct wait_graph_rank *rank = &graph->a.ranks[i];
        if (graph->a.nodes[i].exists)
            places[count++] = (struct wait_graph_place){rank->index, rank->level, i};
    }
    if (count)
        qsort(places, count, sizeof *places, compare_places);
    for (size_t i = 0; i < count; i++)
        graph->a.sequence[i] = places[i].node;
    graph->sorted = true;
}
