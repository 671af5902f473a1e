/* SPDX-License-Identifier: MIT */
/*
 * State of a capture: its nodes, the streams that take part with their frontiers, and its validity. All functions but
 * capture_new are called under the capture's lock. Without the lock only `state` and the fields before `lock` may be
 * read.
 */
#ifndef CLSTREAM_GRAPH_CAPTURE_STATE_H
#define CLSTREAM_GRAPH_CAPTURE_STATE_H

#include <clstream/graph.h>

#include "graph/internals.h"
#include "graph/node.h"

/* A set of nodes. */
struct frontier {
    unsigned *nodes;
    unsigned count, room;
};

struct capture_member {
    struct stream *stream; /* retained */
    struct frontier frontier;
};

/* An executable graph that was launched in the capture, and the last nodes of its newest copy there. */
struct launched {
    cls_graph_exec exec; /* compared only */
    struct frontier ends;
};

struct capture {
    struct object object;
    struct context *context; /* retained */
    struct stream *origin;   /* a member; compared only */
    char name[64];
    uint64_t since;                  /* of ranges, those that are pushed later are recorded */
    pthread_mutex_t lock;            /* guards what follows */
    _Atomic cls_capture_state state; /* CLS_CAPTURE_NONE: it has ended */
    char reason[256];                /* why it is invalid */
    struct graph_node *nodes;
    unsigned n_nodes, nodes_room;
    unsigned *numbered; /* those that are not empty, by their numbers */
    unsigned n_numbered, numbered_room;
    struct capture_member *members; /* the origin first */
    unsigned n_members, members_room;
    struct launched *launched;
    unsigned n_launched, launched_room;
};

/* The owner of the streams that record graphs, which may be captured although they have an owner. */
extern const char capture_owner[];

/* An active capture without members; NULL without memory. */
struct capture *capture_new(struct stream *origin, const char *name);

/* The status of a capture that records no more. */
cls_status capture_refusal(const struct capture *capture);

/* Makes an active capture invalid. No effect on one that is invalid or has ended: the first reason stays. */
void capture_invalidate(struct capture *capture, const char *format, ...)
    __attribute__((format(SYSTEM_PRINTF, 2, 3)));

/* False: no memory. */
bool frontier_add(struct frontier *frontier, unsigned node);
bool frontier_join(struct frontier *frontier, const struct frontier *other);

/* NULL: the stream does not take part. */
struct capture_member *capture_find_member(struct capture *capture, const struct stream *stream);

/* Under the stream's lock too: makes a stream that is in no capture a member, or says why it may not be one. */
cls_status capture_join(struct capture *capture, struct stream *stream);

/* Room for one node more; false: no memory. Then capture_push adds it, and takes it over. */
bool capture_has_room(struct capture *capture);
void capture_push(struct capture *capture, const struct graph_node *node);

/* The node becomes the newest one, and the member's frontier. Takes the node over on success. */
cls_status capture_append(struct capture *capture, struct capture_member *member,
                          struct graph_node *node);

/* The same with the ranges that are open. */
cls_status capture_append_in_ranges(struct capture *capture, struct capture_member *member,
                                    struct graph_node *node);

#endif
