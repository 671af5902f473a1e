/* SPDX-License-Identifier: MIT */
/* Semaphores that wait for a span by the monotonic clock, where the system has that. */
#ifndef CLSTREAM_SYSTEM_SEMAPHORES_H
#define CLSTREAM_SYSTEM_SEMAPHORES_H

#include <stdbool.h>
#include <stdint.h>

#ifndef _WIN32
#include <semaphore.h>
#endif

struct semaphore {
#ifdef _WIN32
    void *count, *timer; /* handles */
#else
    sem_t count;
#endif
};

/* At 0. False without resources. It is never destroyed. */
bool semaphore_init(struct semaphore *semaphore);

/* Async-signal-safe. */
void semaphore_post(struct semaphore *semaphore);

enum semaphore_wait { SEMAPHORE_TAKEN, SEMAPHORE_LATE, SEMAPHORE_DISTURBED /* by a signal */ };

/* Waits at most `ns` for a post. One thread at a time. */
enum semaphore_wait semaphore_wait_ns(struct semaphore *semaphore, uint64_t ns);

/* Takes all posts there are. */
void semaphore_empty(struct semaphore *semaphore);

#endif
