/* SPDX-License-Identifier: MIT */
/*
 * Streams inside. A stream numbers its commands: a position, from 1. All positions up to `retired` are done, in order. An
 * event is a (stream, position); a wait on it is a dependency of the next command.
 *
 * A command, and who moves it on:
 *
 *                        submitted
 *              commit    |       |    commit, when the driver cannot be given it at once
 *                        |       v
 *                        |    in the FIFO ----------------------------.
 *                        |       |  fifo_drain: its dependencies      |  worker_commands_run: the library
 *                        v       v  are native, and there is room     |  runs it itself
 *                   with the driver <---------------------------------| it left an event to come
 *                     (a flight)                                      | it is done, or was skipped
 *                        |  flights_poll: the driver is done with it  |
 *                        v                                            |
 *                     retired <---------------------------------------'
 *
 * A mark with nothing left to wait for, and what is in the FIFO of a poisoned stream, goes from there to retired without
 * being run (fifo_finish_head). A position has failed if one of the stream's failures covers it: such a failure is recorded
 * before the position is retired.
 *
 * The owner of the FIFO's head (enum fifo_owner), and who makes each transition, under the lock:
 *
 *     IDLE, BLOCKED -> CHECKING      fifo_drain, by whoever finds the head free: a submitter, a waiting thread, the engine
 *     IDLE, BLOCKED -> SUBMITTING    the same, where the head waits for nothing or the stream is poisoned
 *     CHECKING -> BLOCKED            the same thread: something that the head waits for is not over
 *     CHECKING -> SUBMITTING         the same thread: all of it is over or native, or the stream was poisoned meanwhile
 *     SUBMITTING -> CHECKING         the same thread: the next head waits for something
 *     SUBMITTING -> IDLE             the same thread: the FIFO is empty, or the head waits for flights to retire
 *     SUBMITTING -> ON_WORKER        the same thread: the head is for a worker, which it calls if it is not one itself
 *     ON_WORKER -> IDLE              the worker, when the head has run. It offers the FIFO to a thread that spins, or
 *                                    drains it itself
 *
 * The owner drops the lock while CHECKING, ON_WORKER, and in SUBMITTING while more urgent streams go first. A submitter
 * appends meanwhile, and leaves the rest to the owner.
 *
 * Locks: a stream's lock is a leaf but for the locks of the context, the registry of streams, the engine, the memory pools
 * and the object pools, which are taken inside it; two streams' locks are never held together. The order lock of
 * stream/legacy.h is taken before it. No lock is held while user code runs.
 */
#ifndef CLSTREAM_STREAM_STREAM_H
#define CLSTREAM_STREAM_STREAM_H

#include <pthread.h>

#include <clstream/stream.h>

#include "base/handle.h"
#include "base/rare.h"
#include "stream/command.h"
#include "stream/dep.h"
#include "stream/engine.h"
#include "stream/event_policy.h"
#include "stream/fifo.h"
#include "stream/flight.h"
#include "stream/launched.h"
#include "stream/order_cache.h"

struct context;
struct failure;
struct queue;
struct queue_left;
struct trace_record;
struct magazine;
struct fence;
struct capture;

/* Part in the legacy order of the context's default stream (stream/legacy.h). */
enum legacy_role { LEGACY_NONE, LEGACY_BLOCKING, LEGACY_DEFAULT };

/* Members that the comment says nothing else of are read and written under the lock, by any caller; the constant ones are
 * written by stream_new only. The members that each submission uses come first, in as few cache lines as there can be: the
 * driver has used the cache since the last submission, and each line of it is waited for. */
struct stream {
    struct object object;
    pthread_mutex_t lock;    /* of the slot: it outlives the stream */
    struct context *context; /* retained; constant */
    unsigned max_in_flight;  /* constant */
    bool want_profiled;      /* timing was asked for, by the options or a timed record (event.c) */
    bool watched;            /* on the engine's list, which holds a reference: engine.c */
    bool hurt; /* a command failed in the driver, so its queues may be dead; cleared by a reset */
    bool fresh_failure : 1;  /* recorded, and not propagated yet (stream_leave): failure.c */
    bool legacy_open : 1;    /* its next command may have to take the legacy order: legacy.h */
    bool capturing : 1;      /* `capture` records what is submitted: graph/capture.c */
    struct queue *queue;     /* that the next command goes to; replaced by handover.c and reset.c */
    uint64_t unflushed_from; /* the oldest position that was not flushed; 0: none. By flush.c */
    _Atomic(struct failure *) failures; /* newest first; read without the lock: failure.c */
    _Atomic uint64_t retired; /* published by flight.c and fifo.c; read without the lock */
    uint64_t submitted;       /* the newest position: stream_count_submission */

    struct flights flights;
    struct event_policy events;
    struct deps waits; /* of the next command */

    /* Six words that are rarely used, so that the counters of launches and the head of the FIFO share a line. */
    uint64_t id;
    struct stream *prev, *next; /* in the registry of all streams, under its lock */
    struct stream *noted_prev,
        *noted_next;         /* for the default stream, under the context's lock: legacy.c */
    struct capture *capture; /* retained, where it is `capturing`; else NULL */

    cls_stream_counters counters;
    struct fifo fifo; /* its head is in a cache line of the counters, which launches use anyhow */

    _Atomic(struct magazine *) magazines; /* what the stream has freed, a list by pool */
    struct order_cache order_cache;       /* what the stream is ordered behind */
    char name[64];
    bool is_noted;                /* for the default stream, under the context's lock: legacy.c */
    enum legacy_role legacy_role; /* constant */
    const char *owner; /* the object that it belongs to, in words; NULL: the user's. Constant */
    _Atomic bool destroyed; /* the handle was destroyed; the work may go on. Set once */
    cls_wait_policy wait;   /* constant */
    int priority;           /* asked for: the order among held commands. Constant */

    uint64_t firm_until; /* waits up to it are known to be over some day: for the wait check, under
                            its lock */
    uint64_t
        stalled_at; /* `retired`, plus 1, when a wait for room retired nothing, or 0: submit.c */

    struct queue *companion; /* for foreign code; NULL until needed */
    struct queue_left *left; /* queues that it has changed from, with flights on them: handover.c */
    struct flush_trouble {
        unsigned tries; /* flushes that failed, in a row */
        uint64_t since;
        cls_status status; /* the first one's */
        int code;
    } flush_trouble;

    struct failure *spare; /* for the next failure, so that recording one cannot fail */

    struct stream *watch_next; /* in the engine's list: its thread's, and under its lock at first */
    unsigned idle_visits;      /* of the engine's thread, in a row; its own */
    uint64_t visited_at;       /* `submitted` at the last of them */
    struct stream *task_next;  /* in the workers' queue, under its lock */

    struct trace_record *spare_records;
    unsigned n_spare_records;

    struct kernel_slots kernels;
    struct fence *fence;      /* what its frees wait for; NULL: nothing */
    struct race_stream *race; /* check/race.c's, under its lock; NULL: nothing is known */
};

extern struct object_pool stream_pool;

/* Looks up a handle that may be NULL (the default stream of `context`, or of the default context when
 * that is NULL too) and takes a reference. Reports. */
cls_status stream_get(cls_stream handle, struct context *context, struct stream **out);
static inline void stream_put(struct stream *stream) { object_release(&stream->object); }

cls_status stream_new(struct context *context, const cls_stream_config *config, struct queue *queue,
                      struct stream **out);

/* The same as cls_stream_create and cls_stream_destroy for a stream that belongs to an object, of which `owner`
 * says in words what it is: who is handed it cannot destroy it. */
cls_status stream_create_owned(cls_context context, const cls_stream_config *config,
                               const char *owner, cls_stream *out);
void stream_destroy_owned(cls_stream handle);

/* The first of them for submitted work that needs a stream late: its context may have been destroyed. */
cls_status stream_new_owned(struct context *context, const cls_stream_config *config,
                            const char *owner, struct stream **out);
cls_status stream_destroy(cls_stream handle, bool by_owner);

/* Makes the stream's handle stale and drops the owner's reference, of which the caller holds another. False
 * when somebody else did. */
bool stream_close(struct stream *stream);

/* One more position; under the lock. Atomic since stream_is_over reads it without. */
static inline void stream_count_submission(struct stream *stream) {
    __atomic_store_n(&stream->submitted, stream->submitted + 1, __ATOMIC_RELAXED);
}

/* The newest position, for a caller that may ask for it, or has others do so: its event stays its own. Under the lock. */
static inline uint64_t stream_newest_locked(struct stream *stream) {
    struct flight *last = flight_last(&stream->flights);
    if (last)
        flight_need_event(last);
    return stream->submitted;
}

/* The next stream of the registry after `previous` (NULL: the first), retained; `previous` is released.
 * NULL at the end. */
struct stream *stream_next(struct stream *previous);

/* Whether no more work can come, since its handle or its context is gone, and all work is done. */
bool stream_is_over(const struct stream *stream);

/* Drops the waits of the next command; for a stream whose handle is gone. */
void stream_drop_waits(struct stream *stream);

/* Questions by others, which take the lock: the answer may have changed since. */
uint64_t stream_newest(struct stream *stream);      /* the last command's position; 0: none */
uint64_t stream_outstanding(struct stream *stream); /* commands that have not retired */
/* The capture that records submissions, for comparison only; NULL: none. */
const void *stream_captured_by(struct stream *stream);
/* The queue that the next command goes to. */
struct queue *stream_queue(struct stream *stream);

/* From the next queue on, the stream's commands are timed. */
void stream_want_timing(struct stream *stream);

/* Looks up a handle (not NULL) and locks the stream; takes no reference, since a handle that is live under the lock stays so
 * until the lock is dropped. */
cls_status stream_enter(cls_stream handle, struct stream **out);
/* The same to give something back to `owner`, a context that may have been destroyed. */
cls_status stream_enter_to_return(cls_stream handle, const struct context *owner,
                                  struct stream **out);

/* The position of the last command that has not retired and for which `uses` is true; 0: none. `uses` is called under the
 * lock; `host` is the host memory that a copy uses, or NULL. */
typedef bool (*use_test)(const struct refs *refs, const void *host, const void *arg);
uint64_t stream_last_use(struct stream *stream, use_test uses, const void *arg);

#endif
