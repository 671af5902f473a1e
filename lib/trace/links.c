/* SPDX-License-Identifier: MIT */
/* How the commands of a profile hang together: their streams, and what each comes after. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/profile.h"

/* qsort has no argument to pass: entries carry their keys. */
struct entry {
    uint64_t first, second;
    uint32_t index;
};

static int by_keys(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return (a->second > b->second) - (a->second < b->second);
}

static void sort_into(struct entry *entries, size_t n, uint32_t *out) {
    qsort(entries, n, sizeof *entries, by_keys);
    for (size_t i = 0; i < n; i++)
        out[i] = entries[i].index;
}

static bool sort_commands(struct profile *profile) {
    struct entry *entries = malloc((profile->count + 1) * sizeof *entries);
    profile->commands = malloc((profile->count + 1) * sizeof *profile->commands);
    profile->order = malloc((profile->count + 1) * sizeof *profile->order);
    bool made = entries && profile->commands && profile->order;
    for (uint32_t i = 0; made && i < profile->count; i++) {
        const cls_profile_record *record = &profile->records[i];
        if (is_command(record))
            entries[profile->n_commands++] = (struct entry){record->stream, record->position, i};
    }
    if (made) {
        size_t n = profile->n_commands;
        sort_into(entries, n, profile->commands);
        for (size_t i = 0; i < n; i++) {
            const cls_profile_record *record = &profile->records[entries[i].index];
            entries[i].first = record->queued_ns;
            entries[i].second = record->position;
        }
        sort_into(entries, n, profile->order);
    }
    free(entries);
    return made;
}

/* The last recorded command of a stream up to a position: what a wait for that position is for. */
static uint32_t find_command(const struct profile *profile, uint64_t stream, uint64_t position) {
    size_t low = 0, high = profile->n_commands;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const cls_profile_record *record = &profile->records[profile->commands[middle]];
        if (record->stream > stream || (record->stream == stream && record->position > position))
            high = middle;
        else
            low = middle + 1;
    }
    if (!low || profile->records[profile->commands[low - 1]].stream != stream)
        return NO_INDEX;
    return profile->commands[low - 1];
}

static void link_command(struct profile *profile, uint32_t i) {
    const cls_profile_record *record = &profile->records[i];
    struct link *link = &profile->links[i];
    for (unsigned k = 0; k < CLS_PROFILE_DEPENDENCIES; k++) {
        const cls_profile_dependency *wait = &record->dependencies[k];
        link->waits[k] = k < record->n_dependencies
                             ? find_command(profile, wait->stream, wait->position)
                             : NO_INDEX;
    }
}

/* Streams in the order of their numbers; names come from what was seen. */
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
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for a profile");
    for (size_t i = 0; i < profile->count; i++)
        profile->links[i].stream = profile->links[i].previous = NO_INDEX;
    if (!sort_commands(profile) || !make_streams(profile))
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for a profile");
    for (uint32_t i = 0; i < profile->count; i++)
        link_command(profile, i);
    name_streams(profile, evidence);
    return CLS_SUCCESS;
}
