/* SPDX-License-Identifier: MIT */
/*
 * Cache lines and their prefetch. The driver fills the caches between two submissions, so a submission prefetches the
 * lines that it will need while it does other work.
 */
#ifndef CLSTREAM_BASE_CACHE_LINE_H
#define CLSTREAM_BASE_CACHE_LINE_H

#include <stdint.h>

enum { CACHE_LINE = 64 };

/* GCC takes a function that does nothing but prefetch for one without effect, and drops its calls where they were not
 * inlined before. */
#define PREFETCHES static inline __attribute__((always_inline))

/* A line of what lies at `memory`, which may be null. */
PREFETCHES void prefetch_line(const void *memory, unsigned line) {
    __builtin_prefetch((const void *)((uintptr_t)memory + line * CACHE_LINE));
}

#endif
