/* SPDX-License-Identifier: MIT */
/*
 * The resources of a chunk in flight: pinned memory for input and output, device buffers, timed events, and the graph that
 * does all of its work on the device.
 */
#ifndef CLSTREAM_TOOLS_SLOT_H
#define CLSTREAM_TOOLS_SLOT_H

#include <clstream/graph.h>

#include "chunk.h"

/* Timed events that each launch records: a stage is from one to the next. */
enum mark { MARK_START, MARK_UPLOADED, MARK_COMPUTED, MARK_DOWNLOADED, MARKS };

struct slot {
    void *host_in;
    void *host_out;
    cls_buffer device[2]; /* the second where the result does not fit the first's elements */
    struct chunk chunk;
    cls_event marks[MARKS];
    cls_graph_exec graph; /* upload, compute, download; NULL: not captured yet */
    size_t count;         /* the elements that it is for */
};

/* For chunks of the program's capacity. On failure nothing is held. */
bool slot_create(struct slot *slot, const struct program *program, struct failure *failure);

/* Submits the work on the first `count` elements. It is captured for the first chunk, and again for another count. */
bool slot_launch(struct slot *slot, const struct program *program, size_t count, cls_stream stream,
                 struct failure *failure);

/* Needs no order with work that still uses the slot, except that its pinned memory waits for it. */
void slot_destroy(struct slot *slot);

#endif
