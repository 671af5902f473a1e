/* SPDX-License-Identifier: MIT */
/*
 * Wrecks: what is left with a driver of commands that were given up, because it did not start them and
 * nothing says that it will, or because it does not tell whether it is done with them. Their outcome is told
 * already. What they use stays in use, the queue among it, whose release would flush it, until the driver is
 * seen to have run them after all; mostly for good.
 */
#ifndef CLSTREAM_STREAM_ABANDONED_H
#define CLSTREAM_STREAM_ABANDONED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rare.h"

struct command;
struct context;
struct queue;
struct stream;

/* Takes the stream's flights from `first` to `last`, of one queue: what they refer to, and the last one's event,
 * the only one there is. NULL: the driver refused to give them one, and is asked for one again. Under the
 * stream's lock. */
void abandon_flights(struct stream *stream, unsigned first, unsigned last) COLD;

/* Takes what a command refers to, if anything, that the driver has in part perhaps, on a queue that gave no event
 * for it. */
void abandon_command(struct context *context, struct queue *queue, struct command *command) COLD;

/* Host memory has no references: what is to be freed may still be in use by abandoned work. True when it is: then
 * `release` is called with `arg` once it is not, mostly never. False: nothing was done. */
bool abandoned_defer(const void *host, size_t bytes, void (*release)(void *arg), void *arg);

/* Releases what has run. Returns after how many nanoseconds to look again, 0 for never; for the engine's
 * thread, without a lock. */
uint64_t abandoned_reclaim(void);

#endif
