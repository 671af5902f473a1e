/* SPDX-License-Identifier: MIT */
/* Copies from and to images, and fills of them. */
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/range.h"
#include "command/copy_call.h"
#include "driver/driver_image.h"
#include "memory/image.h"
#include "memory/staging.h"
#include "stream/context.h"
#include "stream/failure.h"
#include "stream/handover.h"
#include "stream/touch.h"

/* --- commands --- */

static cls_status write_texels(struct target target, const struct command *command,
                               struct wait_list waits, cl_event *event) {
    const struct image_arguments *image = &command->u.image;
    return enqueue_image_write(target.device, target.queue, image->to, &image->box, image->host,
                               waits, event);
}

static cls_status read_texels(struct target target, const struct command *command,
                              struct wait_list waits, cl_event *event) {
    const struct image_arguments *image = &command->u.image;
    return enqueue_image_read(target.device, target.queue, image->from, &image->box, image->host,
                              waits, event);
}

static cls_status copy_texels(struct target target, const struct command *command,
                              struct wait_list waits, cl_event *event) {
    const struct image_arguments *image = &command->u.image;
    return enqueue_image_copy(target.device, target.queue, image->to, image->from, &image->box,
                              waits, event);
}

static cls_status from_buffer(struct target target, const struct command *command,
                              struct wait_list waits, cl_event *event) {
    const struct image_arguments *image = &command->u.image;
    return enqueue_buffer_to_image(target.device, target.queue, image->to, image->from, &image->box,
                                   waits, event);
}

static cls_status to_buffer(struct target target, const struct command *command,
                            struct wait_list waits, cl_event *event) {
    const struct image_arguments *image = &command->u.image;
    return enqueue_image_to_buffer(target.device, target.queue, image->to, image->from, &image->box,
                                   waits, event);
}

static cls_status fill_texels(struct target target, const struct command *command,
                              struct wait_list waits, cl_event *event) {
    return enqueue_image_fill(target.device, target.queue, command->u.image.to,
                              &command->u.image.box, waits, event);
}

/* On a worker, where a driver's copy of pageable memory blocks its caller. */
static struct run_result run_aside(struct stream *stream, const struct command *command,
                                   cls_status (*enqueue)(struct target target,
                                                         const struct command *command,
                                                         struct wait_list waits, cl_event *event)) {
    struct transfer_queue on = {.context = stream->context, .queue = stream_queue(stream)};
    const struct target target = {.device = stream->context->device, .queue = on.queue->cl};
    struct run_result result = {.status = CLS_SUCCESS};
    cl_event event = NULL;
    bool abandoned = false;
    result.status = enqueue(target, command, (struct wait_list){0, NULL}, &event);
    if (result.status) {
        result.code = cls_last_error_code();
        return result;
    }
    staging_flush(&on);
    result.code = transfer_finish(&on, event, &command->refs, command->u.image.host, &abandoned);
    result.hurt = result.code < 0;
    if (result.hurt)
        result.status = stream_event_status(result.code);
    else
        result.code = 0;
    return result;
}

static struct run_result write_aside(struct stream *stream, struct command *command,
                                     cls_status so_far) {
    (void)so_far;
    return run_aside(stream, command, write_texels);
}

static struct run_result read_aside(struct stream *stream, struct command *command,
                                    cls_status so_far) {
    (void)so_far;
    return run_aside(stream, command, read_texels);
}

/* --- touched memory: images as a whole --- */

static struct byte_span buffer_span(const struct command *command) {
    const struct image_box *box = &command->u.image.box;
    return byte_span_1d(box->offset, command->bytes);
}

static void touch_image(struct touches *touches, const struct device *device,
                        const struct command *command, const struct launch_args *args) {
    const struct image_arguments *image = &command->u.image;
    (void)args;
    if (image->to)
        touches_add_whole(touches, device, image->to, true, false);
    if (image->from)
        touches_add_whole(touches, device, image->from, false, false);
    if (image->host) {
        const struct image_box *box = &image->box;
        const size_t row = command->bytes / box->size[1] / box->size[2];
        const struct byte_span span = {box->offset,  row,        box->pitch,
                                       box->size[1], box->slice, box->size[2]};
        touches_add_host(touches, image->host, &span, !image->to);
    }
}

static void touch_from_buffer(struct touches *touches, const struct device *device,
                              const struct command *command, const struct launch_args *args) {
    const struct byte_span span = buffer_span(command);
    (void)args;
    touches_add_whole(touches, device, command->u.image.to, true, false);
    touches_add_buffer(touches, device, command->u.image.from, &span, false, false);
}

static void touch_to_buffer(struct touches *touches, const struct device *device,
                            const struct command *command, const struct launch_args *args) {
    const struct byte_span span = buffer_span(command);
    (void)args;
    touches_add_buffer(touches, device, command->u.image.to, &span, true, false);
    touches_add_whole(touches, device, command->u.image.from, false, false);
}

#define IMAGE_COMMAND(kind_, label_, enqueue_, touch_)                                       \
    {                                                                                        \
        .kind = (kind_), .capture = CAPTURE_IMAGE, .label = (label_), .enqueue = (enqueue_), \
        .touch = (touch_)                                                                    \
    }

static const struct command_type
    type_image_write =
        IMAGE_COMMAND(CLS_COMMAND_COPY_H2D, "image_from_host", write_texels, touch_image),
    type_image_read =
        IMAGE_COMMAND(CLS_COMMAND_COPY_D2H, "image_to_host", read_texels, touch_image),
    type_write_aside = {.kind = CLS_COMMAND_COPY_H2D,
                        .capture = CAPTURE_IMAGE,
                        .label = "image_from_host",
                        .run = write_aside,
                        .touch = touch_image,
                        .after_completion = true},
    type_read_aside = {.kind = CLS_COMMAND_COPY_D2H,
                       .capture = CAPTURE_IMAGE,
                       .label = "image_to_host",
                       .run = read_aside,
                       .touch = touch_image,
                       .after_completion = true},
    type_image_copy = IMAGE_COMMAND(CLS_COMMAND_COPY_D2D, "image_copy", copy_texels, touch_image),
    type_from_buffer =
        IMAGE_COMMAND(CLS_COMMAND_COPY_D2D, "image_from_buffer", from_buffer, touch_from_buffer),
    type_to_buffer =
        IMAGE_COMMAND(CLS_COMMAND_COPY_D2D, "image_to_buffer", to_buffer, touch_to_buffer),
    type_image_fill = IMAGE_COMMAND(CLS_COMMAND_FILL, "image_fill", fill_texels, touch_image);

/* --- boxes --- */

static void extents_of(const struct image *image, size_t out[3]) {
    out[0] = image->shape.width;
    out[1] = image->shape.height;
    out[2] = image->shape.depth;
}

static bool box_is_empty(const cls_image_box *box) {
    return !box->size[0] || !box->size[1] || !box->size[2];
}

/* A null box is the whole of an image; of two, which are to be of one size. */
static cls_status take_box(const struct image *image, const struct image *other,
                           const cls_image_box *given, cls_image_box *out) {
    size_t extents[3], others[3];
    if (given) {
        *out = *given;
        return CLS_SUCCESS;
    }
    extents_of(image, extents);
    extents_of(other ? other : image, others);
    if (memcmp(extents, others, sizeof extents))
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "a copy without a box between images of different extents");
    memset(out, 0, sizeof *out);
    memcpy(out->size, extents, sizeof extents);
    return CLS_SUCCESS;
}

static cls_status check_inside(const struct image *image, const size_t size[3],
                               const size_t origin[3]) {
    size_t extents[3];
    extents_of(image, extents);
    for (unsigned i = 0; i < 3; i++)
        if (origin[i] > extents[i] || size[i] > extents[i] - origin[i])
            return error_set(
                CLS_ERROR_OUT_OF_RANGE,
                "%zu texels from texel %zu pass the end of an image of %zu in dimension %u",
                size[i], origin[i], extents[i], i);
    return CLS_SUCCESS;
}

/* Of the box, which lies in an image. */
static size_t box_bytes(const cls_image_box *box, size_t texel) {
    return box->size[0] * box->size[1] * box->size[2] * texel;
}

/* The rows in host memory. */
static cls_status read_pitches(const struct image *image, const cls_image_box *box,
                               struct byte_span *out) {
    const size_t row = box->size[0] * image->texel, pitch = box->pitch ? box->pitch : row;
    size_t slice;
    if (__builtin_mul_overflow(pitch, box->size[1], &slice))
        return error_set(CLS_ERROR_OUT_OF_RANGE, "the rows' size overflows");
    if (pitch < row || pitch % image->texel)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "a pitch of %zu bytes for rows of %zu with texels of %zu", pitch, row,
                         image->texel);
    if (box->slice_pitch && (box->slice_pitch < slice || box->slice_pitch % pitch))
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "a slice pitch of %zu bytes for slices of %zu with rows of %zu",
                         box->slice_pitch, slice, pitch);
    *out = (struct byte_span){.start = box->offset,
                              .width = row,
                              .pitch = pitch,
                              .height = box->size[1],
                              .slice = box->slice_pitch ? box->slice_pitch : slice,
                              .depth = box->size[2]};
    return CLS_SUCCESS;
}

/* Checks the memory, and where the rows end in it. */
static cls_status check_host_rows(const struct byte_span *rows, const void *host, size_t *bytes) {
    size_t end, slices;
    if (__builtin_mul_overflow(rows->slice, rows->depth - 1, &slices) ||
        __builtin_add_overflow(rows->start, slices, &end) ||
        __builtin_add_overflow(end, rows->pitch * (rows->height - 1) + rows->width, &end))
        return error_set(CLS_ERROR_OUT_OF_RANGE, "the box passes the end of memory");
    *bytes = end;
    return copy_check_host(host, end);
}

static void set_pitches(const struct image *image, const struct byte_span *rows,
                        struct image_box *out) {
    out->rows = image_rows_of(image->shape.kind);
    out->pitch = rows->pitch;
    out->slice = rows->slice;
}

static void set_box(const cls_image_box *box, struct image_box *out) {
    *out = (struct image_box){.offset = box->offset};
    for (unsigned i = 0; i < 3; i++) {
        out->size[i] = (uint32_t)box->size[i];
        out->to[i] = (uint32_t)box->dst[i];
        out->from[i] = (uint32_t)box->src[i];
    }
}

/* --- calls --- */

/* Sets up the command of a call whose box was checked. */
static void set_command(struct copy_call *t, const struct command_type *type,
                        const cls_image_box *box, size_t texel, void *host) {
    t->command.type = type;
    t->command.bytes = box_bytes(box, texel);
    t->command.u.image.to = t->to ? t->to->memory : NULL;
    t->command.u.image.from = t->from ? t->from->memory : NULL;
    t->command.u.image.host = host;
    set_box(box, &t->command.u.image.box);
}

static cls_status copy_image_host(bool to_device, cls_image handle, void *host,
                                  const cls_image_box *given, cls_stream stream, bool blocking) {
    struct copy_call t;
    struct buffer *buffer;
    struct byte_span rows;
    size_t bytes = 0;
    cls_image_box box;
    cls_status status = image_get_memory(handle, &buffer);
    if (!status)
        status =
            copy_call_begin_with(&t, stream, to_device ? buffer : NULL, to_device ? NULL : buffer);
    if (status)
        return status;
    const struct image *image = image_of(buffer);
    status = take_box(image, NULL, given, &box);
    if (!status)
        status = check_inside(image, box.size, to_device ? box.dst : box.src);
    if (!status)
        status = read_pitches(image, &box, &rows);
    if (!status && !box_is_empty(&box))
        status = check_host_rows(&rows, host, &bytes);
    if (status || box_is_empty(&box))
        return copy_call_end(&t, status);
    const bool aside = copy_call_is_staged(&t, to_device, host, bytes);
    const struct command_type *type = to_device ? aside ? &type_write_aside : &type_image_write
                                      : aside   ? &type_read_aside
                                                : &type_image_read;
    set_command(&t, type, &box, image->texel, host);
    set_pitches(image, &rows, &t.command.u.image.box);
    return copy_call_submit(&t, blocking);
}

static cls_status image_overlap(void) {
    return error_set(CLS_ERROR_OVERLAP, "source and destination overlap in one image");
}

/* The bytes of a box of an image over a buffer in that buffer. */
static struct byte_span span_over(const struct image *image, const size_t size[3],
                                  const size_t origin[3]) {
    return (struct byte_span){.start = origin[1] * image->pitch + origin[0] * image->texel,
                              .width = size[0] * image->texel,
                              .pitch = image->pitch,
                              .height = size[1],
                              .slice = size[1] * image->pitch,
                              .depth = 1};
}

static cls_status check_image_buffer(const struct buffer *buffer, const struct image *image,
                                     const cls_image_box *box, const size_t origin[3]) {
    const size_t bytes = box_bytes(box, image->texel);
    const struct byte_span in_buffer = byte_span_1d(box->offset, bytes),
                           in_image = span_over(image, box->size, origin);
    if (box->pitch || box->slice_pitch)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "rows in a buffer have no gap: the pitches are 0");
    cls_status status = copy_check_range(buffer, box->offset, bytes);
    if (!status && image->over == buffer && bytes && byte_spans_overlap(&in_buffer, &in_image))
        status = image_overlap();
    return status;
}

static cls_status copy_buffer(bool to_image, cls_image handle, cls_buffer buffer_handle,
                              const cls_image_box *given, cls_stream stream, bool blocking) {
    struct copy_call t;
    struct buffer *memory, *buffer;
    cls_image_box box;
    cls_status status = image_get_memory(handle, &memory);
    if (status)
        return status;
    status = buffer_get(buffer_handle, &buffer);
    if (status) {
        buffer_put(memory);
        return status;
    }
    status =
        copy_call_begin_with(&t, stream, to_image ? memory : buffer, to_image ? buffer : memory);
    if (status)
        return status;
    const struct image *image = image_of(memory);
    status = take_box(image, NULL, given, &box);
    if (!status)
        status = check_inside(image, box.size, to_image ? box.dst : box.src);
    if (!status)
        status = check_image_buffer(buffer, image, &box, to_image ? box.dst : box.src);
    if (!status)
        status = image_check_layers(image);
    if (status || box_is_empty(&box))
        return copy_call_end(&t, status);
    set_command(&t, to_image ? &type_from_buffer : &type_to_buffer, &box, image->texel, NULL);
    return copy_call_submit(&t, blocking);
}

static bool boxes_overlap(const struct image *to, const struct image *from,
                          const cls_image_box *box) {
    const struct byte_span into = span_over(to, box->size, box->dst),
                           out_of = span_over(from, box->size, box->src);
    bool apart = false;
    if (to->over)
        return byte_spans_overlap(&into, &out_of);
    for (unsigned i = 0; i < 3; i++)
        apart |=
            box->dst[i] + box->size[i] <= box->src[i] || box->src[i] + box->size[i] <= box->dst[i];
    return !apart;
}

/* Of one memory. The pitch places no texel of the first row. */
static bool boxes_are_same(const struct image *to, const struct image *from,
                           const cls_image_box *box) {
    return !memcmp(box->dst, box->src, sizeof box->dst) &&
           (to->pitch == from->pitch || (!box->dst[1] && box->size[1] == 1));
}

/* `*same`: the boxes are one, which is no work. */
static cls_status check_images(const struct image *to, const struct image *from,
                               const cls_image_box *box, bool *same) {
    const bool is_one = to == from || (to->over && to->over == from->over);
    *same = is_one && boxes_are_same(to, from, box);
    if (to->shape.format.order != from->shape.format.order ||
        to->shape.format.type != from->shape.format.type)
        return error_set(CLS_ERROR_INVALID_VALUE, "a copy between images of different formats");
    return is_one && !*same && !box_is_empty(box) && boxes_overlap(to, from, box) ? image_overlap()
                                                                                  : CLS_SUCCESS;
}

static cls_status copy_images(cls_image dst, cls_image src, const cls_image_box *given,
                              cls_stream stream, bool blocking) {
    struct copy_call t;
    struct buffer *to, *from;
    cls_image_box box;
    bool same = false;
    cls_status status = image_get_memory(dst, &to);
    if (status)
        return status;
    status = image_get_memory(src, &from);
    if (status) {
        buffer_put(to);
        return status;
    }
    status = copy_call_begin_with(&t, stream, to, from);
    if (status)
        return status;
    status = take_box(image_of(to), image_of(from), given, &box);
    if (!status)
        status = check_inside(image_of(to), box.size, box.dst);
    if (!status)
        status = check_inside(image_of(from), box.size, box.src);
    if (!status)
        status = check_images(image_of(to), image_of(from), &box, &same);
    if (status || same || box_is_empty(&box))
        return copy_call_end(&t, status);
    set_command(&t, &type_image_copy, &box, image_of(to)->texel, NULL);
    return copy_call_submit(&t, blocking);
}

static cls_status fill_image(cls_image dst, const void *color, const cls_image_box *given,
                             cls_stream stream, bool blocking) {
    struct copy_call t;
    struct buffer *to;
    cls_image_box box;
    cls_status status = image_get_memory(dst, &to);
    if (!status)
        status = copy_call_begin_with(&t, stream, to, NULL);
    if (status)
        return status;
    if (!color)
        status = error_set(CLS_ERROR_INVALID_VALUE, "the colour is null");
    if (!status)
        status = take_box(image_of(to), NULL, given, &box);
    if (!status)
        status = check_inside(image_of(to), box.size, box.dst);
    if (status || box_is_empty(&box))
        return copy_call_end(&t, status);
    set_command(&t, &type_image_fill, &box, image_of(to)->texel, NULL);
    memcpy(t.command.u.image.box.color, color, sizeof t.command.u.image.box.color);
    return copy_call_submit(&t, blocking);
}

cls_status cls_image_from_host_async(cls_image dst, const void *src, const cls_image_box *box,
                                     cls_stream stream) {
    return copy_image_host(true, dst, (void *)(uintptr_t)src, box, stream, false);
}

cls_status cls_image_from_host(cls_image dst, const void *src, const cls_image_box *box,
                               cls_stream stream) {
    return copy_image_host(true, dst, (void *)(uintptr_t)src, box, stream, true);
}

cls_status cls_image_to_host_async(void *dst, cls_image src, const cls_image_box *box,
                                   cls_stream stream) {
    return copy_image_host(false, src, dst, box, stream, false);
}

cls_status cls_image_to_host(void *dst, cls_image src, const cls_image_box *box,
                             cls_stream stream) {
    return copy_image_host(false, src, dst, box, stream, true);
}

cls_status cls_image_from_buffer_async(cls_image dst, cls_buffer src, const cls_image_box *box,
                                       cls_stream stream) {
    return copy_buffer(true, dst, src, box, stream, false);
}

cls_status cls_image_from_buffer(cls_image dst, cls_buffer src, const cls_image_box *box,
                                 cls_stream stream) {
    return copy_buffer(true, dst, src, box, stream, true);
}

cls_status cls_image_to_buffer_async(cls_buffer dst, cls_image src, const cls_image_box *box,
                                     cls_stream stream) {
    return copy_buffer(false, src, dst, box, stream, false);
}

cls_status cls_image_to_buffer(cls_buffer dst, cls_image src, const cls_image_box *box,
                               cls_stream stream) {
    return copy_buffer(false, src, dst, box, stream, true);
}

cls_status cls_image_copy_async(cls_image dst, cls_image src, const cls_image_box *box,
                                cls_stream stream) {
    return copy_images(dst, src, box, stream, false);
}

cls_status cls_image_copy(cls_image dst, cls_image src, const cls_image_box *box,
                          cls_stream stream) {
    return copy_images(dst, src, box, stream, true);
}

cls_status cls_image_fill_async(cls_image dst, const void *color, const cls_image_box *box,
                                cls_stream stream) {
    return fill_image(dst, color, box, stream, false);
}

cls_status cls_image_fill(cls_image dst, const void *color, const cls_image_box *box,
                          cls_stream stream) {
    return fill_image(dst, color, box, stream, true);
}
