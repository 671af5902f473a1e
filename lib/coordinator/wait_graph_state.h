/* SPDX-License-Identifier: MIT */
/*
 * The inside of the dependency graph, for wait_graph*.c only. They call downwards: wait_graph_cycles.c (questions
 * about the whole graph), wait_graph.c (nodes and edges), wait_graph_order.c (the order).
 */
#ifndef CLSTREAM_COORDINATOR_WAIT_GRAPH_STATE_H
#define CLSTREAM_COORDINATOR_WAIT_GRAPH_STATE_H

#include "coordinator/wait_graph.h"

#define GRAPH_NONE UINT32_MAX

/* The place of a node in the order: by level, then by index. Every index is in use once. */
struct wait_graph_rank {
    int64_t index;
    uint32_t level;
    uint32_t mark; /* belongs to the running search if it equals one of its two stamps */
};

/* Neighbours, each once. All zero is the empty list. */
struct wait_graph_list {
    uint32_t *nodes;
    uint32_t count, room;
};

struct wait_graph_node {
    struct wait_graph_list dependents, prerequisites;
    struct wait_graph_list mates; /* the prerequisites of the node's own level; has room for all */
    uint32_t cursor;              /* of a search; the next free id while the node does not exist */
    bool exists;
};

struct wait_graph_tag {
    void *user;
    char *label;
};

struct wait_graph_place {
    int64_t index;
    uint32_t level;
    uint32_t node;
};

/* Per-node arrays in one block, so that room for a node is one allocation and no search needs any. */
struct wait_graph_arrays {
    void *block;
    struct wait_graph_rank *ranks;
    struct wait_graph_node *nodes;
    struct wait_graph_tag *tags;
    struct wait_graph_place *places; /* sorting */
    uint32_t *sequence;              /* the topological order, while `sorted` */
    uint32_t *cycle;                 /* the last cycle */
    /* Work space of one call; its users say what each array holds. */
    uint32_t *stack, *before, *after, *link;
};

enum graph_knowledge {
    GRAPH_ORDERED, /* acyclic; ranks and mates are kept */
    GRAPH_CYCLIC,  /* has a cycle; ranks and mates are stale */
    GRAPH_UNKNOWN  /* had a cycle, and something was removed since; ranks and mates are stale */
};

struct wait_graph {
    struct wait_graph_arrays a;
    uint32_t capacity; /* of the arrays */
    uint32_t limit;    /* ids in use or in the free list are below it */
    uint32_t free_id;  /* GRAPH_NONE: none */
    uint32_t node_count;
    uint64_t edge_count;
    uint64_t edges_added; /* since ranks were last given afresh */
    uint32_t root;        /* near the square root of edge_count; see wait_graph_order.c */
    uint32_t stamp;
    uint32_t top_level;
    int64_t first_index, last_index; /* the indices in use lie between them, inclusive */
    size_t cycle_count;
    enum graph_knowledge knowledge;
    bool permissive;
    bool sorted;
};

/* Needs the room. */
static inline void wait_graph_push(struct wait_graph_list *list, uint32_t node) {
    list->nodes[list->count++] = node;
}

static inline bool wait_graph_before(const struct wait_graph *graph, uint32_t a, uint32_t b) {
    const struct wait_graph_rank *x = &graph->a.ranks[a], *y = &graph->a.ranks[b];
    return x->level != y->level ? x->level < y->level : x->index < y->index;
}

/* wait_graph_order.c. Makes room in the order for the edge, which is not in the lists yet: `prerequisite`
 * comes before `dependent` after it. False: there is a path the other way; the order is untouched and
 * the last cycle is set. */
bool wait_graph_order_insert(struct wait_graph *graph, uint32_t dependent, uint32_t prerequisite);

/* Gives all nodes new ranks from `sequence`, which is in topological order. */
void wait_graph_order_renew(struct wait_graph *graph);

/* Puts the nodes of an ordered graph into `sequence`, where they are not there yet. */
void wait_graph_order_sort(struct wait_graph *graph);

#endif
