/* SPDX-License-Identifier: MIT */
/* One record a line, times in ns of the host's clock (RFC 4180). */
#include "trace/export.h"

static void put_numbers(struct text *text, const uint64_t *numbers, size_t n) {
    for (size_t i = 0; i < n; i++)
        text_printf(text, ",%llu", (unsigned long long)numbers[i]);
}

static void put_dependencies(struct text *text, const cls_profile_record *record) {
    text_append(text, ",", 1);
    for (unsigned i = 0; i < record->n_dependencies && i < CLS_PROFILE_DEPENDENCIES; i++)
        text_printf(text, "%s%llu:%llu", i ? " " : "",
                    (unsigned long long)record->dependencies[i].stream,
                    (unsigned long long)record->dependencies[i].position);
}

static void put_record(struct text *text, const struct profile *profile, size_t i) {
    const cls_profile_record *record = &profile->records[i];
    bool command = is_command(record);
    const uint64_t place[] = {record->stream, record->position, record->thread, record->bytes,
                              record->memory};
    const uint64_t times[] = {record->queued_ns, record->submitted_ns, record->start_ns,
                              record->end_ns};
    text_printf(text, "%s,%s,", record_type_name(record->type),
                command ? cls_command_kind_name(record->kind) : "");
    put_csv(text, record->label);
    text_append(text, ",", 1);
    put_csv(text, command ? profile->streams[profile->links[i].stream].name : "");
    put_numbers(text, place, sizeof place / sizeof *place);
    put_numbers(text, times, sizeof times / sizeof *times);
    put_numbers(text, record->device_ns, 4);
    text_printf(text, ",%s,%s,%s,%llu,%u", clock_name(record->clock),
                cls_status_string(record->status), cls_hold_name(record->hold),
                (unsigned long long)record->held_ns, record->queue);
    put_dependencies(text, record);
    text_append(text, "\r\n", 2);
}

void export_csv(struct text *text, const struct profile *profile) {
    text_printf(text, "type,kind,label,stream_name,stream,position,thread,bytes,memory,queued_ns,"
                      "submitted_ns,start_ns,end_ns,device_queued_ns,device_submitted_ns,"
                      "device_start_ns,device_end_ns,clock,status,hold,held_ns,queue,"
                      "dependencies\r\n");
    for (size_t i = 0; i < profile->count; i++)
        put_record(text, profile, i);
}
