/* SPDX-License-Identifier: MIT */
/*
 * Fusion: which operations run together. A region is one kernel: element-by-element operations of one count,
 * and at most one reduction, which ends it. The vector of a broadcast is read from memory. A single call, a matrix
 * product, an operation on rows or what takes a generator's state, is a region of its own.
 *
 * Every operation has a level: at least that of every input that it can be fused with, and above that of
 * every input that must be in memory first (an input of another count, a vector that is broadcast, the result of
 * a reduction or a call, or one in a region that is full). Calls that take a generator's state, which read nothing but
 * each other's order, come before all. So a region reads only from regions of lower levels, and no two regions can wait for
 * each other. A pure function of the nodes.
 */
#ifndef CLSTREAM_BATCH_REGIONS_H
#define CLSTREAM_BATCH_REGIONS_H

#include "batch/node.h"

enum {
    REGION_OPERATIONS = 64,
    /* The most for all arguments of a kernel; OpenCL guarantees 1,024. */
    REGION_ARGUMENT_BYTES = 960,
    NO_NODE = UINT32_MAX
};

/* A list of nodes that grows. */
struct node_list {
    uint32_t *at;
    unsigned count;
    unsigned room;
};

struct region {
    unsigned level;
    size_t count; /* elements of its arrays, or of a call's largest input; 1: all are scalars */
    struct node_list maps;       /* in the order of recording */
    struct node_list inputs;     /* read from memory */
    struct node_list constants;  /* passed by value */
    struct node_list broadcasts; /* the maps that read a vector by calculated indices */
    struct node_list outputs;    /* maps that others read, or that are results */
    uint32_t reduction;          /* or NO_NODE */
    uint32_t call;               /* or NO_NODE: the region is that and nothing else */
};

struct regions {
    struct region *at; /* by level */
    unsigned count;
    uint32_t *of_node; /* each node's region, or NO_NODE */
};

cls_status regions_make(const struct batch_node *nodes, uint32_t n_nodes, struct regions *out);
void regions_free(struct regions *regions);

#endif
