/* SPDX-License-Identifier: MIT */
/* Finds what held commands back; clstream/profiler.h defines how a gap is divided among causes. */
#include <stdlib.h>

#include "base/error.h"
#include "trace/profile.h"

/* At most so many overlapping commands are examined per gap: a gap with more is long enough to be judged by these. */
enum { MAX_LOOKED_AT = 10000 };

/* The times that divide a command's gap. */
struct gap {
    uint64_t from;     /* earlier work of the stream is done */
    uint64_t released; /* dependencies too */
    uint64_t queued;   /* and the program has submitted it */
    uint64_t handed;   /* and the driver has it */
    uint64_t start;
};

struct judge {
    struct profile *profile;
    uint64_t *reach; /* of the records up to each one, the latest end of work */
    uint64_t *least; /* of each device, the least time from handed to start; by stream index */
    struct gap *gaps;
};

static bool is_held(const cls_profile_record *record) {
    return is_command(record) && record->kind != CLS_COMMAND_MARKER && !record->status;
}

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The end of the last dependency of a command; 0 without one. */
static uint64_t release_of(const struct profile *profile, uint32_t i) {
    const cls_profile_record *record = &profile->records[i];
    const struct link *link = &profile->links[i];
    uint64_t released = 0;
    for (unsigned k = 0; k < CLS_PROFILE_DEPENDENCIES; k++)
        if (link->waits[k] != NO_INDEX)
            released = later(released, profile->records[link->waits[k]].end_ns);
    for (unsigned k = 0; k < record->n_dependencies && k < CLS_PROFILE_DEPENDENCIES; k++)
        if (!record->dependencies[k].stream)
            released = later(released, record->submitted_ns);
    return released;
}

static struct gap gap_of(const cls_profile_record *record, uint64_t from, uint64_t released) {
    struct gap gap = {.start = record->start_ns};
    gap.from = earlier(from, gap.start);
    gap.released = earlier(later(gap.from, released), gap.start);
    gap.queued = earlier(later(gap.released, record->queued_ns), gap.start);
    gap.handed = earlier(later(gap.queued, record->submitted_ns), gap.start);
    return gap;
}

/* Streams of one device share its least latency. */
static uint64_t *least_of(struct judge *judge, uint32_t stream) {
    size_t device = judge->profile->streams[stream].device, first = 0;
    while (judge->profile->streams[first].device != device)
        first++;
    return &judge->least[first];
}

static void find_gaps(struct judge *judge) {
    struct profile *profile = judge->profile;
    uint64_t done = 0, released = 0; /* of the stream so far, and of its waits since then */
    for (size_t k = 0; k < profile->n_streams; k++)
        judge->least[k] = UINT64_MAX;
    for (size_t k = 0; k < profile->n_commands; k++) {
        uint32_t i = profile->commands[k];
        const cls_profile_record *record = &profile->records[i];
        if (profile->links[i].previous == NO_INDEX) {
            done = record->queued_ns;
            released = 0;
        }
        if (record->status)
            continue;
        /* A marker has no gap of its own: its wait counts for the stream's next command. */
        released = later(released, release_of(profile, i));
        if (!is_held(record))
            continue;
        judge->gaps[i] = gap_of(record, done, released);
        done = later(done, record->end_ns);
        released = 0;
        uint64_t *least = least_of(judge, profile->links[i].stream);
        if (is_work(record))
            *least = earlier(*least, judge->gaps[i].start - judge->gaps[i].handed);
    }
}

static void find_reach(struct judge *judge) {
    uint64_t reach = 0;
    for (size_t i = 0; i < judge->profile->count; i++) {
        const cls_profile_record *record = &judge->profile->records[i];
        if (is_work(record))
            reach = later(reach, record->end_ns);
        judge->reach[i] = reach;
    }
}

/* The first record after which work may reach beyond a time. */
static size_t first_reaching(const struct judge *judge, uint64_t time) {
    size_t low = 0, high = judge->profile->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (judge->reach[middle] > time)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* How much of [from, to) is covered by other streams' work on the same driver queue, and on the same device. */
static void cover(const struct judge *judge, uint32_t i, uint64_t from, uint64_t to,
                  uint64_t *on_queue, uint64_t *on_device) {
    const struct profile *profile = judge->profile;
    const cls_profile_record *own = &profile->records[i];
    size_t device = profile->streams[profile->links[i].stream].device;
    uint64_t queue_until = from, device_until = from;
    size_t first = first_reaching(judge, from);
    *on_queue = *on_device = 0;
    for (size_t j = first; j < profile->count && j < first + MAX_LOOKED_AT; j++) {
        const cls_profile_record *other = &profile->records[j];
        if (other->start_ns >= to)
            break;
        if (!is_work(other) || other->stream == own->stream ||
            profile->streams[profile->links[j].stream].device != device)
            continue;
        uint64_t end = earlier(other->end_ns, to);
        if (end > device_until)
            *on_device += end - later(other->start_ns, device_until);
        device_until = later(device_until, end);
        if (other->queue != own->queue || !own->queue)
            continue;
        if (end > queue_until)
            *on_queue += end - later(other->start_ns, queue_until);
        queue_until = later(queue_until, end);
    }
}

/* Cuts the gap of a record to its causes. */
static void cut(struct judge *judge, uint32_t i, uint64_t parts[CLS_HOLDS]) {
    const struct gap *gap = &judge->gaps[i];
    uint64_t least = *least_of(judge, judge->profile->links[i].stream);
    uint64_t on_queue = 0, on_device = 0;
    uint64_t rested = gap->start - gap->handed > least ? gap->handed + least : gap->start;
    if (is_work(&judge->profile->records[i]) && rested < gap->start)
        cover(judge, i, rested, gap->start, &on_queue, &on_device);
    parts[CLS_HOLD_NONE] = 0;
    parts[CLS_HOLD_DEPENDENCY] = gap->released - gap->from;
    parts[CLS_HOLD_HOST] = gap->queued - gap->released;
    parts[CLS_HOLD_QUEUE] = on_queue;
    parts[CLS_HOLD_WIDTH] = on_device - on_queue;
    parts[CLS_HOLD_LATENCY] = gap->start - gap->queued - on_device;
}

static void judge_record(struct judge *judge, uint32_t i) {
    struct profile *profile = judge->profile;
    cls_profile_record *record = &profile->records[i];
    cls_profile_stream *stream = &profile->streams[profile->links[i].stream];
    uint64_t parts[CLS_HOLDS];
    cut(judge, i, parts);
    record->held_ns = judge->gaps[i].start - judge->gaps[i].from;
    for (int hold = 1; hold < CLS_HOLDS; hold++) {
        if (parts[hold] > parts[record->hold])
            record->hold = (cls_hold)hold;
        stream->held_ns[hold] += parts[hold];
        profile->summary.held_ns[hold] += parts[hold];
    }
}

cls_status find_holds(struct profile *profile) {
    struct judge judge = {.profile = profile};
    judge.reach = malloc((profile->count + 1) * sizeof *judge.reach);
    judge.least = malloc((profile->n_streams + 1) * sizeof *judge.least);
    judge.gaps = malloc((profile->count + 1) * sizeof *judge.gaps);
    bool made = judge.reach && judge.least && judge.gaps;
    if (made) {
        find_gaps(&judge);
        find_reach(&judge);
        for (uint32_t i = 0; i < profile->count; i++)
            if (is_held(&profile->records[i]))
                judge_record(&judge, i);
    }
    free(judge.reach);
    free(judge.least);
    free(judge.gaps);
    return made ? CLS_SUCCESS : error_no_memory("for a profile");
}
