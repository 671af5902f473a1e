/* SPDX-License-Identifier: MIT */
/*
 * Places of a node: where it uses a buffer or host memory that can be rebound. A launch or a library's call has one for each
 * argument, a copy one for each side, and all other nodes have none.
 */
#ifndef CLSTREAM_GRAPH_PLACE_H
#define CLSTREAM_GRAPH_PLACE_H

#include "graph/internals.h"
#include "graph/node.h"

enum { SIDE_TO, SIDE_FROM, N_SIDES };

/* What is used there. All zero: nothing that can be rebound. */
struct place {
    struct buffer *buffer;    /* NULL: host memory, or nothing */
    struct buffer_part *part; /* a part of the buffer that was made for this place; NULL: none */
    union {
        cl_mem memory; /* of the buffer, or of its part */
        void *host;    /* without a buffer: host memory; NULL: none */
    };
    size_t origin; /* of a copy between buffers: where the buffer begins in `memory` */
};

unsigned node_n_places(const struct graph_node *node);

/* What the node uses there as it was captured. */
struct place node_place(const struct graph_node *node, unsigned i);

/* Has the command of a node that is no launch use other memory there; `node` is the node as it was captured. */
void command_set_place(struct command *command, const struct graph_node *node, unsigned i,
                       const struct place *place);

/* Has a copy of `from`, with arguments of its own, use other memory there. Its command keeps nothing more than before. */
void node_set_place(struct graph_node *node, const struct graph_node *from, unsigned i,
                    const struct place *place);

static inline bool place_is_same(const struct place *a, const struct place *b) {
    return a->buffer == b->buffer && a->memory == b->memory; /* or `host`, in its place */
}

#endif
