/* SPDX-License-Identifier: MIT */
/* A trace as a table: one record a line, times in ns of the host's clock (RFC 4180). */
#include "json_trace.h"

static void put_field(FILE *file, const char *text) {
    fputs(",\"", file);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

static void put_number(FILE *file, uint64_t number) {
    fprintf(file, ",%llu", (unsigned long long)number);
}

static void put_device_times(FILE *file, const json_t *args) {
    const json_t *times = json_object_get(args, "device_ns");
    for (size_t i = 0; i < 4; i++)
        put_number(file, (uint64_t)json_integer_value(json_array_get(times, i)));
}

/* A stream's number and a position in it, or nothing. */
static void put_place(FILE *file, const json_t *pair) {
    if (pair)
        fprintf(file, "%llu:%llu", (unsigned long long)json_integer_value(json_array_get(pair, 0)),
                (unsigned long long)json_integer_value(json_array_get(pair, 1)));
}

static void put_dependencies(FILE *file, const json_t *args) {
    const json_t *list = json_object_get(args, "dependencies");
    fputc(',', file);
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (i)
            fputc(' ', file);
        put_place(file, json_array_get(list, i));
    }
}

/* What a range, or a record of the program's own, has in place of a command's. */
static const char *or_else(const char *text, const char *otherwise) {
    return *text ? text : otherwise;
}

static void put_record(FILE *file, const struct trace *trace, const struct trace_record *record) {
    const bool command = trace_is_command(record);
    const char *category = trace_string(record->event, "cat");
    const json_t *args = record->args;
    const uint64_t begin = trace->begin_ns, thread = record->lane->place.thread;
    fprintf(file, "%s,%s", command ? "command" : category, command ? category : "");
    put_field(file, trace_string(record->event, "name"));
    put_field(file, command ? record->lane->name : "");
    put_number(file, command ? thread : 0);
    put_number(file, trace_number(args, "position"));
    put_number(file, command ? 0 : thread);
    put_number(file, trace_number(args, "bytes"));
    put_number(file, trace_number(args, "memory"));
    put_number(file, begin + (command ? trace_ns(args, "queued_us") : record->start));
    put_number(file, begin + (command ? trace_ns(args, "submitted_us") : record->start));
    put_number(file, begin + record->start);
    put_number(file, begin + record->end);
    put_device_times(file, args);
    fprintf(file, ",%s,%s,%s", or_else(trace_string(args, "clock"), "host"),
            or_else(trace_string(args, "status"), "CLS_SUCCESS"),
            or_else(trace_string(args, "hold"), "none"));
    put_number(file, trace_ns(args, "held_us"));
    put_number(file, trace_number(args, "queue"));
    put_dependencies(file, args);
    fputc(',', file);
    put_place(file, json_object_get(args, "failed_by"));
    fputs("\r\n", file);
}

void trace_put_csv(FILE *file, struct trace *trace) {
    fputs("type,kind,label,stream_name,stream,position,thread,bytes,memory,queued_ns,submitted_ns,"
          "start_ns,end_ns,device_queued_ns,device_submitted_ns,device_start_ns,device_end_ns,"
          "clock,status,hold,held_ns,queue,dependencies,failed_by\r\n",
          file);
    for (size_t i = 0; i < trace->n_records; i++)
        put_record(file, trace, &trace->records[i]);
}
