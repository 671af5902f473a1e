/* SPDX-License-Identifier: MIT */
/* Copies of rectangles: host to device, device to host, and buffer to buffer. */
#include <stdint.h>

#include "base/error.h"
#include "command/by_kernel.h"
#include "command/copy_call.h"
#include "command/rect.h"
#include "driver/memory.h"
#include "memory/peer.h"
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
                                                    .capture = CAPTURE_RECT,
                                                    .label = "copy_rect_h2d",
                                                    .enqueue = write_rect,
                                                    .touch = touch_rect};
static const struct command_type type_read_rect = {.kind = CLS_COMMAND_COPY_D2H,
                                                   .capture = CAPTURE_RECT,
                                                   .label = "copy_rect_d2h",
                                                   .enqueue = read_rect,
                                                   .touch = touch_rect};
static const struct command_type type_copy_rect = {.kind = CLS_COMMAND_COPY_D2D,
                                                   .capture = CAPTURE_RECT,
                                                   .label = "copy_rect_d2d",
                                                   .enqueue = copy_rect,
                                                   .touch = touch_rect};

/* Takes the rectangle of a call that has begun. Where it is refused or empty, ends the call and sets `*done`. */
static cls_status read_call(struct copy_call *t, const cls_rect *rect, struct rect_3d *out,
                            bool *done) {
    cls_status status =
        rect_read(rect, t->to ? t->to->bytes : SIZE_MAX, t->from ? t->from->bytes : SIZE_MAX, out);
    *done = status || !out->depth;
    if (*done)
        return copy_call_end(t, status);
    t->command.bytes = rect_bytes(out);
    return CLS_SUCCESS;
}

/* Staged copies do without the driver's rectangles where those are wrong. */
static bool is_staged(const struct copy_call *t, const struct rect_3d *rect, bool to_device,
                      const void *host, size_t span) {
    return !caps_trusts(t->stream->context->caps, TRUST_PADDED_ROWS) || !rect_is_cl(rect) ||
           copy_call_is_staged(t, to_device, host, span);
}

static cls_status rect_h2d(cls_buffer dst, const void *src, const cls_rect *given,
                           cls_stream stream, bool blocking) {
    struct copy_call t;
    struct rect_3d rect;
    bool done;
    cls_status status = rect_check_given(given);
    if (!status)
        status = copy_call_begin(&t, stream, &dst, NULL);
    if (status)
        return status;
    status = read_call(&t, given, &rect, &done);
    if (done)
        return status;
    const size_t span = rect_end(&rect, &rect.src);
    status = copy_check_host(src, span);
    if (status)
        return copy_call_end(&t, status);
    const bool stage = is_staged(&t, &rect, true, src, span);
    t.command.type = stage ? &type_staged_write_rect : &type_write_rect;
    t.command.u.rect =
        (struct rect_arguments){.to = t.to->memory, .host = (void *)(uintptr_t)src, .rect = rect};
    return copy_call_submit(&t, blocking);
}

static cls_status rect_d2h(void *dst, cls_buffer src, const cls_rect *given, cls_stream stream,
                           bool blocking) {
    struct copy_call t;
    struct rect_3d rect;
    bool done;
    cls_status status = rect_check_given(given);
    if (!status)
        status = copy_call_begin(&t, stream, NULL, &src);
    if (status)
        return status;
    status = read_call(&t, given, &rect, &done);
    if (done)
        return status;
    const size_t span = rect_end(&rect, &rect.dst);
    status = copy_check_host(dst, span);
    if (status)
        return copy_call_end(&t, status);
    const bool stage = is_staged(&t, &rect, false, dst, span);
    t.command.type = stage ? &type_staged_read_rect : &type_read_rect;
    t.command.u.rect = (struct rect_arguments){.from = t.from->memory, .host = dst, .rect = rect};
    return copy_call_submit(&t, blocking);
}

static bool is_part(const struct device *device, cl_mem memory) {
    struct memory_place place;
    memory_find(device, memory, &place);
    return place.root != memory;
}

/* Whether the rectangle's rows begin in one row of the pitch and end in the next. */
static bool is_split(const struct rect_side *side, size_t width) {
    return side->offset % side->pitch > side->pitch - width;
}

/* OpenCL copies within one buffer between sides of one shape only, and PoCL takes some of those that are split or have
 * several slices for ones that overlap. */
static bool fits_one_buffer(const struct rect_3d *rect) {
    return rect->depth == 1 && rect->dst.pitch == rect->src.pitch &&
           !is_split(&rect->dst, rect->width) && !is_split(&rect->src, rect->width);
}

static bool driver_can_copy(const struct copy_call *t, const struct rect_3d *rect,
                            struct copy_ends *ends) {
    struct context *context = t->stream->context;
    if (!caps_trusts(context->caps, TRUST_RECTANGLES) || !rect_is_cl(rect) ||
        !copy_reach(context, t->to, t->from, ends))
        return false;
    if (ends->to.memory == ends->from.memory && !fits_one_buffer(rect))
        return false;
    return caps_trusts(context->caps, TRUST_SUB_BUFFER_RECTANGLES) ||
           (!is_part(context->device, ends->to.memory) &&
            !is_part(context->device, ends->from.memory));
}

static cls_status rect_d2d(cls_buffer dst, cls_buffer src, const cls_rect *given, cls_stream stream,
                           bool blocking) {
    struct copy_call t;
    struct rect_3d rect;
    struct copy_ends ends;
    bool done;
    cls_status status = rect_check_given(given);
    if (!status)
        status = copy_call_begin_crossing(&t, stream, &dst, &src);
    if (status)
        return status;
    status = read_call(&t, given, &rect, &done);
    if (done)
        return status;
    status = copy_call_check_overlap(&t, &rect, "the rectangles", &done);
    if (status || done)
        return copy_call_end(&t, status);
    const bool by_driver = driver_can_copy(&t, &rect, &ends);
    if (!by_driver && t.to->context == t.from->context) {
        copy_call_end(&t, CLS_SUCCESS);
        return rect_by_kernel(dst, src, &rect, stream, blocking);
    }
    t.command.type = by_driver ? &type_copy_rect : &type_peer_copy_rect;
    if (by_driver) {
        rect.dst.offset += ends.to.origin;
        rect.src.offset += ends.from.origin;
        t.command.u.rect =
            (struct rect_arguments){.to = ends.to.memory, .from = ends.from.memory, .rect = rect};
    } else {
        t.command.u.peer = (struct peer_arguments){t.to, t.from, rect};
    }
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
