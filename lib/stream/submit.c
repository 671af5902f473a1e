/* SPDX-License-Identifier: MIT */
/*
 * Submission, in three steps: `prepare` decides whether the stream takes the command and whether it goes to the driver at
 * once or to the FIFO, `commit` makes it the stream's next position there, and stream_leave drops the lock and does what
 * is left. Marks, and waits for what comes next, are below.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "stream/blocking.h"
#include "stream/context.h"
#include "stream/cross_context_hold.h"
#include "stream/engine.h"
#include "stream/event.h"
#include "stream/failure.h"
#include "stream/handover.h"
#include "stream/hooks.h"
#include "stream/leave.h"
#include "stream/legacy.h"
#include "stream/observe.h"
#include "stream/submit.h"
#include "stream/touch.h"
#include "stream/wait.h"
#include "stream/wait_check.h"
#include "system/clocks.h"

/* Back-pressure: how long a submission waits for room, and for which share of max_in_flight. */
static const uint64_t ROOM_NS = 200 * 1000;
enum { ROOM_SHARE = 8 };

enum route { TO_DRIVER, TO_FIFO };

/* What a submission holds until its command has its position, and longer. */
struct held {
    bool retained;     /* the stream */
    bool legacy_order; /* the order lock of the context */
};

static void count(struct stream *stream, const struct command *command) {
    cls_command_kind kind = command->type->kind;
    stream->counters.commands[kind]++;
    if (kind == CLS_COMMAND_KERNEL)
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

/* Whether something keeps the command from the driver: what is ahead of it, what it waits for, or what it is. */
static bool must_queue(struct stream *stream, struct command *command) {
    return !fifo_is_empty(&stream->fifo) || !command->type->enqueue ||
           (stream->waits.count && !waits_are_native(stream)) ||
           cross_context_holds(stream, command, &stream->waits);
}

/* Before the lock is dropped meanwhile: another command may become the newest. */
static cls_status prepare_to_unlock(struct stream *stream, struct command *command,
                                    struct held *held) {
    cls_status status = command->type->own ? command->type->own(stream, command) : CLS_SUCCESS;
    if (status || held->retained)
        return status;
    object_retain(&stream->object);
    held->retained = true;
    return CLS_SUCCESS;
}

/* Whether the driver and the library together hold max_in_flight commands. */
static bool is_crowded(const struct stream *stream) {
    return stream->flights.commands + fifo_count(&stream->fifo) >= stream->max_in_flight;
}

/* Back-pressure: where it is crowded, waits up to 200 us for an eighth of it to retire; skipped if the last such wait
 * retired nothing. It asks about the end of that eighth only, since asking about newer work contends with the driver's
 * threads. Under the lock, which it drops meanwhile. */
COLD static cls_status await_room(struct stream *stream, struct command *command,
                                  struct held *held) {
    const uint64_t retired = atomic_load(&stream->retired);
    if (stream_poison(stream))
        return CLS_SUCCESS;
    cls_status status = prepare_to_unlock(stream, command, held);
    if (status)
        return status;
    stream->counters.stalls++;
    if (stream->stalled_at == retired + 1)
        return CLS_SUCCESS;
    const bool queued = !fifo_is_empty(&stream->fifo);
    pthread_mutex_unlock(&stream->lock);
    stream_await(stream, retired + (stream->max_in_flight + ROOM_SHARE - 1) / ROOM_SHARE,
                 clock_now_ns() + ROOM_NS);
    if (queued)
        stream_drive(stream);
    pthread_mutex_lock(&stream->lock);
    stream->stalled_at = atomic_load(&stream->retired) == retired ? retired + 1 : 0;
    return CLS_SUCCESS;
}

/* Under the lock, which it drops meanwhile: makes the command wait for what the legacy order puts before it. */
COLD static cls_status take_legacy_order(struct stream *stream, struct command *command,
                                         struct held *held) {
    const bool is_refused = stream_poison(stream) && !command->type->when_failed;
    if (is_refused || (stream->legacy_role == LEGACY_DEFAULT && !legacy_is_due(stream)))
        return CLS_SUCCESS;
    cls_status status = prepare_to_unlock(stream, command, held);
    if (status)
        return status;
    held->legacy_order = true;
    return legacy_enter(stream);
}

/* Under the lock, which waits for room and for the legacy order drop: whether the stream takes the command, and which way
 * it goes. */
static cls_status prepare(struct stream *stream, struct command *command, enum route *route,
                          struct held *held) {
    cls_status status = CLS_SUCCESS;
    if (RARELY(is_crowded(stream)))
        status = await_room(stream, command, held);
    if (RARELY(stream->legacy_open) && !status)
        status = take_legacy_order(stream, command, held);
    if (RARELY(status))
        return status;
    if (RARELY(engine_is_down()))
        return error_set(CLS_ERROR_SHUTDOWN, "the process is exiting");
    if (RARELY(observer()))
        observe_submit(stream, command);
    const struct failure *poison = stream_poison(stream);
    if (RARELY(poison) && !command->type->when_failed)
        return failure_report(stream, poison);
    *route = TO_FIFO;
    if (RARELY(must_queue(stream, command)))
        return CLS_SUCCESS;
    const enum flight_room room = handover_room(stream);
    if (RARELY(room == FLIGHT_POISONED))
        return failure_report(stream, stream_poison(stream));
    if (RARELY(room == FLIGHT_NO_MEMORY))
        return error_no_memory("for a command in flight");
    if (!RARELY(room == FLIGHT_FULL))
        *route = TO_DRIVER;
    return CLS_SUCCESS;
}

/* Under the lock: the command becomes the stream's next position, with the driver or in the FIFO. */
static cls_status commit(struct stream *stream, struct command *command, enum route route) {
    cls_status status;
    if (RARELY(route == TO_FIFO)) {
        status = fifo_push(stream, command);
    } else {
        command->position = stream->submitted + 1;
        status = handover(stream, command, &stream->waits);
        if (!RARELY(status))
            stream_count_submission(stream);
    }
    if (RARELY(status))
        return status;
    count(stream, command);
    if (RARELY(!stream->watched))
        engine_watch(stream);
    return CLS_SUCCESS;
}

/* Under the lock: what a command that was taken leaves to do. The owner of the FIFO goes on with what is appended. */
static inline unsigned left_to_do(struct stream *stream, enum route route) {
    unsigned todo = stream->flights.retire_due ? AFTER_RETIRE : AFTER_NOTHING;
    if (RARELY(route == TO_FIFO))
        return todo | (fifo_is_free(&stream->fifo) ? AFTER_DRIVE : AFTER_NOTHING);
    return todo | (engine_ticks_for(stream) ? AFTER_ROUSE : AFTER_NOTHING);
}

/* A failure that was found meanwhile is propagated by the engine, so that a submission does not visit all streams. */
cls_status stream_submit_entered(struct stream *stream, struct command *command,
                                 const struct launch_args *args, uint64_t *position) {
    if (RARELY(stream->capturing))
        return hooks.capture.submit(stream, command, args, position);
    enum route route = TO_FIFO;
    struct held held = {false, false};
    const bool checked = race_on(), blocking = blocking_launches();
    struct touches touches;
    command->event_need = position || blocking ? EVENT_NEEDED : EVENT_NOT_NEEDED;
    if (checked)
        touches_collect(&touches, stream, command, args);
    cls_status status = prepare(stream, command, &route, &held);
    if (checked && !status)
        hooks.race.submits(&touches);
    if (!RARELY(status))
        status = commit(stream, command, route);
    if (RARELY(held.legacy_order))
        legacy_leave(stream);
    if (checked && status)
        touches_free(&touches);
    else if (checked)
        hooks.race.submitted(stream, command, &touches);
    if (RARELY(status) && command->record)
        observe_refused(stream, command);
    if (!RARELY(status) && position)
        *position = command->position;
    unsigned todo = RARELY(status) ? AFTER_NOTHING : left_to_do(stream, route);
    if (RARELY(stream->fresh_failure))
        todo |= AFTER_KICK;
    if (!held.retained && (RARELY(blocking) || todo & (AFTER_RETIRE | AFTER_DRIVE))) {
        object_retain(&stream->object);
        held.retained = true;
    }
    stream->flights.retire_due = false;
    stream_leave(stream, todo);
    if (RARELY(status))
        command_drop(command);
    else if (RARELY(blocking))
        status = blocking_wait(stream, command->position, !command->type->when_failed);
    if (held.retained)
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

/* Work that has an event is with the driver and ends by itself. */
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
    if (RARELY(stream->capturing))
        status = hooks.capture.refuse(stream, "wait for work outside of the capture");
    else
        status = deps_add(&stream->waits, dep);
    if (!status)
        stream->counters.waits++;
    pthread_mutex_unlock(&stream->lock);
    if (check)
        wait_check_unlock();
    return status ? status : legacy_note_wait(stream);
}

static bool is_marked(struct stream *stream, uint64_t *position, bool to_ask) {
    const struct failure *poison = stream_poison(stream);
    *position = stream_newest_locked(stream);
    if (poison)
        return atomic_load(&poison->first) <= *position;
    if (stream_failure_at(stream, *position))
        return false; /* the newest work failed, and the stream was reset since */
    if (race_on() && hooks.race.waits_open(stream))
        return false; /* a wait that was already over when it was taken orders all the same, for the checker */
    return !stream->waits.count && !(to_ask ? legacy_is_due_to_ask(stream) : legacy_is_due(stream));
}

bool stream_marked_locked(struct stream *stream, uint64_t *position) {
    return is_marked(stream, position, false);
}

bool stream_marked_to_ask_locked(struct stream *stream, uint64_t *position) {
    return is_marked(stream, position, true);
}

/* Under the lock. */
COLD static cls_status mark_captured(struct stream *stream, unsigned use, uint64_t *position) {
    if (use & MARK_BESIDE) {
        *position = stream_newest_locked(stream);
        return CLS_NOT_READY;
    }
    return hooks.capture.refuse(stream, use & MARK_TO_ASK
                                            ? "wait for the stream"
                                            : "call that orders work behind the stream");
}

/* Submits a mark unless the newest position is one. A mark for a healthy stream is refused if a failure is found
 * meanwhile. */
static cls_status mark_once(struct stream *stream, unsigned use, uint64_t *position) {
    struct command mark;
    pthread_mutex_lock(&stream->lock);
    if (RARELY(stream->capturing)) {
        cls_status status = mark_captured(stream, use, position);
        pthread_mutex_unlock(&stream->lock);
        return status;
    }
    bool marked = is_marked(stream, position, use & MARK_TO_ASK);
    command_init(&mark, stream_poison(stream) ? &type_mark : &type_marker, NULL);
    if (!marked) {
        /* It may be taken and have failed with what it comes after: whoever asks for its position is told. */
        uint64_t taken = 0;
        cls_status status = stream_submit_entered(stream, &mark, NULL, &taken);
        if (taken)
            *position = taken;
        if (taken && use & MARK_TO_ASK && RARELY(stream->legacy_role == LEGACY_DEFAULT))
            legacy_note_asked(stream, taken);
        return taken ? CLS_SUCCESS : status;
    }
    pthread_mutex_unlock(&stream->lock);
    return CLS_SUCCESS;
}

cls_status stream_mark_for(struct stream *stream, unsigned use, uint64_t *position) {
    const struct failure *known;
    cls_status status;
    do {
        known = atomic_load(&stream->failures);
        status = mark_once(stream, use, position);
    } while (status && atomic_load(&stream->failures) != known);
    return status;
}
