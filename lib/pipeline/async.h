/* SPDX-License-Identifier: MIT */
/*
 * An async coordinator inside. An operation lives from its record on the stream until it is known to be
 * done; then a report of it stays for poll, and the operation itself only if it failed. Operations of one
 * stream are recorded in the order of its list, so they are done in that order.
 */
#ifndef CLSTREAM_PIPELINE_ASYNC_H
#define CLSTREAM_PIPELINE_ASYNC_H

#include <pthread.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include <clstream/async_coordinator.h>

#include "base/handle.h"

enum { KINDS = 3 };

struct op {
    cls_op id;
    cls_op_kind kind;
    cls_event event;
    cls_status status; /* once done */
    bool done;
    unsigned pins; /* threads that wait for it */
    struct op *next;
    UT_hash_handle hh; /* by id */
};

/* The last operation on a buffer, which is behind all the earlier ones on it. */
struct touched {
    cls_buffer buffer;
    cls_op last;
    UT_hash_handle hh;
};

struct reports {
    cls_completion *ring;
    size_t capacity, first, count, limit;
};

struct async {
    struct object object;
    cls_context context;
    cls_stream streams[KINDS];
    pthread_mutex_t lock; /* guards what follows */
    cls_op issued;        /* the last number given */
    struct op *head[KINDS], *tail[KINDS];
    struct op *by_id; /* live and failed ones */
    struct op *spare;
    struct touched *touched;
    cls_op unknown; /* the last compute that may have written anything */
    size_t live;    /* not known to be done */
    unsigned since_look;
    struct reports reports;
};

/* --- all under the lock (async_state.c) --- */

/* Notices what is done. */
void async_progress(struct async *async);

/* The live or failed operation of a number; NULL: none, or forgotten. */
struct op *async_find(struct async *async, cls_op id);

/* Makes the stream of `kind` wait for an operation, unless its order does or it is satisfied. */
cls_status async_wait_for(struct async *async, cls_op_kind kind, cls_op id);

/* The entry of a buffer, made when there is none. NULL: no memory. */
struct touched *async_touch(struct async *async, cls_buffer buffer);

/* An operation to be recorded; NULL without memory or event, reported. */
struct op *async_take(struct async *async);
void async_give_back(struct async *async, struct op *op);

/* Records `op` behind what was submitted to its kind's stream; from here on it has a number. */
cls_status async_record(struct async *async, struct op *op, cls_op_kind kind);

/* Forgets a failed operation, or one that nobody waits for any more. */
void async_forget(struct async *async, struct op *op);

void async_free(struct async *async);

/* --- */

cls_status async_get(cls_async_coordinator handle, struct async **out);

#endif
