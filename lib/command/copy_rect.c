/* SPDX-License-Identifier: MIT */
/* Copies of 2-D rectangles: host to device, device to host, and buffer to buffer. */
#include "base/error.h"
#include "base/rows.h"
#include "command/by_kernel.h"
#include "command/copy_call.h"
#include "driver/memory.h"
#include "memory/staging.h"
#include "stream/context.h"
#include "stream/touch.h"

static cls_status write_rect(struct target target, const struct command *command,
                             struct wait_list waits, cl_event *event) {
    return enqueue_write_rect(target.device, target.queue, command->u.rect.to,
                              &command->u.rect.rect, command->u.rect.host, waits, event);
}

static cls_status read_rect(struct target target, const struct command *command,
                            struct wait_list waits, cl_event *event) {
    return enqueue_read_rect(target.device, target.queue, command->u.rect.from,
                             &command->u.rect.rect, command->u.rect.host, waits, event);
}

static cls_status copy_rect(struct target target, const struct command *command,
                            struct wait_list waits, cl_event *event) {
    return enqueue_copy_rect(target.device, target.queue, command->u.rect.to, command->u.rect.from,
                             &command->u.rect.rect, waits, event);
}

static const struct command_type type_write_rect = {.kind = CLS_COMMAND_COPY_H2D,
                                                    .label = "copy_rect_h2d",
                                                    .enqueue = write_rect,
                                                    .touch = touch_rect};
static const struct command_type type_read_rect = {.kind = CLS_COMMAND_COPY_D2H,
                                                   .label = "copy_rect_d2h",
                                                   .enqueue = read_rect,
                                                   .touch = touch_rect};
static const struct command_type type_copy_rect = {.kind = CLS_COMMAND_COPY_D2D,
                                                   .label = "copy_rect_d2d",
                                                   .enqueue = copy_rect,
                                                   .touch = touch_rect};

/* Where one side of a rectangle ends; an empty one ends where it begins. False when that overflows. */
static bool rect_span(size_t offset, size_t pitch, size_t width, size_t height, size_t *end) {
    size_t rows;
    if (!width || !height) {
        *end = offset;
        return true;
    }
    return !__builtin_mul_overflow(pitch, height - 1, &rows) &&
           !__builtin_add_overflow(rows, width, end) && !__builtin_add_overflow(*end, offset, end);
}

static cls_status check_side(const struct buffer *buffer, size_t offset, size_t pitch,
                             const cls_rect *rect) {
    size_t end;
    if (!rect_span(offset, pitch, rect->width, rect->height, &end))
        return error_set(CLS_ERROR_OUT_OF_RANGE, "the rectangle's size overflows");
    if (buffer && end > buffer->bytes)
        return error_set(CLS_ERROR_OUT_OF_RANGE,
                         "the rectangle ends at byte %zu of a buffer of %zu", end, buffer->bytes);
    return CLS_SUCCESS;
}

static cls_status check_rect(const struct copy_call *t, const cls_rect *rect) {
    if (rect->dst_pitch < rect->width || rect->src_pitch < rect->width)
        return error_set(CLS_ERROR_INVALID_VALUE, "a pitch is below the width %zu", rect->width);
    cls_status status = check_side(t->to, rect->dst_offset, rect->dst_pitch, rect);
    return status ? status : check_side(t->from, rect->src_offset, rect->src_pitch, rect);
}

/* Begins a rectangle copy with the checks common to all three. For an empty rectangle it ends the call and sets
 * `*done`. */
static cls_status rect_begin(struct copy_call *t, cls_stream stream, const cls_buffer *to,
                             const cls_buffer *from, const cls_rect *rect, bool *done) {
    if (!rect)
        return error_set(CLS_ERROR_INVALID_VALUE, "the rectangle is null");
    cls_status status = copy_call_begin(t, stream, to, from);
    if (status)
        return status;
    status = check_rect(t, rect);
    *done = !rect->width || !rect->height;
    if (status || *done)
        return copy_call_end(t, status);
    t->command.bytes = rect->width * rect->height;
    return CLS_SUCCESS;
}

static size_t host_span(size_t offset, size_t pitch, const cls_rect *rect) {
    size_t end = 0;
    rect_span(offset, pitch, rect->width, rect->height, &end);
    return end;
}

static struct rect_2d to_buffer(const cls_rect *r) {
    return (struct rect_2d){r->width,     r->height,     r->dst_offset,
                            r->dst_pitch, r->src_offset, r->src_pitch};
}

static struct rect_2d from_buffer(const cls_rect *r) {
    return (struct rect_2d){r->width,     r->height,     r->src_offset,
                            r->src_pitch, r->dst_offset, r->dst_pitch};
}

/* Staged copies do without the driver's rectangles where those are wrong. */
static bool is_staged(const struct copy_call *t, bool to_device, const void *host, size_t span) {
    return !caps_trusts(t->stream->context->caps, TRUST_PADDED_ROWS) ||
           copy_call_is_staged(t, to_device, host, span);
}

static cls_status rect_h2d(cls_buffer dst, const void *src, const cls_rect *rect, cls_stream stream,
                           bool blocking) {
    struct copy_call t;
    bool done;
    cls_status status = rect_begin(&t, stream, &dst, NULL, rect, &done);
    if (status || done)
        return status;
    size_t span = host_span(rect->src_offset, rect->src_pitch, rect);
    status = copy_check_host(src, span);
    if (status)
        return copy_call_end(&t, status);
    bool stage = is_staged(&t, true, src, span);
    t.command.type = stage ? &type_staged_write_rect : &type_write_rect;
    t.command.u.rect = (struct rect_arguments){
        .to = t.to->memory, .host = (void *)(uintptr_t)src, .rect = to_buffer(rect)};
    return copy_call_submit(&t, blocking);
}

static cls_status rect_d2h(void *dst, cls_buffer src, const cls_rect *rect, cls_stream stream,
                           bool blocking) {
    struct copy_call t;
    bool done;
    cls_status status = rect_begin(&t, stream, NULL, &src, rect, &done);
    if (status || done)
        return status;
    size_t span = host_span(rect->dst_offset, rect->dst_pitch, rect);
    status = copy_check_host(dst, span);
    if (status)
        return copy_call_end(&t, status);
    bool stage = is_staged(&t, false, dst, span);
    t.command.type = stage ? &type_staged_read_rect : &type_read_rect;
    t.command.u.rect =
        (struct rect_arguments){.from = t.from->memory, .host = dst, .rect = from_buffer(rect)};
    return copy_call_submit(&t, blocking);
}

static bool rects_overlap(const cls_rect *r) {
    const struct rows dst = {r->dst_offset, r->width, r->dst_pitch, r->height};
    const struct rows src = {r->src_offset, r->width, r->src_pitch, r->height};
    return rows_overlap(&dst, &src);
}

/* Whether source and destination are the same bytes, if they are of one buffer. */
static bool is_onto_itself(const cls_rect *r) {
    return r->dst_offset == r->src_offset && (r->dst_pitch == r->src_pitch || r->height == 1);
}

static bool is_part(const struct device *device, const struct buffer *buffer) {
    struct memory_place place;
    memory_find(device, buffer->memory, &place);
    return place.root != buffer->memory;
}

/* Whether the rectangle's rows begin in one row of the pitch and end in the next. */
static bool is_split(size_t offset, size_t pitch, size_t width) {
    return offset % pitch > pitch - width;
}

/* OpenCL copies within one buffer between rows of one pitch only, and PoCL takes some of those that are split
 * for ones that overlap. */
static bool driver_can_copy(const struct copy_call *t, const cls_rect *rect) {
    const struct context *context = t->stream->context;
    if (!caps_trusts(context->caps, TRUST_RECTANGLES))
        return false;
    if (t->to->memory == t->from->memory &&
        (rect->dst_pitch != rect->src_pitch ||
         is_split(rect->dst_offset, rect->dst_pitch, rect->width) ||
         is_split(rect->src_offset, rect->src_pitch, rect->width)))
        return false;
    return caps_trusts(context->caps, TRUST_SUB_BUFFER_RECTANGLES) ||
           (!is_part(context->device, t->to) && !is_part(context->device, t->from));
}

static cls_status rect_d2d(cls_buffer dst, cls_buffer src, const cls_rect *rect, cls_stream stream,
                           bool blocking) {
    struct copy_call t;
    bool done;
    cls_status status = rect_begin(&t, stream, &dst, &src, rect, &done);
    if (status || done)
        return status;
    if (t.to->memory == t.from->memory && is_onto_itself(rect))
        return copy_call_end(&t, CLS_SUCCESS);
    if (t.to->memory == t.from->memory && rects_overlap(rect))
        return copy_call_end(&t,
                             error_set(CLS_ERROR_OVERLAP, "the rectangles overlap in one buffer"));
    if (!driver_can_copy(&t, rect)) {
        copy_call_end(&t, CLS_SUCCESS);
        return rect_by_kernel(dst, src, rect, stream, blocking);
    }
    t.command.type = &type_copy_rect;
    t.command.u.rect = (struct rect_arguments){
        .to = t.to->memory, .from = t.from->memory, .rect = from_buffer(rect)};
    return copy_call_submit(&t, blocking);
}

cls_status cls_copy_rect_h2d_async(cls_buffer dst, const void *src, const cls_rect *rect,
                                   cls_stream stream) {
    return rect_h2d(dst, src, rect, stream, false);
}

cls_status cls_copy_rect_h2d(cls_buffer dst, const void *src, const cls_rect *rect,
                             cls_stream stream) {
    return rect_h2d(dst, src, rect, stream, true);
}

cls_status cls_copy_rect_d2h_async(void *dst, cls_buffer src, const cls_rect *rect,
                                   cls_stream stream) {
    return rect_d2h(dst, src, rect, stream, false);
}

cls_status cls_copy_rect_d2h(void *dst, cls_buffer src, const cls_rect *rect, cls_stream stream) {
    return rect_d2h(dst, src, rect, stream, true);
}

cls_status cls_copy_rect_d2d_async(cls_buffer dst, cls_buffer src, const cls_rect *rect,
                                   cls_stream stream) {
    return rect_d2d(dst, src, rect, stream, false);
}

cls_status cls_copy_rect_d2d(cls_buffer dst, cls_buffer src, const cls_rect *rect,
                             cls_stream stream) {
    return rect_d2d(dst, src, rect, stream, true);
}
