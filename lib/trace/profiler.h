/* SPDX-License-Identifier: MIT */
/* The internals of profilers: the observer of commands, and the rings of running profilers. */
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
    struct record_ring ring;
    uint64_t missed;                        /* records for which there was no memory */
    struct timed_device timers[MAX_TIMERS]; /* the first and the latest reading of each device */
    size_t n_timers;
};

extern struct object_pool profiler_pool, profile_pool;

/* As cls_profiler_create, with its capacity, but the process does not use the library yet (base/process.h). */
cls_status profiler_create(size_t capacity, cls_profiler *out);

/* As cls_profiler_snapshot. With `drivers` false no driver is called, as drivers may have been unloaded. */
cls_status profiler_snapshot(cls_profiler handle, bool drivers, cls_profile *out);

/* Whether a profiler runs. */
bool trace_is_on(void);

/* Adds a span of `thread` (0: added by the program) to every running profiler. */
void trace_span(const char *label, uint64_t thread, uint64_t start, uint64_t end);

/* An open range of a thread. */
struct open_range {
    uint64_t number; /* of its push, among those of all threads */
    char name[LABEL_BYTES];
};

enum { RANGE_DEPTH = 32 };

/* The number of the newest push. */
uint64_t ranges_newest(void);

/* The calling thread's open ranges that were pushed after that number, the outer ones first; returns how many. */
unsigned ranges_open(uint64_t since, struct open_range out[RANGE_DEPTH]);

/* The calling thread, as the ranges that it opens have it. */
uint64_t ranges_thread(void);

/* Sets the function that is called at exit, once all streams have drained. */
void trace_at_drain(void (*call)(void));

#endif
