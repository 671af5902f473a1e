/* SPDX-License-Identifier: MIT */
/* The objects that most scenarios use, and calls on them that count what does not succeed. */
#ifndef CLSTREAM_TESTS_WORLD_H
#define CLSTREAM_TESTS_WORLD_H

#include "scenario.h"

enum { WORDS = 64, BYTES = WORDS * 4, STREAMS = 3 };

/* A failed wait leaves a copy on its way, so each run has host memory of its own for a while. */
struct area {
    uint32_t in[WORDS], out[WORDS];
    float sum;
};

struct world {
    cls_context context;
    cls_stream streams[STREAMS];
    cls_buffer a, b;
    cls_event event;
    cls_program program;
    cls_kernel kernel;
    struct area *area;
};

/* Counts what did not succeed; true when it did. */
bool ok(struct run *run, cls_status status);

/* What must hold when every call has succeeded. */
void expect(struct run *run, bool right, const char *what);

/* An empty world; one with a context, buffers, an event and so many streams; the end of either. */
void world_init(struct world *world);
bool world_open(struct run *run, struct world *world, unsigned streams);
void world_close(struct run *run, struct world *world);

bool open_stream(struct run *run, struct world *world, unsigned i, const cls_stream_config *config);
bool open_buffers(struct run *run, struct world *world);

/* The kernel x = x * factor + add. */
bool open_kernel(struct run *run, struct world *world);
bool launch(struct run *run, const struct world *world, cls_buffer x, uint32_t factor, uint32_t add,
            cls_stream stream);

/* From area->in, and to area->out. */
bool upload(struct run *run, const struct world *world, cls_buffer to, cls_stream stream);
bool download(struct run *run, const struct world *world, cls_buffer from, cls_stream stream);

bool synchronize(struct run *run, cls_stream stream);

/* The stream's later work begins in some milliseconds. */
bool nap(struct run *run, cls_stream stream);

/* out = in * factor + add */
void expect_scaled(struct run *run, const struct world *world, uint32_t factor, uint32_t add);

#endif
