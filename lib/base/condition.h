/* SPDX-License-Identifier: MIT */
/* Condition variables that wait by the monotonic clock. */
#ifndef CLSTREAM_BASE_CONDITION_H
#define CLSTREAM_BASE_CONDITION_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/clock.h"

static inline bool condition_init(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes))
        return false;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    bool made = !pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
    return made;
}

/* False once the time `until` (clock_now_ns) has passed. */
static inline bool condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock,
                                  uint64_t until) {
    struct timespec when = {(time_t)(until / CLOCK_SECOND), (long)(until % CLOCK_SECOND)};
    return pthread_cond_timedwait(condition, lock, &when) != ETIMEDOUT;
}

#endif
