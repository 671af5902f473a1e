/* SPDX-License-Identifier: MIT */
/*
 * Wrecks: what is left with a driver of commands that were given up, because it did not start them and
 * nothing says that it will. Their outcome is told already. What they use stays in use, the queue among it,
 * whose release would flush it, until the driver is seen to have run them after all; mostly for good.
 */
#ifndef CLSTREAM_CORE_WRECK_H
#define CLSTREAM_CORE_WRECK_H

#include <stdbool.h>
#include <stdint.h>

struct context;
struct flight;

/* Takes the flight's event and what it refers to. Under its stream's lock. */
void wreck_leave(struct context *context, struct flight *flight);

/* Host memory has no references: what is to be freed may still be written by a wreck. True when there are some:
 * then `release` is called with `arg` once there are none, mostly never. False: nothing was done. */
bool wrecks_defer(void (*release)(void *arg), void *arg);

/* Releases what has run. Returns after how many nanoseconds to look again, 0 for never; for the engine's
 * thread, without a lock. */
uint64_t wrecks_salvage(void);

#endif
