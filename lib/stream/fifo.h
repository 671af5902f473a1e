/* SPDX-License-Identifier: MIT */
/*
 * The FIFO of a stream: the commands that are submitted and not with the driver yet, oldest first. A command goes there
 * when the driver cannot be given it at once: a command ahead of it is in the FIFO, it waits for work that is not with
 * the driver, the library runs it itself, or max_in_flight is reached.
 *
 * One owner at a time moves the head on, and drops the stream's lock meanwhile; others only append. stream/stream.h
 * draws who becomes the owner when. Everything is guarded by the stream's lock, but for the atomics, which threads that
 * spin read without it. Files other than fifo.c and fifo_drain.c call the functions below and use no member.
 */
#ifndef CLSTREAM_STREAM_FIFO_H
#define CLSTREAM_STREAM_FIFO_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clstream/status.h>

#include "stream/command.h"

struct stream;

enum fifo_owner {
    FIFO_IDLE, /* nobody; the head, if there is one, waits for flights of its own stream to retire */
    FIFO_BLOCKED,  /* nobody; the head waits for another stream's work, a gate or a user's event */
    FIFO_CHECKING, /* a thread, without the lock, asks whether what the head waits for is over */
    FIFO_SUBMITTING, /* a thread hands one head after the other to the driver */
    FIFO_ON_WORKER   /* a worker runs the head */
};

struct fifo {
    struct command *head; /* NULL: the FIFO is empty. First: each submission reads it */
    struct command *tail; /* undefined in an empty FIFO */
    _Atomic(enum fifo_owner) owner;
    bool worker_reserved; /* from the first command for a worker until the FIFO is empty */
    _Atomic bool offered; /* a worker offers the head to a thread that spins; both clear it */
    uint8_t
        yields; /* how often the head has let launches of other contexts go first (fifo_drain.c) */
    _Atomic unsigned spinners; /* threads that would take an offer; each counts itself */
    unsigned sleepers;         /* threads that wait for `moved` */
    pthread_cond_t moved;      /* a head left the FIFO */
    _Atomic uint64_t pushed;   /* the newest position that was put in */
    _Atomic uint64_t popped;   /* the newest that has left, or the one before the head */
    _Atomic uint64_t
        running_since; /* when the head's own code began, on the host's clock; 0: it does
                                       not run. Written by the worker */
    size_t limit;      /* cls_stream_config.fifo_limit; constant */
};

/* False without memory. */
bool fifo_init(struct fifo *fifo, size_t limit);
void fifo_destroy(struct fifo *fifo);

static inline bool fifo_is_empty(const struct fifo *fifo) { return !fifo->head; }

/* The oldest command, and with `next` those behind it; NULL: none. */
static inline struct command *fifo_head(const struct fifo *fifo) { return fifo->head; }

/* The newest command, or NULL. */
static inline struct command *fifo_tail(const struct fifo *fifo) {
    return fifo->head ? fifo->tail : NULL;
}

static inline size_t fifo_count(const struct fifo *fifo) {
    return (size_t)(atomic_load_explicit(&fifo->pushed, memory_order_relaxed) -
                    atomic_load_explicit(&fifo->popped, memory_order_relaxed));
}

static inline bool fifo_is_full(const struct fifo *fifo) {
    return fifo->limit && fifo_count(fifo) >= fifo->limit;
}

/* Whether a submitted position is in the FIFO; else it is with the driver, or done. */
static inline bool fifo_has(const struct fifo *fifo, uint64_t position) {
    return fifo->head && position >= fifo->head->position;
}

static inline bool fifo_is_on_worker(const struct fifo *fifo) {
    return atomic_load_explicit(&fifo->owner, memory_order_relaxed) == FIFO_ON_WORKER;
}

/* Whether nobody owns the head. An owner goes on with what is appended meanwhile. */
static inline bool fifo_is_free(const struct fifo *fifo) {
    return atomic_load_explicit(&fifo->owner, memory_order_relaxed) <= FIFO_BLOCKED;
}

/* Whether it holds commands and no worker goes on with them: callers and the engine do. */
static inline bool fifo_needs_driving(const struct fifo *fifo) {
    return fifo->head && !fifo_is_on_worker(fifo);
}

/* The oldest command that no worker runs, or NULL. */
static inline struct command *fifo_first_not_running(const struct fifo *fifo) {
    return fifo->head && fifo_is_on_worker(fifo) ? fifo->head->next : fifo->head;
}

/* When the head's own code began to run, on the host's clock; 0: it does not. Needs no lock. */
static inline uint64_t fifo_running_since(const struct fifo *fifo) {
    return atomic_load(&fifo->running_since);
}

/* Under the lock: appends a copy of the command, with the stream's pending waits, as the stream's next position; a
 * worker is reserved for what is to run on one. CLS_ERROR_LIMIT, CLS_ERROR_OUT_OF_MEMORY. */
cls_status fifo_push(struct stream *stream, struct command *command);

/* Under the lock, for the owner: takes the head out, for the caller to free. */
struct command *fifo_pop(struct stream *stream);

/* Under the lock, for the owner: the head is done without the driver, and all earlier work is: it is dropped and
 * retired. */
void fifo_finish_head(struct stream *stream);

/* Under the lock: the command, which did not run, is failed, also when the stream was poisoned for later work only. */
void fifo_fail_skipped(struct stream *stream, const struct command *command);

/* Without the lock: hands over the heads until one has to wait or is for a worker, after what more urgent streams hold.
 * True, and FIFO_ON_WORKER, when it is for a worker: the caller runs it, or calls workers_run. False at once when
 * somebody owns the head. */
bool fifo_drain(struct stream *stream);

/* --- reading what is queued, for explanations and the deadlock check --- */

struct deps;

struct queued {
    uint64_t position;
    const struct command *command; /* NULL: the pending waits of the next command */
    struct deps *deps;             /* to be read only */
};

/* Calls `visit` for each command in the FIFO, oldest first, and for pending waits that no command takes along yet, under
 * the stream's lock, until it returns false. */
void fifo_visit(struct stream *stream, bool (*visit)(const struct queued *queued, void *arg),
                void *arg);

/* --- the owner: fifo.c and fifo_drain.c only --- */

/* Under the lock: the owner changes; keeps count of the blocked FIFOs. */
void fifo_set_owner(struct fifo *fifo, enum fifo_owner owner);

/* Under the lock: gives the worker's reservation back once the FIFO is empty. */
void fifo_release_worker(struct fifo *fifo);

/* Work has been handed over or is done: kicks the engine where a FIFO is blocked, by that work perhaps. Without the
 * lock. */
void fifo_notify_blocked(void);

/* --- a worker that runs the head --- */

/* Around the head's own code; without the lock. */
void fifo_run_begin(struct fifo *fifo);
void fifo_run_end(struct fifo *fifo);

/* Under the lock: the worker is done with the head, which is free from now on. True when there is a next one and it is
 * for the driver. */
bool fifo_give_back(struct stream *stream);

/* Without the lock: offers the free head to threads that spin. False when none took it within two microseconds. */
bool fifo_offer(struct fifo *fifo);

/* --- threads that wait for a position in the FIFO --- */

/* Whether a position is not in the FIFO, or not any more, and nobody is at work on the head with the lock held: to wait
 * for that lock is to sleep. Needs no lock. */
static inline bool fifo_has_passed(const struct fifo *fifo, uint64_t position) {
    if (atomic_load_explicit(&fifo->pushed, memory_order_acquire) < position)
        return true;
    if (atomic_load_explicit(&fifo->popped, memory_order_acquire) < position)
        return false;
    const enum fifo_owner owner = atomic_load_explicit(&fifo->owner, memory_order_relaxed);
    return owner != FIFO_CHECKING && owner != FIFO_SUBMITTING;
}

/* Around a time in which the thread takes offers; without the lock. */
static inline void fifo_spin_begin(struct fifo *fifo) { atomic_fetch_add(&fifo->spinners, 1); }
static inline void fifo_spin_end(struct fifo *fifo) { atomic_fetch_sub(&fifo->spinners, 1); }

/* Whether this thread has just taken an offer: it is to drive the stream. */
static inline bool fifo_take_offer(struct fifo *fifo) {
    return atomic_load_explicit(&fifo->offered, memory_order_relaxed) &&
           atomic_exchange(&fifo->offered, false);
}

/* Under the lock, which it drops meanwhile: sleeps until a head leaves the FIFO, or until then (clock_now_ns). */
void fifo_sleep(struct stream *stream, uint64_t until);

/* Drains the FIFO (fifo_drain), with a worker where the head is for one. Called without the lock, by anyone who made
 * progress possible. */
void stream_drive(struct stream *stream);

#endif
