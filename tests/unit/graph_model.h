/* SPDX-License-Identifier: MIT */
/*
 * A model of the dependency graph: an adjacency matrix whose strongly connected components are found anew
 * for every question, by Kosaraju's algorithm. The expect_ functions fail the test when the graph and
 * the model disagree.
 */
#ifndef CLSTREAM_TESTS_GRAPH_MODEL_H
#define CLSTREAM_TESTS_GRAPH_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coordinator/wait_graph_state.h"

enum { MAX_NODES = 256, WORDS = MAX_NODES / 64 };

struct set {
    uint64_t words[WORDS];
};

/* rows[d] has p, and columns[p] has d, if and only if d waits for p. */
struct model {
    uint32_t limit;
    size_t edges;
    struct set nodes;
    struct set rows[MAX_NODES], columns[MAX_NODES];
};

/* The same numbers in every run. */
extern uint64_t random_state;
uint32_t random_below(uint32_t limit);

bool set_has(const struct set *set, uint32_t i);
void set_put(struct set *set, uint32_t i, bool in);
void model_edge(struct model *model, uint32_t dependent, uint32_t prerequisite, bool there);

/* Would the edge, which is not there, close a cycle in a model without one? */
bool closes_cycle(struct model *model, uint32_t dependent, uint32_t prerequisite);

/* Nodes, prerequisites and dependents. */
void expect_same_edges(const struct wait_graph *graph, const struct model *model);

/* Each node waits for the next one and the last for the first; `added`: the first of these edges need
 * not be there. */
void expect_cycle(struct wait_graph_span cycle, const struct model *model, bool added);

/* One cycle for each component that has any; without cycles a topological order. */
void expect_cycles(struct wait_graph *graph, const struct model *model);

/* The list has each node once, and labels that rise. */
void expect_labels(const struct wait_graph *graph);

/* All of these, without cycles. */
void expect_agreement(struct wait_graph *graph, const struct model *model);

#endif
