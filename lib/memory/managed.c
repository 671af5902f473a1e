/* SPDX-License-Identifier: MIT */
/*
 * Unified memory: a buffer on top of shared virtual memory. Kernels and copies use it as any other buffer, the host uses
 * its pointer. Where sharing is coarse-grained, host and device own it in turns (memory/svm_owner.h): the host owns it
 * while the buffer is mapped, and prefetches map and unmap it in the order of a stream.
 */
#include <clstream/managed.h>

#include "base/error.h"
#include "base/setting.h"
#include "driver/memory.h"
#include "memory/buffer.h"
#include "stream/context.h"
#include "stream/engine.h"

bool managed_coarse_is_forced(void) {
    static struct setting_switch coarse = {.variable = "CLSTREAM_MANAGED", .word = "coarse"};
    return setting_is_on(&coarse);
}

static cls_managed_kind kind_of(const struct context *context) {
    const struct device *device = context->device;
    if (!device->shares_coarsely || !caps_trusts(context->caps, TRUST_SHARED_MEMORY))
        return CLS_MANAGED_NONE;
    return !managed_coarse_is_forced() && device->shares_finely ? CLS_MANAGED_FINE
                                                                : CLS_MANAGED_COARSE;
}

cls_status cls_managed_get_kind(cls_context handle, cls_managed_kind *out) {
    struct context *context;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_managed_get_kind: out is null");
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    *out = kind_of(context);
    context_put(context);
    return CLS_SUCCESS;
}

/* Gives the new memory to the host: nothing is pending on it, so that the mapping is there at once. */
static cls_status map_first(struct context *context, const struct shared *shared) {
    cl_command_queue queue;
    cls_status status = context_host_queue(context, &queue);
    return status ? status : shared_map_now(context->device, queue, shared);
}

static cls_status make(struct context *context, size_t bytes, cls_managed_kind kind,
                       struct buffer **out) {
    const struct device *device = context->device;
    struct shared shared;
    struct buffer *buffer;
    struct svm_owner *svm_owner = NULL;
    bool coarse = kind == CLS_MANAGED_COARSE;
    cls_status status = shared_create(device, context->cl, bytes, !coarse, &engine_hint, &shared);
    if (status)
        return status;
    if (coarse)
        status = svm_owner_new(&shared, &svm_owner);
    if (coarse && !status)
        status = map_first(context, &shared);
    if (!status)
        status = buffer_new(context, shared.memory, bytes, &buffer);
    if (status) {
        memory_release(device, shared.memory);
        shared_collect();
        svm_owner_free(svm_owner);
        return status;
    }
    buffer->host = shared.host;
    buffer->kind = CLS_BUFFER_UNIFIED;
    buffer->svm_owner = svm_owner;
    *out = buffer;
    return CLS_SUCCESS;
}

static cls_status allocate(struct context *context, size_t bytes, struct buffer **out) {
    const struct device *device = context->device;
    cls_managed_kind kind = kind_of(context);
    cls_status status = buffer_check_most(device, bytes);
    if (status)
        return status;
    if (!caps_trusts(context->caps, TRUST_SHARED_MEMORY))
        return trust_refuse(device, TRUST_SHARED_MEMORY);
    if (kind == CLS_MANAGED_NONE)
        return error_set(CLS_ERROR_UNSUPPORTED, "%s shares no memory with the host",
                         device->info.name);
    return make(context, bytes, kind, out);
}

cls_status cls_managed_alloc(cls_context handle, size_t bytes, cls_buffer *out, void **host) {
    struct context *context;
    struct buffer *buffer;
    cls_status status = buffer_check_create(bytes, out, "cls_managed_alloc");
    if (!status)
        status = context_get(handle, &context);
    if (status)
        return status;
    status = allocate(context, bytes, &buffer);
    if (!status) {
        *out = object_handle(&buffer->object);
        object_note_call(*out, "cls_managed_alloc");
    }
    if (!status && host)
        *host = buffer->host;
    context_put(context);
    return status;
}

cls_status cls_managed_get_host(cls_buffer handle, void **host) {
    struct buffer *buffer;
    if (!host)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_managed_get_host: host is null");
    cls_status status = buffer_find(handle, &buffer);
    if (status)
        return status;
    if (buffer->host)
        *host = buffer->host;
    else
        status = error_set(CLS_ERROR_INVALID_VALUE,
                           "the buffer is not from cls_managed_alloc or cls_host_buffer");
    buffer_put(buffer);
    return status;
}

/* Called for the last reference, perhaps under a stream's lock. Freeing the memory itself can take a driver long and is
 * left to the engine's thread. */
void managed_free(struct buffer *buffer) {
    struct context *context = buffer->context;
    cl_command_queue queue;
    /* A mapping that failed may still come: then it is left to the driver, and the memory with it. */
    const struct svm_owner *svm_owner = buffer->svm_owner;
    bool mapped = svm_owner && atomic_load(&svm_owner->is_mapped) && !atomic_load(&context->hurt);
    if (mapped && !context_host_queue(context, &queue))
        shared_unmap(context->device, queue, &svm_owner->mapping);
    memory_release(context->device, buffer->memory);
    svm_owner_free(buffer->svm_owner);
}
