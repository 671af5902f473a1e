/* SPDX-License-Identifier: MIT */
/* Copies of one dimension. */
#include "base/error.h"
#include "core/context.h"
#include "core/transfer.h"

static cls_status fill_h2d(struct transfer *t, size_t offset, const void *src, size_t bytes) {
    cls_status status = transfer_check_range(t->to, offset, bytes);
    if (!status)
        status = transfer_check_host(src, bytes);
    if (status)
        return status;
    bool stage = transfer_is_staged(t, true, src, bytes);
    t->command.type = stage ? &type_staged_write : &type_write;
    t->command.bytes = bytes;
    t->command.u.copy = (struct copy_arguments){
        .to = t->to->memory, .host = (void *)(uintptr_t)src, .range = {offset, bytes}};
    return CLS_SUCCESS;
}

static cls_status fill_d2h(struct transfer *t, void *dst, size_t offset, size_t bytes) {
    cls_status status = transfer_check_range(t->from, offset, bytes);
    if (!status)
        status = transfer_check_host(dst, bytes);
    if (status)
        return status;
    bool stage = transfer_is_staged(t, false, dst, bytes);
    t->command.type = stage ? &type_staged_read : &type_read;
    t->command.bytes = bytes;
    t->command.u.copy =
        (struct copy_arguments){.from = t->from->memory, .host = dst, .range = {offset, bytes}};
    return CLS_SUCCESS;
}

cls_status transfer_prepare_h2d(struct transfer *transfer, struct stream *stream, cls_buffer dst,
                                size_t offset, const void *src, size_t bytes) {
    cls_status status = transfer_begin_on(transfer, stream, &dst, NULL);
    if (!status && (status = fill_h2d(transfer, offset, src, bytes)) != CLS_SUCCESS)
        transfer_drop(transfer);
    return status;
}

cls_status transfer_prepare_d2h(struct transfer *transfer, struct stream *stream, cls_buffer src,
                                size_t offset, void *dst, size_t bytes) {
    cls_status status = transfer_begin_on(transfer, stream, NULL, &src);
    if (!status && (status = fill_d2h(transfer, dst, offset, bytes)) != CLS_SUCCESS)
        transfer_drop(transfer);
    return status;
}

static cls_status h2d(cls_buffer dst, size_t offset, const void *src, size_t bytes,
                      cls_stream stream, bool blocking) {
    struct transfer t;
    cls_status status = transfer_begin(&t, stream, &dst, NULL);
    if (status)
        return status;
    status = fill_h2d(&t, offset, src, bytes);
    return status || !bytes ? transfer_end(&t, status) : transfer_submit(&t, blocking);
}

static cls_status d2h(void *dst, cls_buffer src, size_t offset, size_t bytes, cls_stream stream,
                      bool blocking) {
    struct transfer t;
    cls_status status = transfer_begin(&t, stream, NULL, &src);
    if (status)
        return status;
    status = fill_d2h(&t, dst, offset, bytes);
    return status || !bytes ? transfer_end(&t, status) : transfer_submit(&t, blocking);
}

cls_status transfer_read_kept(struct stream *stream, struct buffer *src, size_t offset, void *dst,
                              size_t bytes) {
    cls_status status = buffer_check(src);
    if (status)
        return status;
    struct transfer t = {.stream = stream, .from = src};
    object_retain(&stream->object);
    object_retain(&src->object);
    status = fill_d2h(&t, dst, offset, bytes);
    return status || !bytes ? transfer_end(&t, status) : transfer_submit(&t, false);
}

static cls_status d2d(cls_buffer dst, size_t dst_offset, cls_buffer src, size_t src_offset,
                      size_t bytes, cls_stream stream, bool blocking) {
    struct transfer t;
    cls_status status = transfer_begin(&t, stream, &dst, &src);
    if (status)
        return status;
    status = transfer_check_range(t.to, dst_offset, bytes);
    if (!status)
        status = transfer_check_range(t.from, src_offset, bytes);
    size_t apart = dst_offset > src_offset ? dst_offset - src_offset : src_offset - dst_offset;
    if (!status && t.to->memory == t.from->memory && bytes && apart < bytes)
        status = error_set(CLS_ERROR_OVERLAP, "source and destination overlap in one buffer");
    if (status)
        return transfer_end(&t, status);
    if (!bytes)
        return transfer_end(&t, CLS_SUCCESS);
    t.command.type = &type_copy;
    t.command.bytes = bytes;
    t.command.u.copy = (struct copy_arguments){.to = t.to->memory,
                                               .to_offset = dst_offset,
                                               .from = t.from->memory,
                                               .range = {src_offset, bytes}};
    return transfer_submit(&t, blocking);
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
