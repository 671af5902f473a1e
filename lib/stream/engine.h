/* SPDX-License-Identifier: MIT */
/*
 * The submitter: one thread a process that flushes what nobody waits for within a millisecond, notices
 * completions nobody asks about, and hands over deferred commands when their turn comes. It never
 * blocks in a driver or in user code.
 */
#ifndef CLSTREAM_STREAM_ENGINE_H
#define CLSTREAM_STREAM_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>

#include <clstream/status.h>

#include "base/rare.h"

struct stream;
struct hint;

/* Starts the thread unless it runs. CLS_ERROR_OUT_OF_MEMORY when there can be no thread,
 * CLS_ERROR_SHUTDOWN when the process is exiting. */
cls_status engine_start(void);

/* Puts a stream on the list of those looked after; under the stream's lock. It leaves by itself once
 * it is idle. */
void engine_watch(struct stream *stream) COLD;

/* Has the streams looked after now rather than at the next tick. Takes no lock: fit for callbacks. */
void engine_kick(void) COLD;
extern const struct hint engine_hint;

/* Whether a stream's work needs the thread within a tick, to be flushed or to get an event. Else it is only
 * looked at now and then: a thread that wakes often keeps a CPU device's own from being spread over idle
 * cores, as a scheduler moves none to a core that rests for less than the move costs. */
bool engine_ticks_for(const struct stream *stream);

/* A kick only when the thread sleeps for long: for work that must be flushed within a millisecond, and for a
 * head that has to wait. Not for what is behind a worker: that hands it over itself. */
void engine_rouse(void);

/* From here on engine_is_down; the thread goes on with what there is. */
void engine_close(void);

/* Stops the thread and joins it. */
void engine_stop(void);

/* Whether the process is exiting: nothing is accepted any more. */
extern _Atomic bool engine_down;
static inline bool engine_is_down(void) {
    return atomic_load_explicit(&engine_down, memory_order_relaxed);
}

#endif
