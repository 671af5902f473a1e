/* SPDX-License-Identifier: MIT */
/* What an async coordinator stores: reports, operations, and the last operation on each buffer. */
#include <stdlib.h>
#include <string.h>

#include "base/cache_line.h"
#include "base/error.h"
#include "base/rare.h"
#include "base/ring.h"
#include "pipeline/async.h"
#include "pipeline/internals.h"

enum { FIRST_CAPACITY = 256, FEW_BUFFERS = 64 };

/* --- reports --- */

static cls_completion *report_at(const struct reports *reports, size_t i) {
    const size_t place = reports->first + i;
    return &reports->ring[place < reports->capacity ? place : place - reports->capacity];
}

static void drop_report(struct reports *reports) {
    reports->first = reports->first + 1 < reports->capacity ? reports->first + 1 : 0;
    reports->count--;
}

COLD static void grow_reports(struct reports *reports) {
    size_t capacity = reports->capacity ? reports->capacity * 2 : 64;
    capacity = capacity < reports->limit ? capacity : reports->limit;
    cls_completion *ring = ring_grown(reports->ring, sizeof *ring, reports->capacity,
                                      reports->first, reports->count, capacity);
    if (!ring)
        return;
    free(reports->ring);
    reports->ring = ring;
    reports->capacity = capacity;
    reports->first = 0;
}

/* Without memory for another report the oldest is dropped. */
static void report(struct reports *reports, const cls_completion *completion) {
    if (RARELY(reports->count == reports->capacity) && reports->capacity < reports->limit)
        grow_reports(reports);
    if (RARELY(!reports->capacity))
        return;
    if (reports->count == reports->capacity)
        drop_report(reports);
    *report_at(reports, reports->count++) = *completion;
}

bool async_take_report(struct async *async, cls_completion *out) {
    struct reports *reports = &async->reports;
    if (!reports->count)
        return false;
    *out = *report_at(reports, 0);
    drop_report(reports);
    return true;
}

/* --- operations --- */

static struct op *op_at(const struct lane *lane, size_t i) {
    return &lane->ring[(lane->first + i) & (lane->capacity - 1)];
}

/* Forgets the first `n`. */
static void drop_ops(struct lane *lane, size_t n) {
    lane->first += n;
    lane->count -= n;
}

/* Completes the oldest operation in flight. A successful one is removed: the failed ones before it move up by
 * one. */
static void complete_oldest(struct async *async, cls_op_kind kind, cls_status status) {
    struct lane *lane = &async->lanes[kind];
    const cls_completion completion = {op_at(lane, lane->failed)->id, kind, status};
    report(&async->reports, &completion);
    if (status) {
        lane->failed++;
        return;
    }
    for (size_t i = lane->failed; i > 0; i--)
        *op_at(lane, i) = *op_at(lane, i - 1);
    drop_ops(lane, 1);
}

/* Completes the operations that are done. `ask`: asks the driver; otherwise uses what the stream knows. */
static void complete_done(struct async *async, cls_op_kind kind, bool ask) {
    struct lane *lane = &async->lanes[kind];
    struct stream *stream = lane->stream;
    while (lane->count > lane->failed) {
        const uint64_t position = op_at(lane, lane->failed)->position;
        if (!ask && atomic_load(&stream->retired) < position)
            return;
        if (stream_query(stream, position))
            return; /* even if it failed: work before the failure may still run */
        const struct failure *failure = stream_failure_at(stream, position);
        complete_oldest(async, kind, failure ? failure->status : CLS_SUCCESS);
    }
}

void async_progress(struct async *async) {
    for (int kind = 0; kind < KINDS; kind++)
        complete_done(async, (cls_op_kind)kind, true);
}

/* The place of the first operation whose number is not below `id`. */
static size_t lower_bound(const struct lane *lane, cls_op id) {
    size_t low = 0, high = lane->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (op_at(lane, middle)->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool async_find(const struct async *async, cls_op id, struct end *out) {
    for (int kind = 0; kind < KINDS; kind++) {
        const struct lane *lane = &async->lanes[kind];
        const size_t place = lower_bound(lane, id);
        if (place == lane->count || op_at(lane, place)->id != id)
            continue;
        *out = (struct end){(cls_op_kind)kind, op_at(lane, place)->position};
        return true;
    }
    return false;
}

COLD static cls_status grow(struct lane *lane) {
    const size_t capacity = lane->capacity ? 2 * lane->capacity : FIRST_CAPACITY;
    struct op *ring =
        ring_grown(lane->ring, sizeof *ring, lane->capacity, lane->first, lane->count, capacity);
    if (!ring)
        return error_no_memory("for an operation");
    free(lane->ring);
    lane->ring = ring;
    lane->capacity = capacity;
    lane->first = 0;
    return CLS_SUCCESS;
}

static bool is_full(const struct lane *lane) {
    return lane->count + lane->reserved == lane->capacity;
}

/* Removes operations that are done, or else grows the ring. */
static cls_status make_room(struct async *async, cls_op_kind kind) {
    struct lane *lane = &async->lanes[kind];
    complete_done(async, kind, false);
    return is_full(lane) ? grow(lane) : CLS_SUCCESS;
}

cls_status async_reserve(struct async *async, cls_op_kind kind) {
    struct lane *lane = &async->lanes[kind];
    cls_status status = RARELY(is_full(lane)) ? make_room(async, kind) : CLS_SUCCESS;
    lane->reserved += !status;
    return status;
}

void async_unreserve(struct async *async, cls_op_kind kind) { async->lanes[kind].reserved--; }

cls_status async_record(struct async *async, struct end *end, cls_op *id) {
    struct lane *lane = &async->lanes[end->kind];
    cls_status status =
        RARELY(!end->position) ? stream_mark(lane->stream, &end->position) : CLS_SUCCESS;
    if (RARELY(status))
        return status;
    *id = ++async->issued;
    lane->reserved--;
    *op_at(lane, lane->count++) = (struct op){*id, end->position};
    prefetch_line(op_at(lane, lane->count), 0);
    return CLS_SUCCESS;
}

/* A failed `end` is waited for at once: merged with a later position of its stream, after a reset, its
 * failure would be lost. */
cls_status async_come_after(struct async *async, cls_op_kind kind, struct end end,
                            uint64_t behind[KINDS]) {
    struct stream *stream = async->lanes[end.kind].stream;
    if (!end.position || end.kind == kind)
        return CLS_SUCCESS;
    if (RARELY(stream_failure_at(stream, end.position)))
        return stream_wait_for(async->lanes[kind].stream, stream, end.position);
    if (behind[end.kind] < end.position)
        behind[end.kind] = end.position;
    return CLS_SUCCESS;
}

cls_status async_enter_behind(struct async *async, cls_op_kind kind, const uint64_t behind[KINDS]) {
    struct stream *stream = async->lanes[kind].stream, *last = NULL;
    uint64_t position = 0;
    for (int other = 0; other < KINDS; other++) {
        if (!behind[other])
            continue;
        cls_status status = last ? stream_wait_for(stream, last, position) : CLS_SUCCESS;
        if (status)
            return status;
        last = async->lanes[other].stream;
        position = behind[other];
    }
    return stream_enter_behind(stream, last, position);
}

/* --- buffers --- */

/* Fibonacci hashing: the bits that differ between handles are the middle ones. */
static unsigned hash_of(cls_buffer buffer) {
    return (unsigned)((uint64_t)(uintptr_t)buffer * 0x9e3779b97f4a7c15u >> 32);
}

static struct buffer_use *find_use(struct async *async, cls_buffer buffer) {
    struct buffer_use *use = async->found;
    if (use && use->buffer == buffer)
        return use;
    HASH_FIND_BYHASHVALUE(hh, async->buffers, &buffer, sizeof buffer, hash_of(buffer), use);
    async->found = use;
    return use;
}

static bool is_over(const struct async *async, struct end end) {
    return atomic_load(&async->lanes[end.kind].stream->retired) >= end.position;
}

static bool has_succeeded(const struct async *async, struct end end) {
    return is_over(async, end) && !stream_failure_at(async->lanes[end.kind].stream, end.position);
}

/* Whether no operation has to wait for the buffer. */
static bool is_unneeded(const struct async *async, const struct buffer_use *use) {
    bool succeeded = true;
    for (int kind = 0; kind < KINDS && succeeded; kind++)
        succeeded = has_succeeded(async, (struct end){(cls_op_kind)kind, use->last[kind]});
    return succeeded;
}

static void drop_unneeded(struct async *async) {
    struct buffer_use *use, *next;
    async->found = NULL;
    HASH_ITER(hh, async->buffers, use, next) {
        if (use->users || !is_unneeded(async, use))
            continue;
        HASH_DEL(async->buffers, use);
        free(use);
    }
}

static size_t live(const struct async *async) {
    size_t sum = 0;
    for (int kind = 0; kind < KINDS; kind++)
        sum += async->lanes[kind].count;
    return sum;
}

COLD static struct buffer_use *add_use(struct async *async, cls_buffer buffer) {
    if (HASH_COUNT(async->buffers) >= FEW_BUFFERS + 2 * live(async))
        drop_unneeded(async);
    struct buffer_use *use = calloc(1, sizeof *use);
    if (!use)
        return NULL;
    use->buffer = buffer;
    HASH_ADD_BYHASHVALUE(hh, async->buffers, buffer, sizeof buffer, hash_of(buffer), use);
    if (use->hh.tbl)
        return use;
    free(use);
    return NULL;
}

struct buffer_use *async_use_buffer(struct async *async, cls_buffer buffer) {
    struct buffer_use *use = find_use(async, buffer);
    if (!use)
        use = add_use(async, buffer);
    if (use)
        use->users++;
    return use;
}

cls_status async_come_after_buffer(struct async *async, cls_op_kind kind,
                                   const struct buffer_use *use, uint64_t behind[KINDS]) {
    for (int other = 0; other < KINDS; other++) {
        const struct end end = {(cls_op_kind)other, use->last[other]};
        const cls_status status = async_come_after(async, kind, end, behind);
        if (RARELY(status))
            return status;
    }
    return CLS_SUCCESS;
}

/* The operation does not run behind those that were stored while it was submitted, so these stay. */
void async_release_buffer(struct async *async, cls_buffer buffer, const struct end *last,
                          uint64_t since) {
    struct buffer_use *use = find_use(async, buffer);
    use->users--;
    if (!last)
        return;
    if (!RARELY(use->turn > since))
        memset(use->last, 0, sizeof use->last);
    use->last[last->kind] = last->position;
    use->turn = ++async->turns;
}

/* --- failure and the end --- */

/* Operations that are done have failed or not; after the reset nothing is to fail because of them. */
void async_forget_failed(struct async *async) {
    struct buffer_use *use, *next;
    for (int kind = 0; kind < KINDS; kind++) {
        drop_ops(&async->lanes[kind], async->lanes[kind].failed);
        async->lanes[kind].failed = 0;
    }
    HASH_ITER(hh, async->buffers, use, next) {
        for (int kind = 0; kind < KINDS; kind++)
            if (is_over(async, (struct end){(cls_op_kind)kind, use->last[kind]}))
                use->last[kind] = 0;
    }
    if (is_over(async, async->unknown))
        async->unknown.position = 0;
}

void async_free(struct async *async) {
    struct buffer_use *use, *next;
    HASH_ITER(hh, async->buffers, use, next) {
        HASH_DEL(async->buffers, use);
        free(use);
    }
    for (int kind = 0; kind < KINDS; kind++)
        free(async->lanes[kind].ring);
    free(async->reports.ring);
}
