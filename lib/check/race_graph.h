/* SPDX-License-Identifier: MIT */
/* Races between nodes of one graph. They are a property of the graph: no launch is needed to find them. */
#ifndef CLSTREAM_CHECK_RACE_GRAPH_H
#define CLSTREAM_CHECK_RACE_GRAPH_H

#include "stream/touch.h"

/* A node, or operations that are fused to one. */
struct race_node {
    const unsigned *deps; /* earlier nodes of the array, that it comes after */
    unsigned n_deps;
    unsigned first,
        last; /* its number for the program; of fused operations the first and the last one */
    const char *label; /* lives as long as the process */
    struct touches touches;
};

/* Compares the accesses of the nodes that the recorded dependencies do not order, and reports races. */
void race_graph(const char *name, const struct race_node *nodes, unsigned n_nodes);

#endif
