/* SPDX-License-Identifier: MIT */
/*
 * Which bytes a command reads and writes. A command type says so by its `touch`; the race checker (check/race.h)
 * asks while it is on, and nobody else does.
 */
#ifndef CLSTREAM_STREAM_TOUCH_H
#define CLSTREAM_STREAM_TOUCH_H

#include <stdbool.h>
#include <stddef.h>

#include <clstream/kernel.h>

#include "base/byte_span.h"
#include "driver/device.h"
#include "driver/queue.h"

struct command;
struct op_arg;
struct op_call;
struct stream;

/* The arguments of a launch: the caller's or a typed operation's. */
struct launch_args {
    const cls_arg *args;
    const struct op_arg *op_args;
    unsigned count;
    const cls_arg *reaches; /* buffers that the kernel reaches through addresses; `n_reaches` */
    unsigned n_reaches;
    const struct op_call *call; /* of an operation, for captures; NULL: of anything else */
};

static inline struct byte_span byte_span_of(const struct rect_3d *rect,
                                            const struct rect_side *side) {
    return (struct byte_span){side->offset, rect->width, side->pitch,
                              rect->height, side->slice, rect->depth};
}

/* Bytes of a buffer, counted from the start of the root buffer that it is a part of, or of host memory. */
struct touch {
    cl_mem root;   /* NULL: host memory */
    size_t bytes;  /* of the buffer */
    size_t origin; /* of the buffer in its root */
    struct byte_span span;
    bool write;
    bool possible; /* an undeclared kernel argument: it may be touched */
};

struct touches {
    struct touch *items;
    size_t count, capacity;
    bool failed; /* no memory: some are missing */
};

/* Adds what the command touches, from its arguments. `args` is NULL but for launches. */
typedef void touch_fn(struct touches *touches, const struct device *device,
                      const struct command *command, const struct launch_args *args);
touch_fn touch_copy, touch_rect, touch_fill, touch_migrate;

void touches_add_buffer(struct touches *touches, const struct device *device, cl_mem memory,
                        const struct byte_span *span, bool write, bool possible);
void touches_add_whole(struct touches *touches, const struct device *device, cl_mem memory,
                       bool write, bool possible);
void touches_add_host(struct touches *touches, const void *memory, const struct byte_span *span,
                      bool write);

/* Collects what the command touches, while it still holds what it uses. */
void touches_collect(struct touches *touches, const struct stream *stream,
                     const struct command *command, const struct launch_args *args);
void touches_free(struct touches *touches);

#endif
