/* SPDX-License-Identifier: MIT */
/* The system's monotonic clock, and giving a processor away. */
#ifndef CLSTREAM_SYSTEM_CLOCKS_H
#define CLSTREAM_SYSTEM_CLOCKS_H

#include <stdint.h>
#include <time.h>

#define CLOCK_MS UINT64_C(1000000)
#define CLOCK_SECOND UINT64_C(1000000000)

static inline struct timespec clock_timespec(uint64_t ns) {
    return (struct timespec){(time_t)(ns / CLOCK_SECOND), (long)(ns % CLOCK_SECOND)};
}

/* Nanoseconds; on Windows those of winpthreads, by the performance counter. */
static inline uint64_t clock_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * CLOCK_SECOND + (uint64_t)now.tv_nsec;
}

/* Sleeps at least `ns`; a signal may cut it short. */
#ifdef _WIN32
void clock_sleep_ns(uint64_t ns);
#else
static inline void clock_sleep_ns(uint64_t ns) {
    const struct timespec span = clock_timespec(ns);
    nanosleep(&span, 0);
}
#endif

/* Lets another thread have the processor. */
void system_yield(void);

#endif
