/* SPDX-License-Identifier: MIT */
/* Ranges (cls_range_push, cls_range_pop): a stack per thread; a range is recorded when it is closed. */
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "trace/profiler.h"

enum { MAX_DEPTH = 32 };

struct range {
    char name[LABEL_BYTES];
    uint64_t start; /* 0: nobody profiled when it was opened */
};

static _Thread_local struct {
    uint64_t thread; /* 0: not numbered yet */
    unsigned depth;  /* may be above MAX_DEPTH: those are counted only */
    struct range ranges[MAX_DEPTH];
} own;

static uint64_t thread_number(void) {
    static _Atomic uint64_t threads;
    if (!own.thread)
        own.thread = atomic_fetch_add(&threads, 1) + 1;
    return own.thread;
}

cls_status cls_range_push(const char *name) {
    if (!name)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_range_push: name is null");
    cls_status status = process_check();
    if (status)
        return status;
    unsigned depth = own.depth++;
    if (depth >= MAX_DEPTH)
        return CLS_SUCCESS;
    struct range *range = &own.ranges[depth];
    range->start = 0;
    if (trace_is_on()) {
        size_t length = strnlen(name, sizeof range->name - 1);
        memcpy(range->name, name, length);
        range->name[length] = '\0';
        range->start = clock_now_ns();
    }
    return CLS_SUCCESS;
}

cls_status cls_range_pop(void) {
    cls_status status = process_check();
    if (status)
        return status;
    if (!own.depth)
        return error_set(CLS_ERROR_INVALID_STATE, "cls_range_pop: this thread has no open range");
    unsigned depth = --own.depth;
    if (depth < MAX_DEPTH && own.ranges[depth].start)
        trace_span(own.ranges[depth].name, thread_number(), own.ranges[depth].start,
                   clock_now_ns());
    return CLS_SUCCESS;
}
