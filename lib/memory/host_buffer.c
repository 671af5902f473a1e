/* SPDX-License-Identifier: MIT */
/*
 * The buffer of a block of pinned memory. OpenCL leaves undefined what a command sees of memory that is mapped. On a CPU
 * host and kernels use the same bytes. Elsewhere the driver may keep a copy in the device's memory, so host and device own
 * the bytes in turns, as coarse-grained unified memory (memory/svm_owner.h): the buffer takes over the block's mapping.
 */
#include "base/error.h"
#include "memory/buffer.h"
#include "stream/context.h"

/* The part of the driver's buffer that is the block. It keeps the driver's buffer. */
static cls_status make(struct context *context, const struct pinned *pinned, size_t origin,
                       struct buffer **out) {
    const struct device *device = context->device;
    cl_mem memory;
    if (origin % device->info.base_align)
        return error_set(CLS_ERROR_UNSUPPORTED,
                         "the driver's pinned memory begins at no multiple of %u bytes",
                         device->info.base_align);
    if (!caps_trusts(context->caps, TRUST_MAPPED_MEMORY))
        return trust_refuse(device, TRUST_MAPPED_MEMORY);
    if (origin && !caps_trusts_parts(context->caps))
        return error_set(
            CLS_ERROR_UNSUPPORTED,
            "the driver's sub-buffers are wrong, and its pinned memory is not aligned");
    cls_status status = memory_create_part(device, pinned->memory, origin, pinned->bytes, &memory);
    if (status)
        return status;
    status = buffer_new(context, memory, pinned->bytes, out);
    if (status)
        memory_release(context->device, memory);
    return status;
}

/* The buffer takes over the mapping of the block. */
static cls_status own_in_turns(struct buffer *buffer, struct pinned *pinned) {
    const struct shared mapping = {pinned->memory, pinned->mapped, pinned->mapped_bytes};
    cls_status status = svm_owner_new(&mapping, &buffer->svm_owner);
    if (!status)
        pinned->mapped = NULL;
    return status;
}

cls_status host_buffer_new(struct context *context, struct pinned *pinned, size_t origin,
                           struct buffer **out) {
    struct buffer *buffer;
    cls_status status = make(context, pinned, origin, &buffer);
    if (status)
        return status;
    if (context->device->info.type != CLS_DEVICE_CPU || managed_coarse_is_forced())
        status = own_in_turns(buffer, pinned);
    if (status) {
        buffer_destroy_owned(object_handle(&buffer->object));
        return status;
    }
    buffer->host = pinned->host;
    buffer->kind = CLS_BUFFER_PINNED;
    buffer->owner = "pinned host memory, which cls_host_free frees";
    object_retain(&buffer->object);
    *out = buffer;
    return CLS_SUCCESS;
}
