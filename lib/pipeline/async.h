/* SPDX-License-Identifier: MIT */
/*
 * Async coordinators: operations (upload, compute, download) on three streams, one for each kind, ordered by
 * named dependencies and by the buffers that they use. An operation is the position at the end of its work in
 * its kind's stream. It is stored until it is known to be done; a failed one until the reset. A report of
 * each done operation is stored for poll. Operations of one kind are done in their order.
 *
 * async.c has the object and its waits, async_queue.c the queue calls, async_state.c all that is stored.
 */
#ifndef CLSTREAM_PIPELINE_ASYNC_H
#define CLSTREAM_PIPELINE_ASYNC_H

#include <pthread.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include <clstream/async_coordinator.h>

#include "base/handle.h"

enum { KINDS = 3, MOST_COMPUTE_ARGS = 64 };

struct op {
    cls_op id;
    uint64_t position;
};

/* The stream of one kind and its operations, by number: first the failed ones, then those not known to be done. */
struct lane {
    cls_stream handle;
    struct stream *stream; /* retained */
    struct op *ring;
    size_t capacity, first, count; /* the capacity is a power of two, or 0 */
    size_t failed;                 /* how many of `count` */
    size_t reserved;               /* for operations that are being submitted */
};

/* The end of an operation's work, which others can wait for. */
struct end {
    cls_op_kind kind;
    uint64_t position; /* 0: nothing */
};

/*
 * The last operation on a buffer, which runs behind all earlier ones. Those that were queued while a function of the user's
 * submitted it do not run behind one another: of each kind the last.
 */
struct buffer_use {
    cls_buffer buffer;
    uint64_t last[KINDS]; /* positions; 0: none */
    uint64_t turn;        /* async.turns when one was stored */
    unsigned users;       /* operations on it that are being submitted; the entry exists as long */
    UT_hash_handle hh;
};

struct reports {
    cls_completion *ring;
    size_t capacity, first, count, limit;
};

struct async {
    struct object object;
    pthread_mutex_t
        lock; /* the slot's: it outlives the coordinator. Guards what follows, except the
                             context and the lanes' streams, which do not change */
    cls_context context;
    struct lane lanes[KINDS];
    cls_op issued; /* the last number given */
    struct buffer_use *buffers;
    struct buffer_use *found; /* the latest entry found: mostly the next one too; or NULL */
    uint64_t turns;           /* counts the times that a `last` was stored */
    struct end unknown; /* the last compute without a list of buffers: it may have written any */
    struct reports reports;
};

/* --- all under the lock (async_state.c) --- */

/* Asks the streams which operations are done, and makes their reports. */
void async_progress(struct async *async);

/* The end of a stored operation. False: it is done and succeeded. */
bool async_find(const struct async *async, cls_op id, struct end *out);

/* An operation of `kind` is to run behind `end`: raises the position to wait for in that stream. */
cls_status async_come_after(struct async *async, cls_op_kind kind, struct end end,
                            uint64_t behind[KINDS]);

/* Makes the stream of `kind` wait for the positions (0: none), and leaves it locked on success. */
cls_status async_enter_behind(struct async *async, cls_op_kind kind, const uint64_t behind[KINDS]);

/* Finds or makes the entry of a buffer, and counts one more user. NULL: no memory. */
struct buffer_use *async_use_buffer(struct async *async, cls_buffer buffer);

/* As async_come_after, for the last operations on the buffer. */
cls_status async_come_after_buffer(struct async *async, cls_op_kind kind,
                                   const struct buffer_use *use, uint64_t behind[KINDS]);

/* One user less. `last` is its operation, or NULL when it submitted none; `since` is async.turns from when it
 * was ordered behind the others. */
void async_release_buffer(struct async *async, cls_buffer buffer, const struct end *last,
                          uint64_t since);

/* Makes room for an operation of a kind, for async_record or async_unreserve. */
cls_status async_reserve(struct async *async, cls_op_kind kind);
void async_unreserve(struct async *async, cls_op_kind kind);

/* Stores submitted work as an operation. A position of 0 in `end` stands for the stream's newest work, and is
 * filled in. */
cls_status async_record(struct async *async, struct end *end, cls_op *id);

/* Takes the oldest report, if there is one. */
bool async_take_report(struct async *async, cls_completion *out);

/* For a reset: forgets failed operations, and for buffers all operations that are done. */
void async_forget_failed(struct async *async);

void async_free(struct async *async);

/* --- the object --- */

/* A copy of a description; CLS_ERROR_INVALID_VALUE for an incomplete or wrong one. */
cls_status async_take_compute(const cls_compute *given, cls_compute *out);

cls_status async_get(cls_async_coordinator handle, struct async **out);

/* Looks up a handle and locks the coordinator, which exists until it is unlocked. */
cls_status async_enter(cls_async_coordinator handle, struct async **out);

#endif
