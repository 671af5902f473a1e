/* SPDX-License-Identifier: MIT */
#include "trace/layout.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_ROWS = 8 };

/* The end of the last record in each row of a lane. */
struct lane_rows {
    uint64_t until[MAX_ROWS];
};

static uint32_t add_lane(struct trace_layout *lanes, uint32_t stream, uint64_t thread) {
    struct trace_lane *lane = &lanes->items[lanes->count];
    *lane = (struct trace_lane){.stream = stream, .thread = thread, .rows = 1};
    return (uint32_t)lanes->count++;
}

/* The lane of a thread. A linear search, as few threads have ranges. */
static uint32_t thread_lane(struct trace_layout *lanes, const cls_profile_record *record) {
    uint32_t i = 0;
    while (i < lanes->count && lanes->items[i].thread != record->thread)
        i++;
    if (i < lanes->count)
        return i;
    i = add_lane(lanes, NO_INDEX, record->thread);
    if (record->type == CLS_RECORD_USER)
        snprintf(lanes->items[i].name, LABEL_BYTES, "own records");
    else
        snprintf(lanes->items[i].name, LABEL_BYTES, "thread %llu",
                 (unsigned long long)record->thread);
    return i;
}

/* The first free row at a record's start; enclosing records lie above. */
static uint32_t free_row(struct trace_lane *lane, struct lane_rows *rows,
                         const cls_profile_record *record) {
    uint32_t row = 0;
    while (row + 1 < MAX_ROWS && rows->until[row] > record->start_ns)
        row++;
    rows->until[row] = record->end_ns;
    if (row >= lane->rows)
        lane->rows = row + 1;
    return row;
}

static size_t spans(const struct profile *profile) { return profile->count - profile->n_commands; }

/* At most a lane a span: a thread has at least one. */
static void place_spans(struct trace_layout *lanes, const struct profile *profile,
                        struct lane_rows *rows) {
    for (uint32_t i = 0; i < profile->count; i++) {
        const cls_profile_record *record = &profile->records[i];
        if (is_command(record))
            continue;
        uint32_t lane = thread_lane(lanes, record);
        lanes->places[i].lane = lane;
        lanes->places[i].row = free_row(&lanes->items[lane], &rows[lane], record);
    }
}

static void place_commands(struct trace_layout *lanes, const struct profile *profile) {
    uint32_t first = (uint32_t)lanes->count;
    for (uint32_t s = 0; s < profile->n_streams; s++) {
        uint32_t lane = add_lane(lanes, s, 0);
        snprintf(lanes->items[lane].name, LABEL_BYTES, "%s", profile->streams[s].name);
    }
    for (size_t k = 0; k < profile->n_commands; k++) {
        uint32_t i = profile->commands[k];
        lanes->places[i] = (struct record_place){first + profile->links[i].stream, 0};
    }
}

bool layout_make(struct trace_layout *lanes, const struct profile *profile) {
    size_t most = spans(profile) + profile->n_streams + 1;
    struct lane_rows *rows = calloc(spans(profile) + 1, sizeof *rows);
    *lanes = (struct trace_layout){calloc(most, sizeof *lanes->items), 0,
                                   calloc(profile->count + 1, sizeof *lanes->places)};
    bool made = rows && lanes->items && lanes->places;
    if (made) {
        place_spans(lanes, profile, rows);
        place_commands(lanes, profile);
    }
    free(rows);
    return made;
}

void layout_free(struct trace_layout *lanes) {
    free(lanes->items);
    free(lanes->places);
}
