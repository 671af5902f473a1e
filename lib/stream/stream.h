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
struct queue;
struct queue_left;
struct trace_record;
struct magazine;
struct fence;
struct capture;

/* One failure: the positions from `first` to `last` are failed. Nodes are never removed while the
 * stream (or the gate) lives, so outcomes can be read without its lock. */
struct failure {
    _Atomic uint64_t first;
    _Atomic uint64_t last; /* UINT64_MAX while the stream is poisoned by it */
    cls_status status;
    int code;
    const char *label;
    char message[128]; /* from the user's code (user_code.h), cut; "": none */
    uint64_t origin,
        at;         /* the command that failed: its stream's id, its position; 0: there is none */
    char where[64]; /* that stream's name */
    struct failure *older;
    uint32_t number; /* from 1, in its list */
};

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

/* What a submission to a captured stream gives as its position: there is none, and a wait for it is refused. */
#define POSITION_CAPTURED UINT64_MAX

/* Submits a command of any kind. Takes over what it holds in every case; on failure nothing else happened. `position`, the
 * command's, may be NULL. */
cls_status stream_submit(struct stream *stream, struct command *command, uint64_t *position);

/* --- leaving the lock --- */

/* What a thread does once it has dropped a stream's lock, in this order. */
enum after {
    AFTER_NOTHING = 0,
    AFTER_ROUSE = 1, /* the engine looks at the stream within a tick */
    AFTER_PROPAGATE =
        2, /* a fresh failure poisons the streams that depend on the work; no stream's lock may be held, nor a leaf */
    AFTER_KICK = 4,    /* the engine looks at all streams at once, and propagates */
    AFTER_NOTIFY = 8,  /* fifo_notify_blocked */
    AFTER_RETIRE = 16, /* stream_retire_known */
    AFTER_DRIVE = 32   /* stream_drive */
};

/* All but the first. */
void stream_finish_leaving(struct stream *stream, unsigned todo);

/* Drops the lock and does what is left. A caller that passes AFTER_RETIRE or AFTER_DRIVE holds a reference. */
static inline void stream_leave(struct stream *stream, unsigned todo) {
    if (!RARELY(stream->fresh_failure))
        todo &= ~(unsigned)AFTER_PROPAGATE;
    else if (todo & AFTER_PROPAGATE)
        stream->fresh_failure = false;
    pthread_mutex_unlock(&stream->lock);
    if (todo & AFTER_ROUSE)
        engine_rouse();
    if (RARELY(todo & ~(unsigned)AFTER_ROUSE))
        stream_finish_leaving(stream, todo);
}

/* Submission in two steps, for a caller that builds its command under the stream's lock. stream_enter looks up a handle (not
 * NULL) and locks the stream; it takes no reference, since a handle that is live under the lock stays so until the lock is
 * dropped. stream_submit_entered is stream_submit with the lock held, and drops it in every case; a launch comes with its
 * arguments, for the race checker (check/race.h). */
cls_status stream_enter(cls_stream handle, struct stream **out);
/* The same to give something back to `owner`, a context that may have been destroyed. */
cls_status stream_enter_to_return(cls_stream handle, const struct context *owner,
                                  struct stream **out);
cls_status stream_submit_entered(struct stream *stream, struct command *command,
                                 const struct launch_args *args, uint64_t *position);

/* Makes later work wait for a dependency; takes over its references on success. */
cls_status stream_add_wait(struct stream *stream, const struct dep *dep);

/* Makes a dependency of `waiter`, which is only compared, on the stream's work up to `position`. Its event is filled in, and
 * held, when the work is with the driver; the caller retains the stream. True when the work is done, failed or not
 * (stream_failure_at): then nothing is held. */
bool stream_dep(struct stream *stream, uint64_t position, const struct stream *waiter,
                struct dep *out);

/* The position of the last command that has not retired and for which `uses` is true; 0: none. `uses` is called under the
 * lock; `host` is the host memory that a copy uses, or NULL. */
typedef bool (*use_test)(const struct refs *refs, const void *host, const void *arg);
uint64_t stream_last_use(struct stream *stream, use_test uses, const void *arg);

/* Drains the FIFO (fifo_drain), with a worker where the head is for one. Called without the lock, by anyone who made
 * progress possible. */
void stream_drive(struct stream *stream);

/* Flushes and polls; CLS_NOT_READY unless `position` is retired. Polling this alone finishes the work. */
cls_status stream_progress(struct stream *stream, uint64_t position);

/* The same for a query of the user's, which is mostly repeated at once: pending work gets this thread's core where the device
 * computes on the host's. */
cls_status stream_query(struct stream *stream, uint64_t position);

/* Asks the driver and retires what is done, of this stream and of those whose work it depends on. Called without the lock.
 */
void stream_poll(struct stream *stream);

/* Retires what is known to be done, of this stream and of those whose work it depends on, without asking the driver.
 * Called without the lock. */
void stream_retire_known(struct stream *stream);

/* The newest flight was handed over and is to be flushed, unless the device was found to run what never is. Under the
 * lock. */
void stream_note_unflushed(struct stream *stream);

/* Flushes what is unflushed; under the lock. While that fails, the caller or the engine repeats it, until the stream is
 * failed (flush.c). */
void stream_flush_locked(struct stream *stream);

/* Whether any stream has unflushed work. */
bool streams_unflushed(void);

/* Whether no more work can come, since its handle or its context is gone, and all work is done. */
bool stream_is_over(const struct stream *stream);

/* Drops the waits of the next command; for a stream whose handle is gone. */
void stream_drop_waits(struct stream *stream);

/* Whether `position`, the newest one, stands for all work so far, pending waits included: then no mark is needed. Under the
 * lock. */
bool stream_marked_locked(struct stream *stream, uint64_t *position);

/* The same for the host, which asks about the stream's own work: what the legacy order puts before later work of a stream
 * other than the default one is not part of that. */
bool stream_marked_to_ask_locked(struct stream *stream, uint64_t *position);

/* The position of the last command so far; 0: none. */
uint64_t stream_newest(struct stream *stream);

/* What a mark is for. A captured stream refuses it, and its capture becomes invalid; with MARK_BESIDE, of calls that are no
 * use of the stream or may be captured, it is left alone: CLS_NOT_READY, and the newest position. */
enum mark_use {
    MARK_TO_ORDER = 0, /* others are to come after it */
    MARK_TO_ASK = 1,   /* the host waits for it, or asks about it */
    MARK_BESIDE = 2
};

/* The position that stands for all work so far, pending waits included; submits a mark where one is needed. Whether the
 * stream is captured is found out under the lock under which the mark is submitted. */
cls_status stream_mark_for(struct stream *stream, unsigned use, uint64_t *position);
static inline cls_status stream_mark(struct stream *stream, uint64_t *position) {
    return stream_mark_for(stream, MARK_TO_ORDER, position);
}

enum { WAIT_FOREVER = 0 };

/* Waits until `position` is retired; `deadline` in clock_now_ns time, or WAIT_FOREVER. Returns the
 * position's outcome, or CLS_ERROR_TIMEOUT, without a word: explain_timeout has them. */
cls_status stream_wait(struct stream *stream, uint64_t position, uint64_t deadline);

/* stream_wait without a word, nor one to the race checker, for waits of the library's own: true when it is
 * retired, false when the deadline came first. */
bool stream_await(struct stream *stream, uint64_t position, uint64_t deadline);

/* stream_mark_for a call that waits anyway: where fifo_limit leaves no room for a mark, it waits until what is
 * there is done. CLS_ERROR_TIMEOUT, without a word, when the deadline comes first. */
cls_status stream_mark_to_wait(struct stream *stream, unsigned use, uint64_t *position,
                               uint64_t deadline);

/* Waits until the position of one of the streams is retired and stores which; of several the first from
 * `start` on. CLS_ERROR_TIMEOUT, without a word: explain_timeout_all has them. */
cls_status stream_wait_any(struct stream *const *streams, const uint64_t *positions, size_t count,
                           size_t start, uint64_t deadline, size_t *which);

/* The deadline of a wait that begins now. */
uint64_t deadline_after(uint64_t timeout_ns);

/* stream_wait for the end of a blocking call: refuses inside host functions before anything is done. */
cls_status check_may_block(void);

/* The same on a captured stream, for a call of several steps: its capture is invalid from now on. */
cls_status check_uncaptured(struct stream *stream);

/* --- failure (stream/failure.c) --- */

/* The one of a list, newest first, that a position is in, or NULL. */
const struct failure *failure_in(const struct failure *newest, uint64_t position);

/* The outcome of a retired position, from the recorded failures; needs no lock, reports nothing. */
static inline const struct failure *stream_failure_at(const struct stream *stream,
                                                      uint64_t position) {
    const struct failure *newest = atomic_load_explicit(&stream->failures, memory_order_acquire);
    return RARELY(newest) ? failure_in(newest, position) : NULL;
}

/* The failure that poisons the stream now, or NULL. */
static inline const struct failure *stream_poison(const struct stream *stream) {
    const struct failure *newest = atomic_load_explicit(&stream->failures, memory_order_acquire);
    return RARELY(newest) && atomic_load(&newest->last) == UINT64_MAX ? newest : NULL;
}

/* What the status of a command that the driver refused makes of its stream. */
cls_status stream_poison_status(cls_status status);

/* The same of the code that a failed event ended with. */
cls_status stream_event_status(cl_int code);

/* A command of the stream's failed with the driver: its queues may be dead; under the lock. */
void stream_note_hurt(struct stream *stream);

/* Puts a failure from `first` on at the head of the list, in `*spare`, which is used up; or has the one
 * that lasts begin at `first`: the first error is kept. Whether the list changed. Under its owner's lock. */
bool failures_record(_Atomic(struct failure *) *failures, struct failure **spare, uint64_t first,
                     const struct failure *what);

/* Records that the positions from `first` on are failed; under the lock. Keeps the first error. */
void stream_fail_locked(struct stream *stream, uint64_t first, cls_status status, int code,
                        const char *label) COLD;

/* The same with a message of the user's code, which may be "". */
void stream_fail_saying_locked(struct stream *stream, uint64_t first, cls_status status, int code,
                               const char *label, const char *message) COLD;

/* The same by what they depend on. */
void stream_fail_by_locked(struct stream *stream, uint64_t first,
                           const struct failure *failure) COLD;

/* Poisons the stream's later work with somebody else's failure. */
void stream_inherit(struct stream *stream, const struct failure *failure) COLD;
void stream_inherit_locked(struct stream *stream, const struct failure *failure) COLD;

/* A failure in words: its command, where it began, and the driver's code by name. */
struct failure_text {
    char text[512];
};
struct failure_text failure_text(const struct failure *failure) COLD;

/* Reports a failure to this thread's detail; returns its status. */
cls_status failure_report(const struct stream *stream, const struct failure *failure) COLD;

#endif
