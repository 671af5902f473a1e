/* SPDX-License-Identifier: MIT */
/* Prefetches: hints, but for coarse unified memory, which they hand over. */
#include "base/error.h"
#include "command/copy_call.h"
#include "driver/quirk.h"
#include "stream/context.h"

static bool can_migrate_to_host(const struct copy_call *t) {
    return !(t->stream->context->device->quirks & QUIRK_HOST_MIGRATION_CORRUPTS);
}

static cls_status prepare(struct copy_call *t, bool to_host) {
    struct buffer *buffer = t->to;
    if (to_host && !buffer->svm_owner && !can_migrate_to_host(t)) {
        command_init(&t->command, &type_marker, "prefetch");
        return CLS_SUCCESS;
    }
    t->command.type = t->stream->context->caps->migrate_blocks ? &type_late_migrate : &type_migrate;
    t->command.u.migrate = (struct migration){.memory = &buffer->memory, .to_host = to_host};
    if (!buffer->svm_owner)
        return CLS_SUCCESS;
    t->command.u.migrate.by_turns = buffer;
    return svm_owner_pass(buffer->svm_owner, t->stream, to_host, &t->command.u.migrate.prefetch);
}

/* The command keeps the buffer, but one that is refused does not. */
static cls_status submit(struct copy_call *t, uint64_t *position) {
    struct svm_owner *svm_owner = t->to->svm_owner;
    if (!svm_owner)
        return copy_call_hand_in(t, position);
    struct buffer *buffer = t->to;
    object_retain(&buffer->object);
    cls_status status = copy_call_hand_in(t, position);
    status = svm_owner_submitted(svm_owner, t->stream, *position, status);
    buffer_put(buffer);
    return status;
}

static cls_status prefetch(cls_buffer handle, cls_location where, cls_stream stream,
                           bool blocking) {
    struct copy_call t;
    uint64_t position = 0;
    if (where != CLS_TO_DEVICE && where != CLS_TO_HOST)
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_location", (int)where);
    cls_status status = copy_call_begin_moving(&t, stream, handle);
    if (status)
        return status;
    if (blocking)
        status = check_may_block();
    if (!status)
        status = prepare(&t, where == CLS_TO_HOST);
    if (!status)
        status = submit(&t, &position);
    if (!status && blocking)
        status = stream_wait(t.stream, position, WAIT_FOREVER);
    return copy_call_end(&t, status);
}

cls_status cls_prefetch_async(cls_buffer buffer, cls_location where, cls_stream stream) {
    return prefetch(buffer, where, stream, false);
}

cls_status cls_prefetch(cls_buffer buffer, cls_location where, cls_stream stream) {
    return prefetch(buffer, where, stream, true);
}
