/* SPDX-License-Identifier: MIT */
/* The ring buffer of a profiler: raw observations, not yet mapped to one clock. The caller locks. */
#ifndef CLSTREAM_TRACE_RING_H
#define CLSTREAM_TRACE_RING_H

#include <clstream/profiler.h>

#include "driver/device.h"
#include "stream/observe.h"

enum { LABEL_BYTES = 64 };

struct raw {
    cls_record_type type;
    uint64_t stream; /* its id; 0: no command */
    char stream_name[LABEL_BYTES];
    const struct device *device;
    uint64_t thread;
    union {
        struct trace_record command;
        struct {
            char label[LABEL_BYTES];
            uint64_t start, end, bytes;
        } span;
    } u;
};

struct record_ring {
    struct raw *slots;
    size_t capacity, count;
    size_t next; /* the slot to be written; once the ring is full, the oldest */
    uint64_t dropped;
};

bool raw_ring_init(struct record_ring *ring, size_t capacity);
void raw_ring_free(struct record_ring *ring);
void raw_ring_clear(struct record_ring *ring);

/* A slot for one more record, in place of the oldest when the ring is full. Its contents are undefined. */
struct raw *raw_ring_put(struct record_ring *ring);

/* Copies the records, oldest first, to `out`, which has room for `count`. */
void raw_ring_copy(const struct record_ring *ring, struct raw *out);

#endif
