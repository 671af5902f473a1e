/* SPDX-License-Identifier: MIT */
/* Memory of the driver's that lives as long as the commands that use it: a part of a buffer as a kernel argument, which is a
 * sub-buffer, or the pinned memory of a map (memory/buffer_map.h). */
#ifndef CLSTREAM_MEMORY_PART_H
#define CLSTREAM_MEMORY_PART_H

#include "base/handle.h"
#include "driver/memory.h"

struct buffer;
struct context;

/* A part's one reference goes to the command, which keeps the buffer besides. */
struct buffer_part {
    struct object object;
    const struct device *device;
    cl_mem memory;           /* of a part */
    struct context *context; /* of pinned memory, retained; NULL: it is a part */
    struct pinned pinned;
};

/* CLS_ERROR_OUT_OF_RANGE past the buffer's end, CLS_ERROR_INVALID_VALUE for 0 bytes and for an offset that is no
 * multiple of the device's base alignment. */
cls_status buffer_part_new(const struct buffer *buffer, size_t offset, size_t bytes,
                           struct buffer_part **out);

/* Whether a sub-buffer can begin there. */
bool buffer_part_is_aligned(const struct buffer *buffer, size_t offset);

/* The same statuses, but for the alignment, of a part that is passed by its address. */
cls_status buffer_part_check(const struct buffer *buffer, size_t offset, size_t bytes);

/* Pinned memory of the context, for copies of its streams. */
cls_status buffer_part_new_pinned(struct context *context, size_t bytes, struct buffer_part **out);

#endif
