/* SPDX-License-Identifier: MIT */
/* A part of a buffer as a kernel argument: a sub-buffer of the driver's that lives as long as its command. */
#ifndef CLSTREAM_MEMORY_PART_H
#define CLSTREAM_MEMORY_PART_H

#include "base/handle.h"
#include "driver/cl.h"

struct buffer;
struct device;

/* Its one reference goes to the command, which keeps the buffer besides. */
struct buffer_part {
    struct object object;
    const struct device *device;
    cl_mem memory;
};

/* CLS_ERROR_OUT_OF_RANGE past the buffer's end, CLS_ERROR_INVALID_VALUE for 0 bytes and for an offset that is no
 * multiple of the device's base alignment. */
cls_status buffer_part_new(const struct buffer *buffer, size_t offset, size_t bytes,
                           struct buffer_part **out);

#endif
