/* SPDX-License-Identifier: MIT */
#include "api/shared_event.h"

#include <clstream/event.h>

#include "api/outside_wait.h"
#include "base/error.h"
#include "base/text.h"
#include "check/race.h"
#include "stream/context.h"
#include "stream/engine.h"
#include "stream/event.h"
#include "stream/event_records.h"
#include "stream/failure.h"
#include "stream/submit.h"
#include "stream/wait.h"
#include "stream/waiter.h"
#include "system/clocks.h"

/* --- records --- */

/* Work that exit drops may still run: the record is lost with the process. */
static struct run_result end_record(struct stream *stream, struct command *command,
                                    cls_status so_far) {
    (void)stream;
    if (so_far != CLS_ERROR_SHUTDOWN)
        event_records_end(command->u.marker.event->records, command->u.marker.serial,
                          so_far ? RECORD_FAILED : RECORD_DONE);
    return (struct run_result){.status = CLS_SUCCESS};
}

/* Once the work before it is done: what other processes do next is not ordered by this process's driver. */
static const struct command_type type_shared_record = {.kind = CLS_COMMAND_MARKER,
                                                       .label = "record of a shared event",
                                                       .run = end_record,
                                                       .after_completion = true,
                                                       .when_failed = true};

cls_status shared_event_record(struct event *event, struct stream *stream) {
    struct command command;
    uint64_t number, position = 0;
    cls_status status = event_records_begin(event->records, &number);
    if (status)
        return status;
    command_init(&command, &type_shared_record, NULL);
    command.u.marker.event = event;
    command.u.marker.serial = number;
    object_retain(&event->object);
    command_keep(&command, &event->object); /* there is room */
    status = stream_submit(stream, &command, &position);
    if (position) /* accepted; it may have failed with earlier work */
        return CLS_SUCCESS;
    event_records_end(event->records, number, RECORD_VOID);
    return status;
}

/* --- waits of streams --- */

static const struct event *awaited_event(const struct outside_wait *wait) {
    return (const struct event *)(const void *)wait->awaited;
}

static enum record_outcome outcome_of(const struct outside_wait *wait) {
    return event_records_outcome(awaited_event(wait)->records, wait->u.record);
}

/* What such a gate fails by: of all records, as a gate has one, and never another one. */
static struct failure failed = {.last = UINT64_MAX,
                                .status = CLS_ERROR_COMMAND_FAILED,
                                .label = "record of a shared event",
                                .message = "the work before it failed",
                                .number = 1};
static struct failure lost = {.last = UINT64_MAX,
                              .status = CLS_ERROR_COMMAND_FAILED,
                              .label = "record of a shared event",
                              .message = "its process ended before it did",
                              .number = 1};

static bool record_is_over(struct gate *gate, uint64_t unused) {
    const enum record_outcome outcome = outcome_of(outside_wait_of(gate));
    (void)unused;
    if (outcome == RECORD_FAILED || outcome == RECORD_LOST)
        atomic_store_explicit(&gate->failures, outcome == RECORD_LOST ? &lost : &failed,
                              memory_order_release);
    return outcome != RECORD_PENDING;
}

static enum gate_answer record_look(struct gate *gate, uint64_t unused, const struct stream *waiter,
                                    uint64_t position, struct dep *via) {
    (void)waiter;
    (void)position;
    (void)via;
    return record_is_over(gate, unused) ? GATE_OPEN : GATE_SHUT;
}

static void record_describe(struct gate *gate, uint64_t unused, struct text *text) {
    const struct outside_wait *wait = outside_wait_of(gate);
    (void)unused;
    text_printf(text, "record %llu of an event that processes share%s",
                (unsigned long long)wait->u.record,
                outcome_of(wait) == RECORD_PENDING ? ": the process that made it still runs" : "");
}

static const struct gate_type record_gate = {.look = record_look,
                                             .is_over = record_is_over,
                                             .describe = record_describe,
                                             .source = outside_wait_source};

cls_status shared_event_wait(struct event *event, struct stream *stream) {
    struct outside_wait *wait;
    cls_status status = outside_wait_new(&record_gate, &event->object, &wait);
    if (status)
        return status;
    wait->u.record = event_records_latest(event->records);
    record_is_over(&wait->gate, 0); /* a failure that is known now stays known */
    return outside_wait_begin(wait, stream);
}

/* --- the host --- */

static cls_status report_record(const struct event *event, uint64_t number) {
    switch (event_records_outcome(event->records, number)) {
    case RECORD_PENDING:
        return CLS_NOT_READY;
    case RECORD_FAILED:
        return error_set(CLS_ERROR_COMMAND_FAILED, "%s: %s", failed.label, failed.message);
    case RECORD_LOST:
        return error_set(CLS_ERROR_COMMAND_FAILED, "%s: %s", lost.label, lost.message);
    case RECORD_DONE:
    case RECORD_VOID:
        break;
    }
    if (race_on())
        race_event_exported(); /* the program knows of work, of whichever stream */
    return CLS_SUCCESS;
}

cls_status shared_event_query(struct event *event) {
    return report_record(event, event_records_latest(event->records));
}

cls_status shared_event_await(struct event *event, uint64_t deadline) {
    const uint64_t number = event_records_latest(event->records), start = clock_now_ns();
    cls_status status = check_may_block();
    if (status)
        return status;
    while ((status = report_record(event, number)) == CLS_NOT_READY) {
        if (engine_is_down())
            return error_set(CLS_ERROR_SHUTDOWN, "the process is exiting");
        if (deadline != WAIT_FOREVER && clock_now_ns() >= deadline)
            return error_set(
                CLS_ERROR_TIMEOUT,
                "waiting for record %llu of an event that processes share: the process "
                "that made it still runs",
                (unsigned long long)number);
        waiter_sleep(NULL, waiter_span(start, deadline));
    }
    return status;
}

/* --- other processes --- */

cls_status cls_event_export(cls_event handle, int *fd) {
    struct event *event;
    if (!fd)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_event_export: fd is null");
    cls_status status = event_enter(handle, &event);
    if (status)
        return status;
    status = event->records
                 ? event_records_export(event->records, fd)
                 : error_set(CLS_ERROR_INVALID_VALUE, "the event is not shareable: "
                                                      "cls_event_config has an option for that");
    pthread_mutex_unlock(&event->lock);
    return status;
}

cls_status cls_event_import(cls_context handle, int fd, cls_event *out) {
    struct event_records *records;
    struct context *context;
    struct event *event;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_event_import: out is null");
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    status = event_records_open(fd, &records);
    if (status) {
        context_put(context);
        return status;
    }
    status = event_new(context, records, &event);
    if (status)
        return status;
    *out = object_handle(&event->object);
    object_note_call(*out, "cls_event_import");
    return CLS_SUCCESS;
}
