/* SPDX-License-Identifier: MIT */
#include "memory/part.h"

#include "base/error.h"
#include "base/range.h"
#include "driver/memory.h"
#include "memory/buffer.h"
#include "memory/pinned_pool.h"
#include "stream/context.h"
#include "stream/hooks.h"

static void give_pinned(const struct buffer_part *part) {
    if (race_on())
        hooks.race.forget_host(part->pinned.host, part->pinned.bytes);
    pinned_give(part->context, &part->pinned);
    context_put(part->context);
}

static void part_finalize(struct object *object) {
    const struct buffer_part *part = (const struct buffer_part *)(const void *)object;
    if (part->context)
        give_pinned(part);
    else
        memory_release(part->device, part->memory);
}

static struct object_pool part_pool =
    OBJECT_POOL(27, sizeof(struct buffer_part), "part of a buffer", part_finalize);

bool buffer_part_is_aligned(const struct buffer *buffer, size_t offset) {
    return offset % buffer->context->device->info.base_align == 0;
}

cls_status buffer_part_check(const struct buffer *buffer, size_t offset, size_t bytes) {
    if (!bytes)
        return error_set(CLS_ERROR_INVALID_VALUE, "a part of 0 bytes of a buffer");
    return range_check(offset, bytes, buffer->bytes);
}

static cls_status check(const struct buffer *buffer, size_t offset, size_t bytes) {
    cls_status status = buffer_part_check(buffer, offset, bytes);
    if (status || buffer_part_is_aligned(buffer, offset))
        return status;
    return error_set(CLS_ERROR_INVALID_VALUE,
                     "a part at byte %zu of its buffer: this device takes multiples of %u", offset,
                     buffer->context->device->info.base_align);
}

/* OpenCL has no parts of parts: a slot of a memory pool and a caller's sub-buffer lie in their root. */
cls_status buffer_part_new(const struct buffer *buffer, size_t offset, size_t bytes,
                           struct buffer_part **out) {
    const struct device *device = buffer->context->device;
    struct memory_place place;
    cl_mem memory;
    cls_status status = check(buffer, offset, bytes);
    if (!status && !caps_trusts(buffer->context->caps, TRUST_SUB_BUFFER_ARGUMENTS))
        status = trust_refuse(device, TRUST_SUB_BUFFER_ARGUMENTS);
    if (status)
        return status;
    memory_find(device, buffer->memory, &place);
    status = memory_create_part(device, place.root, place.origin + offset, bytes, &memory);
    if (status)
        return status;
    struct buffer_part *part = object_create(&part_pool);
    if (!part) {
        memory_release(device, memory);
        return object_none(&part_pool, "a part of a buffer");
    }
    part->device = device;
    part->memory = memory;
    *out = part;
    return CLS_SUCCESS;
}

cls_status buffer_part_new_pinned(struct context *context, size_t bytes, struct buffer_part **out) {
    struct pinned pinned;
    cls_status status = pinned_take(context, bytes, &pinned);
    if (status)
        return status;
    struct buffer_part *part = object_create(&part_pool);
    if (!part) {
        pinned_give(context, &pinned);
        return object_none(&part_pool, "pinned memory");
    }
    object_retain(&context->object);
    part->context = context;
    part->pinned = pinned;
    *out = part;
    return CLS_SUCCESS;
}
