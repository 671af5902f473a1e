/* SPDX-License-Identifier: MIT */
/* A captured graph: nodes, each behind earlier ones. It does not change. */
#ifndef CLSTREAM_GRAPH_GRAPH_H
#define CLSTREAM_GRAPH_GRAPH_H

#include <clstream/graph.h>

#include "graph/destructor.h"
#include "graph/internals.h"
#include "graph/node.h"

struct command_graph {
    struct object object;
    struct context *context;  /* retained */
    const char *name;         /* interned */
    struct graph_node *nodes; /* in the order of the capture */
    unsigned n_nodes;
    graph_destructors destructors;
};

extern struct object_pool command_graph_pool;

/* Takes over the nodes on success. */
cls_status command_graph_new(struct context *context, const char *name, struct graph_node *nodes,
                             unsigned n_nodes, struct command_graph **out);

/* The node, a copy of one of the graph's, keeps the graph if that has destructors. */
cls_status command_graph_keep(struct command_graph *graph, struct graph_node *copy);

/* Drops nodes, and their array. */
void nodes_drop(struct graph_node *nodes, unsigned n_nodes);

/* Checks a handle, its context included, and takes a reference. */
cls_status command_graph_get(cls_graph handle, struct command_graph **out);

#endif
