/* SPDX-License-Identifier: MIT */
/*
 * CLSTREAM_LAUNCH_BLOCKING: every command completes before the call returns that submits it. A call that submits
 * under a lock of its own holds its waits until it has left the lock, which what it waits for may need.
 */
#ifndef CLSTREAM_STREAM_BLOCKING_H
#define CLSTREAM_STREAM_BLOCKING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <clstream/status.h>

#include "base/rare.h"

struct stream;

/* What CLSTREAM_LAUNCH_BLOCKING asks for; 0: it was not read yet. */
enum { LAUNCH_ASYNC = 1, LAUNCH_BLOCKING };
extern _Atomic int launch_mode;
int launch_mode_read(void) COLD;

static inline bool blocking_launches(void) {
    int mode = atomic_load_explicit(&launch_mode, memory_order_relaxed);
    return (mode ? mode : launch_mode_read()) == LAUNCH_BLOCKING;
}

/* Waits for a command of this thread's, or leaves that to blocking_release; without locks of streams. Its failure
 * is returned where it `reports`. What is behind a gate is not waited for, nor is anything in a host function. */
cls_status blocking_wait(struct stream *stream, uint64_t position, bool reports) COLD;

void blocking_hold_waits(void) COLD;
cls_status blocking_release_waits(cls_status status) COLD;

/* This thread's commands are waited for by the blocking_release that belongs to it; pairs nest. */
static inline void blocking_hold(void) {
    if (blocking_launches())
        blocking_hold_waits();
}

/* Returns the call's status, or the first failure of what was waited for where that is success. */
static inline cls_status blocking_release(cls_status status) {
    return blocking_launches() ? blocking_release_waits(status) : status;
}

/* The same around a lock. */
static inline void blocking_lock(pthread_mutex_t *lock) {
    pthread_mutex_lock(lock);
    blocking_hold();
}

static inline cls_status blocking_unlock(pthread_mutex_t *lock, cls_status status) {
    pthread_mutex_unlock(lock);
    return blocking_release(status);
}

#endif
