/* SPDX-License-Identifier: MIT */
/* Fills, and the prefetch hint. */
#include <string.h>

#include "base/error.h"
#include "core/context.h"
#include "core/transfer.h"
#include "driver/quirk.h"

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
    struct transfer t;
    cls_status status = transfer_begin(&t, stream, &dst, NULL);
    if (status)
        return status;
    status = check_pattern(offset, bytes, pattern, pattern_bytes);
    if (!status)
        status = transfer_check_range(t.to, offset, bytes);
    if (status)
        return transfer_end(&t, status);
    if (!bytes)
        return transfer_end(&t, CLS_SUCCESS);
    t.command.type = &type_fill;
    t.command.bytes = bytes;
    t.command.u.fill = (struct fill_arguments){
        .to = t.to->memory, .range = {offset, bytes}, .pattern_bytes = pattern_bytes};
    memcpy(t.command.u.fill.pattern, pattern, pattern_bytes);
    return transfer_submit(&t, blocking);
}

cls_status cls_fill_async(cls_buffer dst, size_t offset, size_t bytes, const void *pattern,
                          size_t pattern_bytes, cls_stream stream) {
    return fill(dst, offset, bytes, pattern, pattern_bytes, stream, false);
}

cls_status cls_fill(cls_buffer dst, size_t offset, size_t bytes, const void *pattern,
                    size_t pattern_bytes, cls_stream stream) {
    return fill(dst, offset, bytes, pattern, pattern_bytes, stream, true);
}

/* Coarse unified memory changes hands with the call: what comes after it finds it there. False: it is there
 * already. */
static bool change_hands(struct transfer *t) {
    struct buffer *buffer = t->to;
    t->command.u.migrate.by_turns = buffer;
    return atomic_exchange(&buffer->is_hosts, t->command.u.migrate.to_host) !=
           t->command.u.migrate.to_host;
}

static bool can_migrate_to_host(const struct transfer *t) {
    return !(t->stream->context->device->quirks & QUIRK_HOST_MIGRATION_CORRUPTS);
}

static cls_status prefetch(cls_buffer handle, cls_location where, cls_stream stream,
                           bool blocking) {
    struct transfer t;
    if (where != CLS_TO_DEVICE && where != CLS_TO_HOST)
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_location", (int)where);
    cls_status status = transfer_begin_moving(&t, stream, handle);
    if (status)
        return status;
    struct buffer *buffer = t.to;
    if (where == CLS_TO_HOST && !buffer->is_coarse && !can_migrate_to_host(&t)) {
        command_init(&t.command, &type_marker, "prefetch");
        return transfer_submit(&t, blocking);
    }
    bool late = t.stream->context->caps->migrate_blocks;
    t.command.u.migrate =
        (struct migration){.memory = &buffer->memory, .to_host = where == CLS_TO_HOST};
    t.command.type = late ? &type_late_migrate : &type_migrate;
    if (!buffer->is_coarse)
        return transfer_submit(&t, blocking);
    object_retain(&buffer->object);
    bool changed = change_hands(&t);
    if (!changed)
        command_init(&t.command, &type_marker, "prefetch");
    status = transfer_submit(&t, blocking);
    if (changed && status) /* perhaps the work before it failed, and the change was handed over */
        discard_migrate(&t.command);
    buffer_put(buffer);
    return status;
}

cls_status cls_prefetch_async(cls_buffer buffer, cls_location where, cls_stream stream) {
    return prefetch(buffer, where, stream, false);
}

cls_status cls_prefetch(cls_buffer buffer, cls_location where, cls_stream stream) {
    return prefetch(buffer, where, stream, true);
}
