/* SPDX-License-Identifier: MIT */
/*
 * Timelines: counters that streams and hosts raise (signal) and wait for. Files: timeline.c has the value,
 * timeline_gate.c what a waiting stream is told, timeline_api.c and timeline_stream.c the public calls,
 * timeline_capture.c signals and waits of captured streams,
 * deadlock.c the check of waits for a timeline with a named signaller.
 *
 * A signal of a stream is no command. It is a position of the stream, as an event's record is, so it costs
 * the device nothing, and a wait for it is a wait for that position. The value is updated from retired
 * positions when somebody asks for it, and before failed work retires, under the timeline's lock. No other lock is taken
 * inside that one.
 */
#ifndef CLSTREAM_COORDINATOR_TIMELINE_H
#define CLSTREAM_COORDINATOR_TIMELINE_H

#include <pthread.h>

#include <clstream/timeline.h>

#include "coordinator/internals.h"
#include "coordinator/signal_queues.h"

struct explanation;
struct stream;

/* A signal of a captured stream. */
struct captured_signal {
    struct captured_record at; /* retained */
    uint64_t value;
};

struct timeline {
    struct gate gate;
    char name[64];
    char note[192];           /* of cls_timeline_annotate; under the lock */
    struct stream *signaller; /* retained; NULL: anybody */
    _Atomic bool destroyed;   /* the handle is */

    pthread_mutex_t lock;    /* guards what follows */
    pthread_cond_t progress; /* signalled, queued or failed: for waits of the host */
    uint64_t value;
    uint64_t awaited;          /* the highest value that a stream was made to wait for */
    uint64_t max_user_wait;    /* the highest that only user code may still signal */
    bool has_unsignalled_wait; /* `awaited` is not reached, and no signal is queued for it */
    bool check_relaxed;        /* `max_user_wait` is not reached */
    struct signal_queues queues;
    struct failure *spare;            /* for the next failure, so that recording one cannot fail */
    struct captured_signal *captured; /* in captures, which do not signal when they are launched */
    unsigned n_captured, captured_room;

    struct timeline *prev, *next; /* in the list of all */
};

extern struct object_pool timeline_pool;
extern const struct gate_type timeline_gate;

/* Looks up a handle and takes a reference. Reports. */
cls_status timeline_get(cls_timeline handle, struct timeline **out);
static inline void timeline_put(struct timeline *timeline) {
    object_release(&timeline->gate.object);
}

/* Under the lock: applies the queued signals whose positions are retired, those of failed work first. */
void timeline_update(struct timeline *timeline);

/* Adds a new timeline to the list of all, which it leaves at its end. */
void timeline_enlist(struct timeline *timeline);

/* Updates all timelines. Called before failed work retires, so that a value which was reached before the failure is not
 * taken for one that comes behind it. Fit for being called under a stream's lock. */
void timelines_update(void);

/* Under the lock: the host's signal. Wakes host waits; does nothing when the value is reached already. */
void timeline_signal_now(struct timeline *timeline, uint64_t value);

/* Under the lock: fails the waits for values that are not reached, for `label` and `message`, unless the timeline is
 * poisoned. Wakes host waits. */
void timeline_fail_now(struct timeline *timeline, const char *label, const char *message);

/* Iterates over the queued signals that would bring the timeline to `value`; `*cursor` begins at 0. Returns the
 * signal's stream, retained, and its position in it; NULL at the end. */
struct stream *timeline_next_signal(struct timeline *timeline, uint64_t value, unsigned *cursor,
                                    uint64_t *position);

/* Whether no more signals can be queued: the timeline, or its only signaller, was destroyed. */
bool timeline_is_over(struct timeline *timeline);

/* Under the lock, for a timeline that is over: fails the waits for `value` and above. Does nothing while a stream
 * other than `waiter` (or NULL) has a signal for it queued, unless that signal is `hopeless`. */
void timeline_fail_waits(struct timeline *timeline, uint64_t value, const struct stream *waiter,
                         bool hopeless);

/* For the deadlock check (coordinator/deadlock.h), which concerns timelines with a signaller only: whether
 * any timeline has `has_unsignalled_wait` set, or `check_relaxed`. */
bool timeline_any_unsignalled(void);
bool timeline_any_relaxed(void);

/* Under the lock: whether the value is not reached, and no signal of the signaller is queued for it. */
bool timeline_is_unsignalled(const struct timeline *timeline, uint64_t value);

/* Under the lock, after values were awaited, queued or reached: updates both flags. */
void timeline_note_waits(struct timeline *timeline);

/* Locks, updates, and fails the waits for `value` where nobody can meet them any more. The caller unlocks. */
void timeline_lock_updated(struct timeline *timeline, uint64_t value);

/* Without locks: updates, and releases the streams that have no signals queued any more. */
void timeline_release_idle(struct timeline *timeline);

/* On a captured stream the signal is recorded in the capture; `*captured` says so. Without locks. */
cls_status timeline_signal_captured(struct timeline *timeline, struct stream *stream,
                                    uint64_t value, bool *captured);

/* Where a stream that waits joins a capture: behind a captured signal for the value, of the stream's own capture where
 * it is captured; else where neither the value is reached nor a signal is queued for it. `out` is retained, or has no
 * capture. Without locks. */
void timeline_find_captured(struct timeline *timeline, struct stream *stream, uint64_t value,
                            struct captured_record *out);

/* Releases the captured signals: those of captures that have ended, or all. Without locks. */
void timeline_forget_captured(struct timeline *timeline, bool all);

/* Appends the state of the timeline, and of the streams that are to signal the value. */
void timeline_explain(struct timeline *timeline, uint64_t value, struct explanation *to);

/* Reports a failure of the timeline to this thread's detail; returns its status. */
cls_status timeline_report(const struct timeline *timeline, const struct failure *failure);

#endif
