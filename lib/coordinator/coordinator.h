/* SPDX-License-Identifier: MIT */
/*
 * Coordinators: a dependency graph whose nodes are streams. A call that uses all streams takes a plan, a copy
 * of the streams and their order, and works on that without the lock.
 */
#ifndef CLSTREAM_COORDINATOR_COORDINATOR_H
#define CLSTREAM_COORDINATOR_COORDINATOR_H

#include <pthread.h>
#include <stdbool.h>

#include <uthash.h>

#include <clstream/coordinator.h>

#include "base/handle.h"
#include "coordinator/internals.h"
#include "coordinator/wait_graph.h"

/* A stream of the coordinator. Retained, so that its handle is not given to another stream once it is
 * destroyed. */
struct member {
    UT_hash_handle hh; /* by handle */
    cls_stream handle;
    struct stream *stream;
    uint32_t node;
};

struct coordinator {
    struct object object;
    char name[64];
    pthread_mutex_t lock; /* guards what follows; no lock of a stream is held when it is taken */
    struct wait_graph *graph; /* the user of a node is its member */
    struct member *members;
    cls_stream failed; /* of the phase that ended last; NULL: none */
    size_t turn;       /* where wait_any starts, so that streams take turns */
};

extern struct object_pool coordinator_pool;

/* Looks up a handle and takes a reference. Reports. */
cls_status coordinator_get(cls_coordinator handle, struct coordinator **out);
static inline void coordinator_put(struct coordinator *coordinator) {
    object_release(&coordinator->object);
}

/* coordinator_get and the lock; coordinator_leave gives both back and returns `status`. */
cls_status coordinator_enter(cls_coordinator handle, struct coordinator **out);
cls_status coordinator_leave(struct coordinator *coordinator, cls_status status);

/* Under the lock: the member of a handle, which is not NULL. Reports a bad handle, and CLS_ERROR_NOT_FOUND. */
cls_status coordinator_find(struct coordinator *coordinator, cls_stream handle,
                            struct member **out);

/* coordinator_get, and puts the default stream's handle in place of a NULL. */
cls_status coordinator_open(cls_coordinator handle, cls_stream *stream, struct coordinator **out);

/* --- plans (coordinator/plan.c) --- */

struct planned {
    struct stream *stream; /* retained */
    cls_stream handle;
    uint32_t index;
    bool awaited;                  /* it is a prerequisite of another */
    const uint32_t *prerequisites; /* places in the plan */
    size_t n_prerequisites;
    uint64_t position; /* of its latest mark, for the plan's user */
    bool full;         /* for the plan's user: the stream had no room for a mark */
};

struct plan {
    struct planned *streams; /* prerequisites first; by index where there are cycles */
    size_t count;
    uint32_t *places; /* storage of all `prerequisites` */
};

enum plan_for {
    PLAN_ANY,     /* cycles do not matter */
    PLAN_ORDERED, /* CLS_ERROR_DEADLOCK where there are any */
};

/* Reports a stream of the set that is destroyed, or whose context is. */
cls_status plan_take(struct coordinator *coordinator, enum plan_for what, struct plan *out);
void plan_drop(struct plan *plan);

/* Makes the stream wait for its prerequisites' positions; marks the stream's newest position. */
cls_status plan_wait(const struct plan *plan, const struct planned *planned);
cls_status plan_mark(struct planned *planned);

#endif
