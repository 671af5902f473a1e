/* SPDX-License-Identifier: MIT */
/*
 * The shadow of a piece of memory: for each of its bytes the accesses that later ones may race with, as
 * a list of segments of bytes that have the same ones. What comes before what, the caller says. Pure data:
 * no locks, no OpenCL.
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
    struct race_access *accesses; /* at least one; of one stream at most one of each sort */
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

/* Compares the access with what is known of these bytes, and enters it, unless it is a thread's, or
 * another one stands for it; drops what is settled. False, and the shadow empty, without memory. */
bool race_shadow_touch(struct race_shadow *shadow, const struct byte_span *span,
                       const struct race_access *access, const struct race_rules *rules);

/* Forgets the bytes from start to end; more, without memory. */
void race_shadow_forget(struct race_shadow *shadow, size_t start, size_t end,
                        const struct race_rules *rules);

#endif
