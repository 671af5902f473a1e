/* SPDX-License-Identifier: MIT */
/*
 * Timelines inside. A timeline is a gate (stream/gate.h). A signal of a stream is no command: as an event's
 * record it is a position of the stream, and takes effect when somebody looks and that position is
 * retired; so signalling costs the device nothing, and a wait for a signal that is with the driver is a
 * wait for that position. The value is settled under the timeline's lock, a leaf.
 */
#ifndef CLSTREAM_COORDINATOR_TIMELINE_H
#define CLSTREAM_COORDINATOR_TIMELINE_H

#include <pthread.h>

#include <clstream/timeline.h>

#include "coordinator/signal_queues.h"
#include "stream/gate.h"

struct explanation;
struct stream;

struct timeline {
    struct gate gate;
    char name[64];
    struct stream *signaller; /* retained; NULL: anybody */
    _Atomic bool destroyed;   /* the handle is */

    pthread_mutex_t lock;    /* guards what follows */
    pthread_cond_t progress; /* signalled, queued or failed: for waits of the host */
    uint64_t value;
    uint64_t awaited;  /* the highest value that a stream was made to wait for */
    uint64_t indulged; /* the highest of those that only user code was there to signal */
    bool owes;         /* no signal is queued for `awaited` (coordinator/deadlock.h) */
    bool lenient;      /* below `indulged` */
    struct signal_queues queues;
    struct failure *spare; /* for the next failure, so that recording one cannot fail */
};

extern struct object_pool timeline_pool;
extern const struct gate_type timeline_gate;

/* Looks up a handle and takes a reference. Reports. */
cls_status timeline_get(cls_timeline handle, struct timeline **out);
static inline void timeline_put(struct timeline *timeline) {
    object_release(&timeline->gate.object);
}

/* Under the lock: takes the signals whose positions are retired. */
void timeline_settle(struct timeline *timeline);

/* Under the lock: the host's signal; a value that is reached changes nothing. Wakes who waits. */
void timeline_raise(struct timeline *timeline, uint64_t value);

/* Queued signals that would bring the timeline to `value`, one a call: the stream, retained, of the
 * first from `*cursor` on (0 at the start), and its position. NULL: no more. */
struct stream *timeline_next_signal(struct timeline *timeline, uint64_t value, unsigned *cursor,
                                    uint64_t *position);

/* Whether nobody can signal it any more, beyond what is queued. */
bool timeline_is_over(struct timeline *timeline);

/* Under the lock: fails the waits for `value` and above, unless a signal for it is queued, and not hopeless.
 * `waiter` may be NULL. For a timeline that was over before. */
void timeline_give_up(struct timeline *timeline, uint64_t value, const struct stream *waiter,
                      bool hopeless);

/* Locks, settles, and fails the waits for `value` where nobody can meet them any more. */
void timeline_enter(struct timeline *timeline, uint64_t value);

/* Settles, and lets go of the streams that have no signals queued any more. Without locks. */
void timeline_tidy(struct timeline *timeline);

/* Says where the timeline is, and what the streams do that are to signal the value. */
void timeline_explain(struct timeline *timeline, uint64_t value, struct explanation *to);

/* Reports a failure of the timeline to this thread's detail; returns its status. */
cls_status timeline_report(const struct timeline *timeline, const struct failure *failure);

#endif
