/* SPDX-License-Identifier: MIT */
/* The reports of a trace as text. */
#include <clstream/profiler.h>

#include "json_trace.h"
#include "size.h"

/* Up to `most` characters of a name in one line, padded to as many where `pad` says so. */
static void put_name(FILE *file, const char *name, size_t most, bool pad) {
    for (; *name && most; most--) {
        fputc((unsigned char)*name < ' ' || *name == 0x7f ? '?' : *name, file);
        for (name++; ((unsigned char)*name & 0xc0) == 0x80; name++)
            fputc(*name, file);
    }
    if (pad)
        fprintf(file, "%*s", (int)most, "");
}

void trace_put_name(FILE *file, const char *name) { put_name(file, name, SIZE_MAX, false); }

/* A time, or a number of bytes, to the right of so many columns. */
static void put_span(FILE *file, int width, uint64_t ns) {
    char text[SIZE_TEXT];
    fprintf(file, "%*s", width, span_format(ns, text));
}

static void put_bytes(FILE *file, int width, uint64_t bytes) {
    char text[SIZE_TEXT];
    fprintf(file, "%*s", width, size_format(bytes, text));
}

static void put_held(FILE *file, const json_t *object) {
    const json_t *held = json_object_get(object, "held");
    for (size_t hold = 1; hold < CLS_HOLDS; hold++) {
        fprintf(file, "%s%s ", hold > 1 ? ", " : "", cls_hold_name((cls_hold)hold));
        put_span(file, 0, trace_ns_of(json_array_get(held, hold)));
    }
    fputc('\n', file);
}

static double real(const json_t *object, const char *name) {
    return json_number_value(json_object_get(object, name));
}

static void put_summary(FILE *file, const json_t *summary, size_t streams) {
    fprintf(file, "%llu records of %zu streams over ",
            (unsigned long long)trace_number(summary, "records"), streams);
    put_span(file, 0, trace_ns(summary, "span"));
    const uint64_t failed = trace_number(summary, "failed");
    fprintf(file, "; %llu dropped, %llu command%s failed\nwork ",
            (unsigned long long)trace_number(summary, "dropped"), (unsigned long long)failed,
            failed == 1 ? "" : "s");
    put_span(file, 0, trace_ns(summary, "work"));
    fputs(" in ", file);
    put_span(file, 0, trace_ns(summary, "busy"));
    fprintf(file, ": %.2f commands at once of %.2f possible; the longest chain takes ",
            real(summary, "concurrency"), real(summary, "possible_concurrency"));
    put_span(file, 0, trace_ns(summary, "critical"));
    fputs("\nmemory at most ", file);
    put_bytes(file, 0, trace_number(summary, "memory_peak"));
    fputs("\nheld back by: ", file);
    put_held(file, summary);
}

static void put_operations(FILE *file, const json_t *operations) {
    size_t i;
    json_t *operation;
    fprintf(file, "  %-28s %-9s %8s %10s %10s %10s %10s %10s\n", "operation", "kind", "count",
            "total", "mean", "p50", "p99", "bytes");
    json_array_foreach(operations, i, operation) {
        fputs("  ", file);
        put_name(file, trace_string(operation, "label"), 28, true);
        fprintf(file, " %-9s %8llu ",
                cls_command_kind_name((cls_command_kind)trace_number(operation, "kind")),
                (unsigned long long)trace_number(operation, "count"));
        put_span(file, 10, trace_ns(operation, "total"));
        put_span(file, 11, trace_ns(operation, "mean"));
        put_span(file, 11, trace_ns(operation, "p50"));
        put_span(file, 11, trace_ns(operation, "p99"));
        put_bytes(file, 11, trace_number(operation, "bytes"));
        fputc('\n', file);
        const uint64_t small = trace_number(operation, "small_groups");
        if (small)
            fprintf(file, "    slow: %llu of them in small groups, as no group suits their size\n",
                    (unsigned long long)small);
    }
}

static void put_overlaps(FILE *file, const json_t *overlaps, const char *what) {
    size_t i;
    json_t *overlap;
    fprintf(file, "\n  %-24s %-24s %10s %10s %10s\n", what, "with", "overlap", "possible",
            "achieved");
    json_array_foreach(overlaps, i, overlap) {
        const uint64_t ns = trace_ns(overlap, "overlap"), possible = trace_ns(overlap, "possible");
        fputs("  ", file);
        put_name(file, trace_string(overlap, "a"), 24, true);
        fputc(' ', file);
        put_name(file, trace_string(overlap, "b"), 24, true);
        fputc(' ', file);
        put_span(file, 10, ns);
        put_span(file, 11, possible);
        fprintf(file, " %9.0f%%\n", possible ? 100 * (double)ns / (double)possible : 100);
    }
}

/* How many commands of each kind, and what they moved. */
static void put_kinds(FILE *file, const json_t *kinds) {
    for (size_t kind = 0; kind < json_array_size(kinds); kind++) {
        const json_t *total = json_array_get(kinds, kind);
        const json_int_t count = json_integer_value(json_array_get(total, 0));
        const json_int_t bytes = json_integer_value(json_array_get(total, 1));
        if (count)
            fprintf(file, ", %llu %s", (unsigned long long)count,
                    cls_command_kind_name((cls_command_kind)kind));
        if (count && bytes) {
            fputs(" (", file);
            put_bytes(file, 0, (uint64_t)bytes);
            fputc(')', file);
        }
    }
}

static void put_stream(FILE *file, const json_t *stream) {
    fprintf(file, "\nstream %llu '", (unsigned long long)trace_number(stream, "number"));
    put_name(file, trace_string(stream, "name"), SIZE_MAX, false);
    fprintf(file, "' on device %llu: %llu commands",
            (unsigned long long)trace_number(stream, "device"),
            (unsigned long long)trace_number(stream, "commands"));
    put_kinds(file, json_object_get(stream, "kinds"));
    fputs("\n  busy ", file);
    put_span(file, 0, trace_ns(stream, "busy"));
    fputs(" of ", file);
    put_span(file, 0, trace_ns(stream, "span"));
    fputs(", queued to end ", file);
    put_span(file, 0, trace_ns(stream, "latency"));
    fputs(" on average, memory at most ", file);
    put_bytes(file, 0, trace_number(stream, "memory_peak"));
    fputs("\n  held back by: ", file);
    put_held(file, stream);
    put_operations(file, json_object_get(stream, "operations"));
}

void trace_put_text(FILE *file, struct trace *trace) {
    const json_t *streams = json_object_get(trace->report, "streams");
    const json_t *overlaps = json_object_get(trace->report, "overlaps");
    size_t i;
    json_t *stream;
    put_summary(file, json_object_get(trace->report, "summary"), json_array_size(streams));
    trace_put_failures(file, trace);
    fputs("\nall streams\n", file);
    put_operations(file, json_object_get(trace->report, "operations"));
    put_overlaps(file, json_object_get(trace->report, "kind_overlaps"), "kind");
    put_overlaps(file, overlaps, "stream");
    if (!trace_number(trace->report, "all_overlaps"))
        fprintf(file, "  (the first %zu pairs)\n", json_array_size(overlaps));
    json_array_foreach(streams, i, stream) { put_stream(file, stream); }
}
