/* SPDX-License-Identifier: MIT */
#include "memory/buffer.h"

#include "base/error.h"
#include "base/sized.h"
#include "driver/memory.h"
#include "memory/buffer_map.h"
#include "memory/mempool.h"
#include "memory/pointers.h"
#include "memory/share.h"
#include "stream/context.h"
#include "stream/hooks.h"
#include "stream/stream.h"

void buffer_end(struct buffer *buffer) {
    struct share *share =
        buffer->share; /* counts, and tells the race checker, for all its buffers */
    buffer_maps_end(buffer);
    if (buffer->pointer.start)
        pointers_forget(buffer);
    if (race_on() && !share)
        hooks.race.forget_memory(buffer->context->device, buffer->memory);
    if (buffer->host)
        managed_free(buffer);
    else
        memory_release(buffer->context->device, buffer->memory);
    context_count_memory(buffer->context, -(int64_t)buffer->counted);
    if (buffer->is_graphs)
        atomic_fetch_sub(&buffer->context->graph_memory, buffer->counted);
    context_put(buffer->context);
    if (buffer->slot)
        share_leave_slot(buffer->slot);
    if (share)
        share_put(share);
}

static void buffer_finalize(struct object *object) { buffer_end((struct buffer *)(void *)object); }

/* The last reference to a slot of a pool gives it back. */
static bool buffer_reclaim(struct object *object) {
    struct buffer *buffer = (struct buffer *)(void *)object;
    return buffer->block && slot_reclaim(buffer);
}

struct object_pool buffer_pool =
    OBJECT_POOL_RECLAIMED(4, sizeof(struct buffer), "buffer", buffer_finalize, buffer_reclaim);

cls_status buffer_find(cls_buffer handle, struct buffer **out) {
    struct buffer *buffer = object_acquire(&buffer_pool, handle);
    if (!buffer)
        return object_invalid(&buffer_pool, handle);
    cls_status status = context_check(buffer->context);
    if (status)
        buffer_put(buffer);
    else
        *out = buffer;
    return status;
}

cls_status buffer_is_the_hosts(void) {
    return error_set(CLS_ERROR_INVALID_STATE,
                     "the unified memory belongs to the host: prefetch it to the device first");
}

cls_status buffer_get(cls_buffer handle, struct buffer **out) {
    struct buffer *buffer;
    cls_status status = buffer_find(handle, &buffer);
    if (status)
        return status;
    status = buffer_check(buffer);
    if (status)
        buffer_put(buffer);
    else
        *out = buffer;
    return status;
}

cls_status buffer_new_uncounted(struct context *context, cl_mem memory, size_t bytes,
                                struct buffer **out) {
    struct buffer *buffer = object_create(&buffer_pool);
    if (!buffer)
        return object_none(&buffer_pool, "a buffer's handle");
    object_retain(&context->object);
    buffer->context = context;
    buffer->memory = memory;
    buffer->bytes = bytes;
    *out = buffer;
    return CLS_SUCCESS;
}

cls_status buffer_new(struct context *context, cl_mem memory, size_t bytes, struct buffer **out) {
    cls_status status = buffer_new_uncounted(context, memory, bytes, out);
    if (status)
        return status;
    (*out)->counted = bytes;
    context_count_memory(context, (int64_t)bytes);
    return CLS_SUCCESS;
}

cls_status buffer_check_most(const struct device *device, size_t bytes) {
    if (bytes <= device->info.max_allocation)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_OUT_OF_DEVICE_MEMORY,
                     "%zu bytes are more than the device allows in one buffer (%llu)", bytes,
                     (unsigned long long)device->info.max_allocation);
}

static cls_status allocate_buffer(struct context *context, size_t bytes, struct buffer **out) {
    cl_mem memory;
    cls_status status = memory_create(context->device, context->cl, bytes, &memory);
    if (status)
        return status;
    status = buffer_new(context, memory, bytes, out);
    if (status)
        memory_release(context->device, memory);
    return status;
}

cls_status buffer_allocate(struct context *context, size_t bytes, struct buffer **out) {
    struct detail held;
    cls_status status = buffer_check_most(context->device, bytes);
    if (status)
        return status;
    error_save(&held);
    status = allocate_buffer(context, bytes, out);
    if (mempools_may_help(status) && context_trim_mempools(context))
        status = allocate_buffer(context, bytes, out);
    return error_restore(&held, status);
}

cls_status buffer_check_create(size_t bytes, const void *out, const char *call) {
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: out is null", call);
    if (!bytes)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: 0 bytes; memory has at least 1", call);
    return CLS_SUCCESS;
}

cls_status buffer_create_owned(cls_context handle, size_t bytes, const char *owner,
                               cls_buffer *out) {
    struct context *context;
    struct buffer *buffer;
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    status = buffer_allocate(context, bytes, &buffer);
    if (!status) {
        buffer->owner = owner;
        *out = object_handle(&buffer->object);
    }
    context_put(context);
    return status;
}

cls_status cls_buffer_create(cls_context handle, size_t bytes, cls_buffer *out) {
    cls_status status = buffer_check_create(bytes, out, "cls_buffer_create");
    if (!status)
        status = buffer_create_owned(handle, bytes, NULL, out);
    if (!status)
        object_note_call(*out, "cls_buffer_create");
    return status;
}

static cls_status destroy(cls_buffer handle, bool by_owner) {
    struct buffer *buffer = object_acquire(&buffer_pool, handle);
    if (!buffer)
        return object_invalid(&buffer_pool, handle);
    cls_status status = CLS_SUCCESS;
    if (buffer->owner && !by_owner)
        status = error_set(CLS_ERROR_INVALID_VALUE, "the buffer belongs to %s", buffer->owner);
    else if (!object_destroy(&buffer_pool, handle))
        status = object_invalid(&buffer_pool, handle);
    buffer_put(buffer);
    return status;
}

cls_status cls_buffer_destroy(cls_buffer handle) { return destroy(handle, false); }
void buffer_destroy_owned(cls_buffer handle) { destroy(handle, true); }

cls_status cls_buffer_get_size(cls_buffer handle, size_t *bytes) {
    if (!bytes)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_buffer_get_size: bytes is null");
    struct buffer *buffer = NULL;
    cls_status status = buffer_find(handle, &buffer);
    if (status)
        return status;
    *bytes = buffer->bytes;
    buffer_put(buffer);
    return CLS_SUCCESS;
}

/* A reference to a slot keeps its block, and the block its pool. */
static cls_mempool buffer_mempool(const struct buffer *buffer) {
    struct mempool *pool = buffer->block ? buffer->block->pool : NULL;
    return pool && !atomic_load(&pool->closed) ? object_handle(&pool->object) : NULL;
}

static void buffer_describe(const struct buffer *buffer, cls_buffer_info *info) {
    info->context = object_handle(&buffer->context->object);
    info->bytes = buffer->bytes;
    info->host = buffer->host;
    info->pool = buffer_mempool(buffer);
    info->kind = buffer->kind;
    info->shareable = buffer->share != NULL;
    info->owned = buffer->owner != NULL;
}

cls_status cls_buffer_get_info(cls_buffer handle, cls_buffer_info *out) {
    cls_buffer_info info = CLS_BUFFER_INFO_INIT;
    struct buffer *buffer;
    cls_status status = SIZED_CHECK(cls_buffer_info, out);
    if (!status)
        status = buffer_find(handle, &buffer);
    if (status)
        return status;
    buffer_describe(buffer, &info);
    buffer_put(buffer);
    SIZED_OUT(cls_buffer_info, out, &info);
    return CLS_SUCCESS;
}

/* A pool gives a slot again only once it has no other references. */
void buffer_abandon(struct object *object) {
    if (object->pool == &buffer_pool)
        atomic_store(&((struct buffer *)(void *)object)->use_abandoned, true);
}
