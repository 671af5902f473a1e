/* SPDX-License-Identifier: MIT */
#include "command/kernel_slots.h"

#include <string.h>

#include "base/error.h"
#include "command/kernel.h"
#include "command/parameters.h"
#include "command/pointed.h"
#include "driver/kernel.h"
#include "driver/program.h"
#include "memory/buffer.h"
#include "stream/context.h"
#include "stream/stream.h"

/* Frees a slot. The kernel's reference moves to the stream's newest flight, so that the kernel stays until the commands
 * launched from the slot have retired. Where there is no memory for that, OpenCL's rule that a queued command keeps its
 * kernel has to be enough. */
COLD static void free_slot(struct stream *stream, struct kernel_slot *slot) {
    struct flight *last = flight_last(&stream->flights);
    struct kernel *kernel = slot->kernel;
    if (!kernel)
        return;
    kernel_give_instance(kernel, slot->instance);
    slot->kernel = NULL;
    slot->handle = NULL;
    if (!last || refs_keep(&last->refs, &kernel->object))
        object_release(&kernel->object);
}

/* A free slot, one whose kernel is destroyed, or the next in turn. */
static struct kernel_slot *choose(struct kernel_slots *slots) {
    for (unsigned i = 0; i < KERNEL_SLOTS; i++) {
        struct kernel_slot *slot = &slots->slot[i];
        if (!slot->kernel || !object_is(&slot->kernel->object, slot->handle))
            return slot;
    }
    return &slots->slot[slots->next++ % KERNEL_SLOTS];
}

/* Gives the slot an instance for the launch ahead if the driver cannot set arguments of one again. OpenCL keeps the
 * former while its launch is queued; it goes last, so that no two in a row have the same address. */
static cls_status renew(struct kernel_slot *slot) {
    struct kernel *kernel = slot->kernel;
    cl_kernel former = slot->instance;
    if (caps_trusts(kernel->context->caps, TRUST_ARGUMENTS_SET_AGAIN))
        return CLS_SUCCESS;
    cls_status status = program_create_kernel(kernel->cl, kernel->name, &slot->instance);
    if (status)
        return status;
    kernel_release(kernel->context->device, former);
    slot->n_cached = 0;
    return CLS_SUCCESS;
}

cls_status kernel_slots_of(struct stream *stream, struct kernel *kernel, struct kernel_slot **out) {
    cl_kernel instance;
    for (unsigned i = 0; i < KERNEL_SLOTS; i++)
        if (stream->kernels.slot[i].kernel == kernel) {
            *out = &stream->kernels.slot[i];
            (*out)->n_cached = 0;
            return renew(*out);
        }
    if (stream->context != kernel->context)
        return error_set(CLS_ERROR_WRONG_CONTEXT, "kernel and stream are of different contexts");
    cls_status status = kernel_take_instance(kernel, &instance);
    if (status)
        return status;
    struct kernel_slot *slot = choose(&stream->kernels);
    free_slot(stream, slot);
    object_retain(&kernel->object);
    slot->handle = object_handle(&kernel->object);
    slot->kernel = kernel;
    slot->instance = instance;
    slot->n_cached = 0;
    *out = slot;
    return CLS_SUCCESS;
}

cls_status kernel_slots_get(struct stream *stream, cls_kernel handle, struct kernel_slot **out) {
    struct kernel *kernel;
    for (unsigned i = 0; i < KERNEL_SLOTS; i++) {
        struct kernel_slot *slot = &stream->kernels.slot[i];
        if (slot->handle == handle && slot->kernel && object_is(&slot->kernel->object, handle)) {
            *out = slot;
            return renew(slot);
        }
    }
    cls_status status = kernel_get(handle, &kernel);
    if (status)
        return status;
    status = kernel_slots_of(stream, kernel, out);
    object_release(&kernel->object);
    return status;
}

/* Values are mostly of these sizes, which need no call to be compared. */
static inline bool same_bytes(const void *a, const void *b, size_t n) {
    if (n == 4)
        return memcmp(a, b, 4) == 0;
    return n == 8 ? memcmp(a, b, 8) == 0 : memcmp(a, b, n) == 0;
}

bool kernel_slot_knows(const struct kernel_slot *slot, unsigned i, const cls_arg *arg) {
    const struct arg_cache *known = &slot->cached[i];
    if (i >= slot->n_cached || known->kind != arg->kind || !known->size)
        return false;
    if (arg->kind == CLS_ARG_BUFFER || arg->kind == CLS_ARG_IMAGE)
        return known->u.buffer.handle == arg->u.buffer;
    return known->size == arg->size &&
           (arg->kind == CLS_ARG_LOCAL || same_bytes(known->u.bytes, arg->u.bytes, arg->size));
}

/* Of a value of more bytes, and of a part of a buffer, nothing is kept. */
static struct arg_cache arg_cache_of(const cls_arg *arg, void *object) {
    struct arg_cache cached = {.kind = arg->kind, .size = arg->size};
    if (arg->kind == CLS_ARG_BUFFER || arg->kind == CLS_ARG_IMAGE) {
        cached.size = sizeof(cl_mem);
        cached.u.buffer.handle = arg->u.buffer;
        cached.u.buffer.memory = object;
    } else if (arg->kind == CLS_ARG_VALUE || arg->kind == CLS_ARG_SAMPLER) {
        memcpy(cached.u.bytes, arg->u.bytes, sizeof cached.u.bytes);
        cached.size = arg->size <= sizeof cached.u.bytes ? arg->size : 0;
    } else if (arg->kind == CLS_ARG_BUFFER_PART) {
        cached.size = 0;
    }
    return cached;
}

cls_status kernel_slot_tell(struct kernel_slot *slot, unsigned i, const cls_arg *arg,
                            void *object) {
    const bool is_object = arg_is_memory(arg->kind) || arg->kind == CLS_ARG_SAMPLER;
    const void *value = arg->size > sizeof arg->u.bytes ? arg->u.pointer : arg->u.bytes;
    if (arg->kind == CLS_ARG_LOCAL)
        value = NULL;
    if (i < slot->n_cached)
        slot->cached[i].size = 0;
    cls_status status = kernel_set_arg(slot->kernel->context->device, slot->instance, i,
                                       is_object ? sizeof object : arg->size,
                                       is_object ? (const void *)&object : value);
    if (RARELY(status == CLS_ERROR_INVALID_VALUE))
        return parameter_refused(slot, i, arg, cls_last_error_code());
    if (RARELY(status || i >= CACHED_ARGS || i > slot->n_cached))
        return status;
    slot->cached[i] = arg_cache_of(arg, object);
    slot->n_cached += i == slot->n_cached;
    return CLS_SUCCESS;
}

cls_status kernel_slot_point(struct kernel_slot *slot, unsigned i, const cls_arg *arg,
                             struct buffer *buffer, size_t offset) {
    if (i < slot->n_cached)
        slot->cached[i].size = 0;
    cls_status status = kernel_set_pointed(slot->kernel, slot->instance, i, buffer, offset);
    if (status || i >= CACHED_ARGS || i > slot->n_cached)
        return status;
    slot->cached[i] = arg_cache_of(arg, buffer ? buffer->memory : NULL);
    slot->n_cached += i == slot->n_cached;
    return CLS_SUCCESS;
}

cls_status kernel_slot_give(struct kernel_slot *slot, struct command *launch) {
    cls_status status = refs_keep(&launch->refs, &slot->kernel->object);
    if (status)
        return status;
    launch->u.launch.kernel = slot->kernel;
    slot->kernel = NULL;
    slot->handle = NULL;
    return CLS_SUCCESS;
}

void kernel_slots_clear(struct stream *stream) {
    for (unsigned i = 0; i < KERNEL_SLOTS; i++)
        free_slot(stream, &stream->kernels.slot[i]);
}
