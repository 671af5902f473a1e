/* SPDX-License-Identifier: MIT */
/*
 * A dependency graph that keeps a topological order while it grows, and so detects a cycle at the edge that
 * closes it. A pure data structure: it knows neither streams nor OpenCL.
 *
 * An edge says "dependent waits for prerequisite". A strict graph refuses the edge that would close a cycle;
 * a permissive one takes it and can list its cycles.
 *
 * Nodes are dense ids from 0, given by graph_add_node; the id of a removed node is given again. A bad id is
 * CLS_ERROR_INVALID_VALUE, or false from the functions that return bool; graph_user, graph_label and the
 * spans ask for a node that exists.
 *
 * Not thread-safe: the caller locks, also around queries, which may sort or search. A failed call leaves the
 * graph as it was. Only adding and exporting can return CLS_ERROR_OUT_OF_MEMORY.
 */
#ifndef CLSTREAM_COORDINATOR_GRAPH_H
#define CLSTREAM_COORDINATOR_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clstream/status.h>

struct graph;

/* Nodes in the graph's own memory: valid until the next call that changes the graph. */
struct graph_span {
    const uint32_t *nodes;
    size_t count;
};

cls_status graph_create(bool permissive, struct graph **graph);

/* NULL is nothing. */
void graph_destroy(struct graph *graph);

/* `user` is the caller's; `label` is copied, and NULL stands for "node <id>". The new node comes last in
 * the topological order. */
cls_status graph_add_node(struct graph *graph, void *user, const char *label, uint32_t *node);

/* Its edges go with it. */
cls_status graph_remove_node(struct graph *graph, uint32_t node);

/* An edge that is there already is a success and changes nothing. In a strict graph CLS_ERROR_DEADLOCK
 * for an edge that would close a cycle: graph_last_cycle has it then and the detail spells it out. An
 * edge from a node to itself is a cycle of one. */
cls_status graph_add_edge(struct graph *graph, uint32_t dependent, uint32_t prerequisite);

/* CLS_ERROR_NOT_FOUND: no such edge. */
cls_status graph_remove_edge(struct graph *graph, uint32_t dependent, uint32_t prerequisite);

bool graph_has_node(const struct graph *graph, uint32_t node);
bool graph_has_edge(const struct graph *graph, uint32_t dependent, uint32_t prerequisite);

size_t graph_node_count(const struct graph *graph);
size_t graph_edge_count(const struct graph *graph);

/* Every id is below it. */
uint32_t graph_id_limit(const struct graph *graph);

void *graph_user(const struct graph *graph, uint32_t node);

/* As given; NULL when none was. */
const char *graph_label(const struct graph *graph, uint32_t node);

/* Each neighbour once, in no particular order. */
struct graph_span graph_prerequisites(const struct graph *graph, uint32_t node);
struct graph_span graph_dependents(const struct graph *graph, uint32_t node);

/* All nodes, prerequisites before their dependents. Empty where the graph has cycles. Sorts
 * (n log n) when the order changed since the last call, and is free otherwise. */
struct graph_span graph_order(struct graph *graph);

/* The cycle of the edge last refused, or in a permissive graph of the edge that it took while known
 * to be acyclic: each node waits for the next and the last for the first, and the edge from the first to
 * the second is the one that was added. No node is in it twice. Empty before the first, and once one of
 * its nodes was removed. */
struct graph_span graph_last_cycle(const struct graph *graph);

/* Always false in a strict graph. At most one pass over the graph, after something was removed from a
 * graph with cycles; otherwise the answer is known. */
bool graph_has_cycles(struct graph *graph);

/* Calls `visit` with one cycle (as in graph_last_cycle, without the word about its first edge) for each
 * strongly connected component that has any; returns how many. `visit` must not call into the graph,
 * graph_label and graph_user excepted, and may be NULL. */
size_t graph_cycles(struct graph *graph, void (*visit)(struct graph_span cycle, void *arg),
                    void *arg);

#endif
