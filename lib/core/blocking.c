/* SPDX-License-Identifier: MIT */
#include "core/blocking.h"

#include <stdlib.h>
#include <string.h>

#include "core/stream.h"
#include "core/worker.h"

_Atomic int launch_mode;

int launch_mode_read(void) {
    const char *value = getenv("CLSTREAM_LAUNCH_BLOCKING");
    int mode = value && *value && strcmp(value, "0") != 0 ? LAUNCH_BLOCKING : LAUNCH_ASYNC;
    atomic_store_explicit(&launch_mode, mode, memory_order_relaxed);
    return mode;
}

/* --- what opens by the user's doing alone --- */

/* What a command comes after: work of streams, each up to a position. */
struct ahead {
    struct ahead_one {
        struct stream *stream; /* retained */
        uint64_t position;
    } * items;
    size_t count, room;
};

/* False without memory. */
static bool ahead_add(struct ahead *ahead, struct stream *stream, uint64_t position) {
    for (size_t i = 0; i < ahead->count; i++)
        if (ahead->items[i].stream == stream && ahead->items[i].position >= position)
            return true;
    if (ahead->count == ahead->room) {
        const size_t room = ahead->room ? 2 * ahead->room : 8;
        struct ahead_one *grown = realloc(ahead->items, room * sizeof *grown);
        if (!grown)
            return false;
        ahead->items = grown;
        ahead->room = room;
    }
    object_retain(&stream->object);
    ahead->items[ahead->count++] = (struct ahead_one){stream, position};
    return true;
}

/* Whether one of them waits for a gate or a user's own event, or nobody knows; adds what else they wait for. */
static bool waits_for_gate(struct ahead *ahead, struct ahead_one one) {
    bool waits = false;
    pthread_mutex_lock(&one.stream->lock);
    struct command *command = one.stream->fifo_head;
    for (; command && command->position <= one.position && !waits; command = command->next)
        for (unsigned i = 0; i < command->deps.count && !waits; i++) {
            const struct dep *dep = &deps_items(&command->deps)[i];
            waits = !dep->stream || !ahead_add(ahead, dep->stream, dep->position);
        }
    pthread_mutex_unlock(&one.stream->lock);
    return waits;
}

/* Whether a command, or one that it comes after, waits for what nothing says that it comes by itself. */
static bool is_behind_gate(struct stream *stream, uint64_t position) {
    struct ahead ahead = {.count = 0};
    bool behind = !ahead_add(&ahead, stream, position);
    for (size_t i = 0; i < ahead.count && !behind; i++)
        behind = waits_for_gate(&ahead, ahead.items[i]);
    for (size_t i = 0; i < ahead.count; i++)
        stream_put(ahead.items[i].stream);
    free(ahead.items);
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

/* The last command of a stream that a call submitted, of those whose failures it reports or of the others. */
struct held {
    struct stream *stream; /* retained */
    uint64_t position;
    bool reports;
};

static _Thread_local struct {
    unsigned depth;
    size_t count, room;
    struct held *items;
} waits;

void blocking_hold_waits(void) { waits.depth++; }

/* False without memory. */
static bool hold(struct stream *stream, uint64_t position, bool reports) {
    for (size_t i = 0; i < waits.count; i++)
        if (waits.items[i].stream == stream && waits.items[i].reports == reports) {
            waits.items[i].position = position;
            return true;
        }
    if (waits.count == waits.room) {
        const size_t room = waits.room ? 2 * waits.room : 8;
        struct held *grown = realloc(waits.items, room * sizeof *grown);
        if (!grown)
            return false;
        waits.items = grown;
        waits.room = room;
    }
    object_retain(&stream->object);
    waits.items[waits.count++] = (struct held){stream, position, reports};
    return true;
}

cls_status blocking_wait(struct stream *stream, uint64_t position, bool reports) {
    if (worker_in_user_code() || (waits.depth && hold(stream, position, reports)))
        return CLS_SUCCESS;
    return wait_for(stream, position, reports);
}

cls_status blocking_settle_waits(cls_status status) {
    if (--waits.depth)
        return status;
    for (size_t i = 0; i < waits.count; i++) {
        const struct held *held = &waits.items[i];
        const cls_status outcome = wait_for(held->stream, held->position, held->reports && !status);
        status = status ? status : outcome;
        stream_put(held->stream);
    }
    free(waits.items);
    waits.items = NULL;
    waits.count = waits.room = 0;
    return status;
}
