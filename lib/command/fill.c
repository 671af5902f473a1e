/* SPDX-License-Identifier: MIT */
/* Fills of a buffer, or of a rectangle in it, with a repeated pattern. */
#include <string.h>

#include "base/error.h"
#include "command/by_kernel.h"
#include "command/copy_call.h"
#include "command/rect.h"
#include "stream/context.h"
#include "stream/touch.h"

static cls_status enqueue(struct target target, const struct command *command,
                          struct wait_list waits, cl_event *event) {
    return enqueue_fill(target.device, target.queue, command->u.fill.to, command->u.fill.range,
                        command->u.fill.pattern, command->u.fill.pattern_bytes, waits, event);
}

static const struct command_type type_fill = {.kind = CLS_COMMAND_FILL,
                                              .capture = CAPTURE_FILL,
                                              .label = "fill",
                                              .enqueue = enqueue,
                                              .touch = touch_fill};

/* A pattern, of the caller's. */
struct pattern {
    const void *bytes;
    size_t size;
};

enum { PATTERN_MAX = 16 };

static cls_status check_pattern(const struct pattern *pattern) {
    if (!pattern->bytes)
        return error_set(CLS_ERROR_INVALID_VALUE, "the pattern is null");
    if (!pattern->size || pattern->size > PATTERN_MAX || (pattern->size & (pattern->size - 1)))
        return error_set(CLS_ERROR_INVALID_VALUE, "a pattern of %zu bytes: not 1, 2, 4, 8 or 16",
                         pattern->size);
    return CLS_SUCCESS;
}

static cls_status check_multiples(const struct pattern *pattern, size_t offset, size_t bytes) {
    if (offset % pattern->size || bytes % pattern->size)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "offset %zu or size %zu is no multiple of the pattern's %zu bytes", offset,
                         bytes, pattern->size);
    return CLS_SUCCESS;
}

static cls_status check_pitches(const struct pattern *pattern, const struct rect_3d *rect) {
    if ((rect->height > 1 && rect->dst.pitch % pattern->size) ||
        (rect->depth > 1 && rect->dst.slice % pattern->size))
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "a pitch is no multiple of the pattern's %zu bytes", pattern->size);
    return CLS_SUCCESS;
}

/* Submits a checked fill, and ends the call. A driver fills bytes in a row only. */
static cls_status submit(struct copy_call *t, cls_buffer dst, const struct rect_3d *rect,
                         const struct pattern *pattern, cls_stream stream, bool blocking) {
    const size_t bytes = rect_bytes(rect);
    if (!bytes)
        return copy_call_end(t, CLS_SUCCESS);
    if (!rect_is_flat(rect, &rect->dst) ||
        !caps_trusts(t->stream->context->caps, TRUST_ODD_FILLS)) {
        copy_call_end(t, CLS_SUCCESS);
        return fill_by_kernel(dst, rect, pattern->bytes, pattern->size, stream, blocking);
    }
    t->command.type = &type_fill;
    t->command.bytes = bytes;
    t->command.u.fill = (struct fill_arguments){
        .to = t->to->memory,
        .range = {rect->dst.offset, bytes},
        .pattern_bytes = caps_fill_width(t->stream->context->caps, pattern->bytes, pattern->size,
                                         rect->dst.offset, bytes)};
    for (size_t i = 0; i < PATTERN_MAX; i += pattern->size)
        memcpy(t->command.u.fill.pattern + i, pattern->bytes, pattern->size);
    return copy_call_submit(t, blocking);
}

static cls_status fill(cls_buffer dst, size_t offset, size_t bytes, struct pattern pattern,
                       cls_stream stream, bool blocking) {
    struct copy_call t;
    cls_status status = copy_call_begin(&t, stream, &dst, NULL);
    if (status)
        return status;
    status = check_pattern(&pattern);
    if (!status)
        status = check_multiples(&pattern, offset, bytes);
    if (!status)
        status = copy_check_range(t.to, offset, bytes);
    if (status)
        return copy_call_end(&t, status);
    const struct rect_3d rect = rect_1d(offset, offset, bytes);
    return submit(&t, dst, &rect, &pattern, stream, blocking);
}

/* The source counts for nothing: it is taken to be of the destination's shape. */
static cls_status read_fill_rect(const struct buffer *to, const cls_rect *given,
                                 struct rect_3d *out) {
    cls_rect rect = *given;
    rect.src_offset = rect.dst_offset;
    rect.src_pitch = rect.dst_pitch;
    rect.src_slice_pitch = rect.dst_slice_pitch;
    return rect_read(&rect, to->bytes, to->bytes, out);
}

static cls_status fill_rect(cls_buffer dst, const cls_rect *given, struct pattern pattern,
                            cls_stream stream, bool blocking) {
    struct copy_call t;
    struct rect_3d rect;
    cls_status status = rect_check_given(given);
    if (!status)
        status = copy_call_begin(&t, stream, &dst, NULL);
    if (status)
        return status;
    status = check_pattern(&pattern);
    if (!status)
        status = read_fill_rect(t.to, given, &rect);
    if (!status)
        status = check_multiples(&pattern, rect.dst.offset, rect.width);
    if (!status)
        status = check_pitches(&pattern, &rect);
    return status ? copy_call_end(&t, status) : submit(&t, dst, &rect, &pattern, stream, blocking);
}

cls_status cls_fill_async(cls_buffer dst, size_t offset, size_t bytes, const void *pattern,
                          size_t pattern_bytes, cls_stream stream) {
    return fill(dst, offset, bytes, (struct pattern){pattern, pattern_bytes}, stream, false);
}

cls_status cls_fill(cls_buffer dst, size_t offset, size_t bytes, const void *pattern,
                    size_t pattern_bytes, cls_stream stream) {
    return fill(dst, offset, bytes, (struct pattern){pattern, pattern_bytes}, stream, true);
}

cls_status cls_fill_rect_async(cls_buffer dst, const cls_rect *rect, const void *pattern,
                               size_t pattern_bytes, cls_stream stream) {
    return fill_rect(dst, rect, (struct pattern){pattern, pattern_bytes}, stream, false);
}

cls_status cls_fill_rect(cls_buffer dst, const cls_rect *rect, const void *pattern,
                         size_t pattern_bytes, cls_stream stream) {
    return fill_rect(dst, rect, (struct pattern){pattern, pattern_bytes}, stream, true);
}
