/* SPDX-License-Identifier: MIT */
/* Profilers inside: the observer of commands, and the rings of those that run. */
#ifndef CLSTREAM_TRACE_PROFILER_H
#define CLSTREAM_TRACE_PROFILER_H

#include <clstream/profiler.h>

#include "base/handle.h"
#include "trace/profile.h"
#include "trace/ring.h"

enum { MAX_TIMERS = 16 };

struct profiler {
    struct object object;
    /* Under the trace lock: */
    bool running;
    struct profiler *next; /* of those that run */
    struct ring ring;
    uint64_t missed;                        /* records for which there was no memory */
    struct timed_device timers[MAX_TIMERS]; /* the first and the latest reading of each device */
    size_t n_timers;
};

extern struct object_pool profiler_pool, profile_pool;

/* As cls_profiler_snapshot; `drivers` false: they may be gone, and are not asked for anything. */
cls_status profiler_snapshot(cls_profiler handle, bool drivers, cls_profile *out);

/* Whether a profiler runs. */
bool trace_is_on(void);

/* Gives a span of `thread` (0: of the caller's own) to every profiler that runs. */
void trace_span(const char *label, uint64_t thread, uint64_t start, uint64_t end);

/* Has `call` told when the process exits and all is drained; of the one that was set last. */
void trace_at_drain(void (*call)(void));

#endif
