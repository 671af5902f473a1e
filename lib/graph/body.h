/* SPDX-License-Identifier: MIT */
/*
 * The body of an executable graph: what its nodes do as of all rebinding, which changes it, for launches that are still to
 * be submitted. Those that were have a version of it (graph/version.h). An update replaces the body by another one.
 *
 * The places (graph/place.h) where one buffer is used are its slot, under the name that the program rebinds it by.
 * All functions are called under the executable graph's lock `launching`, or before there is such a graph.
 */
#ifndef CLSTREAM_GRAPH_BODY_H
#define CLSTREAM_GRAPH_BODY_H

#include <limits.h>
#include <stdatomic.h>

#include "graph/graph.h"
#include "graph/internals.h"
#include "graph/place.h"
#include "graph/plan.h"

/* A node as it is launched, but for its places. */
struct body_node {
    const struct graph_node *node; /* of the body's graph, or of the one that has replaced it */
    struct command_graph *owner;   /* retained: the other one; NULL: none has */
    unsigned first, n_places;      /* its places are from here on; a launch may use fewer */
    bool disabled;
};

/* A place in the list of its slot. */
struct slot_use {
    unsigned node;
    unsigned slot;           /* of buffers, or of host memory; NO_SLOT: it cannot be rebound */
    unsigned next, previous; /* in that list; NO_USE */
};
enum { NO_SLOT = INT_MAX, NO_USE = INT_MAX };

/* A buffer, or an image, that nodes use. */
struct graph_slot {
    cls_buffer name;            /* the handle that was captured; NULL: the slot is free */
    size_t bytes;               /* a buffer in its place has as many, or more */
    cls_image_shape shape;      /* of an image; of kind 0: it is a buffer */
    bool is_private;            /* memory.h */
    unsigned first;             /* of its places, in `uses`; NO_USE: there is none */
    struct buffer *bound;       /* retained; NULL: the captured one */
    struct buffer_part **parts; /* of it that were made for places; the array is `n_parts` long */
    unsigned n_parts;
};

struct host_slot {
    const void *name; /* where the memory of a copy began when captured */
    unsigned first;
};

struct graph_body {
    _Atomic unsigned references;    /* of versions, and of the executable graph */
    struct command_graph *graph;    /* retained */
    struct command_graph *captured; /* retained: the same before its operations were fused */
    const struct exec_plan *plan;
    struct body_node *nodes; /* as in the plan */
    unsigned *in_graph;      /* where the nodes are in the graph */
    struct place *places;    /* of the nodes, one behind the other */
    struct slot_use *uses;   /* of the places */
    unsigned n_places;
    struct graph_slot *slots;
    unsigned n_slots, slots_room, n_free;
    struct host_slot *hosts;
    unsigned n_hosts, hosts_room;
    unsigned *records; /* the nodes that record events */
    unsigned n_records, records_room;
    struct buffer *arena; /* retained: of private buffers; NULL: none */
    bool given_up;        /* they have no memory now (graph_memory_restore) */
    size_t arena_bytes;   /* of all of them */
    size_t arena_least;   /* most bytes of them alive at once, one node at a time */
};

/* Makes the body of a graph that has this plan; its private buffers have no memory yet (graph_memory_body). */
cls_status graph_body_new(struct command_graph *graph, const struct exec_plan *plan,
                          struct graph_body **out);
void graph_body_put(struct graph_body *body);

/* NULL: no node uses such a buffer, or such host memory. */
struct graph_slot *graph_body_slot(const struct graph_body *body, cls_buffer name);
struct host_slot *graph_body_host(const struct graph_body *body, const void *name);

/* Whether launches use the address of a slot's buffer: not at all, as arguments, or also in memory, where it is not the
 * library's to change. */
enum slot_addresses { SLOT_WITHOUT, SLOT_IN_ARGUMENTS, SLOT_IN_MEMORY };
enum slot_addresses graph_body_addresses(const struct graph_body *body,
                                         const struct graph_slot *slot);

/* Binds another buffer, or other host memory, to all places of a slot. On failure nothing has changed. */
cls_status graph_body_bind(struct graph_body *body, struct graph_slot *slot, struct buffer *buffer);
/* Back to the captured buffer. */
void graph_body_unbind(struct graph_body *body, struct graph_slot *slot);
void graph_body_bind_host(struct graph_body *body, const struct host_slot *slot, void *host);

/* Has node `i`, a launch, do what the only node of another graph does, a launch too. On failure nothing has
 * changed. */
cls_status graph_body_replace(struct graph_body *body, unsigned i, struct command_graph *by);

/* The ranges that were open when the node was captured. */
static inline const struct node_ranges *graph_body_ranges(const struct graph_body *body,
                                                          unsigned i) {
    return body->graph->nodes[body->in_graph[i]].ranges;
}

#endif
