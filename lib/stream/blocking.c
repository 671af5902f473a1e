/* SPDX-License-Identifier: MIT */
#include "stream/blocking.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/setting.h"
#include "stream/wait.h"
#include "stream/worker.h"

ASKED _Atomic int launch_mode;

int launch_mode_read(void) {
    static const struct setting setting = {
        "CLSTREAM_LAUNCH_BLOCKING", {{"1", LAUNCH_BLOCKING}, {"0", LAUNCH_ASYNC}}, LAUNCH_ASYNC};
    static _Atomic int known = -1;
    const int mode = setting_read(&setting, &known);
    atomic_store_explicit(&launch_mode, mode, memory_order_relaxed);
    return mode;
}

/* --- work of streams, each up to a position --- */

struct point {
    struct stream *stream; /* retained */
    uint64_t position;
    bool reports; /* the call returns its failure */
};

struct points {
    struct point *items;
    size_t count, room;
};

/* False without memory. */
static bool points_add(struct points *points, struct point point) {
    if (!ARRAY_ROOM(points->items, points->count, points->room, 8))
        return false;
    object_retain(&point.stream->object);
    points->items[points->count++] = point;
    return true;
}

static void points_free(struct points *points) {
    for (size_t i = 0; i < points->count; i++)
        stream_put(points->items[i].stream);
    free(points->items);
    *points = (struct points){.count = 0};
}

/* --- what opens by the user's doing alone --- */

/* False without memory. */
static bool ahead_add(struct points *ahead, struct stream *stream, uint64_t position) {
    for (size_t i = 0; i < ahead->count; i++)
        if (ahead->items[i].stream == stream && ahead->items[i].position >= position)
            return true;
    return points_add(ahead, (struct point){stream, position, false});
}

/* A launch of another context's that is to pass first (cross_context_hold.h) comes by itself. */
static bool is_cross_context(const struct dep *dep) {
    return !dep->stream && !dep->gate && dep->order_only;
}

/* Whether one of them waits for a gate or a user's own event, or nobody knows; adds what else they wait for. */
static bool waits_for_gate(struct points *ahead, struct point one) {
    bool waits = false;
    pthread_mutex_lock(&one.stream->lock);
    struct command *command = fifo_head(&one.stream->fifo);
    for (; command && command->position <= one.position && !waits; command = command->next)
        for (unsigned i = 0; i < command->deps.count && !waits; i++) {
            const struct dep *dep = &deps_items(&command->deps)[i];
            waits = !is_cross_context(dep) &&
                    (!dep->stream || !ahead_add(ahead, dep->stream, dep->position));
        }
    pthread_mutex_unlock(&one.stream->lock);
    return waits;
}

/* Whether a command, or one that it comes after, waits for what nothing says that it comes by itself. */
static bool is_behind_gate(struct stream *stream, uint64_t position) {
    struct points ahead = {.count = 0};
    bool behind = !ahead_add(&ahead, stream, position);
    for (size_t i = 0; i < ahead.count && !behind; i++)
        behind = waits_for_gate(&ahead, ahead.items[i]);
    points_free(&ahead);
    return behind;
}

/* --- waits --- */

static cls_status wait_for(struct stream *stream, uint64_t position, bool reports) {
    if (is_behind_gate(stream, position))
        return CLS_SUCCESS;
    if (reports)
        return stream_wait(stream, position, WAIT_FOREVER);
    stream_await(stream, position, WAIT_FOREVER);
    return CLS_SUCCESS;
}

/* The last command of each stream that a call submitted, of those whose failures it reports and of the others. */
static _Thread_local struct {
    unsigned depth;
    struct points last;
} waits;

void blocking_hold_waits(void) { waits.depth++; }

/* False without memory. */
static bool hold(struct stream *stream, uint64_t position, bool reports) {
    for (size_t i = 0; i < waits.last.count; i++) {
        struct point *point = &waits.last.items[i];
        if (point->stream == stream && point->reports == reports) {
            point->position = position;
            return true;
        }
    }
    return points_add(&waits.last, (struct point){stream, position, reports});
}

cls_status blocking_wait(struct stream *stream, uint64_t position, bool reports) {
    if (worker_in_user_code() || (waits.depth && hold(stream, position, reports)))
        return CLS_SUCCESS;
    return wait_for(stream, position, reports);
}

cls_status blocking_release_waits(cls_status status) {
    if (--waits.depth)
        return status;
    for (size_t i = 0; i < waits.last.count; i++) {
        const struct point *point = &waits.last.items[i];
        const cls_status outcome =
            wait_for(point->stream, point->position, point->reports && !status);
        status = status ? status : outcome;
    }
    points_free(&waits.last);
    return status;
}
