/* SPDX-License-Identifier: MIT */
/* Buffers inside. */
#ifndef CLSTREAM_CORE_BUFFER_H
#define CLSTREAM_CORE_BUFFER_H

#include <clstream/buffer.h>

#include "base/handle.h"
#include "driver/device.h"

struct context;

struct buffer {
    struct object object;
    struct context *context; /* retained */
    cl_mem memory;
    size_t bytes;
};

extern struct object_pool buffer_pool;

/* Checks a handle, its context included, and takes a reference. */
cls_status buffer_get(cls_buffer handle, struct buffer **out);
static inline void buffer_put(struct buffer *buffer) { object_release(&buffer->object); }

/* Takes over `memory` on success. */
cls_status buffer_new(struct context *context, cl_mem memory, size_t bytes, struct buffer **out);
cls_status buffer_allocate(struct context *context, size_t bytes, struct buffer **out);

/* Whether [memory, memory + bytes) lies within one block of cls_host_alloc. */
bool host_is_pinned(const void *memory, size_t bytes);

#endif
