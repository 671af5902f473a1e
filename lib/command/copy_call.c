/* SPDX-License-Identifier: MIT */
#include "command/copy_call.h"

#include "base/range.h"
#include "command/rect.h"
#include "memory/share.h"
#include "stream/context.h"
#include "stream/submit.h"
#include "stream/touch.h"
#include "stream/wait.h"

enum { SMALL_COPY = 64 << 10 };

cls_status copy_call_end(struct copy_call *call, cls_status status) {
    if (call->to)
        buffer_put(call->to);
    if (call->from)
        buffer_put(call->from);
    if (call->stream)
        stream_put(call->stream);
    return status;
}

/* The stream's context is that of both buffers, or, where the copy may cross, of one of them. */
static cls_status check_contexts(const struct copy_call *call) {
    const struct context *context = call->stream->context;
    const bool to_is_here = !call->to || call->to->context == context;
    const bool from_is_here = !call->from || call->from->context == context;
    if (call->may_cross ? to_is_here || from_is_here : to_is_here && from_is_here)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_WRONG_CONTEXT, "buffers and stream are of different contexts");
}

static cls_status get_stream(struct copy_call *call, cls_stream stream) {
    struct buffer *any = call->to ? call->to : call->from;
    cls_status status = stream_get(stream, any->context, &call->stream);
    if (!status)
        status = check_contexts(call);
    return status ? copy_call_end(call, status) : CLS_SUCCESS;
}

static bool reach(struct context *context, const struct buffer *buffer, struct copy_end *out) {
    if (buffer->context->cl != context->cl)
        return share_reach(buffer, context, &out->memory, &out->origin);
    *out = (struct copy_end){buffer->memory, 0};
    return true;
}

bool copy_reach(struct context *context, const struct buffer *to, const struct buffer *from,
                struct copy_ends *out) {
    return reach(context, to, &out->to) && reach(context, from, &out->from);
}

cls_status copy_call_check_overlap(const struct copy_call *call, const struct rect_3d *rect,
                                   const char *what, bool *same) {
    struct rect_3d placed = *rect;
    *same = false;
    if (!buffer_is_same_memory(call->to, call->from))
        return CLS_SUCCESS;
    placed.dst.offset += call->to->origin;
    placed.src.offset += call->from->origin;
    *same = rect_is_onto_itself(&placed);
    if (*same || !rect_overlaps(&placed))
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_OVERLAP, "%s overlap in one buffer", what);
}

/* Sets up a call that holds nothing yet; the command's type and arguments are the caller's to fill in. */
static void copy_call_init(struct copy_call *call) {
    call->stream = NULL;
    call->to = call->from = NULL;
    call->may_cross = false;
    command_init(&call->command, NULL, NULL);
}

static cls_status get_buffers(struct copy_call *call, const cls_buffer *to,
                              const cls_buffer *from) {
    copy_call_init(call);
    cls_status status = CLS_SUCCESS;
    if (to)
        status = buffer_get(*to, &call->to);
    if (!status && from)
        status = buffer_get(*from, &call->from);
    return status ? copy_call_end(call, status) : CLS_SUCCESS;
}

cls_status copy_call_begin(struct copy_call *call, cls_stream stream, const cls_buffer *to,
                           const cls_buffer *from) {
    cls_status status = get_buffers(call, to, from);
    return status ? status : get_stream(call, stream);
}

cls_status copy_call_begin_with(struct copy_call *call, cls_stream stream, struct buffer *to,
                                struct buffer *from) {
    copy_call_init(call);
    call->to = to;
    call->from = from;
    return get_stream(call, stream);
}

cls_status copy_call_begin_crossing(struct copy_call *call, cls_stream stream, const cls_buffer *to,
                                    const cls_buffer *from) {
    cls_status status = get_buffers(call, to, from);
    call->may_cross = true;
    return status ? status : get_stream(call, stream);
}

cls_status copy_call_begin_on(struct copy_call *call, struct stream *stream, const cls_buffer *to,
                              const cls_buffer *from) {
    cls_status status = get_buffers(call, to, from);
    if (status)
        return status;
    call->stream = stream;
    status = check_contexts(call);
    if (status)
        copy_call_drop(call);
    return status;
}

void copy_call_drop(struct copy_call *call) {
    call->stream = NULL;
    copy_call_end(call, CLS_SUCCESS);
}

cls_status copy_call_begin_moving(struct copy_call *call, cls_stream stream, cls_buffer buffer) {
    copy_call_init(call);
    cls_status status = buffer_find(buffer, &call->to);
    return status ? status : get_stream(call, stream);
}

bool copy_call_is_staged(const struct copy_call *call, bool to_device, const void *host,
                         size_t bytes) {
    const struct caps *caps = call->stream->context->caps;
    bool wanted = to_device ? caps->stage_writes : caps->stage_reads;
    return wanted && bytes > SMALL_COPY && !host_is_pinned(host, bytes);
}

cls_status copy_check_range(const struct buffer *buffer, size_t offset, size_t bytes) {
    return range_check(offset, bytes, buffer->bytes);
}

cls_status copy_check_host(const void *host, size_t bytes) {
    if (!host && bytes)
        return error_set(CLS_ERROR_INVALID_VALUE, "the host pointer is null");
    if (bytes > UINTPTR_MAX - (uintptr_t)host)
        return error_set(CLS_ERROR_OUT_OF_RANGE, "%zu bytes pass the end of memory", bytes);
    return CLS_SUCCESS;
}

/* The references move into the command, which has room. */
static void pass_buffers(struct copy_call *call) {
    if (call->to)
        command_keep(&call->command, &call->to->object);
    if (call->from)
        command_keep(&call->command, &call->from->object);
    call->to = call->from = NULL;
}

cls_status copy_call_submit_entered(struct copy_call *call, uint64_t *position) {
    pass_buffers(call);
    return stream_submit_entered(call->stream, &call->command, NULL, position);
}

cls_status copy_call_hand_in(struct copy_call *call, uint64_t *position) {
    pass_buffers(call);
    return stream_submit(call->stream, &call->command, position);
}

cls_status copy_call_submit(struct copy_call *call, bool blocking) {
    uint64_t position = 0;
    cls_status status = blocking ? check_may_block() : CLS_SUCCESS;
    if (!status)
        status = copy_call_hand_in(call, &position);
    if (!status && blocking)
        status = stream_wait(call->stream, position, WAIT_FOREVER);
    return copy_call_end(call, status);
}

/* --- the read that operations use too --- */

static cls_status read(struct target target, const struct command *command, struct wait_list waits,
                       cl_event *event) {
    return enqueue_read(target.device, target.queue, command->u.copy.from, command->u.copy.range,
                        command->u.copy.host, waits, event);
}

const struct command_type type_read = {.kind = CLS_COMMAND_COPY_D2H,
                                       .capture = CAPTURE_COPY,
                                       .label = "copy_d2h",
                                       .enqueue = read,
                                       .touch = touch_copy};
