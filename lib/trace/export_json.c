/* SPDX-License-Identifier: MIT */
/*
 * Writes Chrome's trace events, which Perfetto reads too: a process per device with a thread per stream, process 0
 * for the host and its threads, flows for dependencies, a counter for memory. "otherData" holds the reports, so that
 * `clstream trace --convert` can make the other formats.
 */
#include <stdio.h>
#include <stdlib.h>

#include "trace/export.h"
#include "trace/json.h"
#include "trace/layout.h"

enum { HOST_PROCESS = 0 };

/* What a device's counter showed last. */
struct memory {
    bool known;
    uint64_t bytes;
};

static uint64_t process_of(const struct profile *profile, uint32_t stream) {
    return profile->streams[stream].device + 1;
}

/* Begins an event, on a line of its own; put_end closes it. */
static void put_event(struct text *text, const char *phase, const char *name, const char *category,
                      uint64_t process, uint64_t thread) {
    put_comma(text);
    text_printf(text, "\n{\"ph\":\"%s\"", phase);
    put_named_string(text, "name", name);
    if (category)
        put_named_string(text, "cat", category);
    put_named_number(text, "pid", process);
    put_named_number(text, "tid", thread);
}

/* A name of a process, or of one of its threads. */
static void put_metadata(struct text *text, const char *what, uint64_t process, uint64_t thread,
                         const char *name) {
    put_event(text, "M", what, NULL, process, thread);
    put_begin(text, "args", '{');
    put_named_string(text, "name", name);
    text_append(text, "}}", 2);
}

static void put_names(struct text *text, const struct profile *profile,
                      const struct trace_layout *lanes) {
    char name[32];
    put_metadata(text, "process_name", HOST_PROCESS, 0, "host");
    for (uint32_t s = 0; s < profile->n_streams; s++) {
        snprintf(name, sizeof name, "device %zu", profile->streams[s].device);
        put_metadata(text, "process_name", process_of(profile, s), 0, name);
    }
    for (size_t i = 0; i < lanes->count; i++) {
        const struct trace_lane *lane = &lanes->items[i];
        const bool host = lane->stream == NO_INDEX;
        put_metadata(text, "thread_name", host ? HOST_PROCESS : process_of(profile, lane->stream),
                     host ? lane->thread : profile->streams[lane->stream].number, lane->name);
    }
}

/* A moment, from the begin of the profile on. */
static void put_at(struct text *text, const char *name, const struct profile *profile,
                   uint64_t ns) {
    put_named_us(text, name, ns - profile->summary.begin_ns);
}

/* Signed, because a driver may report values above the largest integer that JSON readers accept. */
static void put_device_times(struct text *text, const cls_profile_record *record) {
    put_begin(text, "device_ns", '[');
    for (int i = 0; i < 4; i++) {
        put_comma(text);
        text_printf(text, "%lld", (long long)record->device_ns[i]);
    }
    put_end(text, ']');
}

static void put_dependencies(struct text *text, const cls_profile_record *record) {
    put_begin(text, "dependencies", '[');
    for (unsigned i = 0; i < record->n_dependencies && i < CLS_PROFILE_DEPENDENCIES; i++) {
        put_begin(text, NULL, '[');
        put_number(text, record->dependencies[i].stream);
        put_number(text, record->dependencies[i].position);
        put_end(text, ']');
    }
    put_end(text, ']');
}

static const char *clock_name(cls_clock clock) {
    static const char *const names[] = {"device", "host", "noticed"};
    return names[clock];
}

static void put_command(struct text *text, const struct profile *profile, uint32_t i) {
    const cls_profile_record *record = &profile->records[i];
    put_event(text, "X", record->label, cls_command_kind_name(record->kind),
              process_of(profile, profile->links[i].stream), record->stream);
    put_at(text, "ts", profile, record->start_ns);
    put_named_us(text, "dur", duration(record));
    put_begin(text, "args", '{');
    put_named_number(text, "bytes", record->bytes);
    put_at(text, "queued_us", profile, record->queued_ns);
    put_at(text, "submitted_us", profile, record->submitted_ns);
    put_named_us(text, "held_us", record->held_ns);
    put_named_number(text, "position", record->position);
    put_named_string(text, "clock", clock_name(record->clock));
    put_named_string(text, "status", cls_status_string(record->status));
    put_named_string(text, "hold", cls_hold_name(record->hold));
    put_named_number(text, "queue", record->queue);
    put_named_number(text, "memory", record->memory);
    if (record->failed_by.stream) {
        put_begin(text, "failed_by", '[');
        put_number(text, record->failed_by.stream);
        put_number(text, record->failed_by.position);
        put_end(text, ']');
    }
    if (record->small_groups)
        put_named_number(text, "small_groups", 1);
    put_device_times(text, record);
    put_dependencies(text, record);
    text_append(text, "}}", 2);
}

/* One end of an arrow, inside the slice that it belongs to. */
static void put_flow(struct text *text, const struct profile *profile, uint32_t i, bool start,
                     size_t id) {
    const cls_profile_record *record = &profile->records[i];
    uint64_t at = start && duration(record) ? record->end_ns - 1 : record->start_ns;
    put_event(text, start ? "s" : "f", "dependency", "dependency",
              process_of(profile, profile->links[i].stream), record->stream);
    put_named_number(text, "id", id);
    if (!start)
        put_named_string(text, "bp", "e");
    put_at(text, "ts", profile, at);
    put_end(text, '}');
}

static void put_flows(struct text *text, const struct profile *profile, uint32_t i, size_t *ids) {
    for (unsigned k = 0; k < CLS_PROFILE_DEPENDENCIES; k++) {
        uint32_t from = profile->links[i].waits[k];
        if (from == NO_INDEX)
            continue;
        put_flow(text, profile, from, true, ++*ids);
        put_flow(text, profile, i, false, *ids);
    }
}

/* The row places nested and overlapping records below each other in a picture. */
static void put_span_args(struct text *text, const cls_profile_record *record, uint32_t row) {
    put_begin(text, "args", '{');
    put_named_number(text, "bytes", record->bytes);
    put_named_number(text, "row", row);
    put_end(text, '}');
}

static void put_range(struct text *text, const struct profile *profile,
                      const cls_profile_record *record, uint32_t row) {
    put_event(text, "X", record->label, "range", HOST_PROCESS, record->thread);
    put_at(text, "ts", profile, record->start_ns);
    put_named_us(text, "dur", duration(record));
    put_span_args(text, record, row);
    put_end(text, '}');
}

/* A record added by the program. These may overlap, so they are async events: viewers drop or cut slices of one
 * thread that do not nest. */
static void put_own(struct text *text, const struct profile *profile,
                    const cls_profile_record *record, uint32_t row, size_t id) {
    put_event(text, "b", record->label, "user", HOST_PROCESS, 0);
    put_named_number(text, "id", id);
    put_at(text, "ts", profile, record->start_ns);
    put_span_args(text, record, row);
    put_end(text, '}');
    put_event(text, "e", record->label, "user", HOST_PROCESS, 0);
    put_named_number(text, "id", id);
    put_at(text, "ts", profile, record->end_ns);
    put_end(text, '}');
}

static void put_memory(struct text *text, const struct profile *profile, uint32_t i,
                       struct memory *last) {
    const cls_profile_record *record = &profile->records[i];
    const uint32_t stream = profile->links[i].stream;
    struct memory *shown = &last[profile->streams[stream].device];
    if (shown->known && shown->bytes == record->memory)
        return;
    *shown = (struct memory){true, record->memory};
    put_event(text, "C", "memory", NULL, process_of(profile, stream), 0);
    put_at(text, "ts", profile, record->queued_ns);
    put_begin(text, "args", '{');
    put_named_number(text, "bytes", record->memory);
    text_append(text, "}}", 2);
}

/* One more than the greatest index. */
static size_t devices_of(const struct profile *profile) {
    size_t devices = 1;
    for (uint32_t s = 0; s < profile->n_streams; s++)
        if (profile->streams[s].device >= devices)
            devices = profile->streams[s].device + 1;
    return devices;
}

/* The memory counter of each device, where it changes, at the times of submission. */
static void put_counters(struct text *text, const struct profile *profile) {
    struct memory *last = calloc(devices_of(profile), sizeof *last);
    for (size_t k = 0; last && k < profile->n_commands; k++)
        put_memory(text, profile, profile->order[k], last);
    text->failed = text->failed || !last;
    free(last);
}

static void put_records(struct text *text, const struct profile *profile,
                        const struct trace_layout *lanes) {
    size_t ids = 0;
    for (uint32_t i = 0; i < profile->count; i++) {
        const cls_profile_record *record = &profile->records[i];
        if (is_command(record)) {
            put_command(text, profile, i);
            put_flows(text, profile, i, &ids);
        } else if (record->type == CLS_RECORD_RANGE) {
            put_range(text, profile, record, lanes->places[i].row);
        } else {
            put_own(text, profile, record, lanes->places[i].row, ++ids);
        }
    }
}

void export_json(struct text *text, const struct profile *profile) {
    struct trace_layout lanes;
    if (layout_make(&lanes, profile)) {
        text_printf(text, "{\"displayTimeUnit\":\"ns\",\"otherData\":{");
        put_named_number(text, "begin_ns", profile->summary.begin_ns);
        put_report(text, profile);
        text_printf(text, "},\n\"traceEvents\":[");
        put_names(text, profile, &lanes);
        put_records(text, profile, &lanes);
        put_counters(text, profile);
        text_printf(text, "]}\n");
    } else {
        text->failed = true;
    }
    layout_free(&lanes);
}
