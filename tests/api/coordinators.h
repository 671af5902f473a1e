/* SPDX-License-Identifier: MIT */
/* What the tests of coordinators share. */
#ifndef CLSTREAM_TESTS_COORDINATORS_H
#define CLSTREAM_TESTS_COORDINATORS_H

#include "../support/rig.h"

#include <clstream/coordinator.h>

enum { MAX_STREAMS = 8 };

/* A coordinator with streams named "a", "b", ... and a cell each, all 0. */
struct team {
    cls_coordinator coordinator;
    cls_stream streams[MAX_STREAMS];
    size_t count;
    cls_buffer cells;
};

static inline void team_add(struct team *team, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char name[2] = {(char)('a' + (char)team->count), 0};
        cls_stream_config config = CLS_STREAM_CONFIG_INIT;
        size_t index = 99;
        config.name = name;
        OK(cls_stream_create(rig.context, &config, &team->streams[team->count]));
        OK(cls_coordinator_add_stream(team->coordinator, team->streams[team->count], &index));
        assert_int_equal(index, team->count);
        team->count++;
    }
}

static inline struct team team_make(int permissive, size_t n) {
    struct team team = {.cells = rig_cells(MAX_STREAMS)};
    cls_coordinator_config config = CLS_COORDINATOR_CONFIG_INIT;
    config.permissive = permissive;
    OK(cls_coordinator_create(&config, &team.coordinator));
    team_add(&team, n);
    return team;
}

static inline void team_drop(struct team *team) {
    OK(cls_context_synchronize(rig.context));
    OK(cls_coordinator_destroy(team->coordinator));
    for (size_t i = 0; i < team->count; i++)
        OK(cls_stream_destroy(team->streams[i]));
    OK(cls_buffer_destroy(team->cells));
}

/* Stream i waits for stream j. */
static inline cls_status depend(struct team *team, size_t i, size_t j) {
    return cls_coordinator_add_dependency(team->coordinator, team->streams[i], team->streams[j]);
}

/* A phase that only counts its calls. */
static inline cls_status no_phase(cls_stream stream, size_t index, void *arg) {
    (void)stream;
    (void)index;
    ++*(unsigned *)arg;
    return CLS_SUCCESS;
}

#endif
