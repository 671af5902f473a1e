/* SPDX-License-Identifier: MIT */
/*
 * Flushing. A driver may start nothing before it is flushed. Whoever waits for work, asks about it, or has other queues wait
 * for it, flushes; the engine flushes the rest within a tick.
 *
 * A flush that fails is tried again. When all have failed for a while and the work has not started, the driver is assumed
 * never to start it: the stream is poisoned with the first error, so that nobody waits for ever, and what the driver holds
 * of it is abandoned (stream/abandoned.h).
 */
#include "stream/flush.h"
#include "base/error.h"
#include "driver/event.h"
#include "stream/context.h"
#include "stream/failure.h"
#include "system/clocks.h"

enum { GIVE_UP_TRIES = 16 };
static const uint64_t GIVE_UP_NS = 250 * 1000 * 1000;

/* Streams with unflushed work: while the host waits for one stream, the others should run. */
static _Atomic int unflushed_streams;

bool streams_unflushed(void) {
    return atomic_load_explicit(&unflushed_streams, memory_order_relaxed) > 0;
}

void stream_note_unflushed(struct stream *stream) {
    if (stream->unflushed_from || !stream->context->caps->flushes)
        return;
    atomic_fetch_add_explicit(&unflushed_streams, 1, memory_order_relaxed);
    stream->unflushed_from = flight_last(&stream->flights)->position;
}

static void note_flushed(struct stream *stream) {
    stream->unflushed_from = 0;
    stream->flush_trouble.tries = 0;
    atomic_fetch_sub_explicit(&unflushed_streams, 1, memory_order_relaxed);
}

/* Flushes each queue that unflushed work is on: mostly one, more when the stream has changed queues. */
static cls_status flush_queues(const struct stream *stream) {
    const struct flights *flights = &stream->flights;
    const struct queue *flushed = NULL;
    cls_status status = CLS_SUCCESS;
    for (unsigned i = flights->count; i-- > 0 && !status;) {
        const struct flight *flight = flight_at(flights, i);
        if (flight->position < stream->unflushed_from)
            break;
        if (flight->queue != flushed)
            status = queue_flush(stream->context->device, flight->queue->cl);
        flushed = flight->queue;
    }
    return status;
}

/* The oldest unflushed flight, or NULL when all of them have retired. */
static const struct flight *oldest_unflushed(const struct stream *stream) {
    const struct flights *flights = &stream->flights;
    for (unsigned i = 0; i < flights->count; i++)
        if (flight_at(flights, i)->position >= stream->unflushed_from)
            return flight_at(flights, i);
    return NULL;
}

static bool has_started(const struct stream *stream, const struct flight *flight) {
    const struct flight *covering = flights_covering(&stream->flights, flight->position);
    return covering && event_state(stream->context->device, covering->event) <= CL_RUNNING;
}

/* Every flush has failed for a while: fails what is unflushed, unless it runs all the same. */
static void give_up(struct stream *stream) {
    const struct flush_trouble *trouble = &stream->flush_trouble;
    const struct flight *flight = oldest_unflushed(stream);
    bool started = flight && has_started(stream, flight);
    if (flight && !started) {
        stream_fail_locked(stream, stream->unflushed_from, stream_poison_status(trouble->status),
                           trouble->code, flight->label);
        atomic_store(&stream->context->gave_up, true);
    }
    if (started)
        stream->flush_trouble.tries = 0;
    else
        note_flushed(stream);
}

void stream_flush_locked(struct stream *stream) {
    struct flush_trouble *trouble = &stream->flush_trouble;
    if (!stream->unflushed_from)
        return;
    cls_status status = flush_queues(stream);
    if (!status) {
        note_flushed(stream);
        return;
    }
    uint64_t now = clock_now_ns();
    if (!trouble->tries)
        *trouble =
            (struct flush_trouble){.since = now, .status = status, .code = cls_last_error_code()};
    if (++trouble->tries >= GIVE_UP_TRIES && now - trouble->since > GIVE_UP_NS)
        give_up(stream);
}
