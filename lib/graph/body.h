/* SPDX-License-Identifier: MIT */
/*
 * The body of an executable graph: its nodes as they are launched, and which of them use which buffers and host memory by
 * the names that the program rebinds them by. Rebinding changes nodes of the body; an update replaces the body.
 */
#ifndef CLSTREAM_GRAPH_BODY_H
#define CLSTREAM_GRAPH_BODY_H

#include "graph/graph.h"
#include "graph/internals.h"
#include "graph/plan.h"

struct exec_node {
    struct node node;         /* a copy, with an instance of its own */
    struct command_type type; /* as its command's, but nothing is discarded: worker_run.c */
    bool has_args;            /* a launch or a library's call: rebinding changes its arguments */
    bool disabled;
};

/* Where a node uses a buffer or host memory: the argument of a launch or a library's call, or one side of a copy. */
enum { SIDE_TO, SIDE_FROM };
struct use {
    unsigned node;
    unsigned arg; /* or SIDE_* */
    size_t offset,
        bytes; /* of an argument that is a part of the buffer; bytes 0: it is all of it */
};

struct uses {
    struct use *items;
    unsigned count, room;
};

/* A buffer that nodes use. */
struct slot {
    cls_buffer name;        /* the handle that was captured */
    size_t bytes;           /* a buffer in its place has as many, or more */
    bool is_private;        /* memory.h */
    struct uses uses;       /* as of all changes asked for */
    struct buffer *current; /* retained; NULL: the one that was captured. As of the changes made */
    struct buffer_part **parts; /* of it that are arguments; NULL: none. Likewise */
    unsigned n_parts;
};

struct host_slot {
    const void *name; /* where the memory of a copy began when captured */
    struct uses uses;
};

/* A node that records an event. */
struct body_record {
    unsigned node;
    bool enabled; /* as of all changes asked for */
};

struct graph_body {
    struct command_graph *graph;    /* retained */
    struct command_graph *captured; /* retained: the same before its operations were fused */
    const struct exec_plan *plan;
    struct exec_node *nodes; /* as in the plan */
    unsigned *places;        /* of the nodes, in the graph */
    struct slot *slots;
    unsigned n_slots, slots_room;
    struct host_slot *hosts;
    unsigned n_hosts, hosts_room;
    struct body_record *records; /* in the order of the nodes */
    unsigned n_records, records_room;
    unsigned n_products;  /* nodes that were captured as calls of CLBlast and are launches */
    struct buffer *arena; /* retained: of private buffers; NULL: none */
    size_t arena_bytes;   /* of all of them */
    size_t arena_least;   /* most bytes of them alive at once, one node at a time */
};

/* Makes the body of a graph that has this plan; its private buffers have no memory yet (graph_memory_body). */
cls_status graph_body_new(struct command_graph *graph, const struct exec_plan *plan,
                          struct graph_body **out);
void graph_body_free(struct graph_body *body);

/* Releases parts, each of which may be NULL, and their array. */
void parts_free(struct buffer_part **parts, unsigned count);

struct slot *graph_body_slot(struct graph_body *body, cls_buffer name);
struct host_slot *graph_body_host(struct graph_body *body, const void *name);

/* Notes what a node uses, or that it uses it no more. */
cls_status graph_body_note_uses(struct graph_body *body, unsigned i, const struct node *node);
void graph_body_forget_uses(struct graph_body *body, unsigned i);

/* Leaves the node's record out of launches, or takes it in again, if it has one. */
void graph_body_enable_record(struct graph_body *body, unsigned i, bool enabled);

/* Has the node use other memory there: `memory` is the buffer's, or the part's of an argument that is one. */
cls_status exec_node_bind(struct exec_node *node, unsigned arg, struct buffer *buffer,
                          cl_mem memory);
void exec_node_bind_host(struct exec_node *node, unsigned side, void *host);

#endif
