/* SPDX-License-Identifier: MIT */
/*
 * Driving the FIFO: handing over its head, again and again, until something is really ahead. Whoever
 * drives marks the stream as draining, so that the order is kept while no lock is held.
 */
#include <stdlib.h>

#include "base/error.h"
#include "driver/event.h"
#include "memory/mempool.h"
#include "stream/context.h"
#include "stream/cross_context_hold.h"
#include "stream/engine.h"
#include "stream/event_ref.h"
#include "stream/gate.h"
#include "stream/handover.h"
#include "stream/mutant.h"
#include "stream/observe.h"
#include "stream/stream.h"
#include "stream/worker.h"
#include "stream/worker_commands.h"

/* The commands that a stream hands over until more urgent streams are looked at again. */
enum { LOOK_EVERY = 32 };

/* A launch lets others pass so often, and then has them waited for where it is handed over: there is no end to
 * what other contexts may launch meanwhile. */
enum { MOST_TURNS = 64 };

enum readiness { READY, BLOCKED, FAILED, CHANGED };

/* A user's own event, or a launch that is to pass first: the library holds the command back until it is set. */
static enum readiness look_at_foreign(const struct dep *dep, cl_int *code) {
    cl_int state = dep_event_outcome(dep);
    if (state > 0)
        return BLOCKED;
    if (state == CL_COMPLETE)
        return READY;
    *code = state;
    return FAILED;
}

/* Looks at a dependency of `stream`'s head with no lock held: fills in its event once the work is with
 * the driver. Of another context, the work must be done: there is no native wait for it. */
static enum readiness look_at(struct stream *stream, struct dep *dep, bool must_be_done) {
    if (atomic_load(&dep->stream->retired) >= dep->position)
        return READY;
    if (!dep->event_ref) {
        struct dep fresh;
        if (stream_dep(dep->stream, dep->position, stream, &fresh))
            return READY;
        dep->event_ref = fresh.event_ref;
        dep->covers = fresh.covers;
    }
    if (!dep->event_ref)
        return BLOCKED;
    if (!must_be_done && dep_is_native(stream, dep))
        return READY;
    stream_poll(dep->stream);
    if (atomic_load(&dep->stream->retired) >= dep->position)
        return READY;
    if (!dep->hinted)
        event_hint(dep->event_ref->device, dep->event_ref->event, &engine_hint);
    dep->hinted = true;
    return BLOCKED;
}

/* Looks at a gate that the head waits for. Where work of a stream is to open it, that takes its place. */
static enum readiness look_at_gate(struct stream *stream, struct command *head, unsigned i) {
    const struct dep *dep = &deps_items(&head->deps)[i];
    struct dep via;
    if (dep_failure(dep))
        return READY;
    enum gate_answer answer =
        dep->gate->type->look(dep->gate, dep->position, stream, head->position, &via);
    if (answer != GATE_VIA)
        return answer == GATE_OPEN ? READY : BLOCKED;
    pthread_mutex_lock(&stream->lock);
    deps_remove(&head->deps, i);
    if (mutant(MUTANT_GATE_VIA))
        dep_release(&via);
    else
        deps_add(&head->deps, &via); /* there is room */
    pthread_mutex_unlock(&stream->lock);
    return CHANGED;
}

static enum readiness look_at_one(struct stream *stream, struct command *head, unsigned i,
                                  bool must_be_done, cl_int *code) {
    struct dep *dep = &deps_items(&head->deps)[i];
    if (dep->stream)
        return look_at(stream, dep, must_be_done);
    return dep->gate ? look_at_gate(stream, head, i) : look_at_foreign(dep, code);
}

/* Whether a dependency that is ready is still of use: to be handed to the driver, or failed. */
static bool is_kept(const struct dep *dep) {
    return (dep->stream && atomic_load(&dep->stream->retired) < dep->position) || dep_failure(dep);
}

/* Removes what is done from the head's dependencies and tells whether the rest can be handed to the
 * driver. The stream is draining, so the head stays where it is. */
static enum readiness look_at_all(struct stream *stream, struct command *head, cl_int *code) {
    bool must_be_done =
        head->type->run && head->type->after_completion && !mutant(MUTANT_HOST_WAITS);
    for (unsigned i = 0; i < head->deps.count;) {
        enum readiness now = look_at_one(stream, head, i, must_be_done, code);
        if (now == CHANGED)
            continue;
        if (now != READY)
            return now;
        if (is_kept(&deps_items(&head->deps)[i])) {
            i++;
            continue;
        }
        pthread_mutex_lock(&stream->lock);
        deps_remove(&head->deps, i);
        pthread_mutex_unlock(&stream->lock);
    }
    return READY;
}

static void pop(struct stream *stream) {
    struct command *head = stream->fifo_head;
    stream->turns_given = 0;
    stream->fifo_head = head->next;
    if (!head->next) {
        stream->fifo_tail = NULL;
        atomic_fetch_sub(context_holding(stream->context, stream->priority), 1);
    }
    stream->fifo_count--;
    atomic_store_explicit(&stream->popped, head->position, memory_order_release);
    if (stream->waiters)
        pthread_cond_broadcast(&stream->progress);
}

/* What a dropped command was to wait for goes on: what was freed behind it waits for that, and what comes after a
 * reset. Without memory for that the order is lost. */
static void pass_on_waits(struct stream *stream, struct command *head) {
    struct dep *items = deps_items(&head->deps);
    stream_memory_hold(stream, &head->deps, head->position - 1);
    if (atomic_load(&stream->destroyed))
        return;
    for (unsigned i = head->deps.count; i-- > 0;)
        if (dep_outlives(&items[i]) && !deps_add(&stream->waits, &items[i]))
            items[i] = items[--head->deps.count];
}

void fifo_finish_head(struct stream *stream) {
    struct command *head = stream->fifo_head;
    pop(stream);
    if (head->deps.count && stream_poison(stream))
        pass_on_waits(stream, head);
    stream->counters.completed++;
    if (stream_failure_at(stream, head->position))
        stream->counters.failed++;
    if (head->record)
        observe_retired(stream, head->record, head->position, NULL);
    /* Before anybody can see that it is done: what it used is unused then. */
    command_drop(head);
    atomic_store_explicit(&stream->retired, head->position, memory_order_release);
    free(head);
}

void fifo_fail_skipped(struct stream *stream, const struct command *command) {
    const struct failure *poison = stream_poison(stream);
    if (poison)
        stream_fail_by_locked(stream, command->position, poison);
    else
        stream_fail_locked(stream, command->position, CLS_ERROR_SHUTDOWN, 0, "process exit");
}

void fifo_settle_reservation(struct stream *stream) {
    if (stream->reserved && !stream->fifo_head) {
        stream->reserved = false;
        workers_unreserve();
    }
}

struct command *fifo_hand_over_head(struct stream *stream) {
    struct command *head = stream->fifo_head;
    pop(stream);
    return head;
}

enum step { STEP_AGAIN, STEP_STOP, STEP_WORKER };

/* A mark with nothing left to wait for, whose time nobody wants: the device has nothing to do for it. */
static bool is_done_already(const struct stream *stream, const struct command *head) {
    return head->type == &type_marker && !head->u.marker.event && !head->deps.count &&
           !stream->flights.count;
}

/* What becomes of it is the stream's to tell, and not the words of the caller who happens to drive it. */
static bool hand_over_or_fail(struct stream *stream, struct command *head, enum flight_room room) {
    struct detail held;
    error_hold(&held);
    cls_status status = CLS_ERROR_OUT_OF_MEMORY;
    if (room == FLIGHT_ROOM)
        status = handover(stream, head, &head->deps);
    if (status)
        stream_fail_locked(stream, head->position, stream_poison_status(status),
                           cls_last_error_code(), command_label(head));
    error_settle(&held, CLS_SUCCESS);
    return !status;
}

/* Under the lock: one step with the head, whose dependencies are ready. */
static enum step step(struct stream *stream) {
    struct command *head = stream->fifo_head;
    bool poisoned = stream_poison(stream) != NULL;
    if (head->type->run && (!poisoned || head->type->when_failed))
        return STEP_WORKER;
    if (!poisoned && is_done_already(stream, head)) {
        fifo_finish_head(stream);
        return STEP_AGAIN;
    }
    if (poisoned) {
        if (stream->flights.count)
            return STEP_STOP;
        fifo_fail_skipped(stream, head);
        fifo_finish_head(stream);
        return STEP_AGAIN;
    }
    if (stream->turns_given < MOST_TURNS && cross_context_holds(stream, head, &head->deps)) {
        stream->turns_given++;
        return STEP_AGAIN;
    }
    enum flight_room room = handover_room(stream);
    if (stream_poison(stream))
        return STEP_AGAIN;
    if (room == FLIGHT_FULL || (room == FLIGHT_NO_MEMORY && stream->flights.count))
        return STEP_STOP; /* room comes with what retires */
    if (!hand_over_or_fail(stream, head, room))
        return STEP_AGAIN;
    pop(stream);
    free(head);
    return STEP_AGAIN;
}

/* Under the lock. */
static void note_blocked(struct stream *stream, bool blocked) {
    if (stream->blocked == blocked)
        return;
    stream->blocked = blocked;
    if (blocked)
        engine_blocked();
    else
        engine_unblocked();
}

static bool is_more_urgent_held(const struct stream *stream) {
    bool held = false;
    for (int priority = CLS_PRIORITY_HIGH; priority < stream->priority; priority++)
        held = held || atomic_load(context_holding(stream->context, priority));
    return held;
}

/* Without a lock: hands over what streams of that priority hold. */
static void drive_all_of(struct context *context, int priority) {
    if (!atomic_load(context_holding(context, priority)))
        return;
    for (struct stream *stream = stream_next(NULL); stream; stream = stream_next(stream)) {
        if (stream->context != context || stream->priority != priority)
            continue;
        pthread_mutex_lock(&stream->lock);
        bool holds = stream->fifo_head != NULL;
        pthread_mutex_unlock(&stream->lock);
        if (holds)
            stream_drive(stream);
    }
}

/* The head can be handed over: what more urgent streams hold, and can be as well, goes first. Leaves the lock
 * meanwhile; the stream is draining, so the head stays. */
static void give_way(struct stream *stream, unsigned *since_look) {
    if ((*since_look)++ % LOOK_EVERY || !is_more_urgent_held(stream))
        return;
    pthread_mutex_unlock(&stream->lock);
    for (int priority = CLS_PRIORITY_HIGH; priority < stream->priority; priority++)
        drive_all_of(stream->context, priority);
    pthread_mutex_lock(&stream->lock);
}

/* Looks at the head and moves it on. Called with the lock held and draining set; keeps both. */
static enum step move_head(struct stream *stream, unsigned *since_look) {
    struct command *head = stream->fifo_head;
    cl_int code = CL_SUCCESS;
    if (!head)
        return STEP_STOP;
    bool look = head->deps.count && !stream_poison(stream);
    note_blocked(stream, look);
    if (look) {
        pthread_mutex_unlock(&stream->lock);
        enum readiness now = look_at_all(stream, head, &code);
        pthread_mutex_lock(&stream->lock);
        if (now == FAILED)
            stream_fail_locked(stream, head->position, CLS_ERROR_COMMAND_FAILED, code,
                               "the user's cl_event");
        if (now == BLOCKED && !stream_poison(stream))
            return STEP_STOP;
        note_blocked(stream, false);
        const struct failure *failure = deps_failure(&head->deps);
        if (failure)
            stream_fail_by_locked(stream, head->position, failure);
    }
    give_way(stream, since_look);
    return step(stream);
}

bool fifo_drain(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    if (stream->draining || stream->running) {
        pthread_mutex_unlock(&stream->lock);
        return false;
    }
    stream->draining = true;
    enum step next;
    unsigned since_look = 0;
    uint64_t popped = atomic_load(&stream->popped);
    do
        next = move_head(stream, &since_look);
    while (next == STEP_AGAIN);
    stream->running = next == STEP_WORKER;
    fifo_settle_reservation(stream);
    bool moved = atomic_load(&stream->popped) != popped;
    stream_flush_locked(stream);
    bool run = stream->running;
    bool left = stream->unflushed || (stream->fifo_head && !run);
    stream->draining = false;
    stream_unlock_telling(stream);
    if (moved)
        engine_notice();
    if (left)
        engine_rouse();
    return run;
}

void stream_drive(struct stream *stream) {
    if (!fifo_drain(stream))
        return;
    object_retain(&stream->object);
    workers_run(stream);
}
