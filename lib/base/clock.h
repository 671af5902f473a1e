/* SPDX-License-Identifier: MIT */
/* The monotonic clock in nanoseconds. */
#ifndef CLSTREAM_BASE_CLOCK_H
#define CLSTREAM_BASE_CLOCK_H

#include <stdint.h>

#include "system/clocks.h"

#define CLOCK_MS UINT64_C(1000000)
#define CLOCK_SECOND SYSTEM_SECOND_NS

static inline uint64_t clock_now_ns(void) { return system_now_ns(); }

/* Sleeps at least `ns`; a signal may cut it short. */
static inline void clock_sleep_ns(uint64_t ns) { system_sleep_ns(ns); }

#endif
