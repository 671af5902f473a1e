/* SPDX-License-Identifier: MIT */
/* Fills of a buffer with a repeated pattern. */
#include <string.h>

#include "base/error.h"
#include "command/by_kernel.h"
#include "command/copy_call.h"
#include "stream/context.h"
#include "stream/touch.h"

static cls_status enqueue(struct target target, const struct command *command,
                          struct wait_list waits, cl_event *event) {
    return enqueue_fill(target.device, target.queue, command->u.fill.to, command->u.fill.range,
                        command->u.fill.pattern, command->u.fill.pattern_bytes, waits, event);
}

static const struct command_type type_fill = {
    .kind = CLS_COMMAND_FILL, .label = "fill", .enqueue = enqueue, .touch = touch_fill};

enum { PATTERN_MAX = 16 };

static cls_status check_pattern(size_t offset, size_t bytes, const void *pattern, size_t size) {
    if (!pattern)
        return error_set(CLS_ERROR_INVALID_VALUE, "the pattern is null");
    if (!size || size > PATTERN_MAX || (size & (size - 1)))
        return error_set(CLS_ERROR_INVALID_VALUE, "a pattern of %zu bytes: not 1, 2, 4, 8 or 16",
                         size);
    if (offset % size || bytes % size)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "offset %zu or size %zu is no multiple of the pattern's %zu bytes", offset,
                         bytes, size);
    return CLS_SUCCESS;
}

static cls_status fill(cls_buffer dst, size_t offset, size_t bytes, const void *pattern,
                       size_t pattern_bytes, cls_stream stream, bool blocking) {
    struct copy_call t;
    cls_status status = copy_call_begin(&t, stream, &dst, NULL);
    if (status)
        return status;
    status = check_pattern(offset, bytes, pattern, pattern_bytes);
    if (!status)
        status = copy_check_range(t.to, offset, bytes);
    if (status)
        return copy_call_end(&t, status);
    const bool by_kernel = !caps_trusts(t.stream->context->caps, TRUST_ODD_FILLS);
    if (!bytes || by_kernel) {
        copy_call_end(&t, CLS_SUCCESS);
        return bytes ? fill_by_kernel(dst, offset, bytes, pattern, pattern_bytes, stream, blocking)
                     : CLS_SUCCESS;
    }
    t.command.type = &type_fill;
    t.command.bytes = bytes;
    t.command.u.fill = (struct fill_arguments){
        .to = t.to->memory, .range = {offset, bytes}, .pattern_bytes = pattern_bytes};
    memcpy(t.command.u.fill.pattern, pattern, pattern_bytes);
    return copy_call_submit(&t, blocking);
}

cls_status cls_fill_async(cls_buffer dst, size_t offset, size_t bytes, const void *pattern,
                          size_t pattern_bytes, cls_stream stream) {
    return fill(dst, offset, bytes, pattern, pattern_bytes, stream, false);
}

cls_status cls_fill(cls_buffer dst, size_t offset, size_t bytes, const void *pattern,
                    size_t pattern_bytes, cls_stream stream) {
    return fill(dst, offset, bytes, pattern, pattern_bytes, stream, true);
}
