/* SPDX-License-Identifier: MIT */
/*
 * Abandoned work: commands that the driver still has but that were given up, because it will never start them as far as can
 * be known, or does not tell whether it is done with them. They have retired as failed. What they use is kept, their queue
 * too, whose release would flush it, until the driver is seen to have run them after all; mostly for good.
 */
#ifndef CLSTREAM_STREAM_ABANDONED_H
#define CLSTREAM_STREAM_ABANDONED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rare.h"
#include "driver/cl.h"

struct command;
struct refs;
struct context;
struct queue;
struct stream;

/* Takes over the references of the stream's flights from `first` to `last`, which are on one queue, and the event of the
 * last; where the driver refused one, it is asked again. Under the stream's lock. */
void abandon_flights(struct stream *stream, unsigned first, unsigned last) COLD;

/* Takes over the references of a command that the driver refused, but may have in part. */
void abandon_command(struct context *context, struct queue *queue, struct command *command) COLD;

/* Takes over the event of a transfer that a worker has started on the queue, from or to `host`. The command keeps its
 * references; the transfer has its own from here on. Without a lock. */
void abandon_transfer(struct context *context, struct queue *queue, cl_event event,
                      const struct refs *refs, const void *host) COLD;

/* Host memory has no references, so abandoned work may still use what is to be freed. True when it does: `release` is
 * called with `arg` once it does not, mostly never. False: nothing was done. */
bool abandoned_defer(const void *host, size_t bytes, void (*release)(void *arg), void *arg);

/* Releases what has run by now. Returns the nanoseconds until the next call, 0: none is needed. For the engine's thread,
 * without a lock. */
uint64_t abandoned_reclaim(void);

#endif
