/* SPDX-License-Identifier: MIT */
/*
 * Polling for completion, and waiting for it. A host wait polls the event of its position, spinning at first, then with
 * sleeps in between, which the driver's callback may cut short. It does not call the driver's blocking wait, which some drivers
 * never leave after a failure, but for QUIRK_WAITER_COMPUTES.
 */

#include "stream/wait.h"
#include "base/error.h"
#include "driver/event.h"
#include "driver/quirk.h"
#include "stream/context.h"
#include "stream/engine.h"
#include "stream/event_ref.h"
#include "stream/failure.h"
#include "stream/flush.h"
#include "stream/gate.h"
#include "stream/handover.h"
#include "stream/hooks.h"
#include "stream/leave.h"
#include "stream/spin_wait.h"
#include "stream/submit.h"
#include "stream/waiter.h"
#include "stream/worker.h"
#include "system/clocks.h"

enum { POLL_DEPTH = 64, RETIRE_STEPS = 128 };

static const uint64_t WOKEN_SLEEP_NS = 2 * 1000 * 1000;

enum { SLEEPS = 8 }; /* between polls of the stream */

/* Polls `stream`, and before that the streams whose work it depends on. Wait lists have no cycles; the bound limits the
 * recursion only, and the next poll does what it leaves. */
static void poll_deep(struct stream *stream, unsigned depth) {
    for (unsigned round = 0; round < POLL_DEPTH; round++) {
        pthread_mutex_lock(&stream->lock);
        struct stream *other = flights_poll(stream);
        stream_leave(stream, AFTER_PROPAGATE);
        if (!other)
            return;
        uint64_t before = atomic_load(&other->retired);
        if (depth)
            poll_deep(other, depth - 1);
        bool stuck = atomic_load(&other->retired) == before;
        object_release(&other->object);
        if (stuck)
            return;
    }
}

void stream_poll(struct stream *stream) { poll_deep(stream, POLL_DEPTH); }

/* Retires what is known to be done of one stream; `*moved`: something was. Returns the stream that it waits for, or NULL. */
static struct stream *retire_one(struct stream *stream, bool *moved) {
    pthread_mutex_lock(&stream->lock);
    uint64_t before = atomic_load_explicit(&stream->retired, memory_order_relaxed);
    struct stream *other = flights_retire_known(stream);
    *moved = *moved || before != atomic_load_explicit(&stream->retired, memory_order_relaxed);
    stream_leave(stream, AFTER_PROPAGATE);
    return other;
}

void stream_retire_known(struct stream *stream) {
    struct stream *at = stream;
    bool moved = false;
    object_retain(&stream->object);
    for (unsigned step = 0; step < RETIRE_STEPS; step++) {
        struct stream *next = retire_one(at, &moved);
        if (!next && (at == stream || !moved))
            break;
        if (!next) {
            moved = false;
            object_retain(&stream->object);
            next = stream;
        }
        object_release(&at->object);
        at = next;
    }
    object_release(&at->object);
}

/* Under the lock: the flight whose event covers a position, flushed. NULL when the driver refused an event: the next poll
 * fails the position. */
static struct flight *covering_flight(struct stream *stream, uint64_t position) {
    struct flight *flight = flights_covering(&stream->flights, position);
    event_policy_note_ask(&stream->events);
    if (RARELY(!flight) && !handover_cover(stream))
        flight = flights_covering(&stream->flights, position);
    if (flight)
        stream_flush_locked(stream);
    return flight;
}

/* Under the lock: that flight's event, held, or NULL: the caller tries again a little later. */
static struct event_ref *covering_event(struct stream *stream, uint64_t position) {
    struct flight *flight = covering_flight(stream, position);
    return flight ? flight_event_ref(stream, flight) : NULL;
}

/* Under the lock: fills in the event, and how far it covers the waiter's own work. */
static void cover_dep(struct stream *stream, const struct stream *waiter, struct dep *dep) {
    struct flight *flight = covering_flight(stream, dep->position);
    dep->event_ref = flight ? flight_event_ref(stream, flight) : NULL;
    if (!dep->event_ref)
        return;
    dep->covers = deps_position_of(&flight->deps, waiter);
}

bool stream_dep(struct stream *stream, uint64_t position, const struct stream *waiter,
                struct dep *out) {
    *out = (struct dep){.stream = stream, .position = position};
    if (atomic_load(&stream->retired) < position) {
        pthread_mutex_lock(&stream->lock);
        bool pending = atomic_load(&stream->retired) < position;
        if (pending && !fifo_has(&stream->fifo, position))
            cover_dep(stream, waiter, out);
        pthread_mutex_unlock(&stream->lock);
    }
    if (atomic_load(&stream->retired) < position)
        return false;
    if (RARELY(out->event_ref))
        event_ref_drop(out->event_ref);
    out->event_ref = NULL;
    return true;
}

/* --- waiting --- */

cls_status check_may_block(void) {
    if (worker_in_user_code())
        return error_set(CLS_ERROR_WOULD_DEADLOCK,
                         "a blocking call inside a host function or callback");
    return CLS_SUCCESS;
}

static bool expired(uint64_t deadline) {
    return deadline != WAIT_FOREVER && clock_now_ns() >= deadline;
}

/* One host wait, over as many rounds as it takes. */
struct host_wait {
    uint64_t position;
    uint64_t deadline;
    uint64_t start;
    bool turn_spun;        /* it has spun for the position to leave the FIFO */
    bool spun;             /* it has spun for the event */
    struct waiter *waiter; /* NULL until needed */
    cl_event hinted;       /* the event whose callback was set last: once is enough. Not retained */
    bool woken;            /* that callback wakes the waiter, unless the work fails */
};

/* Spins on the event for a while. Returns its state, positive while pending. */
static cl_int spin(const struct stream *stream, cl_event event, uint64_t deadline) {
    uint64_t until = clock_now_ns() + spin_wait_ns(stream);
    for (;;) {
        cl_int state = event_state(stream->context->device, event);
        if (state <= 0 || clock_now_ns() >= until || expired(deadline))
            return state;
        if (stream->wait != CLS_WAIT_SPIN)
            system_yield();
    }
}

/* A sleep that something ends may be long, and has to be: the scheduler moves a CPU device's threads to this core only
 * while it rests for long. */
static uint64_t next_sleep(const struct host_wait *wait, bool woken) {
    uint64_t now = clock_now_ns();
    if (!woken || (wait->deadline != WAIT_FOREVER && now + WOKEN_SLEEP_NS > wait->deadline))
        return waiter_span(wait->start, wait->deadline);
    return WOKEN_SLEEP_NS;
}

/* Sleeps until the event is done, or a few times: then the stream is to be polled. */
static void sleep_until_done(const struct device *device, cl_event event, struct host_wait *wait) {
    if (!wait->waiter)
        wait->waiter = waiter_get();
    if (wait->waiter && wait->hinted != event) {
        bool hinted = event_hint(device, event, waiter_hint(wait->waiter));
        wait->woken = hinted && device_uses_host_cores(device);
        wait->hinted = event;
    }
    for (int i = 0; i < SLEEPS; i++) {
        if (event_state(device, event) <= 0 || expired(wait->deadline))
            return;
        waiter_sleep(wait->waiter, next_sleep(wait, wait->woken));
    }
}

/* The next poll need not ask about the event again. */
static void note_complete(struct stream *stream, uint64_t position, cl_event event) {
    if (stream->context->device->quirks & QUIRK_STATUS_LIES)
        return;
    pthread_mutex_lock(&stream->lock);
    struct flight *flight = flights_covering(&stream->flights, position);
    if (flight && flight->event == event)
        flight->outcome = CL_COMPLETE;
    pthread_mutex_unlock(&stream->lock);
}

/* Under the lock, which it drops meanwhile: sleeps for a while, or until a head leaves the FIFO. The position can leave it
 * only so if it is `queued`. */
static void sleep_for_turn(struct stream *stream, const struct host_wait *wait, bool queued) {
    fifo_sleep(stream, clock_now_ns() + next_sleep(wait, queued));
}

/* Under the lock: whether the wait may be in the driver. Not where the library gives work up that the driver does not begin. */
static bool is_for_driver(const struct stream *stream, const struct host_wait *wait) {
    const struct context *context = stream->context;
    return (context->device->quirks & QUIRK_WAITER_COMPUTES) &&
           !stream->queue->traits.out_of_order && wait->deadline == WAIT_FOREVER &&
           !spin_wait_is_endless(stream) && !stream_poison(stream) && !stream->unflushed_from &&
           !atomic_load(&context->gave_up);
}

/* In the driver, or spins at first and later sleeps; CLS_WAIT_SPIN and CLS_WAIT_YIELD never sleep. */
static void wait_for_event(struct stream *stream, cl_event event, struct host_wait *wait,
                           bool in_driver) {
    const struct device *device = stream->context->device;
    bool always = spin_wait_is_endless(stream);
    cl_int state = CL_QUEUED;
    if (in_driver && event_wait_inside(device, event))
        return;
    if (always || !wait->spun)
        state = spin(stream, event, wait->deadline);
    if (state == CL_COMPLETE)
        note_complete(stream, wait->position, event);
    if (state <= 0)
        return;
    wait->spun = true;
    if (!always)
        sleep_until_done(device, event, wait);
}

/* Under the lock: the newest position that has been handed over. */
static uint64_t newest_handed_over(const struct stream *stream) {
    const struct command *head = fifo_head(&stream->fifo);
    return head ? head->position - 1 : stream->submitted;
}

/* True when the position is retired. While it is in the FIFO this thread only spins at first: the lock and the driver are
 * left to those who hand over what is ahead. */
static bool wait_round(struct stream *stream, struct host_wait *wait) {
    struct event_ref *event = NULL;
    if (!wait->turn_spun && !spin_wait(stream, wait->position, wait->deadline))
        wait->turn_spun = !spin_wait_is_endless(stream);
    stream_poll(stream);
    pthread_mutex_lock(&stream->lock);
    bool done = atomic_load(&stream->retired) >= wait->position;
    bool queued = !done && fifo_has(&stream->fifo, wait->position);
    if (wait->position == newest_handed_over(stream))
        event_policy_note_ask(&stream->events);
    if (!done && !queued)
        event = covering_event(stream, wait->position);
    if (!done && !event && (!queued || wait->turn_spun))
        sleep_for_turn(stream, wait, queued);
    const bool in_driver = event && is_for_driver(stream, wait);
    pthread_mutex_unlock(&stream->lock);
    if (!event)
        return done;
    if (streams_unflushed())
        engine_kick();
    wait_for_event(stream, event->event, wait, in_driver);
    event_ref_drop(event);
    return false;
}

static bool wait_until_retired(struct stream *stream, struct host_wait *wait) {
    while (!wait_round(stream, wait)) {
        if (!expired(wait->deadline))
            continue;
        stream_poll(stream);
        return atomic_load(&stream->retired) >= wait->position;
    }
    return true;
}

bool stream_await(struct stream *stream, uint64_t position, uint64_t deadline) {
    if (RARELY(position == POSITION_CAPTURED))
        return true;
    struct host_wait wait = {.position = position, .deadline = deadline, .start = clock_now_ns()};
    bool done = wait_until_retired(stream, &wait);
    waiter_put(wait.waiter);
    return done;
}

cls_status check_uncaptured(struct stream *stream) {
    cls_status status = CLS_SUCCESS;
    pthread_mutex_lock(&stream->lock);
    if (RARELY(stream->capturing))
        status = hooks.capture.refuse(stream, "call that waits for its command");
    pthread_mutex_unlock(&stream->lock);
    return status;
}

/* Of a blocking form whose command was recorded. */
COLD static cls_status refuse_captured(struct stream *stream) {
    const cls_status status = check_uncaptured(stream);
    return status ? status : error_set(CLS_ERROR_INVALID_STATE, "the command was captured");
}

cls_status stream_wait(struct stream *stream, uint64_t position, uint64_t deadline) {
    if (RARELY(position == POSITION_CAPTURED))
        return refuse_captured(stream);
    if (!stream_await(stream, position, deadline))
        return CLS_ERROR_TIMEOUT;
    if (race_on())
        hooks.race.observed(stream, position);
    const struct failure *failure = stream_failure_at(stream, position);
    return failure ? failure_report(stream, failure) : CLS_SUCCESS;
}

/* Whether there is no room for the mark that is needed behind what there is, which ends with `*position`. */
static bool takes_no_mark(struct stream *stream, uint64_t *position) {
    pthread_mutex_lock(&stream->lock);
    const bool full = !stream->capturing && fifo_is_full(&stream->fifo) &&
                      !stream_marked_to_ask_locked(stream, position);
    pthread_mutex_unlock(&stream->lock);
    return full;
}

/* Others may fill the room that was seen. */
cls_status stream_mark_to_wait(struct stream *stream, unsigned use, uint64_t *position,
                               uint64_t deadline) {
    cls_status status = CLS_SUCCESS;
    while (takes_no_mark(stream, position) ||
           (status = stream_mark_for(stream, use, position)) == CLS_ERROR_LIMIT)
        if (!stream_await(stream, *position, deadline))
            return CLS_ERROR_TIMEOUT;
    return status;
}

/* That the position is retired is told to who asked. */
static cls_status report_progress(struct stream *stream, uint64_t position) {
    if (atomic_load(&stream->retired) < position)
        return CLS_NOT_READY;
    if (race_on())
        hooks.race.observed(stream, position);
    return CLS_SUCCESS;
}

cls_status stream_progress(struct stream *stream, uint64_t position) {
    if (atomic_load(&stream->retired) >= position)
        return report_progress(stream, position);
    pthread_mutex_lock(&stream->lock);
    bool queued = !fifo_is_empty(&stream->fifo);
    struct flight *last = flight_last(&stream->flights);
    if (last && !last->event && !fifo_has(&stream->fifo, position))
        handover_cover(stream);
    stream_flush_locked(stream);
    pthread_mutex_unlock(&stream->lock);
    stream_poll(stream);
    if (queued)
        stream_drive(stream);
    return report_progress(stream, position);
}

cls_status stream_query(struct stream *stream, uint64_t position) {
    const cls_status status = stream_progress(stream, position);
    if (status)
        spin_wait_yield(stream);
    return status;
}
