/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the race checker share: programs in pairs that differ in one edge, or in one byte; of
 * the racy one the checker tells, of the clean one it does not, however the work happened to run.
 */
#ifndef CLSTREAM_TESTS_RACE_PAIRS_H
#define CLSTREAM_TESTS_RACE_PAIRS_H

#include "../support/rig.h"

#include <clstream/check.h>
#include <clstream/timeline.h>

enum { CELLS = 64, BYTES = CELLS * 4 };

/* What every program works on; all of it is idle and known to be when one begins. */
extern struct world {
    cls_stream a, b, c; /* "first", "second" and "third" */
    cls_event event, other;
    cls_timeline early, later; /* both at 0 */
    cls_buffer x, y;
    uint32_t words[CELLS], more[CELLS];
    cls_kernel blur; /* (global const uint *in, global uint *out) */
} w;

void world_begin(void);
void world_end(void);

/* What the checker found since world_begin. */
cls_check_counts found(void);

struct pair {
    void (*program)(bool clean); /* not clean: an edge is missing, or a byte too many is touched */
    bool possible;               /* what is found is no more than that */
    const char *says[3];         /* parts of the first finding's text */
};

void test_pair(void **pair);

/* A row of a program's tests: the name, and the pair's fields. */
#define PAIR(name, ...)                                             \
    {                                                               \
        name, test_pair, NULL, NULL, &(struct pair) { __VA_ARGS__ } \
    }

/* A group's set-up and tear-down functions: a rig under the checker. */
int race_setup(void **state);
int race_teardown(void **state);

/* --- pieces of programs --- */

static inline void write_x(cls_stream stream) {
    OK(cls_copy_h2d_async(w.x, 0, w.words, BYTES, stream));
}

static inline void read_x(cls_stream stream) {
    OK(cls_copy_d2h_async(w.more, w.x, 0, BYTES, stream));
}

static inline void fill(cls_buffer buffer, size_t offset, size_t bytes, cls_stream stream) {
    const uint8_t seven = 7;
    OK(cls_fill_async(buffer, offset, bytes, &seven, 1, stream));
}

static inline void edge(cls_stream from, cls_stream to) {
    OK(cls_event_record(w.event, from));
    OK(cls_stream_wait_event(to, w.event));
}

static inline void blur(cls_arg in, cls_arg out, cls_stream stream) {
    const cls_launch shape = cls_launch_1d(CELLS / 2);
    const cls_arg args[] = {in, out};
    OK(cls_kernel_launch_async(w.blur, &shape, args, 2, stream));
}

#endif
