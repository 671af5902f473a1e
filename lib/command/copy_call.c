/* SPDX-License-Identifier: MIT */
#include "command/copy_call.h"

#include "base/range.h"
#include "stream/context.h"

enum { SMALL_COPY = 64 << 10 };

cls_status transfer_end(struct transfer *transfer, cls_status status) {
    if (transfer->to)
        buffer_put(transfer->to);
    if (transfer->from)
        buffer_put(transfer->from);
    if (transfer->stream)
        stream_put(transfer->stream);
    return status;
}

static cls_status check_contexts(const struct transfer *transfer) {
    const struct context *context = transfer->stream->context;
    if ((transfer->to && transfer->to->context != context) ||
        (transfer->from && transfer->from->context != context))
        return error_set(CLS_ERROR_WRONG_CONTEXT, "buffers and stream are of different contexts");
    return CLS_SUCCESS;
}

static cls_status take_stream(struct transfer *transfer, cls_stream stream) {
    struct buffer *any = transfer->to ? transfer->to : transfer->from;
    cls_status status = stream_get(stream, any->context, &transfer->stream);
    if (!status)
        status = check_contexts(transfer);
    return status ? transfer_end(transfer, status) : CLS_SUCCESS;
}

/* Nothing is held, and the command without its type and arguments. */
static void transfer_init(struct transfer *transfer) {
    transfer->stream = NULL;
    transfer->to = transfer->from = NULL;
    command_init(&transfer->command, NULL, NULL);
}

static cls_status take_buffers(struct transfer *transfer, const cls_buffer *to,
                               const cls_buffer *from) {
    transfer_init(transfer);
    cls_status status = CLS_SUCCESS;
    if (to)
        status = buffer_get(*to, &transfer->to);
    if (!status && from)
        status = buffer_get(*from, &transfer->from);
    return status ? transfer_end(transfer, status) : CLS_SUCCESS;
}

cls_status transfer_begin(struct transfer *transfer, cls_stream stream, const cls_buffer *to,
                          const cls_buffer *from) {
    cls_status status = take_buffers(transfer, to, from);
    return status ? status : take_stream(transfer, stream);
}

cls_status transfer_begin_on(struct transfer *transfer, struct stream *stream, const cls_buffer *to,
                             const cls_buffer *from) {
    cls_status status = take_buffers(transfer, to, from);
    if (status)
        return status;
    transfer->stream = stream;
    status = check_contexts(transfer);
    if (status)
        transfer_drop(transfer);
    return status;
}

void transfer_drop(struct transfer *transfer) {
    transfer->stream = NULL;
    transfer_end(transfer, CLS_SUCCESS);
}

cls_status transfer_begin_moving(struct transfer *transfer, cls_stream stream, cls_buffer buffer) {
    transfer_init(transfer);
    cls_status status = buffer_find(buffer, &transfer->to);
    return status ? status : take_stream(transfer, stream);
}

bool transfer_is_staged(const struct transfer *transfer, bool to_device, const void *host,
                        size_t bytes) {
    const struct caps *caps = transfer->stream->context->caps;
    bool wanted = to_device ? caps->stage_writes : caps->stage_reads;
    return wanted && bytes > SMALL_COPY && !host_is_pinned(host, bytes);
}

cls_status transfer_check_range(const struct buffer *buffer, size_t offset, size_t bytes) {
    return range_check(offset, bytes, buffer->bytes);
}

cls_status transfer_check_host(const void *host, size_t bytes) {
    if (!host && bytes)
        return error_set(CLS_ERROR_INVALID_VALUE, "the host pointer is null");
    if (bytes > UINTPTR_MAX - (uintptr_t)host)
        return error_set(CLS_ERROR_OUT_OF_RANGE, "%zu bytes pass the end of memory", bytes);
    return CLS_SUCCESS;
}

/* The references move into the command, which has room. */
static void pass_buffers(struct transfer *transfer) {
    if (transfer->to)
        command_keep(&transfer->command, &transfer->to->object);
    if (transfer->from)
        command_keep(&transfer->command, &transfer->from->object);
    transfer->to = transfer->from = NULL;
}

cls_status transfer_submit_entered(struct transfer *transfer, uint64_t *position) {
    pass_buffers(transfer);
    return stream_submit_entered(transfer->stream, &transfer->command, NULL, position);
}

cls_status transfer_hand_in(struct transfer *transfer, uint64_t *position) {
    pass_buffers(transfer);
    return stream_submit(transfer->stream, &transfer->command, position);
}

cls_status transfer_submit(struct transfer *transfer, bool blocking) {
    uint64_t position = 0;
    cls_status status = blocking ? check_may_block() : CLS_SUCCESS;
    if (!status)
        status = transfer_hand_in(transfer, &position);
    if (!status && blocking)
        status = stream_wait(transfer->stream, position, WAIT_FOREVER);
    return transfer_end(transfer, status);
}
