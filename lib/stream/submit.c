/* SPDX-License-Identifier: MIT */
/*
 * The one door. The fast path enqueues inline, with the tail and the pending waits as wait list; where
 * something ahead is not with the driver yet, the command waits in the FIFO and is handed over by
 * whoever makes its turn come: a caller, a worker that finished, or the engine.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "check/blocking.h"
#include "check/race.h"
#include "stream/context.h"
#include "stream/cross_context_hold.h"
#include "stream/engine.h"
#include "stream/event.h"
#include "stream/handover.h"
#include "stream/mutant.h"
#include "stream/observe.h"
#include "stream/stream.h"
#include "stream/wait_check.h"

/* How long a submission helps the device along before it goes to the FIFO for want of room, and for which
 * share of what is in flight. */
static const uint64_t HELP_NS = 200 * 1000;
enum { HELP_SHARE = 8 };

static void count(struct stream *stream, const struct command *command) {
    cls_command_kind kind = command->type->kind;
    stream->counters.commands[kind]++;
    if (command->type == &type_launch)
        stream->counters.work_items += command->u.launch.shape.items;
    if (kind == CLS_COMMAND_COPY_H2D)
        stream->counters.bytes_to_device += command->bytes;
    else if (kind == CLS_COMMAND_COPY_D2H)
        stream->counters.bytes_to_host += command->bytes;
    else
        stream->counters.bytes_on_device += command->bytes;
}

/* Whether the driver itself can be given the stream's pending waits. */
static bool waits_are_native(struct stream *stream) {
    struct dep *items = deps_items(&stream->waits);
    for (unsigned i = 0; i < stream->waits.count; i++)
        if (!dep_is_native(stream, &items[i]))
            return false;
    return true;
}

/* Under the lock. */
static cls_status submit_locked(struct stream *stream, struct command *command, bool *deferred) {
    const struct failure *failure = stream_poison(stream);
    if (RARELY(failure) && !command->type->when_failed)
        return failure_report(stream, failure);
    *deferred = (!fifo_is_empty(&stream->fifo) && !mutant(MUTANT_FIFO)) ||
                !command->type->enqueue || (stream->waits.count && !waits_are_native(stream)) ||
                cross_context_holds(stream, command, &stream->waits);
    if (!RARELY(*deferred)) {
        enum flight_room room = handover_room(stream);
        failure = stream_poison(stream);
        if (RARELY(failure))
            return failure_report(stream, failure);
        if (RARELY(room == FLIGHT_NO_MEMORY))
            return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for a command in flight");
        *deferred = room == FLIGHT_FULL;
    }
    if (RARELY(*deferred))
        return fifo_push(stream, command);
    command->position = stream->submitted + 1;
    cls_status status = handover(stream, command, &stream->waits);
    if (RARELY(status))
        return status;
    stream_count_submission(stream);
    return CLS_SUCCESS;
}

/* Gives the device a moment when as much is in flight as may be, so that a fast submitter paces itself
 * instead of filling the FIFO: it waits for a part of it, asking of its end alone, since a driver's threads
 * and whoever asks of what they are at work on are in each other's way. Bounded, since what is in flight may
 * take forever; and after a moment in which nothing retired there is no other one until something has.
 * Called and left with the lock held. */
COLD static void help(struct stream *stream) {
    const uint64_t retired = atomic_load(&stream->retired);
    const bool queued = !fifo_is_empty(&stream->fifo);
    stream->counters.stalls++;
    if (stream->helped_in_vain == retired + 1)
        return;
    pthread_mutex_unlock(&stream->lock);
    stream_await(stream, retired + (stream->max_in_flight + HELP_SHARE - 1) / HELP_SHARE,
                 clock_now_ns() + HELP_NS);
    if (queued)
        stream_drive(stream);
    pthread_mutex_lock(&stream->lock);
    stream->helped_in_vain = atomic_load(&stream->retired) == retired ? retired + 1 : 0;
}

/* Under the lock: submits, after giving the device a moment where it has as much as may be. `*held` is set
 * with a reference taken, for what is left to do without the lock. */
static cls_status admit(struct stream *stream, struct command *command, bool *deferred,
                        bool *held) {
    cls_status status = CLS_SUCCESS;
    if (RARELY(stream->flights.commands >= stream->max_in_flight) && !stream_poison(stream)) {
        /* The lock is left meanwhile. */
        status = command->type->own ? command->type->own(stream, command) : CLS_SUCCESS;
        if (status)
            return status;
        object_retain(&stream->object);
        *held = true;
        help(stream);
    }
    if (RARELY(engine_is_down()))
        return error_set(CLS_ERROR_SHUTDOWN, "the process is exiting");
    if (RARELY(observer()))
        observe_submit(stream, command);
    status = submit_locked(stream, command, deferred);
    if (RARELY(status)) {
        if (command->record)
            observe_refused(stream, command);
        return status;
    }
    count(stream, command);
    if (RARELY(!stream->watched))
        engine_watch(stream);
    if (RARELY(*deferred || blocking_launches()) && !*held) {
        object_retain(&stream->object);
        *held = true;
    }
    return CLS_SUCCESS;
}

cls_status stream_submit_entered(struct stream *stream, struct command *command,
                                 const struct race_args *args, uint64_t *position) {
    bool deferred = false, held = false;
    const bool checked = race_on();
    struct race_touches touches;
    command->event_need = position || blocking_launches() ? EVENT_NEEDED : EVENT_NOT_NEEDED;
    if (checked)
        race_collect(&touches, stream, command, args);
    cls_status status = admit(stream, command, &deferred, &held);
    if (checked && status)
        race_drop(&touches);
    else if (checked)
        race_submitted(stream, command, &touches);
    bool rouse = !deferred && engine_ticks_for(stream);
    if (!RARELY(status) && position)
        *position = command->position;
    /* Who has the head goes on with what is behind it. */
    bool drive = RARELY(deferred) && !status && fifo_is_free(&stream->fifo);
    bool settle = !status && stream->flights.retire_due;
    const bool news = RARELY(stream->fresh_failure);
    if (settle && !held)
        object_retain(&stream->object);
    held = held || settle;
    stream->flights.retire_due = false;
    pthread_mutex_unlock(&stream->lock);
    if (RARELY(status))
        command_drop(command);
    else if (rouse)
        engine_rouse();
    if (RARELY(news)) /* the caller may hold locks of layers above: others are told by the engine */
        engine_kick();
    if (settle)
        stream_retire_known(stream);
    if (RARELY(drive))
        stream_drive(stream);
    if (!status && held && blocking_launches())
        status = blocking_wait(stream, command->position, !command->type->when_failed);
    if (held)
        stream_put(stream);
    return status;
}

cls_status stream_submit(struct stream *stream, struct command *command, uint64_t *position) {
    pthread_mutex_lock(&stream->lock);
    return stream_submit_entered(stream, command, NULL, position);
}

static pthread_mutex_t check_lock = PTHREAD_MUTEX_INITIALIZER;
ASKED static _Atomic wait_check installed_check;

void wait_check_install(wait_check check) { atomic_store(&installed_check, check); }
void wait_check_lock(void) { pthread_mutex_lock(&check_lock); }
void wait_check_unlock(void) { pthread_mutex_unlock(&check_lock); }

/* What has an event is with the driver and comes by itself. */
bool wait_check_wanted(const struct dep *dep) {
    return !dep->event_ref && atomic_load_explicit(&installed_check, memory_order_acquire);
}

cls_status wait_check_enter(struct stream *stream, const struct dep *dep) {
    wait_check_lock();
    cls_status status = atomic_load(&installed_check)(stream, dep);
    if (status)
        wait_check_unlock();
    return status;
}

cls_status stream_add_wait(struct stream *stream, const struct dep *dep) {
    bool check = wait_check_wanted(dep);
    cls_status status = check ? wait_check_enter(stream, dep) : CLS_SUCCESS;
    if (status)
        return status;
    pthread_mutex_lock(&stream->lock);
    if (mutant(MUTANT_WAIT_GATE) && dep->gate)
        dep_release(dep);
    else
        status = deps_add(&stream->waits, dep);
    if (!status)
        stream->counters.waits++;
    pthread_mutex_unlock(&stream->lock);
    if (check)
        wait_check_unlock();
    return status;
}

bool stream_marked_locked(struct stream *stream, uint64_t *position) {
    const struct failure *poison = stream_poison(stream);
    *position = stream_newest_locked(stream);
    if (poison)
        return atomic_load(&poison->first) <= *position;
    if (stream_failure_at(stream, *position))
        return false; /* the newest work failed, and the stream was reset since */
    if (race_on() && race_waits_open(stream))
        return false; /* a wait that was over when it was taken: its order is not to depend on that */
    return !stream->waits.count || mutant(MUTANT_MARK);
}

/* Submits a mark unless there is one. One for a healthy stream is refused where a failure is found meanwhile. */
static cls_status mark_once(struct stream *stream, uint64_t *position) {
    struct command mark;
    pthread_mutex_lock(&stream->lock);
    bool marked = stream_marked_locked(stream, position);
    command_init(&mark, stream_poison(stream) ? &type_mark : &type_marker, NULL);
    if (!marked) {
        /* Taken all the same where what it comes after has failed: whoever asks of the mark is told. */
        uint64_t taken = 0;
        cls_status status = stream_submit_entered(stream, &mark, NULL, &taken);
        if (taken)
            *position = taken;
        return taken ? CLS_SUCCESS : status;
    }
    pthread_mutex_unlock(&stream->lock);
    return CLS_SUCCESS;
}

cls_status stream_mark(struct stream *stream, uint64_t *position) {
    const struct failure *known;
    cls_status status;
    do {
        known = atomic_load(&stream->failures);
        status = mark_once(stream, position);
    } while (status && atomic_load(&stream->failures) != known);
    return status;
}
