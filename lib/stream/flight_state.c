/* SPDX-License-Identifier: MIT */
/* Asking the driver about flights, singly and in batches; giving up those that it never starts. */
#include "stream/flight_state.h"

#include "driver/event.h"
#include "driver/quirk.h"
#include "stream/abandoned.h"
#include "stream/context.h"
#include "stream/failure.h"
#include "stream/hooks.h"
#include "system/clocks.h"

enum { VERDICT_BATCH = 128 };

/* An unstarted flight of a failed stream is given up after this time. */
static const uint64_t ABANDON_NS = 250 * 1000 * 1000;
/* The same where the driver is not known to leave such commands unstarted. */
static const uint64_t ABANDON_UNKNOWN_NS = 5 * CLOCK_SECOND;
/* For this long the driver is asked again about an event whose state it does not tell. */
static const uint64_t MUTE_NS = 20 * 1000 * 1000;

unsigned flights_span_end(const struct flights *flights) {
    unsigned i = 0;
    while (i < flights->count && !flight_at(flights, i)->event &&
           !flight_is_lost(flight_at(flights, i)))
        i++;
    return i;
}

/* Whether the flight is what its stream failed with: a launch of a graph of which the driver refused a node, or foreign code
 * that returned an error. The driver goes on with the rest, however long that takes, unless some of that fails too. */
static bool failed_in_part(const struct stream *stream, const struct flight *flight) {
    const struct failure *failure = stream_failure_at(stream, flight->position);
    return failure->origin == stream->id && failure->at == flight->position &&
           !hooks.capture.has_failed(&flight->refs);
}

/* How long the oldest flight of a poisoned stream may stay unstarted. Some drivers never start what waits for a failed
 * command, and none starts what could not be flushed, nor what waits for that. Any other driver has to end a command at
 * once that waits only for the failed one. Of launches that share the last one's event the first may have started: they
 * wait for the flight before them only, and the driver starts them if nothing of the stream has failed in it. */
static uint64_t patience_ns(const struct stream *stream, struct flight *flight) {
    if (atomic_load(&stream->context->gave_up))
        return ABANDON_NS;
    if (failed_in_part(stream, flight))
        return UINT64_MAX;
    if (flight->first != flight->position && !stream->hurt)
        return UINT64_MAX;
    if (stream->context->device->quirks & QUIRK_FAILED_WAIT_HANGS)
        return ABANDON_NS;
    return flight->chained && !deps_unretired(&flight->deps) ? ABANDON_UNKNOWN_NS : UINT64_MAX;
}

/* Whether the driver will never start this flight, the oldest of a poisoned stream. */
static bool abandoned(struct stream *stream, struct flight *flight, cl_int state) {
    if ((state != CL_QUEUED && state != CL_SUBMITTED) ||
        !stream_failure_at(stream, flight->position))
        return false;
    const uint64_t patience = patience_ns(stream, flight), now = clock_now_ns();
    if (patience == UINT64_MAX)
        return false;
    if (!stream->flights.stuck_since)
        stream->flights.stuck_since = now;
    return now - stream->flights.stuck_since > patience;
}

/* Later flights may have taken over references of this one (flights_push): it gets its own again. Without memory for them
 * the objects are kept for good. */
static void retain_moved_refs(const struct flights *flights, struct flight *flight) {
    for (unsigned i = flights->count; i-- > 0 && flight_at(flights, i) != flight;) {
        const struct refs *later = &flight_at(flights, i)->refs;
        for (unsigned r = 0; r < later->count; r++) {
            if (refs_hold(&flight->refs, later->here[r]))
                continue;
            object_retain(later->here[r]);
            refs_keep(&flight->refs, later->here[r]);
        }
    }
}

/* Gives up the oldest span. */
static cl_int abandon(struct stream *stream, cl_int code) {
    const unsigned end = flights_span_end(&stream->flights);
    retain_moved_refs(&stream->flights, flight_at(&stream->flights, end));
    abandon_flights(stream, 0, end);
    flight_at(&stream->flights, end)->outcome = code;
    return code;
}

void flights_lose(struct stream *stream, cl_int code) {
    struct flights *flights = &stream->flights;
    unsigned last = flights->count - 1, first = last;
    while (first && !flight_at(flights, first - 1)->event &&
           !flight_is_lost(flight_at(flights, first - 1)))
        first--;
    abandon_flights(stream, first, last);
    flight_at(flights, last)->outcome = code;
}

/* A driver that does not tell the state of a command is asked again for a while before the command counts as failed:
 * failing it waits until the driver is done with it, perhaps for long. */
static cl_int unanswered(struct flights *flights, cl_int code) {
    uint64_t now = clock_now_ns();
    if (!flights->mute_since)
        flights->mute_since = now;
    return now - flights->mute_since <= MUTE_NS ? CL_QUEUED : code;
}

/* The state of a flight that ends a span; positive while pending. */
static cl_int flight_state(struct stream *stream, struct flight *flight) {
    if (flight_is_lost(flight))
        return flight->outcome;
    cl_int state, code = event_ask(stream->context->device, flight->event, &state);
    if (code)
        return unanswered(&stream->flights, code);
    stream->flights.mute_since = 0;
    if (state > 0 && abandoned(stream, flight, state))
        return abandon(stream, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    return state;
}

enum batch_state { BATCH_DONE, BATCH_PENDING, BATCH_UNSURE };

static bool any_lost(const struct flights *flights, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        if (flight_is_lost(flight_at(flights, i)))
            return true;
    return false;
}

/* The outcome of the `n` oldest flights, a batch at most, which are over: waits for their events. `travels`: the driver
 * passes a failure on to all that waits for the failed command, so that fewer events are needed. */
static cl_int batch_verdict(const struct stream *stream, unsigned n, bool travels) {
    const struct flights *flights = &stream->flights;
    cl_event events[VERDICT_BATCH];
    cl_uint count = 0;
    for (unsigned i = 0; i < n; i++) {
        const struct flight *flight = flight_at(flights, i);
        bool implied = travels && i + 1 < n && flight_at(flights, i + 1)->chained;
        if (flight->event && !implied)
            events[count++] = flight->event;
    }
    return event_verdict(stream->context->device, count, events);
}

/* How many of the `n` oldest flights make up whole spans. */
static unsigned covered(const struct flights *flights, unsigned n) {
    while (n && !flight_at(flights, n - 1)->event)
        n--;
    return n;
}

/* Asks about the `*n` oldest flights at once; `*n` is reduced to whole spans and, mostly, to the size of a batch. Where
 * streams of the device do without events (caps.event_less), the newest event stands for all, however many. */
static enum batch_state batch_state(struct stream *stream, unsigned *n) {
    const struct flights *flights = &stream->flights;
    const bool lies = stream->context->device->quirks & QUIRK_STATUS_LIES;
    const bool spans = stream->context->caps->event_less && !lies;
    *n = covered(flights, !spans && *n > VERDICT_BATCH ? VERDICT_BATCH : *n);
    if (!*n || any_lost(flights, *n))
        return BATCH_UNSURE;
    cl_int state = event_state(stream->context->device, flight_at(flights, *n - 1)->event);
    if (state > 0)
        return BATCH_PENDING;
    bool done = !state && (spans || batch_verdict(stream, *n, lies) == CL_SUCCESS);
    return done ? BATCH_DONE : BATCH_UNSURE;
}

/* The `n` oldest flights are done without a failure: the driver is not asked about them again, however long what they
 * depend on takes to retire. */
static void note_done(struct flights *flights, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        flight_at(flights, i)->outcome = CL_COMPLETE;
}

/* Whether the flight and those before it can retire. One that is abandoned but stays in flight has no event, so that the
 * next command could not wait for it. */
static bool may_retire(const struct flights *flights, const struct flight *flight) {
    for (unsigned i = 0;; i++) {
        struct flight *at = flight_at(flights, i);
        if (deps_unretired(&at->deps))
            return false;
        if (at == flight)
            return true;
    }
}

/* Perhaps only the question failed, so this waits until the command is over before what it uses is given back. Where the
 * wait fails too, nobody knows, and the command is abandoned. The stream's lock stays held: without an answer the stream
 * can report nothing, and nothing can be ordered behind it. */
static void wait_for_end(struct stream *stream, struct flight *flight, cl_int code) {
    const bool over = event_await_end(stream->context->device, flight->event);
    if (!over && stream->flights.mute_since && may_retire(&stream->flights, flight))
        abandon(stream, code);
}

/* Asks about one flight. */
static cl_int ask(struct stream *stream, struct flight *flight) {
    const struct device *device = stream->context->device;
    cl_int state = flight_state(stream, flight);
    state = event_confirm(device, flight->event, state);
    if (state < 0 && flight->event)
        wait_for_end(stream, flight, state);
    if (state == CL_COMPLETE)
        flight->outcome = CL_COMPLETE;
    return state;
}

/* Asks about half as many of the oldest flights each time, until those are done. */
static void ask_batches(struct stream *stream) {
    struct flights *flights = &stream->flights;
    unsigned n = flights->count < VERDICT_BATCH ? flights->count : VERDICT_BATCH;
    enum batch_state batch = BATCH_PENDING;
    while (n > 1 && batch == BATCH_PENDING) {
        batch = batch_state(stream, &n);
        if (batch == BATCH_DONE)
            note_done(flights, n);
        n /= 2;
    }
}

/* Whether the driver is done with a flight that has an event. */
static bool is_over(const struct stream *stream, const struct flight *flight) {
    return flight_is_done(flight) ||
           event_state(stream->context->device, flight->event) <= CL_COMPLETE;
}

/* How many of the oldest flights are known to be done. */
static unsigned n_known_done(const struct flights *flights) {
    unsigned n = 0;
    while (n < flights->count && flight_is_done(flight_at(flights, n)))
        n++;
    return n;
}

/* How many of the `n` oldest flights are done, or may be. */
static unsigned done_of(struct stream *stream, unsigned n) {
    struct flights *flights = &stream->flights;
    if (!stream->events.asks_in_batches) {
        n = covered(flights, n);
        return n && is_over(stream, flight_at(flights, n - 1)) ? n : 0;
    }
    enum batch_state batch = batch_state(stream, &n);
    if (batch == BATCH_DONE)
        note_done(flights, n);
    return batch == BATCH_PENDING ? 0 : n;
}

unsigned flights_older_half(struct stream *stream) {
    const unsigned known = n_known_done(&stream->flights);
    const unsigned half = done_of(stream, stream->flights.count / 2);
    return half > known ? half : known;
}

cl_int flight_ask(struct stream *stream, struct flight *flight) {
    if (flight_is_done(flight))
        return CL_COMPLETE;
    cl_int state = ask(stream, flight);
    if (state == CL_COMPLETE && stream->events.asks_in_batches)
        ask_batches(stream);
    return state;
}
