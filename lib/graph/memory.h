/* SPDX-License-Identifier: MIT */
/*
 * Memory of graphs: buffers that were allocated and freed in a capture, and that only its nodes refer to. When the
 * capture ends such a buffer becomes private: its device memory is given back, and a placeholder stands for it, which
 * no command is run with. A body has an arena for them, laid out by lifetime as that of a batch, and binds its nodes to
 * places in it: two values share bytes only where all nodes that use one come before all that use the other.
 *
 * A buffer stays as it is, with memory of its own, if a call that cannot be rebound uses it, if something besides nodes
 * refers to it (a batch), or if its cl_mem was asked for.
 */
#ifndef CLSTREAM_GRAPH_MEMORY_H
#define CLSTREAM_GRAPH_MEMORY_H

#include "graph/body.h"

/* At the end of a capture, of this handle: makes buffers private, and marks the steps whose outputs are. What there
 * is no memory for stays as it is. */
void graph_memory_give_back(const void *capture, struct graph_node *nodes, unsigned n_nodes);

/* graph_body_new, with places for the private buffers. */
cls_status graph_memory_body(struct command_graph *graph, const struct exec_plan *plan,
                             struct graph_body **out);

/* Gives the memory of the places up, which versions of the body may still have. Until graph_memory_restore no version may be
 * made of the body. On failure it is given up still. */
void graph_memory_give_up(struct graph_body *body);
cls_status graph_memory_restore(struct graph_body *body);

#endif
