/* SPDX-License-Identifier: MIT */
/*
 * Turns raw observations into records on the host's clock. Each mapped time may be off by the uncertainty of the
 * mapping, so later times are moved where that restores the order within a record.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/clock_map.h"
#include "trace/lineup.h"
#include "trace/profile.h"

/* Whether a start and an end can be taken as they are. */
static bool times_are_sane(const struct event_times *times) {
    return times->started && times->ended >= times->started;
}

static bool queued_is_sane(const struct event_times *times) {
    return times->queued && times->queued <= times->started;
}

/* --- clocks --- */

static size_t command_brackets(const struct trace_record *command, struct bracket *out) {
    size_t n = 0;
    if (!times_are_sane(&command->device) || !command->handed)
        return 0;
    out[n] = bracket_of(command->device.started, command->handing, command->retired);
    out[n].high = (int64_t)(command->retired - command->device.ended);
    n++;
    if (queued_is_sane(&command->device))
        out[n++] = bracket_of(command->device.queued, command->handing, command->handed);
    return n;
}

/* The map of one device. */
static bool map_device(const struct evidence *evidence, const struct device *device,
                       struct clock_map *map) {
    size_t n = 0;
    struct bracket *brackets =
        malloc((2 * evidence->count + evidence->n_timers + 1) * sizeof *brackets);
    if (!brackets)
        return false;
    for (size_t i = 0; i < evidence->count; i++) {
        const struct raw *raw = &evidence->raws[i];
        if (raw->type == CLS_RECORD_COMMAND && raw->device == device)
            n += command_brackets(&raw->u.command, &brackets[n]);
    }
    for (size_t i = 0; i < evidence->n_timers; i++) {
        const struct timer_reading *reading = &evidence->timers[i].reading;
        if (evidence->timers[i].device != device)
            continue;
        brackets[n] = bracket_of(reading->device_ns, reading->before_ns, reading->after_ns);
        brackets[n++].timer = true;
    }
    bool made = clock_map_build(map, brackets, n);
    free(brackets);
    return made;
}

/* One map a device; there are few. */
struct maps {
    struct device_map {
        const struct device *device;
        struct clock_map map;
    } * items;
    size_t count;
};

static const struct clock_map *find_map(const struct maps *maps, const struct device *device) {
    for (size_t i = 0; i < maps->count; i++)
        if (maps->items[i].device == device)
            return &maps->items[i].map;
    return NULL;
}

static bool add_map(struct maps *maps, const struct evidence *evidence,
                    const struct device *device) {
    struct device_map *grown = realloc(maps->items, (maps->count + 1) * sizeof *grown);
    if (!grown)
        return false;
    struct device_map *added = &grown[maps->count++];
    maps->items = grown;
    *added = (struct device_map){.device = device}; /* freed though it is not built */
    return map_device(evidence, device, &added->map);
}

static bool build_maps(struct maps *maps, const struct evidence *evidence) {
    for (size_t i = 0; i < evidence->count; i++) {
        const struct raw *raw = &evidence->raws[i];
        if (raw->type == CLS_RECORD_COMMAND && !find_map(maps, raw->device) &&
            !add_map(maps, evidence, raw->device))
            return false;
    }
    return true;
}

static void free_maps(struct maps *maps) {
    for (size_t i = 0; i < maps->count; i++)
        clock_map_free(&maps->items[i].map);
    free(maps->items);
}

/* --- records --- */

/* Work that the library ran on a thread was timed on the host; a foreign call lasts until the work that it
 * enqueued is done. */
static void host_times(const struct trace_record *command, cls_profile_record *record,
                       const struct clock_map *map) {
    uint64_t last =
        command->device.ended ? clock_map_host(map, command->device.ended) : command->retired;
    bool lasts = command->kind == CLS_COMMAND_FOREIGN || command->kind == CLS_COMMAND_MIGRATE;
    record->clock = CLS_CLOCK_HOST;
    record->submitted_ns = record->start_ns = command->began;
    record->end_ns = lasts && last > command->ended ? last : command->ended;
}

static void device_times(const struct trace_record *command, cls_profile_record *record,
                         const struct clock_map *map) {
    record->clock = CLS_CLOCK_DEVICE;
    record->submitted_ns = command->handed;
    record->start_ns = clock_map_host(map, command->device.started);
    record->end_ns = clock_map_host(map, command->device.ended);
    if (command->kind == CLS_COMMAND_FOREIGN && record->start_ns > command->handing)
        record->start_ns = command->handing; /* what is timed is the last of what was enqueued */
}

static void noticed_times(const struct trace_record *command, cls_profile_record *record) {
    record->clock = CLS_CLOCK_NOTICED;
    record->submitted_ns = command->handed ? command->handed : command->retired;
    record->start_ns = record->submitted_ns;
    record->end_ns = command->retired;
}

static void put_in_order(cls_profile_record *record) {
    if (record->submitted_ns < record->queued_ns)
        record->submitted_ns = record->queued_ns;
    /* The call that hands over may return after the device has begun. */
    if (record->submitted_ns > record->start_ns && record->start_ns > record->queued_ns)
        record->submitted_ns = record->start_ns;
    if (record->start_ns < record->submitted_ns)
        record->start_ns = record->submitted_ns;
    if (record->end_ns < record->start_ns)
        record->end_ns = record->start_ns;
}

static void map_command(const struct raw *raw, const struct maps *maps,
                        cls_profile_record *record) {
    const struct trace_record *command = &raw->u.command;
    const struct clock_map *map = find_map(maps, raw->device);
    record->kind = command->kind;
    record->stream = raw->stream;
    record->position = command->position;
    record->bytes = command->bytes;
    record->memory = command->memory;
    record->queued_ns = command->submitted;
    record->status = command->outcome;
    record->failed_by =
        (cls_profile_dependency){command->failed_by.stream, command->failed_by.position};
    record->queue = command->queue;
    record->small_groups = command->small_groups;
    record->n_dependencies = command->n_deps;
    for (unsigned i = 0; i < TRACE_RECORD_DEPS && i < command->n_deps; i++)
        record->dependencies[i] =
            (cls_profile_dependency){command->deps[i].stream, command->deps[i].position};
    record->device_ns[0] = command->device.queued;
    record->device_ns[1] = command->device.submitted;
    record->device_ns[2] = command->device.started;
    record->device_ns[3] = command->device.ended;
    strncpy(record->label, command->label, sizeof record->label - 1);
    if (command->ended)
        host_times(command, record, map);
    else if (times_are_sane(&command->device))
        device_times(command, record, map);
    else
        noticed_times(command, record);
    put_in_order(record);
}

static void map_span(const struct raw *raw, cls_profile_record *record) {
    record->thread = raw->thread;
    record->bytes = raw->u.span.bytes;
    memcpy(record->label, raw->u.span.label, sizeof record->label);
    record->queued_ns = record->submitted_ns = record->start_ns = raw->u.span.start;
    record->end_ns = raw->u.span.end;
    record->clock = CLS_CLOCK_HOST;
}

/* Of records that start together the longer comes first, so that ranges nest as they were opened. */
static int by_start(const void *left, const void *right) {
    const cls_profile_record *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    if (a->position != b->position)
        return a->position < b->position ? -1 : 1;
    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns);
}

/* Without usable device times (or with those of the last of several driver commands only), work starts at the end
 * of its stream's earlier work and its dependencies. */
static bool begins_unseen(const cls_profile_record *record) {
    return is_command(record) &&
           (record->clock == CLS_CLOCK_NOTICED || record->kind == CLS_COMMAND_FOREIGN);
}

static bool any_begins_unseen(const struct profile *profile) {
    for (size_t i = 0; i < profile->count; i++)
        if (begins_unseen(&profile->records[i]))
            return true;
    return false;
}

/* Work starts no earlier than the end of the last recorded command of a stream up to a position. */
static void start_after(cls_profile_record *records, uint32_t i, const struct lineup *lineup,
                        uint64_t stream, uint64_t position) {
    cls_profile_record *record = &records[i];
    const uint32_t before = lineup_find(lineup, records, stream, position);
    const uint64_t end = before == NO_INDEX ? 0 : records[before].end_ns;
    if (end > record->start_ns)
        record->start_ns = end < record->end_ns ? end : record->end_ns;
}

static bool start_after_causes(struct profile *profile) {
    struct lineup lineup = {NULL, 0};
    if (!any_begins_unseen(profile))
        return true;
    if (!lineup_by_place(&lineup, profile->records, profile->count))
        return false;
    for (size_t i = 0; i < lineup.count; i++) {
        const uint32_t at = lineup.items[i];
        const cls_profile_record *record = &profile->records[at];
        if (!begins_unseen(record))
            continue;
        start_after(profile->records, at, &lineup, record->stream, record->position - 1);
        for (unsigned k = 0; k < CLS_PROFILE_DEPENDENCIES && k < record->n_dependencies; k++)
            start_after(profile->records, at, &lineup, record->dependencies[k].stream,
                        record->dependencies[k].position);
    }
    free(lineup.items);
    return true;
}

cls_status map_records(struct profile *profile, const struct evidence *evidence) {
    struct maps maps = {NULL, 0};
    profile->records = calloc(evidence->count + 1, sizeof *profile->records);
    bool made = profile->records && build_maps(&maps, evidence);
    if (made) {
        profile->count = evidence->count;
        for (size_t i = 0; i < evidence->count; i++) {
            const struct raw *raw = &evidence->raws[i];
            cls_profile_record *record = &profile->records[i];
            record->size = sizeof *record;
            record->type = raw->type;
            if (raw->type == CLS_RECORD_COMMAND)
                map_command(raw, &maps, record);
            else
                map_span(raw, record);
        }
        made = start_after_causes(profile);
        qsort(profile->records, profile->count, sizeof *profile->records, by_start);
    }
    free_maps(&maps);
    return made ? CLS_SUCCESS : error_no_memory("for a profile");
}
