/* SPDX-License-Identifier: MIT */
#include "core/flight.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/ring.h"
#include "core/context.h"
#include "core/event.h"
#include "core/exit.h"
#include "core/observe.h"
#include "core/share.h"
#include "core/stream.h"
#include "core/wreck.h"
#include "driver/event.h"
#include "driver/quirk.h"
#include "driver/status.h"

enum {
    FIRST_CAPACITY = 32,
    VERDICT_BATCH = 128,
    /* Commands from look to look: cheap ones, dear ones, and where few of the commands have an event; and where
     * each event is waited for anyhow, so that a batch costs the same by the event, and what was given back is
     * taken again while it is in the cache. */
    POLL_STEP = 32,
    POLL_STEP_VERDICTS = 8,
    POLL_STEP_DEAR = 64,
    POLL_STEP_SPANS = 256
};

/* PoCL answers in 16 ns, NVIDIA takes 140 to 360. */
static const double DEAR_QUERY_NS = 60;

/* How long an unstarted command that has failed is given before it is taken for one that the driver will
 * never run. */
static const uint64_t ABANDON_NS = 250 * 1000 * 1000;
/* For so long the driver is asked anew about an event that it does not know the state of. */
static const uint64_t MUTE_NS = 20 * 1000 * 1000;

static bool grow(struct flights *flights) {
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

enum flight_room flights_reserve(struct flights *flights, unsigned limit) {
    if (flights->commands >= limit)
        return FLIGHT_FULL;
    if (flights->count == flights->capacity && !grow(flights))
        return FLIGHT_NO_MEMORY;
    if (flights->spare)
        return FLIGHT_ROOM;
    flights->spare = calloc(1, sizeof *flights->spare);
    return flights->spare ? FLIGHT_ROOM : FLIGHT_NO_MEMORY;
}

static struct flight *take_spare(struct flights *flights) {
    struct flight *flight = flights->spare;
    flights->spare = flight->next;
    flights->ring[(flights->first + flights->count++) & (flights->capacity - 1)] = flight;
    return flight;
}

/* From the last of them on, so that the first keep their places. */
static void take_over_lent(struct refs *to, struct refs *from, unsigned lent) {
    for (unsigned i = from->count; i-- > 0;)
        if (lent >> i & 1) {
            to->here[to->count++] = from->here[i];
            from->here[i] = from->here[--from->count];
        }
}

struct flight *flights_push(struct flights *flights, struct command *command) {
    struct flight *last = flight_last(flights);
    struct flight *flight = take_spare(flights);
    flights->commands++;
    flight->shared = false;
    flight->lost = CL_COMPLETE;
    flight->well = flight->chained = false;
    flight->event = NULL;
    flight->first = flight->position = command->position;
    flight->label = command_label(command);
    flight->kind = command->type->kind;
    flight->queue = NULL;
    flight->timed = NULL;
    flight->seen = command->seen;
    flight->host = command_host(command);
    refs_move(&flight->refs, &command->refs);
    if (command->lent)
        take_over_lent(&flight->refs, &last->refs, command->lent);
    deps_move(&flight->deps, &command->deps);
    return flight;
}

static bool holds(const struct refs *refs, const struct object *object) {
    for (unsigned i = 0; i < refs->count; i++)
        if (refs->here[i] == object)
            return true;
    return false;
}

static bool has_room(const struct refs *to, const struct refs *from) {
    unsigned sum = to->count + from->count;
    for (unsigned i = 0; i < from->count && sum > COMMAND_REFS; i++)
        sum -= holds(to, from->here[i]);
    return !from->more_count && sum <= COMMAND_REFS;
}

bool flights_extend(struct flights *flights, struct command *command) {
    struct flight *flight = flight_last(flights);
    struct refs *from = &command->refs, *to = &flight->refs;
    if (!has_room(to, from))
        return false;
    for (unsigned i = 0; i < from->count; i++)
        if (holds(to, from->here[i]))
            object_release(from->here[i]);
        else
            to->here[to->count++] = from->here[i];
    from->count = 0;
    flight->position = command->position;
    flight->label = command_label(command);
    flights->commands++;
    return true;
}

/* From the newest on: what is asked about is mostly recent. */
struct flight *flights_covering(const struct flights *flights, uint64_t position) {
    struct flight *covering = NULL;
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
        free(flights->spare);
        flights->spare = next;
    }
    free(flights->ring);
}

/* The first flight from the oldest on that has an event or is lost, or count. */
static unsigned first_telling(const struct flights *flights) {
    unsigned i = 0;
    while (i < flights->count && !flight_at(flights, i)->event && !flight_at(flights, i)->lost)
        i++;
    return i;
}

/* Whether a poisoned stream's oldest flight is one that its driver will never start: such drivers there are,
 * and none starts what was given up for want of a flush, nor what waits for that. */
static bool abandoned(struct stream *stream, const struct flight *flight, cl_int state) {
    if (state != CL_QUEUED && state != CL_SUBMITTED)
        return false;
    bool stuck = (stream->context->device->quirks & QUIRK_FAILED_WAIT_HANGS) ||
                 atomic_load(&stream->context->gave_up);
    if (!stuck || !stream_failure_at(stream, flight->position))
        return false;
    uint64_t now = clock_now_ns();
    if (!stream->flights.stuck_since)
        stream->flights.stuck_since = now;
    return now - stream->flights.stuck_since > ABANDON_NS;
}

/* What the flight uses may be held by a later one by now (flights_push). Without memory to note it, it is
 * kept for good. */
static void hold_what_moved_on(const struct flights *flights, struct flight *flight) {
    for (unsigned i = flights->count; i-- > 0 && flight_at(flights, i) != flight;) {
        const struct refs *later = &flight_at(flights, i)->refs;
        for (unsigned r = 0; r < later->count; r++) {
            if (holds(&flight->refs, later->here[r]))
                continue;
            object_retain(later->here[r]);
            refs_keep(&flight->refs, later->here[r]);
        }
    }
}

/* Gives up the oldest flight that tells, and what it tells of. */
static cl_int abandon(struct stream *stream, cl_int code) {
    unsigned telling = first_telling(&stream->flights);
    hold_what_moved_on(&stream->flights, flight_at(&stream->flights, telling));
    wreck_leave(stream, 0, telling);
    flight_at(&stream->flights, telling)->lost = code;
    return code;
}

void flights_lose(struct stream *stream, cl_int code) {
    struct flights *flights = &stream->flights;
    unsigned last = flights->count - 1, first = last;
    while (first && !flight_at(flights, first - 1)->event && !flight_at(flights, first - 1)->lost)
        first--;
    wreck_leave(stream, first, last);
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

static void tell_time(struct stream *stream, struct flight *flight) {
    const struct context *context = stream->context;
    struct event_time time = {.host_ns = clock_now_ns()};
    time.has_device = context->caps->marker_times_sane && flight->event &&
                      event_end_time(context->device, flight->event, &time.device_ns);
    event_tell_time(flight->timed, flight->timed_serial, &time);
}

/* The stream whose poll must come first: it runs ahead of what is recorded of it. */
static struct stream *unsettled(struct deps *deps) {
    struct dep *items = deps_items(deps);
    for (unsigned i = 0; i < deps->count; i++)
        if (items[i].stream && atomic_load(&items[i].stream->retired) < items[i].position)
            return items[i].stream;
    return NULL;
}

static void inherit_failure(struct stream *stream, struct flight *flight) {
    const struct failure *failure = deps_failure(&flight->deps);
    if (failure)
        stream_fail_locked(stream, flight->first, failure->status, failure->code, failure->label);
}

struct share *flight_share(const struct stream *stream, struct flight *flight) {
    if (flight->shared)
        share_hold(&flight->share);
    else
        share_init(&flight->share, stream->context->device, flight->event, 2);
    flight->shared = true;
    return &flight->share;
}

static void keep_if_failed(struct share *share) {
    if (share && event_state(share->device, share->event) < 0)
        share_keep(share);
}

/* Gives up, instead of releasing them, the events that the driver itself made fail. */
static void keep_failed_events(const struct device *device, struct flight *flight) {
    struct dep *items = deps_items(&flight->deps);
    keep_if_failed(flight->shared ? &flight->share : NULL);
    if (flight->event && !flight->shared && event_state(device, flight->event) < 0)
        flight->event = NULL;
    for (unsigned i = 0; i < flight->deps.count; i++)
        keep_if_failed(items[i].share);
}

static void count_retired(struct stream *stream, const struct flight *flight) {
    const struct failure *failure = stream_failure_at(stream, flight->position);
    stream->counters.completed += flight->position - flight->first + 1;
    if (!failure)
        return;
    uint64_t first = atomic_load(&failure->first);
    stream->counters.failed +=
        flight->position - (first > flight->first ? first : flight->first) + 1;
}

/* Who still holds the event frees the memory in the end. */
static void leave_flight(struct flights *flights, struct flight *flight) {
    if (flight->shared && !share_leave(&flight->share))
        return;
    flight->next = flights->spare;
    flights->spare = flight;
}

static void retire_oldest(struct stream *stream) {
    struct flights *flights = &stream->flights;
    struct flight *flight = flight_at(flights, 0);
    inherit_failure(stream, flight);
    exit_note_done(flight->kind);
    if (flight->timed)
        tell_time(stream, flight);
    if (flight->seen)
        observe_retired(stream, flight->seen, flight->position, flight->event);
    if (flight->event)
        flights->stuck_since = 0;
    if (flight->well)
        flights->mute_since = 0;
    if (stream->hurt && (stream->context->device->quirks & QUIRK_FAILED_RELEASE_ABORTS) &&
        stream_failure_at(stream, flight->position))
        keep_failed_events(stream->context->device, flight);
    if (flight->event && !flight->shared)
        event_release(stream->context->device, flight->event);
    if (flight->deps.count)
        deps_clear(&flight->deps);
    refs_release(&flight->refs);
    count_retired(stream, flight);
    const uint64_t position = flight->position;
    flights->commands -= (unsigned)(position - flight->first + 1);
    flights->first = (flights->first + 1) & (flights->capacity - 1);
    flights->count--;
    leave_flight(flights, flight);
    atomic_store_explicit(&stream->retired, position, memory_order_release);
}

/* A failed event taints its flight and those before it that have no event of their own. */
static void fail_span(struct stream *stream, unsigned telling, cl_int code) {
    struct flight *flight = flight_at(&stream->flights, telling);
    cls_status status = status_of_cl(code);
    stream->hurt = true;
    atomic_store(&stream->context->hurt, true);
    if (status != CLS_ERROR_CONTEXT_LOST)
        status = CLS_ERROR_COMMAND_FAILED;
    stream_fail_locked(stream, flight_at(&stream->flights, 0)->first, status, code, flight->label);
}

/* A stream that one of the flights up to `telling` depends on, and whose poll must come first; retained.
 * NULL when there is none. */
static struct stream *first_unsettled(struct stream *stream, unsigned telling) {
    for (unsigned i = 0; i <= telling; i++) {
        struct stream *other = unsettled(&flight_at(&stream->flights, i)->deps);
        if (other) {
            object_retain(&other->object);
            return other;
        }
    }
    return NULL;
}

/* Retires the flights up to `telling`, which is done with `code`. Where work that they depend on has
 * failed, theirs is that failure, with the name of the command where it began. */
static struct stream *retire_span(struct stream *stream, unsigned telling, cl_int code) {
    struct stream *other = code < 0 ? first_unsettled(stream, telling) : NULL;
    if (other)
        return other;
    for (unsigned i = 0; i <= telling && code < 0; i++)
        inherit_failure(stream, flight_at(&stream->flights, i));
    if (code < 0)
        fail_span(stream, telling, code);
    /* One by one: what a later flight depends on may itself depend on an earlier one of the span. */
    for (unsigned i = 0; i <= telling; i++) {
        other = first_unsettled(stream, 0);
        if (other)
            return other;
        retire_oldest(stream);
    }
    return NULL;
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

/* The events that tell of the `n` oldest flights, where a failure is that of every command that waits for
 * the failed one (`travels`) fewer of them; false when one of the flights is lost. */
static bool batch_events(const struct flights *flights, unsigned n, bool travels, cl_event *events,
                         cl_uint *count) {
    *count = 0;
    for (unsigned i = 0; i < n; i++) {
        const struct flight *flight = flight_at(flights, i);
        bool told = travels && i + 1 < n && flight_at(flights, i + 1)->chained;
        if (flight->lost)
            return false;
        if (flight->event && !told)
            events[(*count)++] = flight->event;
    }
    return *count != 0;
}

/* Asks about the `*n` oldest flights at once; `*n` comes down to as many as a batch takes and an event among
 * them covers. For where asking each by itself is dear, or where a driver tells of failures only when waited
 * for. Where streams do without an event for each command anyhow, the newest one speaks for all. */
static enum batch batch_state(struct stream *stream, unsigned *n) {
    const struct device *device = stream->context->device;
    struct flights *flights = &stream->flights;
    cl_event events[VERDICT_BATCH];
    cl_uint count;
    if (*n > VERDICT_BATCH)
        *n = VERDICT_BATCH;
    while (*n && !flight_at(flights, *n - 1)->event)
        --*n;
    bool lies = device->quirks & QUIRK_STATUS_LIES;
    if (!batch_events(flights, *n, lies, events, &count))
        return BATCH_UNSURE;
    cl_int state = event_state(device, events[count - 1]);
    if (state > 0)
        return BATCH_PENDING;
    bool spans = stream->context->caps->event_less && !lies;
    bool well = !state && (spans || event_verdict(device, count, events) == CL_SUCCESS);
    return well ? BATCH_WELL : BATCH_UNSURE;
}

static bool polls_in_batches(const struct stream *stream) {
    return (stream->context->device->quirks & QUIRK_STATUS_LIES) ||
           stream->context->caps->event_query_ns > DEAR_QUERY_NS;
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
        if (unsettled(&at->deps))
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
    if (state == CL_COMPLETE && (device->quirks & QUIRK_STATUS_LIES))
        state = event_verdict(device, 1, &flight->event);
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

/* How the oldest flight that has an event stands; positive while pending. Where asking is dear, the others
 * are asked about in batches, and by a submitter in passing (`trim`) the older half, once. */
static cl_int look(struct stream *stream, struct flight *flight, bool trim, bool *trimmed) {
    struct flights *flights = &stream->flights;
    bool batches = polls_in_batches(stream);
    if (flight->well)
        return CL_COMPLETE;
    if (batches && trim) {
        unsigned n = flights->count / 2;
        enum batch batch = n && !*trimmed ? batch_state(stream, &n) : BATCH_PENDING;
        *trimmed = true;
        if (batch == BATCH_WELL)
            note_well(flights, n);
        if (batch != BATCH_UNSURE)
            return batch == BATCH_WELL ? CL_COMPLETE : CL_QUEUED;
    }
    cl_int state = ask(stream, flight);
    if (state == CL_COMPLETE && batches)
        ask_batches(stream);
    return state;
}

static unsigned poll_step(const struct stream *stream) {
    if (stream->event_less)
        return POLL_STEP_SPANS;
    if (stream->context->device->quirks & QUIRK_STATUS_LIES)
        return POLL_STEP_VERDICTS;
    return polls_in_batches(stream) ? POLL_STEP_DEAR : POLL_STEP;
}

static struct stream *retire_done(struct stream *stream, bool trim) {
    struct flights *flights = &stream->flights;
    struct stream *other = NULL;
    bool trimmed = false;
    while (flights->count && !other) {
        unsigned telling = first_telling(flights);
        if (telling == flights->count)
            break;
        cl_int state = look(stream, flight_at(flights, telling), trim, &trimmed);
        if (state > 0)
            break;
        other = retire_span(stream, telling, state);
    }
    flights->poll_at = flights->commands + poll_step(stream);
    return other;
}

struct stream *flights_poll(struct stream *stream) {
    return retire_done(stream, false);
}

struct stream *flights_trim(struct stream *stream) {
    struct stream *other = retire_done(stream, true);
    stream->flights.unsettled = other && polls_in_batches(stream);
    return other;
}

struct stream *flights_settle(struct stream *stream) {
    struct flights *flights = &stream->flights;
    struct stream *other = NULL;
    while (flights->count && !other) {
        unsigned telling = first_telling(flights);
        if (telling == flights->count || !flight_at(flights, telling)->well)
            break;
        other = retire_span(stream, telling, CL_COMPLETE);
    }
    if (flights->poll_at > flights->commands + poll_step(stream))
        flights->poll_at = flights->commands + poll_step(stream);
    return other;
}
