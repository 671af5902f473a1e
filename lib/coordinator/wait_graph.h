/* SPDX-License-Identifier: MIT */
/*
 * A dependency graph that keeps a topological order while it grows, and so detects a cycle at the edge that
 * closes it. A pure data structure: it knows neither streams nor OpenCL.
 *
 * An edge says "dependent waits for prerequisite". A strict graph refuses the edge that would close a cycle;
 * a permissive one takes it and can list its cycles.
 *
 * Nodes are dense ids from 0, given by wait_graph_add_node; the id of a removed node is given again. A bad id is
 * CLS_ERROR_INVALID_VALUE, or false from the functions that return bool; wait_graph_user, wait_graph_label and the
 * spans ask for a node that exists.
 *
 * Not thread-safe: the caller locks, also around queries, which may search. A failed call leaves the
 * graph as it was. Only adding and exporting can return CLS_ERROR_OUT_OF_MEMORY.
 */
#ifndef CLSTREAM_COORDINATOR_WAIT_GRAPH_H
#define CLSTREAM_COORDINATOR_WAIT_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clstream/status.h>

struct wait_graph;

/* Nodes in the graph's own memory: valid until the next call that changes the graph. */
struct wait_graph_span {
    const uint32_t *nodes;
    size_t count;
};

cls_status wait_graph_create(bool permissive, struct wait_graph **graph);

/* NULL is nothing. */
void wait_graph_destroy(struct wait_graph *graph);

/* `user` is the caller's; `label` is copied, and NULL stands for "node <id>". The new node comes last in
 * the topological order. */
cls_status wait_graph_add_node(struct wait_graph *graph, void *user, const char *label,
                               uint32_t *node);

/* Its edges go with it. */
cls_status wait_graph_remove_node(struct wait_graph *graph, uint32_t node);

/* An edge that is there already is a success and changes nothing. In a strict graph CLS_ERROR_DEADLOCK
 * for an edge that would close a cycle: wait_graph_last_cycle has it then and the detail spells it out. An
 * edge from a node to itself is a cycle of one. */
cls_status wait_graph_add_edge(struct wait_graph *graph, uint32_t dependent, uint32_t prerequisite);

/* CLS_ERROR_NOT_FOUND: no such edge. */
cls_status wait_graph_remove_edge(struct wait_graph *graph, uint32_t dependent,
                                  uint32_t prerequisite);

bool wait_graph_has_node(const struct wait_graph *graph, uint32_t node);
bool wait_graph_has_edge(const struct wait_graph *graph, uint32_t dependent, uint32_t prerequisite);

size_t wait_graph_node_count(const struct wait_graph *graph);
size_t wait_graph_edge_count(const struct wait_graph *graph);

/* Every id is below it. */
uint32_t wait_graph_id_limit(const struct wait_graph *graph);

void *wait_graph_user(const struct wait_graph *graph, uint32_t node);

/* As given; NULL when none was. */
const char *wait_graph_label(const struct wait_graph *graph, uint32_t node);

/* Each neighbour once, in no particular order. */
struct wait_graph_span wait_graph_prerequisites(const struct wait_graph *graph, uint32_t node);
struct wait_graph_span wait_graph_dependents(const struct wait_graph *graph, uint32_t node);

/* All nodes, prerequisites before their dependents. Empty where the graph has cycles. One pass over the nodes where the
 * order changed since the last call; in a permissive graph that may have lost its cycles, a search over the edges too. */
struct wait_graph_span wait_graph_order(struct wait_graph *graph);

/* The cycle of the edge last refused, or in a permissive graph of the edge that it took while known
 * to be acyclic: each node waits for the next and the last for the first, and the edge from the first to
 * the second is the one that was added. No node is in it twice. Empty before the first, and once one of
 * its nodes was removed. */
struct wait_graph_span wait_graph_last_cycle(const struct wait_graph *graph);

/* Always false in a strict graph. At most one pass over the graph, after something was removed from a
 * graph with cycles; otherwise the answer is known. */
bool wait_graph_has_cycles(struct wait_graph *graph);

/* Calls `visit` with one cycle (as in wait_graph_last_cycle, without the word about its first edge) for each
 * strongly connected component that has any; returns how many. `visit` must not call into the graph,
 * wait_graph_label and wait_graph_user excepted, and may be NULL. */
size_t wait_graph_cycles(struct wait_graph *graph,
                         void (*visit)(struct wait_graph_span cycle, void *arg), void *arg);

#endif
