/* SPDX-License-Identifier: MIT */
/*
 * Driving the FIFO: handing over one head after the other, until one has to wait. The dependencies of a head are asked
 * about without the stream's lock; as the owner of the head the thread keeps the order meanwhile.
 */
#include <stdlib.h>

#include "base/error.h"
#include "driver/event.h"
#include "stream/context.h"
#include "stream/cross_context_hold.h"
#include "stream/engine.h"
#include "stream/event_ref.h"
#include "stream/failure.h"
#include "stream/fifo.h"
#include "stream/flush.h"
#include "stream/gate.h"
#include "stream/handover.h"
#include "stream/leave.h"
#include "stream/wait.h"
#include "stream/worker.h"

/* Commands that a stream hands over before more urgent streams are looked for again. */
enum { URGENT_EVERY = 32 };

/* A launch lets launches of other contexts go first so often, and then waits for them where it is handed over: other
 * contexts may go on launching without end. */
enum { MAX_YIELDS = 64 };

enum readiness { READY, BLOCKED, FAILED };

/* A user's own event, or the launch of another context that goes first: the library holds the head back until the event
 * is set. */
static enum readiness check_event(const struct dep *dep, cl_int *code) {
    cl_int state = dep_event_outcome(dep);
    if (state > 0)
        return BLOCKED;
    if (state == CL_COMPLETE)
        return READY;
    *code = state;
    return FAILED;
}

/* Fills in the event of the dependency once the work is with the driver. Work of another context must be done, as no
 * wait list may name its event. Without a lock. */
static enum readiness check_stream(struct stream *stream, struct dep *dep, bool must_be_done) {
    if (atomic_load(&dep->stream->retired) >= dep->position)
        return READY;
    if (!dep->event_ref) {
        struct dep fresh;
        if (stream_dep(dep->stream, dep->position, stream, &fresh))
            return READY;
        dep->event_ref = fresh.event_ref;
        if (!dep->gate)
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

/* Where work of a stream is going to open the gate, the dependency is on that work from then on. */
static enum readiness check_gate(struct stream *stream, const struct command *head, struct dep *dep,
                                 bool must_be_done) {
    struct dep via;
    if (dep_failure(dep))
        return READY;
    enum gate_answer answer =
        dep->gate->type->look(dep->gate, dep->value, stream, head->position, &via);
    if (answer != GATE_VIA)
        return answer == GATE_OPEN ? READY : BLOCKED;
    pthread_mutex_lock(&stream->lock);
    dep_take_work(dep, &via);
    pthread_mutex_unlock(&stream->lock);
    return check_stream(stream, dep, must_be_done);
}

static enum readiness check_dep(struct stream *stream, struct command *head, unsigned i,
                                bool must_be_done, cl_int *code) {
    struct dep *dep = &deps_items(&head->deps)[i];
    if (dep->stream)
        return check_stream(stream, dep, must_be_done);
    return dep->gate ? check_gate(stream, head, dep, must_be_done) : check_event(dep, code);
}

/* Whether a ready dependency is still needed: the driver is to wait for it, or its failure is to be inherited. */
static bool is_kept(const struct dep *dep) {
    return (dep->stream && atomic_load(&dep->stream->retired) < dep->position) || dep_failure(dep);
}

/* Removes the head's dependencies that are done and returns whether the rest can be handed to the driver. Without the
 * lock: this thread owns the head, which stays. */
static enum readiness check_deps(struct stream *stream, struct command *head, cl_int *code) {
    bool must_be_done = head->type->run && head->type->after_completion;
    for (unsigned i = 0; i < head->deps.count;) {
        enum readiness now = check_dep(stream, head, i, must_be_done, code);
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

enum drain_step { STEP_AGAIN, STEP_STOP, STEP_WORKER };

/* An untimed mark with nothing left to wait for: the device has nothing to do for it. */
static bool is_done_already(const struct stream *stream, const struct command *head) {
    return head->type == &type_marker && !head->u.marker.event && !head->deps.count &&
           !stream->flights.count;
}

/* The error detail of the calling thread stays as it is: a failure is reported by the stream, not by whoever drives it.
 */
static bool hand_over_or_fail(struct stream *stream, struct command *head, enum flight_room room) {
    struct detail held;
    error_save(&held);
    cls_status status = CLS_ERROR_OUT_OF_MEMORY;
    if (room == FLIGHT_ROOM)
        status = handover(stream, head, &head->deps);
    if (status)
        stream_fail_locked(stream, head->position, stream_poison_status(status),
                           cls_last_error_code(), command_label(head));
    error_restore(&held, CLS_SUCCESS);
    return !status;
}

/* Under the lock: one step with the head, whose dependencies are ready. */
static enum drain_step step(struct stream *stream) {
    struct command *head = fifo_head(&stream->fifo);
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
    if (stream->fifo.yields < MAX_YIELDS && cross_context_holds(stream, head, &head->deps)) {
        stream->fifo.yields++;
        return STEP_AGAIN;
    }
    enum flight_room room = handover_room(stream);
    if (room == FLIGHT_POISONED)
        return STEP_AGAIN;
    if (room == FLIGHT_FULL || (room == FLIGHT_NO_MEMORY && stream->flights.count))
        return STEP_STOP; /* room comes with what retires */
    if (!hand_over_or_fail(stream, head, room))
        return STEP_AGAIN;
    free(fifo_pop(stream));
    return STEP_AGAIN;
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
        bool holds = !fifo_is_empty(&stream->fifo);
        pthread_mutex_unlock(&stream->lock);
        if (holds)
            stream_drive(stream);
    }
}

/* Before the head is handed over: what more urgent streams hold goes first. Under the lock, which it drops meanwhile;
 * this thread owns the head, which stays. */
static void give_way(struct stream *stream, unsigned *n_moved) {
    if ((*n_moved)++ % URGENT_EVERY || !is_more_urgent_held(stream))
        return;
    pthread_mutex_unlock(&stream->lock);
    for (int priority = CLS_PRIORITY_HIGH; priority < stream->priority; priority++)
        drive_all_of(stream->context, priority);
    pthread_mutex_lock(&stream->lock);
}

/* Under the lock, which it drops meanwhile: whether the head's dependencies are ready, or the stream is poisoned, by
 * them perhaps. */
static bool deps_allow(struct stream *stream, struct command *head) {
    cl_int code = CL_SUCCESS;
    pthread_mutex_unlock(&stream->lock);
    enum readiness now = check_deps(stream, head, &code);
    pthread_mutex_lock(&stream->lock);
    if (now == FAILED)
        stream_fail_locked(stream, head->position, CLS_ERROR_COMMAND_FAILED, code,
                           "the user's cl_event");
    if (now == BLOCKED && !stream_poison(stream))
        return false;
    const struct failure *failure = deps_failure(&head->deps);
    if (failure)
        stream_fail_by_locked(stream, head->position, failure);
    return true;
}

/* Under the lock, which it may drop meanwhile: moves the head on if its dependencies are ready. */
static enum drain_step move_head(struct stream *stream, unsigned *n_moved) {
    struct command *head = fifo_head(&stream->fifo);
    if (!head)
        return STEP_STOP;
    const bool check = head->deps.count && !stream_poison(stream);
    fifo_set_owner(&stream->fifo, check ? FIFO_CHECKING : FIFO_SUBMITTING);
    if (check) {
        if (!deps_allow(stream, head))
            return STEP_STOP;
        fifo_set_owner(&stream->fifo, FIFO_SUBMITTING);
    }
    give_way(stream, n_moved);
    return step(stream);
}

/* The owner after the last step: a head that stopped in FIFO_CHECKING is blocked. */
static enum fifo_owner owner_after(enum drain_step last, enum fifo_owner owner) {
    if (last == STEP_WORKER)
        return FIFO_ON_WORKER;
    return owner == FIFO_CHECKING ? FIFO_BLOCKED : FIFO_IDLE;
}

bool fifo_drain(struct stream *stream) {
    struct fifo *fifo = &stream->fifo;
    pthread_mutex_lock(&stream->lock);
    if (!fifo_is_free(fifo)) {
        pthread_mutex_unlock(&stream->lock);
        return false;
    }
    enum drain_step last;
    unsigned n_moved = 0;
    const uint64_t popped = atomic_load(&fifo->popped);
    do
        last = move_head(stream, &n_moved);
    while (last == STEP_AGAIN);
    fifo_release_worker(fifo);
    const bool moved = atomic_load(&fifo->popped) != popped;
    stream_flush_locked(stream);
    fifo_set_owner(fifo, owner_after(last, atomic_load(&fifo->owner)));
    const bool left = stream->unflushed_from || fifo_needs_driving(fifo);
    stream_leave(stream, AFTER_PROPAGATE | (moved ? AFTER_NOTIFY : 0) | (left ? AFTER_ROUSE : 0));
    return last == STEP_WORKER;
}

void stream_drive(struct stream *stream) {
    if (!fifo_drain(stream))
        return;
    object_retain(&stream->object);
    workers_run(stream);
}
