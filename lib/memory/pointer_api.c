/* SPDX-License-Identifier: MIT */
/* Allocating and freeing by pointers, and what there is to know of one. */
#include <clstream/pointer.h>

#include "base/error.h"
#include "base/process.h"
#include "base/sized.h"
#include "memory/pointers.h"
#include "stream/context.h"
#include "stream/stream.h"

/* --- buffers and their pointers --- */

static cls_status check_out(const void *out, const char *call) {
    return out ? CLS_SUCCESS : error_set(CLS_ERROR_INVALID_VALUE, "%s: pointer is null", call);
}

cls_status cls_buffer_get_pointer(cls_buffer handle, void **pointer) {
    struct buffer *buffer;
    cls_status status = check_out(pointer, "cls_buffer_get_pointer");
    if (!status)
        status = buffer_find(handle, &buffer);
    if (status)
        return status;
    status = pointers_name(buffer, handle, pointer);
    buffer_put(buffer);
    return status;
}

cls_status cls_device_malloc(cls_context context, size_t bytes, void **pointer) {
    cls_buffer buffer;
    cls_status status = check_out(pointer, "cls_device_malloc");
    if (!status)
        status = cls_buffer_create(context, bytes, &buffer);
    if (status)
        return status;
    object_note_call(buffer, "cls_device_malloc");
    status = cls_buffer_get_pointer(buffer, pointer);
    if (status)
        cls_buffer_destroy(buffer);
    return status;
}

cls_status cls_device_malloc_async(cls_stream stream, size_t bytes, void **pointer) {
    cls_buffer buffer;
    cls_status status = check_out(pointer, "cls_device_malloc_async");
    if (!status)
        status = cls_malloc_async(stream, bytes, &buffer);
    if (status)
        return status;
    status = cls_buffer_get_pointer(buffer, pointer);
    if (status)
        cls_free_async(buffer, stream);
    return status;
}

/* The buffer that begins at the pointer. */
static cls_status find_start(const void *pointer, cls_buffer *out) {
    struct pointed at;
    cls_status status = process_check();
    if (!status)
        status = pointer_find_buffer(pointer, &at);
    if (status)
        return status;
    if (at.offset)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "%p is %zu bytes inside a buffer: free it by its start, %p", pointer,
                         at.offset, (const void *)at.start);
    *out = at.buffer;
    return CLS_SUCCESS;
}

cls_status cls_device_free(void *pointer) {
    cls_buffer buffer;
    cls_status status = pointer ? find_start(pointer, &buffer) : CLS_SUCCESS;
    return status || !pointer ? status : cls_buffer_destroy(buffer);
}

cls_status pointer_check_stream(cls_stream handle) {
    struct stream *stream = handle ? object_acquire(&stream_pool, handle) : NULL;
    if (stream)
        stream_put(stream);
    return stream || !handle ? CLS_SUCCESS : object_invalid(&stream_pool, handle);
}

cls_status cls_device_free_async(void *pointer, cls_stream stream) {
    cls_buffer buffer;
    if (!pointer)
        return pointer_check_stream(stream);
    cls_status status = find_start(pointer, &buffer);
    return status ? status : cls_free_async(buffer, stream);
}

/* --- asking --- */

cls_status cls_pointer_get_buffer(const void *pointer, cls_buffer *buffer, size_t *offset) {
    struct pointed at;
    cls_status status = process_check();
    if (!status)
        status = pointer_find_buffer(pointer, &at);
    if (status)
        return status;
    if (buffer)
        *buffer = at.buffer;
    if (offset)
        *offset = at.offset;
    return CLS_SUCCESS;
}

static void describe_host(const void *pointer, cls_pointer_info *info) {
    struct host_block block;
    if (!host_find_block(pointer, &block))
        return;
    info->kind = CLS_POINTER_PINNED;
    info->context = block.context;
    info->base = block.start;
    info->bytes = block.bytes;
    info->offset = (size_t)((uintptr_t)pointer - (uintptr_t)block.start);
}

static cls_status describe_pointed(const struct pointed *at, cls_pointer_info *info) {
    struct buffer *buffer = object_acquire(&buffer_pool, at->buffer);
    if (!buffer)
        return object_invalid(&buffer_pool, at->buffer);
    info->kind = buffer->kind == CLS_BUFFER_UNIFIED  ? CLS_POINTER_UNIFIED
                 : buffer->kind == CLS_BUFFER_PINNED ? CLS_POINTER_PINNED
                                                     : CLS_POINTER_DEVICE;
    info->is_address = buffer->pointer.is_address;
    info->context = object_handle(&buffer->context->object);
    info->buffer = at->buffer;
    info->base = (void *)at->start;
    info->bytes = at->bytes;
    info->offset = at->offset;
    buffer_put(buffer);
    return CLS_SUCCESS;
}

cls_status cls_pointer_get_info(const void *pointer, cls_pointer_info *out) {
    cls_pointer_info info = CLS_POINTER_INFO_INIT;
    struct pointed at;
    cls_status status = SIZED_CHECK(cls_pointer_info, out);
    if (!status)
        status = process_check();
    if (!status)
        status = pointer_find(pointer, &at);
    if (!status && at.buffer)
        status = describe_pointed(&at, &info);
    else if (!status)
        describe_host(pointer, &info);
    if (!status)
        SIZED_OUT(cls_pointer_info, out, &info);
    return status;
}
