/* SPDX-License-Identifier: MIT */
/*
 * The shadow of a piece of memory: for each byte the earlier accesses that later ones may race with, as a
 * list of segments of bytes with equal accesses. The caller decides the order of accesses (struct race_rules).
 * Pure data: no locks, no OpenCL.
 */
#ifndef CLSTREAM_CHECK_RACE_SHADOW_H
#define CLSTREAM_CHECK_RACE_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/touch.h"

struct race_stream;

struct race_access {
    struct race_stream *by; /* NULL: a thread of the program */
    uint64_t position;      /* in that stream */
    const char *label;      /* lives as long as the process */
    bool write;
    bool possible; /* known by its buffer only */
};

struct race_segment {
    size_t start, end;
    size_t count;
    struct race_access *accesses; /* at least one; at most one of each sort a stream */
};

/* Sorted by start; segments do not overlap. All zero is the empty one. */
struct race_shadow {
    struct race_segment *segments;
    size_t count;
};

enum race_order { RACE_UNORDERED, RACE_BEFORE, RACE_AFTER };

struct race_rules {
    void *context;
    /* Where the known access is, seen from the new one. */
    enum race_order (*order)(void *context, const struct race_access *known);
    /* The known access comes before everything from now on. */
    bool (*settled)(void *context, const struct race_access *known);
    /* A race, on the bytes from start to end. */
    void (*conflict)(void *context, const struct race_access *known, size_t start, size_t end);
    /* The shadow holds one access more (+1) or less (-1) of this stream. */
    void (*hold)(struct race_stream *by, int more);
};

/* Compares the access with the recorded ones of these bytes, and records it, unless a thread made it or another
 * record finds all its races; drops settled accesses. Without memory: false, and the shadow is emptied. */
bool race_shadow_touch(struct race_shadow *shadow, const struct byte_span *span,
                       const struct race_access *access, const struct race_rules *rules);

/* Forgets the accesses to the bytes from start to end; without memory, possibly to further bytes. */
void race_shadow_forget(struct race_shadow *shadow, size_t start, size_t end,
                        const struct race_rules *rules);

#endif
