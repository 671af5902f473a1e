/* SPDX-License-Identifier: MIT */
#include "stream/flight_state.h"

#include "base/clock.h"
#include "driver/event.h"
#include "driver/quirk.h"
#include "stream/abandoned.h"
#include "stream/context.h"
#include "stream/stream.h"

enum { VERDICT_BATCH = 128 };

/* How long an unstarted command that has failed is given before it is taken for one that the driver will
 * never run. */
static const uint64_t ABANDON_NS = 250 * 1000 * 1000;
/* The same of a driver that is not known to have such commands. */
static const uint64_t ABANDON_UNKNOWN_NS = 5 * CLOCK_SECOND;
/* For so long the driver is asked anew about an event that it does not know the state of. */
static const uint64_t MUTE_NS = 20 * 1000 * 1000;

unsigned flights_telling(const struct flights *flights) {
    unsigned i = 0;
    while (i < flights->count && !flight_at(flights, i)->event && !flight_at(flights, i)->lost)
        i++;
    return i;
}

/* How long an unstarted flight of a poisoned stream, the oldest, is given. There are drivers that never start what
 * waits for a failed command, and none starts what was given up for want of a flush, nor what waits for that. Any
 * other has to tell of a command at once that it was to start after the failed one, and that waits for nothing else.
 * Of launches that share the last one's event the first may well have started: they wait for the flight before alone,
 * and where the driver has failed nothing of the stream's, it starts them. */
static uint64_t patience_ns(const struct stream *stream, struct flight *flight) {
    if (atomic_load(&stream->context->gave_up))
        return ABANDON_NS;
    if (flight->first != flight->position && !stream->hurt)
        return UINT64_MAX;
    if (stream->context->device->quirks & QUIRK_FAILED_WAIT_HANGS)
        return ABANDON_NS;
    return flight->chained && !deps_unsettled(&flight->deps) ? ABANDON_UNKNOWN_NS : UINT64_MAX;
}

/* Whether a poisoned stream's oldest flight is one that its driver will never start. */
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

/* What the flight uses may be held by a later one by now (flights_push). Without memory to note it, it is
 * kept for good. */
static void hold_what_moved_on(const struct flights *flights, struct flight *flight) {
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

/* Gives up the oldest flight that tells, and what it tells of. */
static cl_int abandon(struct stream *stream, cl_int code) {
    unsigned telling = flights_telling(&stream->flights);
    hold_what_moved_on(&stream->flights, flight_at(&stream->flights, telling));
    abandon_flights(stream, 0, telling);
    flight_at(&stream->flights, telling)->lost = code;
    return code;
}

void flights_lose(struct stream *stream, cl_int code) {
    struct flights *flights = &stream->flights;
    unsigned last = flights->count - 1, first = last;
    while (first && !flight_at(flights, first - 1)->event && !flight_at(flights, first - 1)->lost)
        first--;
    abandon_flights(stream, first, last);
    flight_at(flights, last)->lost = code;
}

/* A driver that cannot say how a command stands is asked again before the command counts as failed: that
 * waits for the driver to be done with it, which may be for long. */
static cl_int unanswered(struct flights *flights, cl_int code) {
    uint64_t now = clock_now_ns();
    if (!flights->mute_since)
        flights->mute_since = now;
    return now - flights->mute_since <= MUTE_NS ? CL_QUEUED : code;
}

/* The code of a telling flight: positive while pending. */
static cl_int flight_state(struct stream *stream, struct flight *flight) {
    if (flight->lost)
        return flight->lost;
    cl_int state, code = event_ask(stream->context->device, flight->event, &state);
    if (code)
        return unanswered(&stream->flights, code);
    stream->flights.mute_since = 0;
    if (state > 0 && abandoned(stream, flight, state))
        return abandon(stream, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    return state;
}

enum batch { BATCH_WELL, BATCH_PENDING, BATCH_UNSURE };

static bool any_lost(const struct flights *flights, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        if (flight_at(flights, i)->lost)
            return true;
    return false;
}

/* Waits for the events that tell of the `n` oldest flights, a batch at most, which are over; where a failure is that of
 * every command that waits for the failed one (`travels`) fewer of them. */
static cl_int batch_verdict(const struct stream *stream, unsigned n, bool travels) {
    const struct flights *flights = &stream->flights;
    cl_event events[VERDICT_BATCH];
    cl_uint count = 0;
    for (unsigned i = 0; i < n; i++) {
        const struct flight *flight = flight_at(flights, i);
        bool told = travels && i + 1 < n && flight_at(flights, i + 1)->chained;
        if (flight->event && !told)
            events[count++] = flight->event;
    }
    return event_verdict(stream->context->device, count, events);
}

/* As many of the `n` oldest flights as an event among them covers. */
static unsigned covered(const struct flights *flights, unsigned n) {
    while (n && !flight_at(flights, n - 1)->event)
        n--;
    return n;
}

/* Asks about the `*n` oldest flights at once; `*n` comes down to as many as a batch takes and an event among
 * them covers. For where asking each by itself is dear, or where a driver tells of failures only when waited
 * for. Where streams do without an event for each command anyhow, the newest one speaks for all, however many. */
static enum batch batch_state(struct stream *stream, unsigned *n) {
    const struct flights *flights = &stream->flights;
    const bool lies = stream->context->device->quirks & QUIRK_STATUS_LIES;
    const bool spans = stream->context->caps->event_less && !lies;
    *n = covered(flights, !spans && *n > VERDICT_BATCH ? VERDICT_BATCH : *n);
    if (!*n || any_lost(flights, *n))
        return BATCH_UNSURE;
    cl_int state = event_state(stream->context->device, flight_at(flights, *n - 1)->event);
    if (state > 0)
        return BATCH_PENDING;
    bool well = !state && (spans || batch_verdict(stream, *n, lies) == CL_SUCCESS);
    return well ? BATCH_WELL : BATCH_UNSURE;
}

/* The `n` oldest flights are done and well: no driver is asked of them again, however long they wait for
 * the outcome of what they depend on. */
static void note_well(struct flights *flights, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        flight_at(flights, i)->well = true;
}

/* Whether the flight, and those before it, can retire: what is abandoned and stays in flight would be no tail
 * for the next command to wait for. */
static bool may_retire(const struct flights *flights, const struct flight *flight) {
    for (unsigned i = 0;; i++) {
        struct flight *at = flight_at(flights, i);
        if (deps_unsettled(&at->deps))
            return false;
        if (at == flight)
            return true;
    }
}

/* Perhaps only the question failed: what the command uses is not given back before it is over. Where waiting
 * says neither that it is nor that it failed, nobody knows. The stream's lock is held meanwhile: without an
 * answer nothing of the stream can be told to anybody, nor anything more be ordered behind it. */
static void wait_for_end(struct stream *stream, struct flight *flight, cl_int code) {
    cl_int verdict = event_verdict(stream->context->device, 1, &flight->event);
    bool over = !verdict || verdict == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    if (!over && stream->flights.mute_since && may_retire(&stream->flights, flight))
        abandon(stream, code);
}

/* Asks of one flight; notes that it is well. */
static cl_int ask(struct stream *stream, struct flight *flight) {
    const struct device *device = stream->context->device;
    cl_int state = flight_state(stream, flight);
    state = event_confirm(device, flight->event, state);
    if (state < 0 && flight->event)
        wait_for_end(stream, flight, state);
    flight->well = state == CL_COMPLETE;
    return state;
}

/* Asks of ever fewer of the oldest flights until they are done; notes that they are well. */
static void ask_batches(struct stream *stream) {
    struct flights *flights = &stream->flights;
    unsigned n = flights->count < VERDICT_BATCH ? flights->count : VERDICT_BATCH;
    enum batch batch = BATCH_PENDING;
    while (n > 1 && batch == BATCH_PENDING) {
        batch = batch_state(stream, &n);
        if (batch == BATCH_WELL)
            note_well(flights, n);
        n /= 2;
    }
}

/* Whether the driver is done with a flight that has an event, as far as the driver is asked at all. */
static bool is_over(const struct stream *stream, const struct flight *flight) {
    return flight->well || event_state(stream->context->device, flight->event) <= CL_COMPLETE;
}

/* How many of the oldest were found to be done before. */
static unsigned known_well(const struct flights *flights) {
    unsigned n = 0;
    while (n < flights->count && flight_at(flights, n)->well)
        n++;
    return n;
}

/* As many of the `n` oldest as are done, or may be. */
static unsigned done_of(struct stream *stream, unsigned n) {
    struct flights *flights = &stream->flights;
    if (!stream->events.asks_in_batches) {
        n = covered(flights, n);
        return n && is_over(stream, flight_at(flights, n - 1)) ? n : 0;
    }
    enum batch batch = batch_state(stream, &n);
    if (batch == BATCH_WELL)
        note_well(flights, n);
    return batch == BATCH_PENDING ? 0 : n;
}

unsigned flights_older_half(struct stream *stream) {
    const unsigned known = known_well(&stream->flights);
    const unsigned half = done_of(stream, stream->flights.count / 2);
    return half > known ? half : known;
}

cl_int flight_look(struct stream *stream, struct flight *flight) {
    if (flight->well)
        return CL_COMPLETE;
    cl_int state = ask(stream, flight);
    if (state == CL_COMPLETE && stream->events.asks_in_batches)
        ask_batches(stream);
    return state;
}
