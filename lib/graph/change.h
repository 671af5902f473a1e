/* SPDX-License-Identifier: MIT */
/*
 * Changes of an executable graph: what the program has asked for since a launch, for the launches after it. A launch may wait
 * in its stream's FIFO; so a change is kept until the next launch begins, with the driver or on a worker, and made then. What
 * it replaces is kept until the launches before are done.
 */
#ifndef CLSTREAM_GRAPH_CHANGE_H
#define CLSTREAM_GRAPH_CHANGE_H

#include "graph/body.h"

struct change {
    struct change *next;
    uint64_t after; /* the launches up to this number come before it */
    enum { CHANGE_BUFFER, CHANGE_HOST, CHANGE_NODE, CHANGE_ENABLED, CHANGE_BODY } kind;
    struct uses uses;      /* of the first two */
    unsigned number;       /* of the slot, or the node */
    struct buffer *buffer; /* retained; once made: the one before, or NULL */
    struct buffer_part *
        *parts; /* of each use, where it is one; NULL: of none. Once made: those before */
    unsigned n_parts;
    void *host;
    struct node node; /* once made: the one before */
    bool has_node;
    bool disabled;
    struct graph_body *body; /* once made: the one before */
};

struct changes {
    struct change *first, **end;
};

/* A change without contents; NULL without memory. */
struct change *change_new(int kind);
void change_free(struct change *change);

/* A change that has all uses of a slot use another buffer, or other host memory. */
cls_status change_of_buffer(const struct graph_body *body, const struct slot *slot,
                            struct buffer *buffer, struct change **out);
cls_status change_of_host(const struct host_slot *slot, void *host, struct change **out);

static inline void changes_add(struct changes *changes, struct change *change) {
    change->next = NULL;
    if (!changes->first)
        changes->end = &changes->first;
    *changes->end = change;
    changes->end = &change->next;
}

/* Makes one change. Where that fails, it may be tried again. */
cls_status change_make(struct change *change, struct graph_body **body);

#endif
