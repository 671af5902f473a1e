/* SPDX-License-Identifier: MIT */
/*
 * The worker's side of a FIFO: it runs the head on its thread, and stays with the stream while the next
 * command is for a worker too.
 */
#include "stream/worker_commands.h"

#include <stdlib.h>

#include "base/error.h"
#include "driver/queue.h"
#include "stream/abandoned.h"
#include "stream/context.h"
#include "stream/engine.h"
#include "stream/failure.h"
#include "stream/flush.h"
#include "stream/handover.h"
#include "stream/leave.h"
#include "stream/observe.h"
#include "stream/wait.h"
#include "stream/worker.h"
#include "system/clocks.h"

static struct run_result run_nothing(struct stream *stream, struct command *command,
                                     cls_status so_far) {
    (void)stream;
    (void)command;
    (void)so_far;
    return (struct run_result){.status = CLS_SUCCESS};
}

const struct command_type type_mark = {
    .kind = CLS_COMMAND_MARKER,
    .label = "marker",
    .run = run_nothing,
    .after_completion = true,
    .when_failed = true,
};

/* --- the worker's side of the FIFO --- */

/* Waits for room for the flight that the head may leave. */
static enum flight_room await_room(struct stream *stream) {
    for (;;) {
        pthread_mutex_lock(&stream->lock);
        enum flight_room room = flights_reserve(&stream->flights, stream->max_in_flight);
        uint64_t oldest = atomic_load(&stream->retired) + 1;
        pthread_mutex_unlock(&stream->lock);
        if (room != FLIGHT_FULL)
            return room;
        stream_await(stream, oldest, WAIT_FOREVER);
    }
}

/* Waits until the head may run: for earlier work, and for room where it may leave a flight. */
static void await_turn(struct stream *stream, struct command *head) {
    const bool after_completion =
        head->type->after_completion ||
        !caps_trusts(stream->context->caps, TRUST_EVENTS_ACROSS_QUEUES); /* it may use another */
    if (after_completion)
        stream_await(stream, head->position - 1, WAIT_FOREVER);
    if (head->type->after_completion && !head->type->leaves_event)
        return;
    if (await_room(stream) == FLIGHT_ROOM)
        return;
    pthread_mutex_lock(&stream->lock);
    stream_fail_locked(stream, head->position, CLS_ERROR_COMMAND_FAILED, 0, command_label(head));
    pthread_mutex_unlock(&stream->lock);
}

/* Under the lock: the head, which is out of the FIFO, has run and left an event to come. */
static void push_flight(struct stream *stream, struct command *head,
                        const struct run_result *result) {
    struct flight *flight = flights_push(&stream->flights, head, &head->deps);
    flight->event = result->event;
    flight->queue = result->companion ? stream->companion : stream->queue;
    if (flight->record)
        flight->record->queue = flight->queue->number;
    stream_note_unflushed(stream);
    command_drop(head);
    free(head);
}

/* Ends the head, which has failed, left an event to come, or is done. True when there is a next one for the driver. */
static bool finish(struct stream *stream, struct command *head, const struct run_result *result) {
    const char *label = command_label(head);
    pthread_mutex_lock(&stream->lock);
    if (result->hurt)
        stream_note_hurt(stream);
    if (result->status)
        stream_fail_saying_locked(stream, head->position, stream_poison_status(result->status),
                                  result->code, label, result->message ? result->message : "");
    if (result->skipped)
        fifo_fail_skipped(stream, head);
    if (result->event)
        push_flight(stream, fifo_pop(stream), result);
    else if (!stream->flights.count)
        fifo_finish_head(stream);
    bool for_driver = fifo_give_back(stream);
    stream_leave(stream, AFTER_PROPAGATE | AFTER_NOTIFY);
    return for_driver;
}

static struct run_result run_now(struct stream *stream, struct command *head, cls_status so_far) {
    if (!head->record)
        return head->type->run(stream, head, so_far);
    head->record->began = clock_now_ns();
    struct run_result result = head->type->run(stream, head, so_far);
    head->record->ended = clock_now_ns();
    return result;
}

/* True when a thread that waits for what follows has taken the FIFO over. */
static bool run_head(struct stream *stream) {
    struct command *head = fifo_head(&stream->fifo); /* stays: this worker owns it */
    struct run_result result = {.status = CLS_SUCCESS};
    await_turn(stream, head);
    const struct failure *failure = stream_failure_at(stream, head->position);
    bool skipped = stream_poison(stream) || engine_is_down();
    if (!skipped || head->type->when_failed) {
        fifo_run_begin(&stream->fifo);
        result = run_now(stream, head, failure ? failure->status : CLS_SUCCESS);
        fifo_run_end(&stream->fifo);
    } else {
        result.skipped = true;
    }
    if (head->type->after_completion && !result.event)
        stream_poll(stream);
    return finish(stream, head, &result) && fifo_offer(&stream->fifo);
}

void worker_commands_run(struct stream *stream) {
    bool taken;
    do
        taken = run_head(stream);
    while (!taken && fifo_drain(stream));
}

/* The head goes back to the FIFO as it is. */
static void give_back_unfinished(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    fifo_give_back(stream);
    pthread_mutex_unlock(&stream->lock);
}

/* What a foreign call has enqueued so far has no event. */
static void end_unreturned(struct stream *stream, struct command *head) {
    const struct run_result result = {.skipped = true};
    if (!head->type->after_completion) {
        pthread_mutex_lock(&stream->lock);
        abandon_command(stream->context, stream->companion, head);
        pthread_mutex_unlock(&stream->lock);
    }
    if (head->record)
        head->record->ended = clock_now_ns();
    finish(stream, head, &result);
}

void worker_commands_leave(void) {
    struct stream *stream = worker_user_code_of();
    if (!stream)
        return;
    struct command *head = fifo_head(&stream->fifo); /* stays: this worker owns it */
    const bool replaced = workers_replace_this();
    fifo_run_end(&stream->fifo);
    if (head->type->resumes)
        give_back_unfinished(stream);
    else
        end_unreturned(stream, head);
    if (!fifo_drain(stream))
        return;
    object_retain(&stream->object);
    if (replaced)
        workers_run(stream);
    else
        worker_commands_run(stream);
}
