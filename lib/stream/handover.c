/* SPDX-License-Identifier: MIT */
/*
 * Handing a command to the driver: its wait list, its event, the queue that it goes to, and its entry as a flight. On the
 * path of every launch.
 */
#include "stream/handover.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "driver/event.h"
#include "stream/abandoned.h"
#include "stream/context.h"
#include "stream/event.h"
#include "stream/event_ref.h"
#include "stream/exit.h"
#include "stream/failure.h"
#include "stream/flight_state.h"
#include "stream/flush.h"
#include "stream/observe.h"
#include "system/clocks.h"

enum { WAITS_ON_STACK = 16 };

bool dep_is_native(const struct stream *stream, const struct dep *dep) {
    return dep->stream && dep->event_ref && !dep->order_only &&
           caps_trusts(stream->context->caps, TRUST_EVENTS_ACROSS_QUEUES) &&
           (dep->stream->context == stream->context ||
            dep->stream->context->cl == stream->context->cl);
}

enum flight_room handover_room(struct stream *stream) {
    struct flights *flights = &stream->flights;
    if (flights_poll_is_due(flights, stream->max_in_flight)) {
        bool full = flights->commands >= stream->max_in_flight;
        struct stream *other = full ? flights_poll(stream) : flights_trim(stream);
        if (other)
            object_release(&other->object);
        if (RARELY(stream_poison(stream)))
            return FLIGHT_POISONED;
    }
    return flights_reserve(flights, stream->max_in_flight);
}

cl_event handover_tail(struct stream *stream, const struct queue *queue) {
    struct flight *last = flight_last(&stream->flights);
    bool same = last && last->queue == queue;
    if (!last || (!queue->traits.out_of_order && same))
        return NULL;
    return last->event;
}

/* Gives the newest flight, which has none, an event. */
static cls_status give_event(struct stream *stream, struct flight *last) {
    cls_status status = enqueue_marker(stream->context->device, last->queue->cl,
                                       (struct wait_list){0, NULL}, &last->event);
    if (status)
        return status;
    event_policy_note_event(&stream->events);
    stream_note_unflushed(stream);
    return CLS_SUCCESS;
}

cls_status handover_cover(struct stream *stream) {
    struct flight *last = flight_last(&stream->flights);
    if (!last || last->event)
        return CLS_SUCCESS;
    if (flight_is_lost(last))
        return CLS_ERROR_COMMAND_FAILED;
    cls_status status = give_event(stream, last);
    if (!status)
        return CLS_SUCCESS;
    event_policy_note_event(&stream->events);
    flights_lose(stream, cls_last_error_code() < 0 ? cls_last_error_code() : CL_OUT_OF_RESOURCES);
    return status;
}

struct queue_left {
    struct queue *queue;
    struct queue_left *next;
};

static bool is_on(const struct stream *stream, const struct queue *queue) {
    for (unsigned i = 0; i < stream->flights.count; i++)
        if (flight_at(&stream->flights, i)->queue == queue)
            return true;
    return false;
}

static void let_go(struct stream *stream, struct queue *queue) {
    if (stream->hurt)
        queue_bury(stream->context, queue);
    else
        queue_unuse(stream->context, queue);
}

void handover_release_queues(struct stream *stream) {
    struct queue_left **link = &stream->left;
    while (*link) {
        struct queue_left *left = *link;
        if (is_on(stream, left->queue)) {
            link = &left->next;
            continue;
        }
        *link = left->next;
        let_go(stream, left->queue);
        free(left);
    }
}

/* Without memory for a note of it, the queue stays in use for good. */
void handover_leave_queue(struct stream *stream, struct queue *queue) {
    handover_release_queues(stream);
    if (!is_on(stream, queue)) {
        let_go(stream, queue);
        return;
    }
    struct queue_left *left = malloc(sizeof *left);
    if (!left)
        return;
    *left = (struct queue_left){queue, stream->left};
    stream->left = left;
}

/* Moves the stream to a queue that is profiled, or to one that is not. Its work so far gets an event, for the new queue to
 * wait for, and is flushed. */
COLD static cls_status change_queue(struct stream *stream, bool profiled) {
    struct queue_traits traits = stream->queue->traits;
    struct queue *queue;
    traits.profiled = profiled;
    cls_status status = handover_cover(stream);
    if (!status)
        status = queue_acquire(stream->context, &traits, &queue);
    if (status)
        return status;
    stream_flush_locked(stream);
    struct queue *before = stream->queue;
    stream->queue = queue;
    handover_leave_queue(stream, before);
    return CLS_SUCCESS;
}

static bool is_timed(const struct command *command) {
    return command->type == &type_marker && command->u.marker.event;
}

static inline bool can_change_queue(const struct stream *stream) {
    return !stream->queue->adopted &&
           caps_trusts(stream->context->caps, TRUST_EVENTS_ACROSS_QUEUES);
}

bool handover_can_profile(const struct stream *stream) {
    return stream->queue->traits.profiled || can_change_queue(stream);
}

static inline bool wants_other_queue(const struct stream *stream, const struct command *command) {
    bool profiled =
        stream->want_profiled || command->record || command->type->timed || is_timed(command);
    return profiled != stream->queue->traits.profiled && can_change_queue(stream);
}

cls_status handover_choose_queue(struct stream *stream, const struct command *command) {
    return wants_other_queue(stream, command)
               ? change_queue(stream, !stream->queue->traits.profiled)
               : CLS_SUCCESS;
}

/* Gives the flight behind which a cls_event is recorded an event, so that a wait for the record does not wait for what
 * follows; where the driver refuses the marker, it does. Flushed by itself: some drivers report what is flushed together
 * only when all of it has ended. */
COLD static void mark_record(struct stream *stream, struct flight *last) {
    if (!give_event(stream, last))
        stream_flush_locked(stream);
}

/* The wait list: the dependencies that have not retired, and the stream's tail unless one of them waits for it. `*left`: one
 * was left out because it has retired. */
static cl_uint fill_waits(struct stream *stream, struct deps *deps, cl_event *events, bool *left) {
    struct dep *items = deps_items(deps);
    cl_uint count = 0;
    uint64_t covered = 0;
    for (unsigned i = 0; i < deps->count; i++) {
        if (!items[i].gate && items[i].covers > covered)
            covered = items[i].covers;
        if (atomic_load(&items[i].stream->retired) < items[i].position)
            events[count++] = items[i].event_ref->event;
        else
            *left = true;
    }
    const struct flight *last = flight_last(&stream->flights);
    cl_event tail = handover_tail(stream, stream->queue);
    if (tail && last->position > covered)
        events[count++] = tail;
    return count;
}

/* Whether the event is that of the stream's newest command, which has times and is still at work: then the time of a mark
 * behind it is its end. */
static bool ends_later(const struct stream *stream, cl_event event) {
    const struct flight *last = flight_last(&stream->flights);
    return last && last->event == event && last->queue == stream->queue &&
           stream->queue->traits.profiled &&
           event_state(stream->context->device, event) > CL_COMPLETE;
}

/* A mark that waits for one event only needs no command: it shares that event, unless its time is asked for and the event's
 * is another. Markers are not cheap on every driver: PoCL's waits for all that its queue holds, so that a chain of n pending
 * ones takes time in n squared, and in n cubed among other commands. False where a marker is needed. */
static bool share_event(const struct stream *stream, const struct command *command,
                        struct wait_list waits, cl_event *event) {
    const bool has_time = is_timed(command) || command->record;
    if (waits.count != 1 || !stream->queue->traits.out_of_order ||
        (has_time && !ends_later(stream, waits.events[0])) ||
        !event_retain(stream->context->device, waits.events[0]))
        return false;
    if (command->record)
        command->record->at_end = true;
    *event = waits.events[0];
    return true;
}

/* What depends on failed work never reaches the driver. */
static cls_status check_deps(struct stream *stream, const struct command *command,
                             struct deps *deps) {
    const struct failure *failure = deps_failure(deps);
    if (!failure)
        return CLS_SUCCESS;
    stream_fail_by_locked(stream, command->position, failure);
    return failure_report(stream, failure);
}

static cls_status enqueue(struct stream *stream, struct command *command, struct deps *deps,
                          cl_event *event) {
    cl_event here[WAITS_ON_STACK], *events = here;
    bool left = false;
    if (RARELY(deps->count + 1 > WAITS_ON_STACK))
        events = malloc((deps->count + 1) * sizeof(cl_event));
    if (RARELY(!events))
        return error_no_memory("for a wait list");
    struct target target = {stream->context->device, stream->queue->cl,
                            !stream->queue->traits.out_of_order};
    struct wait_list waits = {fill_waits(stream, deps, events, &left), events};
    const bool wanted =
        event_policy_wants(&stream->events, command->type->kind, stream->queue->traits.profiled);
    /* Again: a dependency that was left out may have failed since the first check. */
    cls_status status = RARELY(left) ? check_deps(stream, command, deps) : CLS_SUCCESS;
    bool sound = !status;
    bool shared =
        command->type == &type_marker && sound && share_event(stream, command, waits, event);
    if (sound && !shared)
        status = command->type->enqueue(target, command, waits, wanted ? event : NULL);
    if (!RARELY(status)) {
        event_policy_count(&stream->events, wanted);
    } else if (sound && command->type->in_parts) {
        abandon_command(stream->context, stream->queue, command);
    }
    if (RARELY(events != here))
        free(events);
    return status;
}

COLD static void record_handing(const struct stream *stream, struct trace_record *record) {
    record->queue = stream->queue->number;
    record->handing = clock_now_ns();
}

/* Whether the command can become part of the newest flight: neither has a time, a record or dependencies of its own. */
static bool extends(const struct stream *stream, const struct command *command,
                    const struct deps *deps) {
    const struct flight *last = flight_last(&stream->flights);
    return last &&
           (!last->event ||
            event_policy_gives_up(&stream->events, last, stream->queue->traits.profiled)) &&
           !flight_is_lost(last) && !last->timed && !last->record && last->queue == stream->queue &&
           last->kind == command->type->kind && !deps->count && !is_timed(command) &&
           !command->record;
}

/* Enters a command that is with the driver as a flight, or as part of the newest. */
static void enter_flight(struct stream *stream, struct command *command, struct deps *deps,
                         cl_event event) {
    if (extends(stream, command, deps) && flights_extend(&stream->flights, command)) {
        struct flight *flight = flight_last(&stream->flights);
        if (flight->event)
            event_release(stream->context->device, flight->event);
        flight->event = event;
        return;
    }
    struct flight *flight = flights_push(&stream->flights, command, deps);
    flight->event = event;
    flight->chained = stream->queue->traits.out_of_order;
    flight->queue = stream->queue;
    if (RARELY(is_timed(command))) {
        flight->timed = command->u.marker.event;
        flight->timed_serial = command->u.marker.serial;
    }
}

cls_status handover(struct stream *stream, struct command *command, struct deps *deps) {
    cl_event event = NULL;
    struct flight *last = flight_last(&stream->flights);
    cls_status status = check_deps(stream, command, deps);
    if (RARELY(status))
        return status;
    if (last && RARELY(last->event_need == EVENT_RECORDED) && !last->event && !flight_is_lost(last))
        mark_record(stream, last);
    if (RARELY(wants_other_queue(stream, command)))
        status = change_queue(stream, !stream->queue->traits.profiled);
    if (!status && RARELY(command->record))
        record_handing(stream, command->record);
    if (!status)
        status = enqueue(stream, command, deps, &event);
    if (!status && deps->count)
        deps_drop_events(deps);
    if (RARELY(command->record))
        command->record->handed = clock_now_ns();
    if (RARELY(status)) {
        if (status == CLS_ERROR_CONTEXT_LOST)
            atomic_store(&stream->context->lost_by, command_label(command));
        return status;
    }
    enter_flight(stream, command, deps, event);
    stream_note_unflushed(stream);
    /* Its end is timed on the host's clock, so it is flushed by itself. */
    if (RARELY(is_timed(command)) && !stream->context->caps->marker_times_sane)
        stream_flush_locked(stream);
    if (command->type->discard)
        command->type->discard(command);
    exit_note_work(stream->context->device);
    return CLS_SUCCESS;
}
