/* SPDX-License-Identifier: MIT */
/*
 * Executable graphs. A launch is one command of its stream, of one of two types:
 *
 *   - replay: all nodes are handed to the driver at once, by the caller or, in the background, by a worker (replay.h);
 *   - worker run: a worker submits the nodes, each as a command of its own, to streams of the graph, and waits for them
 *     (worker_run.h). So are graphs launched of which a node is for a worker, and all graphs while commands are
 *     observed: then each node is a command with a name.
 *
 * What a launch does is the version of the body (graph/version.h) at its call, which its graph_run keeps: neither later
 * rebinding nor what becomes of other launches changes it.
 *
 * A launch comes after those before it, on whichever streams they are. So nodes, lanes and streams are used by one launch
 * at a time, which sets the nodes to its version when it is handed over.
 */
#ifndef CLSTREAM_GRAPH_EXEC_H
#define CLSTREAM_GRAPH_EXEC_H

#include <clstream/graph.h>

#include "graph/body.h"
#include "graph/exec_node.h"
#include "graph/fuse.h"
#include "graph/internals.h"
#include "graph/plan.h"
#include "graph/version.h"

/* Where a launch is. */
struct launch_place {
    struct stream *stream; /* retained */
    uint64_t position;
};

static inline bool launch_is_over(const struct launch_place *launch) {
    return atomic_load(&launch->stream->retired) >= launch->position;
}

/* What nodes of an executable graph are. */
enum exec_holds {
    HOLDS_WORKER_NODE = 1,  /* a command that a worker runs */
    HOLDS_LIBRARY_CALL = 2, /* one for in-order queues only */
    HOLDS_CALLBACK = 4,
    HOLDS_USER_CODE = 8, /* callbacks included */
    HOLDS_RECORD = 16,   /* of a timed event */
    HOLDS_WAIT = 32      /* for an event of outside (external_wait.h) */
};

struct graph_exec {
    struct object object;
    struct later ending;        /* the last launch's reference, which it drops without locks */
    struct context *context;    /* retained */
    const char *name;           /* of the graph; interned */
    struct exec_plan plan;      /* constant */
    unsigned most_lanes;        /* likewise */
    struct graph_fusion fusion; /* likewise */
    bool fuse, background;      /* likewise: they were asked for */
    unsigned holds;             /* likewise: bits of enum exec_holds */
    pthread_mutex_t
        launching; /* taken before the lock of a stream: launches get their order, and the next six */
    struct graph_body *body;                /* as of all rebinding */
    struct graph_version *version;          /* of it; NULL: it has changed since the last */
    struct launch_place *open;              /* launches that had not retired when last looked at */
    unsigned first_open, n_open, open_room; /* those are `open` from first_open to n_open */
    uint64_t launches;
    cls_stream recorder;     /* captures launches that replace others; NULL until needed */
    struct exec_nodes nodes; /* from here on: of the launch that is handed over */
    struct queue
        *queues[PLAN_LANES]; /* of lanes from 1 on, for in-order streams; NULL until needed */
    _Atomic bool hurt;       /* a launch failed with the driver: the queues may be dead */
    struct stream *streams[PLAN_LANES]; /* of the lanes, for worker runs; owned; NULL until needed.
                                           One launch's at a time */
};

extern struct object_pool graph_exec_pool;

/* An event that a launch records. */
struct run_record {
    struct event *event; /* in the body */
    unsigned node;       /* in the plan */
    uint64_t serial;     /* of the event */
};

/* What one launch needs until it has retired. */
struct graph_run {
    struct object object;
    struct graph_exec *exec;       /* retained */
    struct graph_version *version; /* retained: what the launch does */
    struct stream *stream;         /* that holds the command */
    cl_event *events; /* of nodes, as in the plan, and more; NULL: none. Array NULL: none at all */
    unsigned n_events;
    struct refs kept; /* made for this launch */
    unsigned handed;  /* of a worker run: nodes before it were submitted, or their callbacks called.
                        Written by the worker */
    struct run_record *records; /* in the order of the nodes */
    unsigned n_records;
};

extern struct object_pool graph_run_pool;

/* What an executable graph is made of. Of the same shape have equal fusions and plans. */
struct exec_parts {
    struct graph_fusion fusion;
    struct exec_plan plan; /* of the graph, with its operations fused where that was asked for */
    struct graph_body *body;
};

/* Plans a graph, and makes a body. exec_parts_free frees all of it. */
cls_status exec_parts_make(struct command_graph *captured, bool fuse, unsigned lanes,
                           struct exec_parts *out);
void exec_parts_free(struct exec_parts *parts);

/* Checks a handle, its context included, and takes a reference. */
cls_status graph_exec_get(cls_graph_exec handle, struct graph_exec **out);

/* Under `launching`: the version of the body, which stays the executable graph's. */
cls_status graph_exec_version(struct graph_exec *exec, struct graph_version **out);

/* Under `launching`: the body is about to change, or has changed. */
void graph_exec_changes(struct graph_exec *exec);

/* The launch is about to be handed over: sets the nodes to what it does. */
cls_status graph_run_begin(struct graph_run *run);

/* Whether the launches among these references use something (stream_last_use). */
bool graph_uses(const struct refs *refs, use_test uses, const void *arg);

/* Whether the driver has reported a node of one of them failed. */
bool graph_has_failed(const struct refs *refs);

/* buffer_abandon of all that an abandoned launch uses, or of another object. */
void graph_abandon(struct object *object);

static inline const unsigned *planned_deps(const struct graph_exec *exec, unsigned i) {
    return &exec->plan.deps[exec->plan.nodes[i].first_dep];
}

#endif
