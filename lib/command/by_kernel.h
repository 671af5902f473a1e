/* SPDX-License-Identifier: MIT */
/*
 * Copies and fills by kernels of the library, where OpenCL or the driver cannot do them (driver/trust.h). The arguments
 * are checked already: not empty, in range, and without overlap.
 */
#ifndef CLSTREAM_COMMAND_BY_KERNEL_H
#define CLSTREAM_COMMAND_BY_KERNEL_H

#include <stdbool.h>

#include <clstream/buffer.h>

#include "driver/queue.h"

cls_status rect_by_kernel(cls_buffer dst, cls_buffer src, const struct rect_3d *rect,
                          cls_stream stream, bool blocking);
/* Of the rectangle's destination. */
cls_status fill_by_kernel(cls_buffer dst, const struct rect_3d *rect, const void *pattern,
                          size_t pattern_bytes, cls_stream stream, bool blocking);

#endif
