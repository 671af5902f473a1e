/* SPDX-License-Identifier: MIT */
/* The functions of clstream/event.h. */
#include "stream/event.h"

#include "api/shared_event.h"
#include "base/error.h"
#include "base/sized.h"
#include "check/explain.h"
#include "check/race.h"
#include "memory/mempool.h"
#include "stream/context.h"
#include "stream/event_policy.h"
#include "stream/event_records.h"
#include "stream/failure.h"
#include "stream/follow.h"
#include "stream/hooks.h"
#include "stream/legacy.h"
#include "stream/submit.h"
#include "stream/wait.h"
#include "stream/wait_check.h"

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

static cls_status create_event(cls_context handle, const cls_event_config *config, cls_event *out) {
    struct event_records *records = NULL;
    struct context *context;
    struct event *event;
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    if (config->shareable)
        status = event_records_make(&records);
    if (status) {
        context_put(context);
        return status;
    }
    status = event_new(context, records, &event);
    if (status)
        return status;
    event->timed = config->timed != 0;
    *out = object_handle(&event->object);
    return CLS_SUCCESS;
}

cls_status cls_event_create(cls_context context, const cls_event_config *given, cls_event *out) {
    cls_event_config config = CLS_EVENT_CONFIG_INIT;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_event_create: out is null");
    cls_status status = SIZED_IN(cls_event_config, &config, given);
    if (!status && config.timed && config.shareable)
        status = error_set(CLS_ERROR_INVALID_VALUE, "a shareable event is not timed");
    return status ? status : create_event(context, &config, out);
}

cls_status cls_event_destroy(cls_event handle) {
    struct event *event = object_acquire(&event_pool, handle);
    if (!event)
        return object_invalid(&event_pool, handle);
    pthread_mutex_lock(&event->lock);
    bool destroyed = object_destroy(&event_pool, handle);
    pthread_mutex_unlock(&event->lock);
    event_put(event);
    return destroyed ? CLS_SUCCESS : object_invalid(&event_pool, handle);
}

/* A timed record is a marker on a profiled queue; its end time is the event's. CLS_NOT_READY: the stream is captured. */
static cls_status submit_timed(struct event *event, struct stream *stream, uint64_t serial,
                               uint64_t *position) {
    struct command marker;
    pthread_mutex_lock(&stream->lock);
    if (RARELY(stream->capturing)) {
        pthread_mutex_unlock(&stream->lock);
        return CLS_NOT_READY;
    }
    command_init(&marker, &type_marker, NULL);
    marker.u.marker.serial = serial;
    marker.u.marker.event = event;
    object_retain(&event->object);
    command_keep(&marker, &event->object);
    cls_status status = stream_submit_entered(stream, &marker, NULL, position);
    if (!*position) /* refused; see stream_mark */
        return status;
    stream_want_timing(stream);
    return CLS_SUCCESS;
}

/* A timed record gets no time on a poisoned stream. If a reset came in between, the record has to be repeated. */
static bool lacks_time(const struct event *event, const struct stream *stream, uint64_t position) {
    return event->timed && !stream_failure_at(stream, position);
}

/* CLS_NOT_READY: a capture of the stream began meanwhile. */
static cls_status record(struct event *event, struct stream *stream) {
    if (event->context != stream->context)
        return error_set(CLS_ERROR_WRONG_CONTEXT, "the event and the stream are of different "
                                                  "contexts");
    if (event->records)
        return shared_event_record(event, stream);
    uint64_t serial = event_new_serial(event), position;
    const struct failure *known;
    cls_status status;
    bool again;
    do {
        position = 0;
        known = atomic_load(&stream->failures);
        bool timed = event->timed && !stream_poison(stream);
        status = timed ? submit_timed(event, stream, serial, &position)
                       : stream_mark_for(stream, MARK_BESIDE, &position);
        again = status ? atomic_load(&stream->failures) != known /* a failure found meanwhile */
                       : !timed && lacks_time(event, stream, position);
    } while (again);
    if (!status)
        event_set_record(event, stream, position, serial);
    return status;
}

/* What a record replaces, for the caller to release without locks. */
struct replaced {
    struct stream *stream;   /* NULL: none, or the same one */
    struct object *captured; /* NULL: none */
};

/* Under the locks of both: records in the stream's capture. */
COLD static cls_status record_captured(struct stream *stream, struct event *event,
                                       struct replaced *before) {
    struct object *captured = event->captured;
    struct captured_record record;
    cls_status status =
        event->context != stream->context
            ? error_set(CLS_ERROR_WRONG_CONTEXT,
                        "the event and the stream are of different contexts")
        : event->owner   ? event_refuse_owner(stream, event->owner)
        : event->records ? hooks.capture.refuse(stream, "record of an event that processes share")
                         : hooks.capture.record(stream, event, &record);
    if (status)
        return status;
    *before = (struct replaced){event->stream, captured};
    event->captured = record.capture;
    event->node = record.node;
    event->stream = NULL;
    event->serial = ++event->next_serial;
    return CLS_SUCCESS;
}

/* Called with the stream entered: records, unless a command has to be submitted for it. */
static cls_status record_here(struct stream *stream, cls_event handle, bool *recorded,
                              struct replaced *before) {
    struct event *event;
    uint64_t position;
    cls_status status = event_enter(handle, &event);
    if (status)
        return status;
    if (RARELY(stream->capturing)) {
        status = record_captured(stream, event, before);
        *recorded = !status;
        pthread_mutex_unlock(&event->lock);
        return status;
    }
    *recorded = !event->timed && !event->records && event->context == stream->context &&
                stream_marked_locked(stream, &position);
    if (*recorded) {
        if (event->stream != stream) {
            object_retain(&stream->object);
            before->stream = event->stream;
            event->stream = stream;
        }
        before->captured = event_take_captured(event);
        event->position = position;
        event->serial = ++event->next_serial;
        event_policy_note_record(stream);
    }
    pthread_mutex_unlock(&event->lock);
    return CLS_SUCCESS;
}

/* The same under the stream's lock, which it drops. */
static cls_status record_leaving(struct stream *stream, cls_event handle, bool *recorded) {
    struct replaced before = {NULL, NULL};
    cls_status status = record_here(stream, handle, recorded, &before);
    pthread_mutex_unlock(&stream->lock);
    if (before.stream)
        stream_put(before.stream);
    if (RARELY(before.captured))
        object_release(before.captured);
    return status;
}

/* Records on a default stream, or on a given one where a command has to be submitted. */
static cls_status record_slowly(cls_event handle, cls_stream stream_handle) {
    struct event *event;
    struct stream *stream;
    bool recorded = false, look = !stream_handle;
    cls_status status = event_get(handle, &event);
    if (status)
        return status;
    status = stream_get(stream_handle, event->context, &stream);
    if (status) {
        event_put(event);
        return status;
    }
    do {
        if (look) {
            pthread_mutex_lock(&stream->lock);
            status = record_leaving(stream, handle, &recorded);
        }
        if (!status && !recorded)
            status = record(event, stream);
        look = true;
    } while (status == CLS_NOT_READY);
    stream_put(stream);
    event_put(event);
    return status;
}

cls_status cls_event_record(cls_event handle, cls_stream stream_handle) {
    struct stream *stream;
    bool recorded = false;
    if (!stream_handle)
        return record_slowly(handle, NULL);
    cls_status status = stream_enter(stream_handle, &stream);
    if (!status)
        status = record_leaving(stream, handle, &recorded);
    return status || recorded ? status : record_slowly(handle, stream_handle);
}

static struct stream *latest(struct event *event, uint64_t *position) {
    pthread_mutex_lock(&event->lock);
    struct stream *stream = event_latest(event, position);
    pthread_mutex_unlock(&event->lock);
    return stream;
}

static cls_status outcome(const struct stream *stream, uint64_t position) {
    const struct failure *failure = stream_failure_at(stream, position);
    return failure ? failure_report(stream, failure) : CLS_SUCCESS;
}

cls_status cls_event_query(cls_event handle) {
    struct stream *stream;
    struct event *shared;
    uint64_t position;
    cls_status status = event_snapshot_or_shared(handle, &stream, &position, &shared);
    if (!status && RARELY(shared)) {
        status = shared_event_query(shared);
        event_put(shared);
        return status;
    }
    if (status || !stream)
        return status;
    status = outcome(stream, position);
    if (!status)
        status = stream_query(stream, position);
    if (!status)
        status = outcome(stream, position);
    stream_put(stream);
    return status;
}

static cls_status event_await(cls_event handle, uint64_t deadline) {
    struct stream *stream;
    struct event *shared;
    uint64_t position;
    cls_status status = event_snapshot_or_shared(handle, &stream, &position, &shared);
    if (!status && RARELY(shared)) {
        status = shared_event_await(shared, deadline);
        event_put(shared);
        return status;
    }
    if (!status)
        status = check_may_block();
    if (status || !stream)
        return status;
    status = stream_wait(stream, position, deadline);
    if (status == CLS_ERROR_TIMEOUT)
        explain_timeout(stream);
    else
        stream_memory_waited(stream);
    stream_put(stream);
    return status;
}

cls_status cls_event_synchronize(cls_event handle) { return event_await(handle, WAIT_FOREVER); }

cls_status cls_event_wait(cls_event handle, uint64_t timeout_ns) {
    return event_await(handle, deadline_after(timeout_ns));
}

/* Runs the check of waits for a stream that is not entered yet. */
static cls_status ask(cls_stream handle, struct stream *default_stream, const struct dep *dep) {
    struct stream *stream;
    if (!handle)
        return wait_check_enter(default_stream, dep);
    cls_status status = stream_get(handle, NULL, &stream);
    if (status)
        return status;
    status = wait_check_enter(stream, dep);
    stream_put(stream);
    return status;
}

/* What a wait for another stream's work comes to. */
enum wait_route {
    WAIT_IS_OVER, /* the work is done, or the stream's own */
    WAIT_ADDED,   /* a dependency */
    WAIT_CHECKED /* a dependency that the check of waits has allowed, whose lock is held until it is added */
};

/* Takes over the reference of `other`, which may be NULL. A stream with a handle is compared only, until it is entered. */
static cls_status wait_for_work(cls_stream handle, struct stream *stream, struct stream *other,
                                uint64_t position) {
    enum wait_route route = WAIT_IS_OVER;
    struct stream *ordered = NULL; /* the stream, if it has a part in the legacy order; retained */
    struct learned learned;        /* not cleared: four cache lines, mostly unused */
    struct dep dep;
    learned.count = 0;
    if (other && other != stream) {
        order_cache_gather(other, position, &learned);
        if (!stream_dep(other, position, stream, &dep))
            route = wait_check_wanted(&dep) ? WAIT_CHECKED : WAIT_ADDED;
    }
    cls_status status = route == WAIT_CHECKED ? ask(handle, stream, &dep) : CLS_SUCCESS;
    if (status) {
        dep_release(&dep);
        return status;
    }
    if (!handle)
        pthread_mutex_lock(&stream->lock);
    else
        status = stream_enter(handle, &stream);
    if (!status) {
        if (other && race_on())
            race_waits(stream, other, position);
        status = stream_follow_entered(stream, other, position, route == WAIT_IS_OVER ? NULL : &dep,
                                       &learned);
        if (RARELY(stream->legacy_role != LEGACY_NONE)) {
            ordered = stream;
            object_retain(&ordered->object);
        }
        pthread_mutex_unlock(&stream->lock);
    }
    if (route == WAIT_CHECKED)
        wait_check_unlock();
    if (route == WAIT_IS_OVER && other)
        stream_put(other);
    else if (route != WAIT_IS_OVER && status)
        dep_release(&dep);
    if (RARELY(ordered)) {
        status = status ? status : legacy_note_wait(ordered);
        stream_put(ordered);
    }
    return status;
}

/* Takes over the reference of the event. */
COLD static cls_status wait_for_shared(cls_stream handle, struct event *event) {
    struct stream *stream;
    cls_status status = stream_get(handle, event->context, &stream);
    if (!status) {
        status = shared_event_wait(event, stream);
        stream_put(stream);
    }
    event_put(event);
    return status;
}

cls_status cls_stream_wait_event(cls_stream handle, cls_event event) {
    struct stream *stream, *other;
    struct captured_record captured;
    struct event *shared;
    uint64_t position;
    cls_status status = event_snapshot_any(event, &other, &position, &captured, &shared);
    if (!status && RARELY(shared))
        return wait_for_shared(handle, shared);
    if (!status && RARELY(captured.capture)) {
        status = hooks.capture.wait(handle, captured.capture, captured.node);
        object_release(captured.capture);
        return status;
    }
    if (status || (!handle && !other))
        return status;
    if (handle)
        return wait_for_work(handle, object_peek(&stream_pool, handle), other, position);
    status = stream_get(NULL, other->context, &stream);
    if (status) {
        stream_put(other);
        return status;
    }
    status = wait_for_work(NULL, stream, other, position);
    stream_put(stream);
    return status;
}

/* --- elapsed time --- */

/* One event of a measurement: its latest record, and when that ended. */
struct measured {
    struct event *event;
    struct stream *stream; /* retained */
    uint64_t position;
    struct event_time time;
};

static cls_status find_record(struct measured *one) {
    one->stream = latest(one->event, &one->position);
    if (!one->event->timed || !one->stream)
        return error_set(CLS_ERROR_NOT_TIMED, "the event is %s",
                         one->event->timed ? "not recorded" : "not a timed one");
    return CLS_SUCCESS;
}

static cls_status read_time(struct measured *one) {
    cls_status status = stream_query(one->stream, one->position);
    if (!status)
        status = outcome(one->stream, one->position);
    if (status)
        return status;
    struct event *event = one->event;
    pthread_mutex_lock(&event->lock);
    one->time = event->time;
    if (event->time_serial != event->serial)
        status = CLS_NOT_READY;
    pthread_mutex_unlock(&event->lock);
    return status;
}

/* The first error of both, and CLS_NOT_READY without one. */
static cls_status read_times(struct measured *from, struct measured *to) {
    const cls_status first = read_time(from);
    if (first < 0)
        return first;
    const cls_status second = read_time(to);
    return second < 0 ? second : first ? first : second;
}

static double milliseconds_between(const struct event_time *from, const struct event_time *to) {
    const bool device = from->has_device && to->has_device;
    const uint64_t a = device ? from->device_ns : from->host_ns;
    const uint64_t b = device ? to->device_ns : to->host_ns;
    return b >= a ? (double)(b - a) / 1e6 : -(double)(a - b) / 1e6;
}

static cls_status elapsed(struct event *start, struct event *end, double *milliseconds) {
    struct measured from = {.event = start}, to = {.event = end};
    if (start->context != end->context)
        return error_set(CLS_ERROR_WRONG_CONTEXT, "the events are of different contexts");
    cls_status status = find_record(&from);
    if (!status)
        status = find_record(&to);
    if (!status)
        status = read_times(&from, &to);
    if (!status)
        *milliseconds = milliseconds_between(&from.time, &to.time);
    if (from.stream)
        stream_put(from.stream);
    if (to.stream)
        stream_put(to.stream);
    return status;
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
