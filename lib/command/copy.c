/* SPDX-License-Identifier: MIT */
/* Copies of contiguous bytes: host to device, device to host, and buffer to buffer. */
#include "base/error.h"
#include "command/by_kernel.h"
#include "command/copy_call.h"
#include "memory/peer.h"
#include "memory/staging.h"
#include "stream/context.h"
#include "stream/touch.h"
#include "stream/wait.h"

static cls_status write(struct target target, const struct command *command, struct wait_list waits,
                        cl_event *event) {
    return enqueue_write(target.device, target.queue, command->u.copy.to, command->u.copy.range,
                         command->u.copy.host, waits, event);
}

static cls_status copy(struct target target, const struct command *command, struct wait_list waits,
                       cl_event *event) {
    return enqueue_copy(target.device, target.queue, command->u.copy.to, command->u.copy.to_offset,
                        command->u.copy.from, command->u.copy.range, waits, event);
}

static const struct command_type type_write = {.kind = CLS_COMMAND_COPY_H2D,
                                               .capture = CAPTURE_COPY,
                                               .label = "copy_h2d",
                                               .enqueue = write,
                                               .touch = touch_copy};
static const struct command_type type_copy = {.kind = CLS_COMMAND_COPY_D2D,
                                              .capture = CAPTURE_COPY,
                                              .label = "copy_d2d",
                                              .enqueue = copy,
                                              .touch = touch_copy};

/* A copy between a buffer and host memory; a copy to the device only reads the host memory. */
struct host_copy {
    bool to_device;
    size_t offset; /* in the buffer */
    void *host;
    size_t bytes;
};

static cls_status fill_in(struct copy_call *t, const struct host_copy *copy) {
    static const struct command_type *const types[2][2] = {{&type_read, &type_staged_read},
                                                           {&type_write, &type_staged_write}};
    const struct buffer *buffer = copy->to_device ? t->to : t->from;
    cls_status status = copy_check_range(buffer, copy->offset, copy->bytes);
    if (!status)
        status = copy_check_host(copy->host, copy->bytes);
    if (status)
        return status;
    const bool staged = copy_call_is_staged(t, copy->to_device, copy->host, copy->bytes);
    t->command.type = types[copy->to_device][staged];
    t->command.bytes = copy->bytes;
    t->command.u.copy.to = copy->to_device ? buffer->memory : NULL;
    t->command.u.copy.from = copy->to_device ? NULL : buffer->memory;
    t->command.u.copy.host = copy->host;
    t->command.u.copy.to_offset = 0;
    t->command.u.copy.range = (struct range_1d){copy->offset, copy->bytes};
    return CLS_SUCCESS;
}

cls_status copy_call_prepare(struct copy_call *call, struct stream *stream, bool to_device,
                             cls_buffer buffer, size_t offset, void *host, size_t bytes) {
    const struct host_copy copy = {to_device, offset, host, bytes};
    cls_status status =
        copy_call_begin_on(call, stream, to_device ? &buffer : NULL, to_device ? NULL : &buffer);
    if (!status && (status = fill_in(call, &copy)) != CLS_SUCCESS)
        copy_call_drop(call);
    return status;
}

static cls_status copy_host(cls_buffer buffer, const struct host_copy *copy, cls_stream stream,
                            bool blocking) {
    struct copy_call t;
    cls_status status = copy_call_begin(&t, stream, copy->to_device ? &buffer : NULL,
                                        copy->to_device ? NULL : &buffer);
    if (status)
        return status;
    status = fill_in(&t, copy);
    return status || !copy->bytes ? copy_call_end(&t, status) : copy_call_submit(&t, blocking);
}

static cls_status h2d(cls_buffer dst, size_t offset, const void *src, size_t bytes,
                      cls_stream stream, bool blocking) {
    const struct host_copy copy = {true, offset, (void *)(uintptr_t)src, bytes};
    return copy_host(dst, &copy, stream, blocking);
}

static cls_status d2h(void *dst, cls_buffer src, size_t offset, size_t bytes, cls_stream stream,
                      bool blocking) {
    const struct host_copy copy = {false, offset, dst, bytes};
    return copy_host(src, &copy, stream, blocking);
}

cls_status copy_call_read_kept(struct stream *stream, struct buffer *src, size_t offset, void *dst,
                               size_t bytes) {
    cls_status status = buffer_check(src);
    if (status)
        return status;
    struct copy_call t = {.stream = stream, .from = src};
    object_retain(&stream->object);
    object_retain(&src->object);
    const struct host_copy copy = {false, offset, dst, bytes};
    status = fill_in(&t, &copy);
    return status || !bytes ? copy_call_end(&t, status) : copy_call_submit(&t, false);
}

bool copy_is_direct(struct context *context, const struct buffer *to, const struct buffer *from,
                    struct copy_ends *out) {
    return caps_trusts(context->caps, TRUST_ODD_COPIES) && copy_reach(context, to, from, out);
}

static cls_status d2d(cls_buffer dst, size_t dst_offset, cls_buffer src, size_t src_offset,
                      size_t bytes, cls_stream stream, bool blocking) {
    struct copy_call t;
    struct copy_ends ends;
    bool done = !bytes;
    const struct rect_3d rect = rect_1d(dst_offset, src_offset, bytes);
    cls_status status = copy_call_begin_crossing(&t, stream, &dst, &src);
    if (status)
        return status;
    status = copy_check_range(t.to, dst_offset, bytes);
    if (!status)
        status = copy_check_range(t.from, src_offset, bytes);
    if (!status && bytes)
        status = copy_call_check_overlap(&t, &rect, "source and destination", &done);
    if (status || done)
        return copy_call_end(&t, status);
    const bool direct = copy_is_direct(t.stream->context, t.to, t.from, &ends);
    if (!direct && t.to->context == t.from->context) {
        copy_call_end(&t, CLS_SUCCESS);
        return rect_by_kernel(dst, src, &rect, stream, blocking);
    }
    t.command.type = direct ? &type_copy : &type_peer_copy;
    t.command.bytes = bytes;
    if (direct)
        t.command.u.copy = (struct copy_arguments){.to = ends.to.memory,
                                                   .to_offset = dst_offset + ends.to.origin,
                                                   .from = ends.from.memory,
                                                   .range = {src_offset + ends.from.origin, bytes}};
    else
        t.command.u.peer = (struct peer_arguments){t.to, t.from, rect};
    return copy_call_submit(&t, blocking);
}

cls_status cls_copy_h2d_async(cls_buffer dst, size_t dst_offset, const void *src, size_t bytes,
                              cls_stream stream) {
    return h2d(dst, dst_offset, src, bytes, stream, false);
}

cls_status cls_copy_h2d(cls_buffer dst, size_t dst_offset, const void *src, size_t bytes,
                        cls_stream stream) {
    return h2d(dst, dst_offset, src, bytes, stream, true);
}

cls_status cls_copy_d2h_async(void *dst, cls_buffer src, size_t src_offset, size_t bytes,
                              cls_stream stream) {
    return d2h(dst, src, src_offset, bytes, stream, false);
}

cls_status cls_copy_d2h(void *dst, cls_buffer src, size_t src_offset, size_t bytes,
                        cls_stream stream) {
    return d2h(dst, src, src_offset, bytes, stream, true);
}

cls_status cls_copy_d2d_async(cls_buffer dst, size_t dst_offset, cls_buffer src, size_t src_offset,
                              size_t bytes, cls_stream stream) {
    return d2d(dst, dst_offset, src, src_offset, bytes, stream, false);
}

cls_status cls_copy_d2d(cls_buffer dst, size_t dst_offset, cls_buffer src, size_t src_offset,
                        size_t bytes, cls_stream stream) {
    return d2d(dst, dst_offset, src, src_offset, bytes, stream, true);
}

/* --- a buffer and its contents in one call --- */

cls_status cls_buffer_from_host(cls_context handle, const void *data, size_t bytes,
                                cls_buffer *out) {
    cls_buffer buffer;
    if (!data)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_buffer_from_host: data is null");
    cls_status status = buffer_check_create(bytes, out, "cls_buffer_from_host");
    if (!status)
        status = check_may_block();
    if (!status)
        status = cls_buffer_create(handle, bytes, &buffer);
    if (status)
        return status;
    status = cls_copy_h2d(buffer, 0, data, bytes, NULL);
    if (status) {
        cls_buffer_destroy(buffer);
        return status;
    }
    object_note_call(buffer, "cls_buffer_from_host");
    *out = buffer;
    return CLS_SUCCESS;
}

cls_status cls_buffer_to_host(cls_buffer buffer, void *data, size_t bytes) {
    return cls_copy_d2h(data, buffer, 0, bytes, NULL);
}
