/* SPDX-License-Identifier: MIT */
/* The resources of a chunk in flight: pinned memory for input and output, device buffers, timed events. */
#ifndef CLSTREAM_TOOLS_SLOT_H
#define CLSTREAM_TOOLS_SLOT_H

#include "chunk.h"

/* Timed events around a chunk's work on each stream. The ends also order the streams. */
enum mark {
    MARK_UPLOAD_START,
    MARK_UPLOAD_END,
    MARK_COMPUTE_START,
    MARK_COMPUTE_END,
    MARK_DOWNLOAD_START,
    MARK_DOWNLOAD_END,
    MARKS
};

struct slot {
    void *host_in;
    void *host_out;
    cls_buffer device[2]; /* the second where the result does not fit the first's elements */
    struct chunk chunk;
    cls_event marks[MARKS];
};

/* For chunks of the program's capacity. On failure nothing is held. */
bool slot_create(struct slot *slot, const struct program *program, struct failure *failure);

/* Needs no order with work that still uses the slot, except that its pinned memory waits for it. */
void slot_destroy(struct slot *slot);

#endif
