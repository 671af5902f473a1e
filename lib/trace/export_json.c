/* SPDX-License-Identifier: MIT */
/*
 * Chrome's trace events, which Perfetto reads too: a process a device with a thread a stream, process 0
 * for the host with its threads, flows for dependencies, a counter for memory.
 */
#include <stdio.h>
#include <stdlib.h>

#include "trace/export.h"

enum { HOST_PROCESS = 0 };

/* What a device's counter showed last. */
struct memory {
    bool known;
    uint64_t bytes;
};

static unsigned process_of(const struct profile *profile, uint32_t stream) {
    return (unsigned)profile->streams[stream].device + 1;
}

static void put_comma(struct text *text) {
    if (text->bytes && text->bytes[text->length - 1] != '[')
        text_append(text, ",\n", 2);
}

/* {"ph":"M"}: a name of a process, or of one of its threads. */
static void put_name(struct text *text, const char *what, unsigned process, uint64_t thread,
                     const char *name) {
    put_comma(text);
    text_printf(text,
                "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%llu,\"args\":{\"name\":", what,
                process, (unsigned long long)thread);
    put_json_string(text, name);
    text_printf(text, "}}");
}

static void put_names(struct text *text, const struct profile *profile) {
    char name[32];
    put_name(text, "process_name", HOST_PROCESS, 0, "host");
    for (uint32_t s = 0; s < profile->n_streams; s++) {
        unsigned process = process_of(profile, s);
        snprintf(name, sizeof name, "device %u", process - 1);
        put_name(text, "process_name", process, 0, name);
        put_name(text, "thread_name", process, profile->streams[s].number,
                 profile->streams[s].name);
    }
}

/* ,"name":microseconds */
static void put_time(struct text *text, const char *name, uint64_t ns) {
    text_printf(text, ",\"%s\":", name);
    put_us(text, ns);
}

static void put_slice(struct text *text, const struct profile *profile,
                      const cls_profile_record *record, const char *category, unsigned process,
                      uint64_t thread) {
    put_comma(text);
    text_printf(text, "{\"ph\":\"X\",\"name\":");
    put_json_string(text, record->label);
    text_printf(text, ",\"cat\":\"%s\",\"pid\":%u,\"tid\":%llu", category, process,
                (unsigned long long)thread);
    put_time(text, "ts", record->start_ns - profile->summary.begin_ns);
    put_time(text, "dur", duration(record));
    text_printf(text, ",\"args\":{\"bytes\":%llu", (unsigned long long)record->bytes);
}

static void put_command(struct text *text, const struct profile *profile, uint32_t i) {
    const cls_profile_record *record = &profile->records[i];
    put_slice(text, profile, record, cls_command_kind_name(record->kind),
              process_of(profile, profile->links[i].stream), record->stream);
    put_time(text, "queued_us", record->queued_ns - profile->summary.begin_ns);
    put_time(text, "submitted_us", record->submitted_ns - profile->summary.begin_ns);
    put_time(text, "held_us", record->held_ns);
    text_printf(text,
                ",\"position\":%llu,\"clock\":\"%s\",\"status\":\"%s\",\"hold\":\"%s\","
                "\"queue\":%u}}",
                (unsigned long long)record->position, clock_name(record->clock),
                cls_status_string(record->status), cls_hold_name(record->hold), record->queue);
}

/* One end of an arrow, inside the slice that it belongs to. */
static void put_flow(struct text *text, const struct profile *profile, uint32_t i, bool start,
                     size_t id) {
    const cls_profile_record *record = &profile->records[i];
    uint64_t at = start && duration(record) ? record->end_ns - 1 : record->start_ns;
    put_comma(text);
    text_printf(text,
                "{\"ph\":\"%s\",\"name\":\"dependency\",\"cat\":\"dependency\",\"id\":%zu,"
                "\"pid\":%u,\"tid\":%llu%s",
                start ? "s" : "f", id, process_of(profile, profile->links[i].stream),
                (unsigned long long)record->stream, start ? "" : ",\"bp\":\"e\"");
    put_time(text, "ts", at - profile->summary.begin_ns);
    text_append(text, "}", 1);
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

/* One end of a record of the caller's own. These may overlap in any way, which slices of one thread may not:
 * viewers drop them or cut them off. */
static void put_end(struct text *text, const struct profile *profile,
                    const cls_profile_record *record, bool start, size_t id) {
    put_comma(text);
    text_printf(text, "{\"ph\":\"%s\",\"name\":", start ? "b" : "e");
    put_json_string(text, record->label);
    text_printf(text, ",\"cat\":\"%s\",\"id\":%zu,\"pid\":%d,\"tid\":0",
                record_type_name(record->type), id, HOST_PROCESS);
    put_time(text, "ts", (start ? record->start_ns : record->end_ns) - profile->summary.begin_ns);
    if (start)
        text_printf(text, ",\"args\":{\"bytes\":%llu}", (unsigned long long)record->bytes);
    text_append(text, "}", 1);
}

static void put_memory(struct text *text, const struct profile *profile, uint32_t i,
                       struct memory *last) {
    const cls_profile_record *record = &profile->records[i];
    const uint32_t stream = profile->links[i].stream;
    struct memory *shown = &last[profile->streams[stream].device];
    if (shown->known && shown->bytes == record->memory)
        return;
    *shown = (struct memory){true, record->memory};
    put_comma(text);
    text_printf(text, "{\"ph\":\"C\",\"name\":\"memory\",\"pid\":%u", process_of(profile, stream));
    put_time(text, "ts", record->queued_ns - profile->summary.begin_ns);
    text_printf(text, ",\"args\":{\"bytes\":%llu}}", (unsigned long long)record->memory);
}

/* One more than the greatest index. */
static size_t devices_of(const struct profile *profile) {
    size_t devices = 1;
    for (uint32_t s = 0; s < profile->n_streams; s++)
        if (profile->streams[s].device >= devices)
            devices = profile->streams[s].device + 1;
    return devices;
}

/* A counter of each device, where it changes: by the times of submission, which are those of its values. */
static void put_counters(struct text *text, const struct profile *profile) {
    struct memory *last = calloc(devices_of(profile), sizeof *last);
    for (size_t k = 0; last && k < profile->n_commands; k++)
        put_memory(text, profile, profile->order[k], last);
    text->failed = text->failed || !last;
    free(last);
}

void export_json(struct text *text, const struct profile *profile) {
    size_t ids = 0;
    text_printf(text,
                "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped\":%llu},"
                "\"traceEvents\":[",
                (unsigned long long)profile->summary.dropped);
    put_names(text, profile);
    for (uint32_t i = 0; i < profile->count; i++) {
        const cls_profile_record *record = &profile->records[i];
        if (is_command(record)) {
            put_command(text, profile, i);
            put_flows(text, profile, i, &ids);
        } else if (record->type == CLS_RECORD_RANGE) {
            put_slice(text, profile, record, record_type_name(record->type), HOST_PROCESS,
                      record->thread);
            text_printf(text, "}}");
        } else {
            put_end(text, profile, record, true, ++ids);
            put_end(text, profile, record, false, ids);
        }
    }
    put_counters(text, profile);
    text_printf(text, "]}\n");
}
