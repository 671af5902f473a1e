/* SPDX-License-Identifier: MIT */
/*
 * An async coordinator inside. An operation is a position of its kind's stream, the last one of its work.
 * It is kept until it is known to be done; then a report of it stays for poll, and the operation itself
 * only if it failed. Operations of one stream are done in their order.
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

/* The operations of one kind, by number: first those that failed, then those not known to be done. */
struct lane {
    cls_stream handle;
    struct stream *stream; /* retained */
    struct op *ring;
    size_t capacity, first, count; /* the capacity is a power of two, or 0 */
    size_t failed;                 /* of the count */
    size_t reserved;               /* operations that are being submitted */
};

/* What can be waited for: the work of an operation. */
struct end {
    cls_op_kind kind;
    uint64_t position; /* 0: nothing */
};

/*
 * The last operation on a buffer, which is behind all the earlier ones on it, but for those that were queued while a
 * function of the user's submitted it.
 */
struct touched {
    cls_buffer buffer;
    struct end last;
    uint64_t beside[KINDS]; /* positions of those; 0: none */
    bool has_beside;
    uint64_t turn;  /* when `last` came; by async.turns */
    unsigned users; /* operations on it that are being submitted: the entry stays */
    UT_hash_handle hh;
};

struct reports {
    cls_completion *ring;
    size_t capacity, first, count, limit;
};

struct async {
    struct object object;
    pthread_mutex_t lock; /* of the slot: it outlives the coordinator. Guards what follows, but for
                             the context and the lanes' streams */
    cls_context context;
    struct lane lanes[KINDS];
    cls_op issued; /* the last number given */
    struct touched *touched;
    struct touched *found; /* the one that was looked for last: mostly the next one too; or NULL */
    uint64_t turns;        /* how often an operation was noted as some buffer's last */
    struct end unknown;    /* the last compute that may have written anything */
    struct reports reports;
};

/* --- all under the lock (async_state.c) --- */

/* Asks the streams what is done, and notices it. */
void async_progress(struct async *async);

/* The work of a live or failed operation. False: there is none of the number, or it is forgotten. */
bool async_find(const struct async *async, cls_op id, struct end *out);

/* An operation of `kind` is to come after that: raises the position of each stream that it waits for. */
cls_status async_come_after(struct async *async, cls_op_kind kind, struct end end,
                            uint64_t behind[KINDS]);

/* Makes the stream of `kind` wait for those positions (0: none) and leaves it locked, unless it fails. */
cls_status async_enter_behind(struct async *async, cls_op_kind kind, const uint64_t behind[KINDS]);

/* The entry of a buffer for one more user, made when there is none. NULL: no memory. */
struct touched *async_touch(struct async *async, cls_buffer buffer);

/* Makes an operation of `kind` come after those on the buffer. */
cls_status async_come_after_touched(struct async *async, cls_op_kind kind,
                                    const struct touched *touched, uint64_t behind[KINDS]);

/* A user is done; `last` is its operation, or NULL when there is none, and `since` async.turns when it came after
 * the others. */
void async_touched(struct async *async, cls_buffer buffer, const struct end *last, uint64_t since);

/* Makes room for an operation of a kind, for async_record or async_unreserve. */
cls_status async_reserve(struct async *async, cls_op_kind kind);
void async_unreserve(struct async *async, cls_op_kind kind);

/* Gives a number to work that was submitted. Its end's position is 0 where it is not known: it is the
 * stream's newest work then. */
cls_status async_record(struct async *async, struct end *end, cls_op *id);

/* Takes the oldest report, if there is one. */
bool async_take_report(struct async *async, cls_completion *out);

/* Forgets failed operations, and for buffers all that is over. */
void async_forget_failed(struct async *async);

void async_free(struct async *async);

/* --- */

/* CLS_ERROR_INVALID_VALUE for what no queue call takes. */
cls_status async_check_compute(const cls_compute *compute);

cls_status async_get(cls_async_coordinator handle, struct async **out);

/* Looks up a handle and locks the coordinator; no reference is needed while it is locked. */
cls_status async_enter(cls_async_coordinator handle, struct async **out);

#endif
