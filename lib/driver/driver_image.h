/* SPDX-License-Identifier: MIT */
/*
 * Driver images and samplers: what the device has of them, and the commands on images. A shape's extents that its kind
 * does not have are 1 here.
 */
#ifndef CLSTREAM_DRIVER_DRIVER_IMAGE_H
#define CLSTREAM_DRIVER_DRIVER_IMAGE_H

#include <clstream/image.h>

#include "driver/device.h"
#include "driver/queue.h"

/* Which pitches OpenCL takes of an image in host memory. */
enum image_rows {
    ROW_ONE, /* none */
    ROW_LAYERS, /* from layer to layer of a 1D array: a slice pitch to OpenCL, a row pitch to PoCL 3.1, so both */
    ROW_MANY,  /* from row to row */
    ROW_SLICES /* from slice to slice, too */
};

/* A box of texels. `offset`, `pitch` and `slice` are of the memory on the other side: host memory, or a buffer. */
struct image_box {
    uint32_t size[3], to[3], from[3];
    enum image_rows rows;
    size_t offset;
    size_t pitch, slice; /* of host memory: bytes from row to row, and from slice to slice */
    unsigned char color[16];
};

enum image_rows image_rows_of(cls_image_kind kind);

/* Whether the constants of a kind, an access or a format are known. */
bool image_kind_is_known(cls_image_kind kind);
bool image_access_is_known(cls_access access);

/* CLS_ERROR_UNSUPPORTED, with the device's limit, unless it has images of this kind and size. */
cls_status image_check_size(const struct device *device, const cls_image_shape *shape);

/* The formats of the device that the library knows, at most `room` of them; `*count` is their number. */
cls_status image_formats(const struct device *device, cl_context context, cls_image_kind kind,
                         cls_access access, cls_image_format *formats, size_t room, size_t *count);
enum { IMAGE_FORMATS = 256 }; /* more than there are */

cls_status image_has_format(const struct device *device, cl_context context, cls_image_kind kind,
                            cls_access access, cls_image_format format, bool *out);

/* What a pitch of CLS_IMAGE_2D over a buffer is a multiple of, in texels; 0: the device has no such images. */
cls_status image_pitch_alignment(const struct device *device, size_t *texels);
/* CLS_ERROR_UNSUPPORTED: the device has no such images. CLS_ERROR_INVALID_VALUE: a pitch in bytes that is not aligned. */
cls_status image_check_pitch(const struct device *device, size_t texel, size_t pitch);

/* `over`: the buffer of CLS_IMAGE_1D_BUFFER, or of CLS_IMAGE_2D with its pitch, which the driver retains; else NULL. */
cls_status image_create(const struct device *device, cl_context context,
                        const cls_image_shape *shape, cl_mem over, size_t pitch, cl_mem *out);

/* Retains an image of the user's, of this context. */
cls_status image_adopt(const struct device *device, cl_context context, cl_mem memory,
                       cls_image_shape *out, size_t *bytes);

/* Tries images of the context by values: whether they are as wanted. Another status than CLS_SUCCESS: a call failed, and
 * nothing is known. */
struct image_verdict {
    bool texels;
    bool halves; /* formats of one CLS_CHANNEL_F16 */
    bool layers; /* copies between buffers and 1D arrays */
};
cls_status image_try(struct device *device, cl_context context, struct image_verdict *out);
/* The same for CLS_IMAGE_2D over a buffer. */
cls_status image_try_over(struct device *device, cl_context context, bool *right);

/* The samplers of a context by number, made when they are needed. */
enum { SAMPLERS = 2 * 5 * 2 };
/* SAMPLERS: there is no such sampler in OpenCL. */
unsigned sampler_number(int normalized, cls_addressing addressing, cls_filter filter);
cls_status sampler_create(const struct device *device, cl_context context, unsigned number,
                          cl_sampler *out);
void sampler_release(const struct device *device, cl_sampler sampler);

cls_status enqueue_image_write(const struct device *device, cl_command_queue queue, cl_mem to,
                               const struct image_box *box, const void *from,
                               struct wait_list waits, cl_event *event);
cls_status enqueue_image_read(const struct device *device, cl_command_queue queue, cl_mem from,
                              const struct image_box *box, void *to, struct wait_list waits,
                              cl_event *event);
cls_status enqueue_image_copy(const struct device *device, cl_command_queue queue, cl_mem to,
                              cl_mem from, const struct image_box *box, struct wait_list waits,
                              cl_event *event);
cls_status enqueue_buffer_to_image(const struct device *device, cl_command_queue queue, cl_mem to,
                                   cl_mem from, const struct image_box *box, struct wait_list waits,
                                   cl_event *event);
cls_status enqueue_image_to_buffer(const struct device *device, cl_command_queue queue, cl_mem to,
                                   cl_mem from, const struct image_box *box, struct wait_list waits,
                                   cl_event *event);
cls_status enqueue_image_fill(const struct device *device, cl_command_queue queue, cl_mem to,
                              const struct image_box *box, struct wait_list waits, cl_event *event);

#endif
