/* SPDX-License-Identifier: MIT */
/*
 * Waiting for the turn of a position that is in its stream's FIFO: a host thread spins for a while, without
 * the stream's lock and without the driver, which it leaves to those who work on what is ahead.
 *
 * Where the device leaves the host's cores alone, such a thread also takes over from a worker: what follows a
 * host function is handed to the driver by the thread that waits for it, and not by the worker that ran the
 * function. Mostly it is the thread that handed over what came before, so that the driver's state is at hand on
 * its core, and it has to see the outcome anyhow. One with a deadline does not, as that may take long.
 */
#ifndef CLSTREAM_STREAM_SPIN_WAIT_H
#define CLSTREAM_STREAM_SPIN_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct stream;

/* Whether a host thread that waits for the stream never sleeps. */
bool spin_wait_is_endless(const struct stream *stream);

/* How long a host thread that waits for the stream spins, before it sleeps or polls again. */
uint64_t spin_wait_ns(const struct stream *stream);

/* Spins until the position is not in the FIFO, or not any more; false when the time for that, or the deadline
 * (0: none), came first. */
bool spin_wait(struct stream *stream, uint64_t position, uint64_t deadline);

#endif
