/* SPDX-License-Identifier: MIT */
#include "stream/event.h"

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "stream/context.h"
#include "stream/event_records.h"
#include "stream/hooks.h"
#include "stream/stream.h"

static void event_finalize(struct object *object) {
    struct event *event = (struct event *)(void *)object;
    if (event->stream)
        stream_put(event->stream);
    if (event->captured)
        object_release(event->captured);
    if (event->records)
        event_records_free(event->records);
    context_put(event->context);
}

struct object_pool event_pool =
    OBJECT_POOL_LOCKED(3, sizeof(struct event), "event", event_finalize);
_Static_assert(offsetof(struct event, lock) == sizeof(struct object), "the lock lasts");

cls_status event_new(struct context *context, struct event_records *records, struct event **out) {
    struct event *event = object_create(&event_pool);
    if (!event) {
        if (records)
            event_records_free(records);
        context_put(context);
        return object_none(&event_pool, "an event");
    }
    event->context = context;
    event->records = records;
    *out = event;
    return CLS_SUCCESS;
}

cls_status event_enter(cls_event handle, struct event **out) {
    struct event *event = object_peek(&event_pool, handle);
    if (!event)
        return object_invalid(&event_pool, handle);
    pthread_mutex_lock(&event->lock);
    cls_status status = object_is(&event->object, handle) ? context_check(event->context)
                                                          : object_invalid(&event_pool, handle);
    if (status)
        pthread_mutex_unlock(&event->lock);
    else
        *out = event;
    return status;
}

struct stream *event_latest(struct event *event, uint64_t *position) {
    if (event->stream) {
        object_retain(&event->stream->object);
        *position = event->position;
    }
    return event->stream;
}

cls_status event_snapshot_any(cls_event handle, struct stream **stream, uint64_t *position,
                              struct captured_record *captured, struct event **shared) {
    struct event *event;
    cls_status status = event_enter(handle, &event);
    if (status)
        return status;
    *stream = event_latest(event, position);
    captured->capture = event->captured;
    if (RARELY(event->captured)) {
        captured->node = event->node;
        object_retain(event->captured);
    }
    *shared = event->records ? event : NULL;
    if (RARELY(event->records))
        object_retain(&event->object);
    pthread_mutex_unlock(&event->lock);
    return CLS_SUCCESS;
}

cls_status event_snapshot_or_shared(cls_event handle, struct stream **stream, uint64_t *position,
                                    struct event **shared) {
    struct captured_record captured;
    cls_status status = event_snapshot_any(handle, stream, position, &captured, shared);
    if (status || !RARELY(captured.capture))
        return status;
    status = hooks.capture.refuse_event(captured.capture, "call that asks for a captured event");
    object_release(captured.capture);
    return status;
}

cls_status event_snapshot(cls_event handle, struct stream **stream, uint64_t *position) {
    struct event *shared;
    cls_status status = event_snapshot_or_shared(handle, stream, position, &shared);
    if (status || !RARELY(shared))
        return status;
    object_release(&shared->object);
    return error_set(CLS_ERROR_UNSUPPORTED, "the call takes no event that processes share, whose "
                                            "records are no positions of streams");
}

void event_own(cls_event handle, const char *owner) {
    struct event *event;
    if (event_enter(handle, &event))
        return;
    event->owner = owner;
    pthread_mutex_unlock(&event->lock);
}

cls_status event_refuse_owner(struct stream *stream, const char *owner) {
    char call[64];
    snprintf(call, sizeof call, "use by %s", owner);
    return hooks.capture.refuse(stream, call);
}

uint64_t event_new_serial(struct event *event) {
    pthread_mutex_lock(&event->lock);
    uint64_t serial = ++event->next_serial;
    pthread_mutex_unlock(&event->lock);
    return serial;
}

void event_set_record(struct event *event, struct stream *stream, uint64_t position,
                      uint64_t serial) {
    struct stream *out = stream;
    object_retain(&stream->object);
    struct object *captured = NULL;
    pthread_mutex_lock(&event->lock);
    if (serial > event->serial) {
        captured = event_take_captured(event);
        out = event->stream;
        event->stream = stream;
        event->position = position;
        event->serial = serial;
    }
    pthread_mutex_unlock(&event->lock);
    if (out)
        stream_put(out);
    if (captured)
        object_release(captured);
}

void event_set_time(struct event *event, uint64_t serial, const struct event_time *time) {
    pthread_mutex_lock(&event->lock);
    if (serial > event->time_serial) {
        event->time = *time;
        event->time_serial = serial;
    }
    pthread_mutex_unlock(&event->lock);
}
