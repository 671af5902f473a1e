/* SPDX-License-Identifier: MIT */
/*
 * The inside of the dependency graph, for wait_graph*.c only. They call downwards: wait_graph_cycles.c (questions
 * about the whole graph), wait_graph.c (nodes and edges), wait_graph_order.c (the order).
 */
#ifndef CLSTREAM_COORDINATOR_WAIT_GRAPH_STATE_H
#define CLSTREAM_COORDINATOR_WAIT_GRAPH_STATE_H

#include "coordinator/wait_graph.h"

#define GRAPH_NONE UINT32_MAX

/* Neighbours, each once. All zero is the empty list. */
struct wait_graph_list {
    uint32_t *nodes;
    uint32_t count, room;
};

struct wait_graph_node {
    struct wait_graph_list dependents, prerequisites;
    uint64_t order;          /* rises along the list of nodes, and with it along edges */
    uint64_t mark;           /* the search that found the node last */
    uint32_t previous, next; /* in the list of nodes */
    uint32_t cursor;         /* of a search; the next free id while the node does not exist */
    bool exists;
    void *user;
    char *label;
};

enum graph_knowledge {
    GRAPH_ORDERED, /* acyclic; the list of nodes is in order */
    GRAPH_CYCLIC,  /* has a cycle; the list is in any order */
    GRAPH_UNKNOWN  /* had a cycle, and something was removed since; likewise */
};

struct wait_graph {
    struct wait_graph_node *nodes; /* by id */
    uint32_t *cycle;               /* the last cycle */
    uint32_t *sequence;            /* the nodes in order, while `sorted` */
    /* Work space of one call; its users say what each array holds. */
    uint32_t *stack, *heap, *before, *after, *link;
    uint32_t capacity; /* of the arrays */
    uint32_t limit;    /* ids in use or in the free list are below it */
    uint32_t free_id;  /* GRAPH_NONE: none */
    uint32_t node_count;
    uint32_t first, last; /* of the list of nodes; GRAPH_NONE: it is empty */
    uint64_t edge_count;
    uint64_t mark; /* of the latest search */
    size_t cycle_count;
    enum graph_knowledge knowledge;
    bool permissive;
    bool sorted;
};

/* wait_graph_order.c. A new node comes last. */
void wait_graph_order_append(struct wait_graph *graph, uint32_t node);
void wait_graph_order_remove(struct wait_graph *graph, uint32_t node);

/* Makes room in the order for the edge, which is not in the lists yet: `prerequisite` comes before `dependent`
 * after it. False: there is a path the other way; the order is untouched and the last cycle is set. */
bool wait_graph_order_insert(struct wait_graph *graph, uint32_t dependent, uint32_t prerequisite);

/* Puts all nodes into the order of `sequence`. */
void wait_graph_order_renew(struct wait_graph *graph);

#endif
