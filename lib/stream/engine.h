/* SPDX-License-Identifier: MIT */
/*
 * The engine: one thread of the process that visits the streams with work. It flushes within a millisecond what nobody waits
 * for, retires what nobody asks about, and drives the FIFOs. It never blocks in a driver or in user code.
 *
 * A stream is visited at every tick, of 0.4 ms while it has work to flush or a FIFO to drive and of 10 ms while its work is
 * only pending, from engine_watch on until it is idle. While the FIFO is that of a device other than a CPU, whose work no
 * thread disturbs, ticks are of 20 us at first: so long may a stream of one context lie behind another context's work. engine_kick has all streams visited at once; engine_rouse does where
 * the next tick is 10 ms or more away.
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

/* The stream is visited from now on, until it is found idle; it is retained meanwhile. Under the stream's lock. */
void engine_watch(struct stream *stream) COLD;

/* All streams are visited at once: something happened that a head, or a sleeping thread, may wait for. Takes no lock: fit
 * for a driver's callbacks, for which engine_hint is the same. */
void engine_kick(void) COLD;
extern const struct hint engine_hint;

/* All streams are visited within 0.4 ms: there is work to flush or a FIFO to drive. Not needed for commands behind one that
 * a worker runs, which the worker drives. Takes no lock. */
void engine_rouse(void);

/* Whether each submission to the stream calls for engine_rouse, because its work has to be flushed or given an event. Other
 * streams are visited now and then only: a thread that wakes often keeps a CPU device's threads from spreading over idle
 * cores, as a scheduler moves none to a core that rests for less than the move costs. */
bool engine_ticks_for(const struct stream *stream);

/* From here on engine_is_down; the thread goes on with the work there is. */
void engine_close(void);

/* Stops the thread and joins it. */
void engine_stop(void);

/* Whether the process is exiting: no submission is accepted any more. */
extern _Atomic bool engine_down;
static inline bool engine_is_down(void) {
    return atomic_load_explicit(&engine_down, memory_order_relaxed);
}

#endif
