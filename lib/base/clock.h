/* SPDX-License-Identifier: MIT */
/* The monotonic clock in nanoseconds. */
#ifndef CLSTREAM_BASE_CLOCK_H
#define CLSTREAM_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_MS UINT64_C(1000000)
#define CLOCK_SECOND UINT64_C(1000000000)

static inline uint64_t clock_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * CLOCK_SECOND + (uint64_t)now.tv_nsec;
}

/* Sleeps at least `ns`; a signal may cut it short. */
static inline void clock_sleep_ns(uint64_t ns) {
    struct timespec span = {(time_t)(ns / CLOCK_SECOND), (long)(ns % CLOCK_SECOND)};
    nanosleep(&span, 0);
}

#endif
