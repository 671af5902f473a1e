/* SPDX-License-Identifier: MIT */
/*
 * Something to sleep on that a driver's callback may wake. Callbacks come late, inline or never and may
 * take no lock, so a waiter is a semaphore in memory that is never given back: a late wake-up is a
 * spurious one for the next user.
 */
#ifndef CLSTREAM_STREAM_WAITER_H
#define CLSTREAM_STREAM_WAITER_H

#include <stdint.h>

struct waiter;
struct hint;

/* NULL without memory: sleep in slices then. */
struct waiter *waiter_get(void);
void waiter_put(struct waiter *waiter);

void waiter_wake(struct waiter *waiter);

/* The same as a driver's callback. */
const struct hint *waiter_hint(const struct waiter *waiter);

/* Sleeps until woken or for `ns`. A NULL waiter just sleeps. */
void waiter_sleep(struct waiter *waiter, uint64_t ns);

/* The next sleep between looks of a wait that began at `start`: a share of the time waited so far, so
 * that noticing late costs little, and not past `deadline` (0: none). */
uint64_t waiter_span(uint64_t start, uint64_t deadline);

#endif
