/* SPDX-License-Identifier: MIT */
#include "core/event.h"

#include "base/error.h"
#include "core/context.h"
#include "core/mutant.h"
#include "core/stream.h"

static void event_finalize(struct object *object) {
    struct event *event = (struct event *)(void *)object;
    if (event->stream)
        stream_put(event->stream);
    pthread_mutex_destroy(&event->lock);
    context_put(event->context);
}

struct object_pool event_pool = OBJECT_POOL(3, sizeof(struct event), "event", event_finalize);

static cls_status event_get(cls_event handle, struct event **out) {
    struct event *event = object_acquire(&event_pool, handle);
    if (!event)
        return object_invalid(&event_pool, handle);
    cls_status status = context_check(event->context);
    if (status)
        object_release(&event->object);
    else
        *out = event;
    return status;
}

static void event_put(struct event *event) { object_release(&event->object); }

cls_status cls_event_create(cls_context handle, const cls_event_config *config, cls_event *out) {
    if (!out || (config && config->size != sizeof *config))
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "cls_event_create: out is null or config of a wrong size");
    struct context *context;
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    struct event *event = object_create(&event_pool);
    if (!event || pthread_mutex_init(&event->lock, NULL)) {
        if (event)
            object_abandon(&event->object);
        context_put(context);
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for an event");
    }
    event->context = context;
    event->timed = config && config->timed;
    *out = object_handle(&event->object);
    return CLS_SUCCESS;
}

cls_status cls_event_destroy(cls_event handle) {
    return object_destroy(&event_pool, handle) ? CLS_SUCCESS : object_invalid(&event_pool, handle);
}

static uint64_t new_serial(struct event *event) {
    pthread_mutex_lock(&event->lock);
    uint64_t serial = ++event->next_serial;
    pthread_mutex_unlock(&event->lock);
    return serial;
}

/* Sets the record, unless a later one was set meanwhile. */
static void set_record(struct event *event, struct stream *stream, uint64_t position,
                       uint64_t serial) {
    struct stream *out = stream;
    object_retain(&stream->object);
    pthread_mutex_lock(&event->lock);
    if (serial > event->serial) {
        out = event->stream;
        event->stream = stream;
        event->position = position;
        event->serial = serial;
    }
    pthread_mutex_unlock(&event->lock);
    if (out)
        stream_put(out);
}

/* A timed record is a marker on a profiled queue, whose end is the time. */
static cls_status submit_timed(struct event *event, struct stream *stream, uint64_t serial,
                               uint64_t *position) {
    struct command marker;
    command_init(&marker, &type_marker, NULL);
    pthread_mutex_lock(&stream->lock);
    stream->want_profiled = true;
    pthread_mutex_unlock(&stream->lock);
    marker.u.marker.serial = serial;
    marker.u.marker.event = event;
    object_retain(&event->object);
    command_keep(&marker, &event->object);
    return stream_submit(stream, &marker, position);
}

static cls_status record(struct event *event, struct stream *stream) {
    uint64_t position;
    if (event->context != stream->context)
        return error_set(CLS_ERROR_WRONG_CONTEXT, "the event and the stream are of different "
                                                  "contexts");
    uint64_t serial = new_serial(event);
    bool timed = event->timed && !stream_poison(stream);
    cls_status status =
        timed ? submit_timed(event, stream, serial, &position) : stream_mark(stream, &position);
    if (!status)
        set_record(event, stream, position, serial);
    return status;
}

cls_status cls_event_record(cls_event handle, cls_stream stream_handle) {
    struct event *event;
    struct stream *stream;
    cls_status status = event_get(handle, &event);
    if (status)
        return status;
    status = stream_get(stream_handle, event->context, &stream);
    if (!status) {
        status = record(event, stream);
        stream_put(stream);
    }
    event_put(event);
    return status;
}

static struct stream *latest(struct event *event, uint64_t *position) {
    pthread_mutex_lock(&event->lock);
    struct stream *stream = event->stream;
    if (stream) {
        object_retain(&stream->object);
        *position = event->position;
    }
    pthread_mutex_unlock(&event->lock);
    return stream;
}

cls_status event_snapshot(cls_event handle, struct stream **stream, uint64_t *position) {
    struct event *event;
    cls_status status = event_get(handle, &event);
    if (status)
        return status;
    *stream = latest(event, position);
    event_put(event);
    return CLS_SUCCESS;
}

void event_tell_time(struct event *event, uint64_t serial, const struct event_time *time) {
    pthread_mutex_lock(&event->lock);
    if (serial > event->time_serial) {
        event->time = *time;
        event->time_serial = serial;
    }
    pthread_mutex_unlock(&event->lock);
}

static cls_status outcome(const struct stream *stream, uint64_t position) {
    const struct failure *failure = stream_failure_at(stream, position);
    return failure ? failure_report(stream, failure) : CLS_SUCCESS;
}

cls_status cls_event_query(cls_event handle) {
    struct stream *stream;
    uint64_t position;
    cls_status status = event_snapshot(handle, &stream, &position);
    if (status || !stream)
        return status;
    status = outcome(stream, position);
    if (!status)
        status = stream_progress(stream, position);
    if (!status)
        status = outcome(stream, position);
    stream_put(stream);
    return status;
}

static cls_status event_await(cls_event handle, uint64_t deadline) {
    struct stream *stream;
    uint64_t position;
    cls_status status = event_snapshot(handle, &stream, &position);
    if (!status)
        status = check_may_block();
    if (status || !stream)
        return status;
    status = stream_wait(stream, position, deadline);
    stream_put(stream);
    return status;
}

cls_status cls_event_synchronize(cls_event handle) { return event_await(handle, WAIT_FOREVER); }

cls_status cls_event_wait(cls_event handle, uint64_t timeout_ns) {
    return event_await(handle, deadline_after(timeout_ns));
}

cls_status stream_wait_for(struct stream *stream, struct stream *other, uint64_t position) {
    struct dep dep;
    bool done;
    cls_status status = CLS_SUCCESS;
    if (other == stream)
        return CLS_SUCCESS;
    stream_dep(other, position, stream, &dep, &done);
    if (!done && mutant(MUTANT_WAIT_EVENT)) {
        dep_release(&dep);
    } else if (!done) {
        status = stream_add_wait(stream, &dep);
        if (status)
            dep_release(&dep);
    }
    /* Looked at last: a failure found from here on is told to this stream by its wait. */
    const struct failure *failure = stream_failure_at(other, position);
    if (failure)
        stream_inherit(stream, failure);
    return status;
}

cls_status cls_stream_wait_event(cls_stream stream_handle, cls_event handle) {
    struct stream *stream, *other;
    uint64_t position;
    cls_status status = event_snapshot(handle, &other, &position);
    if (status)
        return status;
    status = stream_get(stream_handle, other ? other->context : NULL, &stream);
    if (!status) {
        if (other)
            status = stream_wait_for(stream, other, position);
        stream_put(stream);
    }
    if (other)
        stream_put(other);
    return status;
}

/* --- elapsed time --- */

static cls_status event_time(struct event *event, struct event_time *time) {
    uint64_t position = 0;
    struct stream *stream = latest(event, &position);
    if (!event->timed || !stream) {
        if (stream)
            stream_put(stream);
        return error_set(CLS_ERROR_NOT_TIMED, "the event is %s",
                         event->timed ? "not recorded" : "not a timed one");
    }
    cls_status status = stream_progress(stream, position);
    if (!status)
        status = outcome(stream, position);
    stream_put(stream);
    if (status)
        return status;
    pthread_mutex_lock(&event->lock);
    *time = event->time;
    if (event->time_serial != event->serial)
        status = CLS_NOT_READY;
    pthread_mutex_unlock(&event->lock);
    return status;
}

static cls_status elapsed(struct event *start, struct event *end, double *milliseconds) {
    struct event_time from, to;
    if (start->context != end->context)
        return error_set(CLS_ERROR_WRONG_CONTEXT, "the events are of different contexts");
    cls_status status = event_time(start, &from);
    if (!status)
        status = event_time(end, &to);
    if (status)
        return status;
    bool device = from.has_device && to.has_device;
    uint64_t a = device ? from.device_ns : from.host_ns, b = device ? to.device_ns : to.host_ns;
    *milliseconds = b >= a ? (double)(b - a) / 1e6 : -(double)(a - b) / 1e6;
    return CLS_SUCCESS;
}

cls_status cls_event_elapsed(cls_event start_handle, cls_event end_handle, double *milliseconds) {
    struct event *start, *end;
    if (!milliseconds)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_event_elapsed: milliseconds is null");
    cls_status status = event_get(start_handle, &start);
    if (status)
        return status;
    status = event_get(end_handle, &end);
    if (!status) {
        status = elapsed(start, end, milliseconds);
        event_put(end);
    }
    event_put(start);
    return status;
}
