/* SPDX-License-Identifier: MIT */
/* Reads the events of a trace into its lanes, records and arrows. */
#include <stdlib.h>
#include <string.h>

#include "failure.h"
#include "file.h"
#include "json.h"
#include "json_text.h"
#include "json_trace.h"

uint64_t trace_number(const json_t *object, const char *name) {
    return (uint64_t)json_integer_value(json_object_get(object, name));
}

const char *trace_string(const json_t *object, const char *name) {
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

uint64_t trace_ns_of(const json_t *microseconds) {
    const double ns = json_number_value(microseconds) * 1000 + 0.5;
    return ns < 0 ? 0 : ns < (double)UINT64_MAX ? (uint64_t)ns : UINT64_MAX;
}

uint64_t trace_ns(const json_t *object, const char *name) {
    return trace_ns_of(json_object_get(object, name));
}

static struct trace_place place_of(const json_t *event) {
    return (struct trace_place){trace_number(event, "pid"), trace_number(event, "tid")};
}

/* The lane of an event, or NULL where none of its place was named. */
static struct trace_lane *lane_of(const struct trace *trace, const json_t *event) {
    const struct trace_place place = place_of(event);
    struct trace_lane *lane;
    HASH_FIND(hh, trace->by_place, &place, sizeof place, lane);
    return lane;
}

static void read_name(struct trace *trace, const json_t *event) {
    if (strcmp(trace_string(event, "name"), "thread_name") != 0 || lane_of(trace, event))
        return;
    struct trace_lane *lane = &trace->lanes[trace->n_lanes++];
    lane->place = place_of(event);
    lane->name = trace_string(json_object_get(event, "args"), "name");
    lane->rows = 1;
    HASH_ADD(hh, trace->by_place, place, sizeof lane->place, lane);
}

static bool read_record(struct trace *trace, const json_t *event) {
    enum { MAX_ROWS = 64 };
    struct trace_record record = {.event = event,
                                  .args = json_object_get(event, "args"),
                                  .lane = lane_of(trace, event),
                                  .start = trace_ns(event, "ts")};
    record.end = record.start + trace_ns(event, "dur");
    record.row = (unsigned)trace_number(record.args, "row");
    if (!record.lane || record.row >= MAX_ROWS || record.end < record.start ||
        record.end > trace->span)
        return false;
    if (record.row >= record.lane->rows)
        record.lane->rows = record.row + 1;
    trace->records[trace->n_records++] = record;
    return true;
}

/* Of a record of the program's own, which stands before it. */
static bool read_end(struct trace *trace, const json_t *event) {
    const uint64_t end = trace_ns(event, "ts");
    if (!trace->n_records || end < trace->records[trace->n_records - 1].start || end > trace->span)
        return false;
    trace->records[trace->n_records - 1].end = end;
    return true;
}

static bool read_flow(struct trace *trace, const json_t *event) {
    struct trace_arrow *arrow = &trace->arrows[trace->n_arrows++];
    arrow->from = lane_of(trace, event);
    arrow->start = trace_ns(event, "ts");
    return arrow->from && arrow->start <= trace->span;
}

/* Its start stands before it. */
static bool read_flow_end(struct trace *trace, const json_t *event) {
    struct trace_arrow *arrow = trace->n_arrows ? &trace->arrows[trace->n_arrows - 1] : NULL;
    if (!arrow || !(arrow->to = lane_of(trace, event)))
        return false;
    arrow->end = trace_ns(event, "ts");
    return arrow->end <= trace->span;
}

static bool read_event(struct trace *trace, const json_t *event) {
    switch (*trace_string(event, "ph")) {
    case 'M':
        read_name(trace, event);
        return true;
    case 'X':
    case 'b':
        return read_record(trace, event);
    case 'e':
        return read_end(trace, event);
    case 's':
        return read_flow(trace, event);
    case 'f':
        return read_flow_end(trace, event);
    default:
        return true;
    }
}

/* At most one of each an event. */
static bool reserve(struct trace *trace, size_t events) {
    trace->lanes = calloc(events + 1, sizeof *trace->lanes);
    trace->records = calloc(events + 1, sizeof *trace->records);
    trace->arrows = calloc(events + 1, sizeof *trace->arrows);
    return trace->lanes && trace->records && trace->arrows;
}

static bool read_events(struct trace *trace, const json_t *events) {
    size_t i;
    json_t *event;
    json_array_foreach(events, i, event) {
        if (!read_event(trace, event))
            return false;
    }
    return !trace->n_arrows || trace->arrows[trace->n_arrows - 1].to;
}

static bool read_trace(struct trace *trace, const char *path, struct failure *failure) {
    const char *name = json_file_name(path);
    trace->top = json_read(path, failure);
    const json_t *events = json_object_get(trace->top, "traceEvents");
    trace->report = json_object_get(trace->top, "otherData");
    trace->begin_ns = trace_number(trace->report, "begin_ns");
    trace->span = trace_ns(json_object_get(trace->report, "summary"), "span");
    if (!trace->top)
        return false;
    if (!json_is_array(events) || !json_object_get(trace->report, "summary"))
        return fail(failure, "%s is no trace that libclstream wrote", name);
    if (!reserve(trace, json_array_size(events)))
        return fail(failure, "%s: no memory to read it", name);
    return read_events(trace, events) || fail(failure, "%s is no whole trace", name);
}

static void free_trace(struct trace *trace) {
    HASH_CLEAR(hh, trace->by_place);
    free(trace->lanes);
    free(trace->records);
    free(trace->arrows);
    json_decref(trace->top);
}

/* --- the formats --- */

static const struct format {
    const char *suffix;
    void (*put)(FILE *file, struct trace *trace);
} formats[] = {{".svg", trace_put_svg}, {".csv", trace_put_csv}, {".txt", trace_put_text}};
enum { FORMATS = sizeof formats / sizeof *formats };

struct conversion {
    struct trace trace;
    const struct format *format;
};

static void convert(FILE *file, void *arg) {
    struct conversion *conversion = arg;
    conversion->format->put(file, &conversion->trace);
}

bool json_convert_trace(const char *from, const char *to, struct failure *failure) {
    struct conversion conversion = {.format = formats};
    struct output output;
    const char *suffix = strrchr(to, '.');
    while (conversion.format < formats + FORMATS - 1 &&
           strcmp(suffix, conversion.format->suffix) != 0)
        conversion.format++;
    const bool good = read_trace(&conversion.trace, from, failure) &&
                      output_open(&output, to, NULL, false, failure) &&
                      output_put(&output, convert, &conversion, failure);
    free_trace(&conversion.trace);
    return good;
}
