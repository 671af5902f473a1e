/* SPDX-License-Identifier: MIT */
/*
 * The nodes of an executable graph as commands, with kernels of their own, whose arguments are set. One launch after the
 * other hands them over, and sets them to its version of the body before: so a kernel serves all launches. Where the driver
 * cannot set arguments of a kernel again, the node gets another kernel.
 */
#ifndef CLSTREAM_GRAPH_EXEC_NODE_H
#define CLSTREAM_GRAPH_EXEC_NODE_H

#include "graph/version.h"

struct exec_node {
    struct command command;   /* without references: the version keeps what it uses */
    struct kernel *kernel;    /* retained: that of the instance; NULL: there is none */
    cl_kernel instance;       /* of a launch: the item's own */
    void *arguments;          /* of a library's call: the item's own; NULL: there are none */
    struct command_type type; /* as its command's, but nothing is discarded: worker_run.c */
    bool disabled;
};

struct exec_nodes {
    struct exec_node *items;
    unsigned count;
    struct graph_version *version; /* retained: they are set to it; NULL: to none as a whole */
};

/* Sets the nodes to a version; on failure to none. */
cls_status exec_nodes_set(struct exec_nodes *nodes, struct graph_version *version);
/* They are set to no version any more, which may then go. No launch uses them. */
void exec_nodes_forget(struct exec_nodes *nodes);
void exec_nodes_free(struct exec_nodes *nodes);

#endif
