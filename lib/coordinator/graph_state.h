/* SPDX-License-Identifier: MIT */
/*
 * The inside of the dependency graph, for the files graph*.c only. They call downwards: graph_cycles.c (questions
 * about the whole graph), graph.c (nodes and edges), graph_order.c (the order), graph_lists.c (storage).
 */
#ifndef CLSTREAM_COORDINATOR_GRAPH_STATE_H
#define CLSTREAM_COORDINATOR_GRAPH_STATE_H

#include "coordinator/graph.h"
#include "coordinator/graph_lists.h"

#define GRAPH_NONE UINT32_MAX

/* The place of a node in the order: by level, then by index. Every index is in use once. */
struct graph_rank {
    int64_t index;
    uint32_t level;
    uint32_t mark; /* belongs to the running search if it equals one of its two stamps */
};

struct graph_node {
    struct list dependents;
    struct list prerequisites; /* paired: its mates are those of the node's own level */
    uint32_t cursor;           /* of a search; the next free id while the node does not exist */
    bool exists;
};

struct graph_tag {
    void *user;
    char *label;
};

struct graph_place {
    int64_t index;
    uint32_t level;
    uint32_t node;
};

/* Per-node arrays in one block, so that room for a node is one allocation and no search needs any. */
struct graph_arrays {
    void *block;
    struct graph_rank *ranks;
    struct graph_node *nodes;
    struct graph_tag *tags;
    struct graph_place *places; /* sorting */
    uint32_t *sequence;         /* the topological order, while `sorted` */
    uint32_t *cycle;            /* the last cycle */
    /* Work space of one call; its users say what each array holds. */
    uint32_t *stack, *before, *after, *link;
};

enum graph_knowledge {
    GRAPH_ORDERED, /* acyclic; ranks and mates are kept */
    GRAPH_CYCLIC,  /* has a cycle; ranks and mates are stale */
    GRAPH_UNKNOWN  /* had a cycle, and something was removed since; ranks and mates are stale */
};

struct graph {
    struct graph_arrays a;
    struct list_pool pool;
    uint32_t capacity; /* of the arrays */
    uint32_t limit;    /* ids in use or in the free list are below it */
    uint32_t free_id;  /* GRAPH_NONE: none */
    uint32_t node_count;
    uint64_t edge_count;
    uint64_t edges_added; /* since ranks were last given afresh */
    uint32_t root;        /* near the square root of edge_count; see graph_order.c */
    uint32_t stamp;
    uint32_t top_level;
    int64_t first_index, last_index; /* the indices in use lie between them, inclusive */
    size_t cycle_count;
    enum graph_knowledge knowledge;
    bool permissive;
    bool sorted;
};

static inline bool graph_before(const struct graph *graph, uint32_t a, uint32_t b) {
    const struct graph_rank *x = &graph->a.ranks[a], *y = &graph->a.ranks[b];
    return x->level != y->level ? x->level < y->level : x->index < y->index;
}

/* graph_order.c. Makes room in the order for the edge, which is not in the lists yet: `prerequisite`
 * comes before `dependent` after it. False: there is a path the other way; the order is untouched and
 * the last cycle is set. */
bool graph_order_insert(struct graph *graph, uint32_t dependent, uint32_t prerequisite);

/* Gives all nodes new ranks from `sequence`, which is in topological order. */
void graph_order_renew(struct graph *graph);

/* Puts the nodes of an ordered graph into `sequence`, where they are not there yet. */
void graph_order_sort(struct graph *graph);

#endif
