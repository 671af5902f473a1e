/* SPDX-License-Identifier: MIT */
/* The ring of flights, and retiring: what a stream gives back, counts and reports when work is done. */
#include "stream/flight.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache_line.h"
#include "base/error.h"
#include "base/rare.h"
#include "base/ring.h"
#include "driver/event.h"
#include "driver/quirk.h"
#include "stream/context.h"
#include "stream/event.h"
#include "stream/event_ref.h"
#include "stream/exit.h"
#include "stream/failure.h"
#include "stream/flight_state.h"
#include "stream/hooks.h"
#include "stream/observe.h"
#include "system/clocks.h"
#include "system/pages.h"

enum {
    FIRST_CAPACITY = 32,
    /* How far ahead of the flight that retires another is prefetched, and the event of one that has arrived by then. */
    FETCH_FLIGHT = 4,
    FETCH_EVENT = 2,
    EVENT_LINES =
        3 /* the first ones, where drivers keep the state and the references of an event */
};

COLD static bool grow(struct flights *flights) {
    unsigned capacity = flights->capacity ? 2 * flights->capacity : FIRST_CAPACITY;
    struct flight **ring = ring_grown(flights->ring, sizeof *ring, flights->capacity,
                                      flights->first, flights->count, capacity);
    if (!ring)
        return false;
    free(flights->ring);
    flights->ring = ring;
    flights->capacity = capacity;
    flights->first = 0;
    return true;
}

COLD static enum flight_room make_spare(struct flights *flights) {
    flights->spare = aligned_memory(_Alignof(struct flight), sizeof *flights->spare);
    if (!flights->spare)
        return FLIGHT_NO_MEMORY;
    memset(flights->spare, 0, sizeof *flights->spare);
    return FLIGHT_ROOM;
}

enum flight_room flights_reserve(struct flights *flights, unsigned limit) {
    if (RARELY(flights->commands >= limit))
        return FLIGHT_FULL;
    if (RARELY(flights->count == flights->capacity) && !grow(flights))
        return FLIGHT_NO_MEMORY;
    return flights->spare ? FLIGHT_ROOM : make_spare(flights);
}

/* Prefetches the lines of a flight that most commands use: the first two, and that of the dependencies. It may be null. On
 * two cores with PoCL, without this, waiting for them is a quarter of the library's own time of a hop. */
PREFETCHES void fetch(const struct flight *flight) {
    prefetch_line(flight, 0);
    prefetch_line(flight, 1);
    prefetch_line(flight, offsetof(struct flight, deps) / CACHE_LINE);
}

static struct flight *take_spare(struct flights *flights) {
    struct flight *flight = flights->spare;
    flights->spare = flight->next;
    fetch(flights->spare);
    flights->ring[(flights->first + flights->count++) & (flights->capacity - 1)] = flight;
    flights->newest = flight;
    return flight;
}

/* Takes the lent references out of `from`, from the last on, so that the first keep their places. */
static void take_over_lent(struct refs *to, struct refs *from, unsigned lent) {
    for (unsigned i = from->count; i-- > 0;)
        if (lent >> i & 1) {
            to->here[to->count++] = from->here[i];
            from->here[i] = from->here[--from->count];
        }
}

struct flight *flights_push(struct flights *flights, struct command *command, struct deps *deps) {
    struct flight *last = flight_last(flights);
    struct flight *flight = take_spare(flights);
    flights->commands++;
    flight->event_shared = false;
    flight->outcome = CL_QUEUED;
    flight->chained = false;
    flight->event_need = (uint8_t)command->event_need;
    flight->event = NULL;
    flight->first = flight->position = command->position;
    flight->label = command_label(command);
    flight->kind = (uint8_t)command->type->kind;
    flight->queue = NULL;
    flight->timed = NULL;
    flight->record = command->record;
    flight->host = command_host(command);
    refs_move(&flight->refs, &command->refs);
    if (command->lent)
        take_over_lent(&flight->refs, &last->refs, command->lent);
    deps_move(&flight->deps, deps);
    return flight;
}

static bool has_room(const struct refs *to, const struct refs *from) {
    unsigned sum = to->count + from->count;
    for (unsigned i = 0; i < from->count && sum > COMMAND_REFS; i++)
        sum -= refs_hold(to, from->here[i]);
    return !from->more_count && sum <= COMMAND_REFS;
}

/* Names are interned: equal names are the same pointer. */
static const char one_of_several[] = "one of several kernels";

bool flights_extend(struct flights *flights, struct command *command) {
    struct flight *flight = flight_last(flights);
    struct refs *from = &command->refs, *to = &flight->refs;
    if (!has_room(to, from))
        return false;
    for (unsigned i = 0; i < from->count; i++)
        if (refs_hold(to, from->here[i]))
            object_release(from->here[i]);
        else
            to->here[to->count++] = from->here[i];
    from->count = 0;
    flight->position = command->position;
    if (flight->label != command_label(command))
        flight->label = one_of_several;
    flight->event_need = (uint8_t)command->event_need;
    flights->commands++;
    return true;
}

/* The flight of a position, if the flights from there on are of one command each, as they mostly are. */
static struct flight *at_position(const struct flights *flights, uint64_t position) {
    const struct flight *last = flight_last(flights);
    if (!last || last->position - position >= flights->count)
        return NULL;
    struct flight *flight =
        flight_at(flights, flights->count - 1 - (unsigned)(last->position - position));
    return flight->position == position ? flight : NULL;
}

/* Searches from the newest on: callers mostly ask about recent positions. */
struct flight *flights_covering(const struct flights *flights, uint64_t position) {
    struct flight *covering = NULL, *own = at_position(flights, position);
    if (own && own->event)
        return own;
    for (unsigned i = flights->count; i-- > 0;) {
        struct flight *flight = flight_at(flights, i);
        if (flight->position < position)
            break;
        if (flight->event)
            covering = flight;
    }
    return covering;
}

void flights_free(struct flights *flights) {
    while (flights->spare) {
        struct flight *next = flights->spare->next;
        aligned_memory_free(flights->spare);
        flights->spare = next;
    }
    free(flights->ring);
}

COLD static void report_time(struct stream *stream, struct flight *flight) {
    const struct context *context = stream->context;
    struct event_time time = {.host_ns = clock_now_ns()};
    time.has_device = context->caps->marker_times_sane && flight->event &&
                      event_end_time(context->device, flight->event, &time.device_ns);
    event_set_time(flight->timed, flight->timed_serial, &time);
}

static void inherit_failure(struct stream *stream, struct flight *flight) {
    const struct failure *failure = deps_failure(&flight->deps);
    if (failure)
        stream_fail_by_locked(stream, flight->first, failure);
}

struct event_ref *flight_event_ref(const struct stream *stream, struct flight *flight) {
    if (flight->event_shared)
        event_ref_hold(&flight->event_ref);
    else
        event_ref_init(&flight->event_ref, stream->context->device, flight->event, 2);
    flight->event_shared = true;
    return &flight->event_ref;
}

static void keep_if_failed(struct event_ref *ref) {
    if (ref && event_state(ref->device, ref->event) < 0)
        event_ref_keep(ref);
}

/* Keeps the events that failed for good: releasing them aborts on this driver. */
COLD static void keep_failed_events(const struct device *device, struct flight *flight) {
    struct dep *items = deps_items(&flight->deps);
    keep_if_failed(flight->event_shared ? &flight->event_ref : NULL);
    if (flight->event && !flight->event_shared && event_state(device, flight->event) < 0)
        flight->event = NULL;
    for (unsigned i = 0; i < flight->deps.count; i++)
        keep_if_failed(items[i].event_ref);
}

static void count_retired(struct stream *stream, const struct flight *flight) {
    const struct failure *failure = stream_failure_at(stream, flight->position);
    stream->counters.completed += flight->position - flight->first + 1;
    if (!failure)
        return;
    hooks.work_fails();
    uint64_t first = atomic_load(&failure->first);
    stream->counters.failed +=
        flight->position - (first > flight->first ? first : flight->first) + 1;
}

/* The last holder of a shared event frees the memory. */
static void leave_flight(struct flights *flights, struct flight *flight) {
    if (flight->event_shared && !event_ref_leave(&flight->event_ref))
        return;
    flight->next = flights->spare;
    flights->spare = flight;
}

static void retire_oldest(struct stream *stream) {
    struct flights *flights = &stream->flights;
    struct flight *flight = flight_at(flights, 0);
    inherit_failure(stream, flight);
    exit_note_done(flight->kind);
    if (RARELY(flight->timed))
        report_time(stream, flight);
    if (RARELY(flight->record))
        observe_retired(stream, flight->record, flight->position, flight->event);
    if (flight->event)
        flights->stuck_since = 0;
    if (flight_is_done(flight))
        flights->mute_since = 0;
    if (RARELY(stream->hurt) && (stream->context->device->quirks & QUIRK_FAILED_RELEASE_ABORTS) &&
        stream_failure_at(stream, flight->position))
        keep_failed_events(stream->context->device, flight);
    if (flight->event && !flight->event_shared)
        event_release(stream->context->device, flight->event);
    if (flight->deps.count)
        deps_clear(&flight->deps);
    refs_release(&flight->refs);
    count_retired(stream, flight);
    const uint64_t position = flight->position;
    flights->commands -= (unsigned)(position - flight->first + 1);
    flights->first = (flights->first + 1) & (flights->capacity - 1);
    if (!--flights->count)
        flights->newest = NULL;
    leave_flight(flights, flight);
    if (race_on())
        hooks.race.retired(stream, position);
    atomic_store_explicit(&stream->retired, position, memory_order_release);
}

/* A failed event fails its whole span. */
COLD static void fail_span(struct stream *stream, unsigned end, cl_int code) {
    struct flight *flight = flight_at(&stream->flights, end);
    stream_note_hurt(stream);
    stream_fail_locked(stream, flight_at(&stream->flights, 0)->first, stream_event_status(code),
                       code, flight->label);
}

/* A stream that one of the flights up to `end` depends on and that must be polled first; retained. NULL: none. */
static struct stream *first_unretired(struct stream *stream, unsigned end) {
    for (unsigned i = 0; i <= end; i++) {
        struct stream *other = deps_unretired(&flight_at(&stream->flights, i)->deps);
        if (other) {
            object_retain(&other->object);
            return other;
        }
    }
    return NULL;
}

/* Retires the span up to flight `end`, whose event ended with `code`. Where work that they depend on has failed, they
 * inherit that failure, which names the command where it began. */
static struct stream *retire_span(struct stream *stream, unsigned end, cl_int code) {
    struct stream *other = code < 0 ? first_unretired(stream, end) : NULL;
    if (other)
        return other;
    for (unsigned i = 0; i <= end && code < 0; i++)
        inherit_failure(stream, flight_at(&stream->flights, i));
    if (code < 0)
        fail_span(stream, end, code);
    /* One by one: what a later flight depends on may depend on an earlier one of the span. */
    for (unsigned i = 0; i <= end; i++) {
        other = first_unretired(stream, 0);
        if (other)
            return other;
        retire_oldest(stream);
    }
    return NULL;
}

/* Prefetches those of the `most` oldest flights that fetch_ahead comes too late for. */
PREFETCHES void fetch_first(const struct flights *flights, unsigned most) {
    for (unsigned i = 0; i < FETCH_FLIGHT && i < most; i++)
        fetch(flight_at(flights, i));
}

PREFETCHES void fetch_ahead(const struct flights *flights) {
    if (flights->count > FETCH_FLIGHT)
        fetch(flight_at(flights, FETCH_FLIGHT));
    if (flights->count <= FETCH_EVENT)
        return;
    const cl_event event = flight_at(flights, FETCH_EVENT)->event;
    for (unsigned line = 0; line < EVENT_LINES; line++)
        prefetch_line(event, line);
}

/* Retires what is done of the `most` oldest flights. */
static struct stream *retire_done(struct stream *stream, unsigned most) {
    struct flights *flights = &stream->flights;
    const unsigned rest = flights->count - most;
    struct stream *other = NULL;
    fetch_first(flights, most);
    while (flights->count > rest && !other) {
        fetch_ahead(flights);
        unsigned end = flights_span_end(flights);
        if (end >= flights->count - rest)
            break;
        /* Asking only about the end of a chain would save a tenth of a hop's submission, but drivers differ in whether
         * a failure reaches that end. */
        cl_int state = flight_ask(stream, flight_at(flights, end));
        if (state > 0)
            break;
        other = retire_span(stream, end, state);
    }
    flights->poll_at = flights->commands + event_policy_poll_step(&stream->events);
    return other;
}

struct stream *flights_poll(struct stream *stream) {
    return retire_done(stream, stream->flights.count);
}

struct stream *flights_trim(struct stream *stream) {
    struct stream *other = retire_done(stream, flights_older_half(stream));
    /* Elsewhere such streams retire while their caller waits: retiring them here costs a fifth of a submission. */
    stream->flights.retire_due = other && stream->events.asks_in_batches;
    return other;
}

struct stream *flights_retire_known(struct stream *stream) {
    struct flights *flights = &stream->flights;
    struct stream *other = NULL;
    while (flights->count && !other) {
        unsigned end = flights_span_end(flights);
        if (end == flights->count || !flight_is_done(flight_at(flights, end)))
            break;
        other = retire_span(stream, end, CL_COMPLETE);
    }
    const unsigned poll_at = flights->commands + event_policy_poll_step(&stream->events);
    if (flights->poll_at > poll_at)
        flights->poll_at = poll_at;
    return other;
}
