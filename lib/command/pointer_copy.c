/* SPDX-License-Identifier: MIT */
/* Copies and fills by pointers: they look up what the pointers name, and are the calls by handles from there on. */
#include <clstream/pointer.h>

#include "base/error.h"
#include "base/process.h"
#include "command/copy_call.h"
#include "command/rect.h"
#include "memory/pointers.h"

/* --- copies --- */

/* Either side of a copy; memory of the host's has no buffer. */
struct ends {
    void *to_host;
    const void *from_host;
    struct pointed to, from;
};

/* Unified memory that belongs to the host is the host's. */
static cls_status find_copy_end(const void *pointer, struct pointed *out) {
    cls_status status = pointer_find(pointer, out);
    if (!status && out->buffer && pointed_is_hosts(out))
        *out = (struct pointed){.buffer = NULL};
    return status;
}

static cls_status find_copy_ends(void *dst, const void *src, struct ends *out) {
    cls_status status = process_check();
    out->to_host = dst;
    out->from_host = src;
    if (!status)
        status = find_copy_end(dst, &out->to);
    return status ? status : find_copy_end(src, &out->from);
}

static cls_status copy_async(const struct ends *ends, size_t bytes, cls_stream stream) {
    const struct pointed *to = &ends->to, *from = &ends->from;
    if (to->buffer && from->buffer)
        return cls_copy_d2d_async(to->buffer, to->offset, from->buffer, from->offset, bytes,
                                  stream);
    if (to->buffer)
        return cls_copy_h2d_async(to->buffer, to->offset, ends->from_host, bytes, stream);
    if (from->buffer)
        return cls_copy_d2h_async(ends->to_host, from->buffer, from->offset, bytes, stream);
    return cls_copy_h2h_async(ends->to_host, ends->from_host, bytes, stream);
}

static cls_status copy_now(const struct ends *ends, size_t bytes, cls_stream stream) {
    const struct pointed *to = &ends->to, *from = &ends->from;
    if (to->buffer && from->buffer)
        return cls_copy_d2d(to->buffer, to->offset, from->buffer, from->offset, bytes, stream);
    if (to->buffer)
        return cls_copy_h2d(to->buffer, to->offset, ends->from_host, bytes, stream);
    if (from->buffer)
        return cls_copy_d2h(ends->to_host, from->buffer, from->offset, bytes, stream);
    return cls_copy_h2h(ends->to_host, ends->from_host, bytes, stream);
}

cls_status cls_memcpy_async(void *dst, const void *src, size_t bytes, cls_stream stream) {
    struct ends ends;
    if (!bytes)
        return pointer_check_stream(stream);
    cls_status status = find_copy_ends(dst, src, &ends);
    return status ? status : copy_async(&ends, bytes, stream);
}

cls_status cls_memcpy(void *dst, const void *src, size_t bytes, cls_stream stream) {
    struct ends ends;
    if (!bytes)
        return pointer_check_stream(stream);
    cls_status status = find_copy_ends(dst, src, &ends);
    return status ? status : copy_now(&ends, bytes, stream);
}

/* --- rows --- */

static cls_status rows_async(const struct ends *ends, const cls_rect *rect, cls_stream stream) {
    const cls_buffer to = ends->to.buffer, from = ends->from.buffer;
    if (to && from)
        return cls_copy_rect_d2d_async(to, from, rect, stream);
    if (to)
        return cls_copy_rect_h2d_async(to, ends->from_host, rect, stream);
    if (from)
        return cls_copy_rect_d2h_async(ends->to_host, from, rect, stream);
    return cls_copy_rect_h2h_async(ends->to_host, ends->from_host, rect, stream);
}

static cls_status rows_now(const struct ends *ends, const cls_rect *rect, cls_stream stream) {
    const cls_buffer to = ends->to.buffer, from = ends->from.buffer;
    if (to && from)
        return cls_copy_rect_d2d(to, from, rect, stream);
    if (to)
        return cls_copy_rect_h2d(to, ends->from_host, rect, stream);
    if (from)
        return cls_copy_rect_d2h(ends->to_host, from, rect, stream);
    return cls_copy_rect_h2h(ends->to_host, ends->from_host, rect, stream);
}

static cls_status rows(void *dst, const void *src, cls_rect rect, cls_stream stream,
                       bool blocking) {
    struct ends ends;
    if (!rect.width || !rect.height)
        return pointer_check_stream(stream);
    cls_status status = find_copy_ends(dst, src, &ends);
    if (status)
        return status;
    rect.dst_offset = ends.to.offset;
    rect.src_offset = ends.from.offset;
    return blocking ? rows_now(&ends, &rect, stream) : rows_async(&ends, &rect, stream);
}

cls_status cls_memcpy_2d_async(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                               size_t width, size_t height, cls_stream stream) {
    const cls_rect rect = {width, height, 0, dst_pitch, 0, src_pitch, 0, 0, 0};
    return rows(dst, src, rect, stream, false);
}

cls_status cls_memcpy_2d(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                         size_t width, size_t height, cls_stream stream) {
    const cls_rect rect = {width, height, 0, dst_pitch, 0, src_pitch, 0, 0, 0};
    return rows(dst, src, rect, stream, true);
}

/* --- fills --- */

/* Where the host can set the memory: pinned memory, and unified memory that belongs to the host. */
static cls_status find_on_host(const void *dst, struct pointed *at) {
    struct host_block block;
    if (at->buffer)
        return CLS_SUCCESS;
    if (!host_find_block(dst, &block))
        return pointer_is_unknown(dst);
    at->start = (uintptr_t)block.start;
    at->bytes = block.bytes;
    at->offset = (size_t)((uintptr_t)dst - at->start);
    return CLS_SUCCESS;
}

static cls_status set_on_host(void *dst, struct pointed *at, cls_rect given, unsigned char byte,
                              cls_stream stream, bool blocking) {
    struct rect_3d rect;
    cls_status status = find_on_host(dst, at);
    given.dst_offset = given.src_offset = at->offset;
    if (!status)
        status = rect_read(&given, at->bytes, at->bytes, &rect);
    if (status)
        return status;
    rect.dst.offset = 0;
    return host_fill(dst, &rect, byte, stream, blocking);
}

static cls_status set_on_device(const struct pointed *at, cls_rect rect, unsigned char byte,
                                cls_stream stream, bool blocking) {
    if (rect.height == 1 && rect.width <= rect.dst_pitch)
        return blocking ? cls_fill(at->buffer, at->offset, rect.width, &byte, 1, stream)
                        : cls_fill_async(at->buffer, at->offset, rect.width, &byte, 1, stream);
    rect.dst_offset = at->offset;
    return blocking ? cls_fill_rect(at->buffer, &rect, &byte, 1, stream)
                    : cls_fill_rect_async(at->buffer, &rect, &byte, 1, stream);
}

static cls_status set_memory(void *dst, cls_rect rect, int value, cls_stream stream,
                             bool blocking) {
    const unsigned char byte = (unsigned char)value;
    struct pointed at;
    if (!rect.width || !rect.height)
        return pointer_check_stream(stream);
    if (!dst)
        return error_set(CLS_ERROR_INVALID_VALUE, "the memory to be set is null");
    cls_status status = process_check();
    if (!status)
        status = pointer_find(dst, &at);
    if (status)
        return status;
    return !at.buffer || pointed_is_hosts(&at) ? set_on_host(dst, &at, rect, byte, stream, blocking)
                                               : set_on_device(&at, rect, byte, stream, blocking);
}

/* One row has any pitch. */
static cls_rect row_of(size_t bytes) { return (cls_rect){bytes, 1, 0, bytes, 0, bytes, 0, 0, 0}; }

cls_status cls_memset_async(void *dst, int value, size_t bytes, cls_stream stream) {
    return set_memory(dst, row_of(bytes), value, stream, false);
}

cls_status cls_memset(void *dst, int value, size_t bytes, cls_stream stream) {
    return set_memory(dst, row_of(bytes), value, stream, true);
}

cls_status cls_memset_2d_async(void *dst, size_t pitch, int value, size_t width, size_t height,
                               cls_stream stream) {
    const cls_rect rect = {width, height, 0, pitch, 0, pitch, 0, 0, 0};
    return set_memory(dst, rect, value, stream, false);
}

cls_status cls_memset_2d(void *dst, size_t pitch, int value, size_t width, size_t height,
                         cls_stream stream) {
    const cls_rect rect = {width, height, 0, pitch, 0, pitch, 0, 0, 0};
    return set_memory(dst, rect, value, stream, true);
}
