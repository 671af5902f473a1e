/* SPDX-License-Identifier: MIT */
/*
 * struct image, the object behind a cls_image. It begins with a struct buffer, which all that knows memory takes it for:
 * only its creation, its copies and its check against a kernel's parameter differ.
 */
#ifndef CLSTREAM_MEMORY_IMAGE_H
#define CLSTREAM_MEMORY_IMAGE_H

#include <clstream/image.h>

#include "driver/cl.h"
#include "memory/buffer.h"

struct image {
    struct buffer memory;
    cls_image_shape shape; /* extents that the kind does not have are 1 */
    size_t texel;          /* bytes */
    struct buffer *over;   /* retained: the buffer whose memory it is; NULL: it has its own */
    size_t pitch;          /* of an image over a buffer: bytes from row to row */
};

/* Checks a handle, its context included, and takes a reference. */
cls_status image_get(cls_image handle, struct image **out);

/* The same as the buffer that it begins with. */
cls_status image_get_memory(cls_image handle, struct buffer **out);

/* The image that a buffer is the beginning of; NULL: it is none. */
static inline struct image *image_of(struct buffer *buffer) {
    return buffer->object.pool == &image_pool ? (struct image *)(void *)buffer : NULL;
}

/* CLS_ERROR_UNSUPPORTED: an array whose layers the driver cannot copy from and to buffers. */
cls_status image_check_layers(const struct image *image);

/* Makes the handle of a driver's image, which it takes over on success. `over` may be NULL; `pitch` is 0 then. */
cls_status image_new(struct context *context, cl_mem memory, const cls_image_shape *shape,
                     struct buffer *over, size_t pitch, cls_image *out);

/* The context's sampler of an argument, borrowed. CLS_ERROR_INVALID_VALUE: OpenCL has no such sampler. */
cls_status image_sampler(struct context *context, const cls_arg *arg, cl_sampler *out);

#endif
