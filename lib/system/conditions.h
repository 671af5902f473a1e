/* SPDX-License-Identifier: MIT */
/* Condition variables that wait by the monotonic clock. */
#ifndef CLSTREAM_SYSTEM_CONDITIONS_H
#define CLSTREAM_SYSTEM_CONDITIONS_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "system/clocks.h"

/* winpthreads waits by the real-time clock only; a jump of that clock stretches or cuts a wait there. */
static inline struct timespec condition_deadline(uint64_t until) {
#ifdef _WIN32
    struct timespec real;
    const uint64_t now = clock_now_ns();
    clock_gettime(CLOCK_REALTIME, &real);
    until = (uint64_t)real.tv_sec * CLOCK_SECOND + (uint64_t)real.tv_nsec +
            (until > now ? until - now : 0);
#endif
    return clock_timespec(until);
}

static inline bool condition_init(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes))
        return false;
#ifndef _WIN32
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
#endif
    bool made = !pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
    return made;
}

/* False once the time `until` (clock_now_ns) has passed. */
static inline bool condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock,
                                  uint64_t until) {
    const struct timespec when = condition_deadline(until);
    return pthread_cond_timedwait(condition, lock, &when) != ETIMEDOUT;
}

#endif
