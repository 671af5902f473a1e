/* SPDX-License-Identifier: MIT */
#include "made_up_commands.h"

#include <stdio.h>
#include <string.h>

struct raw raws[MAX_RAWS];
struct profile profile;
int64_t offset;

static struct device device;
static size_t n_raws;

void build(void) {
    const struct evidence evidence = {.raws = raws, .count = n_raws};
    profile_free(&profile);
    memset(&profile, 0, sizeof profile);
    assert_int_equal(profile_build(&profile, &evidence), CLS_SUCCESS);
}

int reset(void **state) {
    (void)state;
    n_raws = 0;
    offset = 5 * (int64_t)MS;
    memset(raws, 0, sizeof raws);
    return 0;
}

int release(void **state) {
    (void)state;
    profile_free(&profile);
    memset(&profile, 0, sizeof profile);
    return 0;
}

struct trace_record *add(uint64_t stream, uint64_t queued, uint64_t start, uint64_t end) {
    struct raw *raw = &raws[n_raws++];
    uint64_t position = 1;
    for (size_t i = 0; i + 1 < n_raws; i++)
        position += raws[i].stream == stream;
    *raw = (struct raw){.type = CLS_RECORD_COMMAND, .stream = stream, .device = &device};
    snprintf(raw->stream_name, sizeof raw->stream_name, "s%u", (unsigned)stream);
    raw->u.command = (struct trace_record){
        .label = "k",
        .kind = CLS_COMMAND_KERNEL,
        .position = position,
        .queue = (unsigned)stream,
        .submitted = MS + queued,
        .handing = MS + queued,
        .handed = MS + queued,
        .retired = MS + end + 10 * MS,
    };
    raw->u.command.device = (struct event_times){
        .queued = (uint64_t)((int64_t)(MS + queued) - offset),
        .submitted = (uint64_t)((int64_t)(MS + queued) - offset),
        .started = (uint64_t)((int64_t)(MS + start) - offset),
        .ended = (uint64_t)((int64_t)(MS + end) - offset),
    };
    return &raw->u.command;
}

void wait_for(struct trace_record *command, uint64_t stream, uint64_t position) {
    command->deps[command->n_deps++] = (struct trace_record_dep){stream, position};
}

const cls_profile_record *find(uint64_t stream, uint64_t position) {
    for (size_t i = 0; i < profile.count; i++)
        if (profile.records[i].stream == stream && profile.records[i].position == position)
            return &profile.records[i];
    fail_msg("no command %u of stream %u", (unsigned)position, (unsigned)stream);
    return NULL;
}

cls_profile_overlap overlap(int a, int b) {
    cls_profile_overlap out = CLS_PROFILE_OVERLAP_INIT;
    const struct record_group left = {(uint32_t)a, -1}, right = {(uint32_t)b, -1};
    assert_int_equal(group_overlap(&profile, &left, &right, &out), CLS_SUCCESS);
    return out;
}
