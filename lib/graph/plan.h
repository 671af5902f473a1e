/* SPDX-License-Identifier: MIT */
/*
 * The plan of an executable graph: which lane each node runs on, one after the other, and which nodes of which lanes it
 * waits for, without those waits that others imply. Empty nodes are gone.
 */
#ifndef CLSTREAM_GRAPH_PLAN_H
#define CLSTREAM_GRAPH_PLAN_H

#include <stdbool.h>

#include <clstream/status.h>

enum { PLAN_LANES = 16 };

struct graph_node;

struct planned_node {
    unsigned node; /* of the graph */
    unsigned lane;
    unsigned first_dep;    /* its dependencies: in `deps` of the plan */
    unsigned n_deps;       /* indices of planned nodes, the later ones first */
    unsigned n_successors; /* nodes that have it as a dependency */
    bool crosses;          /* one of them is on another lane */
};

/* What a node comes after, itself included: of each lane, how many of its nodes. */
struct plan_clock {
    unsigned before[PLAN_LANES];
};

struct exec_plan {
    struct planned_node *nodes; /* each behind its dependencies */
    unsigned n_nodes;
    unsigned *deps;
    unsigned n_deps;
    unsigned n_lanes;
    unsigned n_sinks;          /* nodes without successors */
    struct plan_clock *clocks; /* of the nodes */
};

/* Plans nodes for at most `most` lanes; exec_plan_free frees. CLS_ERROR_OUT_OF_MEMORY holds nothing. */
cls_status exec_plan_make(const struct graph_node *nodes, unsigned n_nodes, unsigned most,
                          struct exec_plan *out);
void exec_plan_free(struct exec_plan *plan);

#endif
