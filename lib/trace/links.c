/* SPDX-License-Identifier: MIT */
/* Links the commands of a profile: their streams, and the commands that each waits for. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/lineup.h"

static bool sort_commands(struct profile *profile) {
    struct lineup commands = {NULL, 0}, order = {NULL, 0};
    bool made = lineup_by_place(&commands, profile->records, profile->count) &&
                lineup_by_submission(&order, profile->records, &commands);
    profile->commands = commands.items;
    profile->order = order.items;
    profile->n_commands = commands.count;
    return made;
}

/* The record of a position, and none of an earlier one. */
static uint32_t find_exactly(const struct profile *profile, const cls_profile_dependency *place) {
    const struct lineup commands = {profile->commands, profile->n_commands};
    const uint32_t i = lineup_find(&commands, profile->records, place->stream, place->position);
    return i != NO_INDEX && profile->records[i].position == place->position ? i : NO_INDEX;
}

static void link_command(struct profile *profile, uint32_t i) {
    const cls_profile_record *record = &profile->records[i];
    const struct lineup commands = {profile->commands, profile->n_commands};
    struct link *link = &profile->links[i];
    link->cause = find_exactly(profile, &record->failed_by);
    for (unsigned k = 0; k < CLS_PROFILE_DEPENDENCIES; k++) {
        const cls_profile_dependency *wait = &record->dependencies[k];
        link->waits[k] = k < record->n_dependencies ? lineup_find(&commands, profile->records,
                                                                  wait->stream, wait->position)
                                                    : NO_INDEX;
    }
}

/* Creates the streams, sorted by number; name_streams fills in their names. */
static bool make_streams(struct profile *profile) {
    size_t n = 0;
    for (size_t i = 0; i < profile->n_commands; i++)
        n += !i || profile->records[profile->commands[i]].stream !=
                       profile->records[profile->commands[i - 1]].stream;
    profile->streams = calloc(n + 1, sizeof *profile->streams);
    if (!profile->streams)
        return false;
    for (size_t i = 0; i < profile->n_commands; i++) {
        uint32_t index = profile->commands[i];
        uint64_t number = profile->records[index].stream;
        bool fresh = !i || profile->records[profile->commands[i - 1]].stream != number;
        if (fresh) {
            profile->streams[profile->n_streams].size = sizeof *profile->streams;
            profile->streams[profile->n_streams++].number = number;
        }
        profile->links[index].stream = (uint32_t)profile->n_streams - 1;
        profile->links[index].previous = fresh ? NO_INDEX : profile->commands[i - 1];
    }
    return true;
}

static void name_streams(struct profile *profile, const struct evidence *evidence) {
    for (size_t i = 0; i < evidence->count; i++) {
        const struct raw *raw = &evidence->raws[i];
        size_t low = 0, high = profile->n_streams;
        if (raw->type != CLS_RECORD_COMMAND)
            continue;
        while (high - low > 1) {
            size_t middle = low + (high - low) / 2;
            if (profile->streams[middle].number > raw->stream)
                high = middle;
            else
                low = middle;
        }
        memcpy(profile->streams[low].name, raw->stream_name, sizeof raw->stream_name);
        profile->streams[low].device = raw->device ? raw->device->index : 0;
    }
}

cls_status link_records(struct profile *profile, const struct evidence *evidence) {
    profile->links = malloc((profile->count + 1) * sizeof *profile->links);
    if (!profile->links)
        return error_no_memory("for a profile");
    for (size_t i = 0; i < profile->count; i++)
        profile->links[i].stream = profile->links[i].previous = NO_INDEX;
    if (!sort_commands(profile) || !make_streams(profile))
        return error_no_memory("for a profile");
    for (uint32_t i = 0; i < profile->count; i++)
        link_command(profile, i);
    name_streams(profile, evidence);
    return CLS_SUCCESS;
}
