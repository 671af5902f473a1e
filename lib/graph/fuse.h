/* SPDX-License-Identifier: MIT */
/*
 * Fusion: a chain of element-wise operations, each right behind the one before it and with nothing else between, becomes
 * one kernel, which a batch generates (batch/chain.h). The graph that an executable one is made of then has that launch in
 * the place of the chain's last node, and empty nodes in the places of the others.
 */
#ifndef CLSTREAM_GRAPH_FUSE_H
#define CLSTREAM_GRAPH_FUSE_H

#include <limits.h>

#include "graph/graph.h"

enum { FUSED_NODE = INT_MAX };

/* What has become of a graph's nodes. */
struct graph_fusion {
    unsigned *
        places; /* of each node by its number: in the plan, or FUSED_NODE; NULL: nothing is fused */
    unsigned n_nodes;
    unsigned n_fused, n_kernels;
};

/* Makes the fused graph; NULL where it would be the same. On failure there is neither a graph nor a fusion. */
cls_status graph_fuse(const struct command_graph *graph, struct graph_fusion *fusion,
                      struct command_graph **out);

void fusion_free(struct graph_fusion *fusion);

#endif
