/* SPDX-License-Identifier: MIT */
/* Ranges (cls_range_push, cls_range_pop): a stack per thread; a range is recorded when it is closed. Captures ask
 * which are open. */
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/process.h"
#include "system/clocks.h"
#include "trace/profiler.h"

static _Atomic uint64_t pushes;

static _Thread_local struct {
    uint64_t thread; /* 0: not numbered yet */
    unsigned depth;  /* may be above RANGE_DEPTH: those are counted only */
    struct open_range ranges[RANGE_DEPTH];
    uint64_t starts[RANGE_DEPTH]; /* 0: nobody profiled when it was opened */
} own;

uint64_t ranges_thread(void) {
    static _Atomic uint64_t threads;
    if (!own.thread)
        own.thread = atomic_fetch_add(&threads, 1) + 1;
    return own.thread;
}

uint64_t ranges_newest(void) { return atomic_load(&pushes); }

unsigned ranges_open(uint64_t since, struct open_range out[RANGE_DEPTH]) {
    unsigned count = 0;
    for (unsigned i = 0; i < own.depth && i < RANGE_DEPTH; i++)
        if (own.ranges[i].number > since)
            out[count++] = own.ranges[i];
    return count;
}

cls_status cls_range_push(const char *name) {
    if (!name)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_range_push: name is null");
    cls_status status = process_check();
    if (status)
        return status;
    unsigned depth = own.depth++;
    if (depth >= RANGE_DEPTH)
        return CLS_SUCCESS;
    struct open_range *range = &own.ranges[depth];
    size_t length = strnlen(name, sizeof range->name - 1);
    memcpy(range->name, name, length);
    range->name[length] = '\0';
    range->number = atomic_fetch_add(&pushes, 1) + 1;
    own.starts[depth] = trace_is_on() ? clock_now_ns() : 0;
    return CLS_SUCCESS;
}

cls_status cls_range_pop(void) {
    cls_status status = process_check();
    if (status)
        return status;
    if (!own.depth)
        return error_set(CLS_ERROR_INVALID_STATE, "cls_range_pop: this thread has no open range");
    unsigned depth = --own.depth;
    if (depth < RANGE_DEPTH && own.starts[depth])
        trace_span(own.ranges[depth].name, ranges_thread(), own.starts[depth], clock_now_ns());
    return CLS_SUCCESS;
}
