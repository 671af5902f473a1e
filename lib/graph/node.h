/* SPDX-License-Identifier: MIT */
/*
 * Nodes: captured commands. A node has the command with its references, which keep what it uses. A launch has its
 * arguments besides, and no instance of its kernel: executable graphs make those (graph/exec_node.h).
 */
#ifndef CLSTREAM_GRAPH_NODE_H
#define CLSTREAM_GRAPH_NODE_H

#include <stdbool.h>

#include "graph/internals.h"
#include "graph/ranges.h"

/* An argument of a launch, or a buffer that it reaches through addresses. What it says of accesses is for the race checker and for listings. */
struct node_arg {
    cls_arg_kind kind;
    bool writes, possible; /* a buffer */
    bool whole;            /* the accesses are anywhere in the buffer; else in `span` */
    size_t size, offset;
    struct buffer *buffer; /* in the command's references; NULL: a null pointer */
    cl_mem memory;         /* of the buffer, or of its part */
    struct byte_span span;
    size_t value; /* where it begins in the node's `values` */
};

struct graph_node {
    struct command command; /* type NULL: an empty node, which only joins others */
    struct node_arg *args;
    unsigned n_args;    /* those that are reached included: they are the last ones, */
    unsigned n_reached; /* and not passed to the kernel */
    unsigned char *values;
    size_t values_bytes;
    unsigned *deps; /* earlier nodes, each once */
    unsigned n_deps;
    struct node_ranges *ranges; /* that were open when it was captured; NULL: none */
    struct chain_step
        *step; /* what an element-wise operation computes; NULL: of all else, and of copies */
    bool
        let_go; /* in a capture: the program has had a stream leave it, and no stream has to join it */
};

/* Takes over the command, which needs no stream any more, with copies of its arguments. Under the stream's lock. On
 * failure the command is the caller's still, and the node holds nothing. */
cls_status node_from_command(struct graph_node *node, struct stream *stream,
                             struct command *command, const struct launch_args *args);

/* Sets the dependencies, copied. */
cls_status node_set_deps(struct graph_node *node, const unsigned *deps, unsigned count);

/* Drops a node with all that it holds. */
void node_drop(struct graph_node *node);

/* A copy that shares nothing with the original but the objects that both refer to. */
cls_status node_copy(struct graph_node *to, const struct graph_node *from);

/* The node has a reference to the object from now on. */
cls_status node_keep(struct graph_node *node, struct object *object);

/* A copy for another graph of the same capture's nodes: it can be fused as the original can. */
cls_status node_copy_whole(struct graph_node *to, const struct graph_node *from);

/* Where the node uses the buffer, `memory` stands for it from now on, but for parts of it. False: a node of its kind does not tell where it uses buffers. */
bool node_replace_memory(struct graph_node *node, const struct buffer *buffer, cl_mem memory);

/* Adds what the node touches. */
void node_touch(struct touches *touches, const struct device *device,
                const struct graph_node *node);

static inline bool node_is_empty(const struct graph_node *node) { return !node->command.type; }

/* How many arguments the kernel gets. */
static inline unsigned node_n_passed(const struct graph_node *node) {
    return node->n_args - node->n_reached;
}

static inline bool node_is_library_call(const struct graph_node *node) {
    return !node_is_empty(node) && node->command.type->capture == CAPTURE_LIBRARY;
}

/* Whether it is a library's call whose kernels are still to be compiled. */
static inline bool command_must_compile(const struct command *command) {
    return command->type->capture == CAPTURE_LIBRARY &&
           !command->u.library.of->is_compiled(command->u.library.arguments);
}

/* Whether launches record an event there: the marker's. */
static inline bool command_is_record(const struct command *command) {
    return command->type == &type_marker && command->u.marker.event;
}

#endif
