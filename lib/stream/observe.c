/* SPDX-License-Identifier: MIT */
/* Filling in trace records, and keeping spare ones. */
#include "stream/observe.h"

#include <stdlib.h>

#include "stream/context.h"
#include "stream/failure.h"
#include "system/clocks.h"

/* What a stream keeps for its next commands; a long FIFO's worth is given back. */
enum { MAX_SPARE = 2048 };

ASKED _Atomic(const struct observer *) observer_now;

static struct trace_record *take(struct stream *stream) {
    struct trace_record *trace_record = stream->spare_records;
    if (!trace_record)
        return malloc(sizeof *trace_record);
    stream->spare_records = trace_record->next;
    stream->n_spare_records--;
    return trace_record;
}

static void give(struct stream *stream, struct trace_record *trace_record) {
    if (!observer() || stream->n_spare_records >= MAX_SPARE) {
        free(trace_record);
        return;
    }
    trace_record->next = stream->spare_records;
    stream->spare_records = trace_record;
    stream->n_spare_records++;
}

void trace_records_free(struct trace_record *spare) {
    while (spare) {
        struct trace_record *next = spare->next;
        free(spare);
        spare = next;
    }
}

static void record_waits(struct stream *stream, struct trace_record *trace_record) {
    const struct dep *items = deps_items(&stream->waits);
    trace_record->n_deps = stream->waits.count;
    for (unsigned i = 0; i < stream->waits.count && i < TRACE_RECORD_DEPS; i++)
        trace_record->deps[i] =
            (struct trace_record_dep){items[i].stream ? items[i].stream->id : 0, items[i].position};
}

void observe_submit(struct stream *stream, struct command *command) {
    const struct observer *watcher = observer();
    struct trace_record *trace_record = watcher ? take(stream) : NULL;
    if (!trace_record) {
        if (watcher)
            watcher->missed();
        return;
    }
    *trace_record = (struct trace_record){
        .label = command_label(command),
        .kind = command->type->kind,
        .bytes = command->bytes,
        .memory = atomic_load_explicit(&stream->context->memory_alive, memory_order_relaxed),
        .submitted = clock_now_ns(),
        .small_groups =
            command->type->kind == CLS_COMMAND_KERNEL && command->u.launch.shape.cut == CUT_SMALL,
    };
    record_waits(stream, trace_record);
    command->record = trace_record;
}

void observe_refused(struct stream *stream, struct command *command) {
    give(stream, command->record);
    command->record = NULL;
}

/* What the probes found the driver's times to be worth. A foreign call that a worker made ends with a
 * marker. */
static bool is_trusted(const struct caps *caps, const struct trace_record *trace_record) {
    bool marker = trace_record->kind == CLS_COMMAND_MARKER ||
                  (trace_record->kind == CLS_COMMAND_FOREIGN && trace_record->began);
    return caps->timestamps_sane && (caps->marker_times_sane || !marker);
}

static void record_times(const struct device *device, cl_event event,
                         struct trace_record *trace_record) {
    struct event_times *times = &trace_record->device;
    event_times(device, event, times);
    if (trace_record->at_end)
        *times = (struct event_times){times->ended, times->ended, times->ended, times->ended};
}

void observe_retired(struct stream *stream, struct trace_record *trace_record, uint64_t position,
                     cl_event event) {
    const struct observer *watcher = observer();
    const struct failure *failure = stream_failure_at(stream, position);
    trace_record->position = position;
    trace_record->outcome = failure ? failure->status : CLS_SUCCESS;
    trace_record->failed_by = failure ? (struct trace_record_dep){failure->origin, failure->at}
                                      : (struct trace_record_dep){0, 0};
    trace_record->retired = clock_now_ns();
    if (watcher && event && !failure && is_trusted(stream->context->caps, trace_record))
        record_times(stream->context->device, event, trace_record);
    if (watcher)
        watcher->retired(stream, trace_record);
    give(stream, trace_record);
}
