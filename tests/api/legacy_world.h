/* SPDX-License-Identifier: MIT */
/*
 * A context with CUDA's legacy default stream, and streams that take part in its order or do not. A gate, a host function
 * that is held, keeps a stream's work from ending.
 */
#ifndef CLSTREAM_TESTS_LEGACY_WORLD_H
#define CLSTREAM_TESTS_LEGACY_WORLD_H

#include "../support/rig.h"

enum { CELLS = 16 };

struct legacy_world {
    cls_stream first; /* the default stream */
    cls_stream a, b;  /* blocking ones */
    cls_stream apart; /* a non-blocking one */
    cls_buffer cells;
    struct gate gate;
};
extern struct legacy_world w;

/* Of the group of tests, whose end is rig_teardown. */
int legacy_setup(void **state);

/* Of each test. */
int legacy_world_begin(void **state);
int legacy_world_end(void **state);

cls_stream stream_with(int non_blocking);

/* The stream's work does not end before the gate opens. */
void hold(cls_stream stream);

cls_status set(cls_stream stream, unsigned i, uint32_t value);

/* As often as the engine, which would move on what does not wait, gets to look. */
void expect_pending(cls_stream stream);

#endif
