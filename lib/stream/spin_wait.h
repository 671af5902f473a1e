/* SPDX-License-Identifier: MIT */
/*
 * Spinning until a position leaves its stream's FIFO, without the stream's lock and without the driver: those are left to the
 * threads that hand over what is ahead.
 *
 * Where the device does not use the host's cores, such a thread also takes over from a worker (fifo_offer): it hands what
 * follows a host function to the driver, in place of the worker that ran the function. Mostly it is the thread that handed
 * over what came before, so that the driver's state is in its core's cache, and it has to see the outcome anyway. A thread
 * with a deadline does not take over, since that may take long.
 */
#ifndef CLSTREAM_STREAM_SPIN_WAIT_H
#define CLSTREAM_STREAM_SPIN_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct stream;

/* Whether a host thread that waits for the stream never sleeps. */
bool spin_wait_is_endless(const struct stream *stream);

/* How long a host thread that waits for the stream spins, before it sleeps or polls again. 0 by default on a device that
 * computes on the host's cores: the work would take longer by the core that spins. */
uint64_t spin_wait_ns(const struct stream *stream);

/* Lets a device that computes on the host's cores have this one for now. */
void spin_wait_yield(const struct stream *stream);

/* Spins until the position is not in the FIFO, or not any more; false when the time for that, or the deadline
 * (0: none), came first. */
bool spin_wait(struct stream *stream, uint64_t position, uint64_t deadline);

#endif
