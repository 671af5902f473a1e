/* SPDX-License-Identifier: MIT */
#include "memory/address.h"

#include "base/error.h"
#include "base/rare.h"
#include "driver/kernel.h"
#include "driver/memory.h"
#include "driver/program.h"
#include "driver/source.h"
#include "driver/tell_address.h"
#include "memory/buffer.h"
#include "stream/context.h"

static cls_status open_teller(struct context *context, cl_kernel *out) {
    struct program_spec spec = {.name = "address.cl"};
    cl_program program;
    cls_status status = source_get(spec.name, &spec.source);
    if (!status)
        status = program_cache_get(context->programs, &spec, &program);
    return status ? status : program_create_kernel(program, "tell_address", out);
}

/* Threads that ask at the same time share the queue only. */
static cls_status ask_by(struct context *context, cl_kernel kernel, cl_mem memory, uint64_t *out) {
    cl_command_queue queue;
    cl_mem told;
    cls_status status = context_host_queue(context, &queue);
    if (!status)
        status = memory_create(context->device, context->cl, sizeof(cl_ulong), &told);
    if (status)
        return status;
    status = tell_address(context->device, queue, kernel, memory, told, out);
    memory_release(context->device, told);
    return status;
}

COLD static cls_status ask_address(const struct buffer *buffer, uint64_t *out) {
    struct context *context = buffer->context;
    cl_kernel kernel;
    cls_status status = trust_demand(context->device, context->caps, TRUST_ADDRESSES);
    if (!status)
        status = open_teller(context, &kernel);
    if (status)
        return status;
    status = ask_by(context, kernel, buffer->memory, out);
    kernel_release(context->device, kernel);
    return status;
}

cls_status buffer_tell_address(struct buffer *buffer, uint64_t *out) {
    uint64_t address = atomic_load_explicit(&buffer->address, memory_order_relaxed);
    cls_status status = CLS_SUCCESS;
    if (RARELY(!address)) {
        status = buffer_check(buffer);
        if (!status)
            status = ask_address(buffer, &address);
        if (!status)
            atomic_store_explicit(&buffer->address, address, memory_order_relaxed);
    }
    if (!status)
        *out = address;
    return status;
}

cls_status buffer_check_address(const struct buffer *buffer) {
    if (RARELY(buffer->capture))
        return error_set(CLS_ERROR_UNSUPPORTED,
                         "a buffer that was allocated in a capture has other memory in each graph: "
                         "it has no address");
    return trust_demand(buffer->context->device, buffer->context->caps, TRUST_ADDRESSES);
}

cls_status buffer_address(struct buffer *buffer, uint64_t *out) {
    cls_status status = buffer_check_address(buffer);
    return status ? status : buffer_tell_address(buffer, out);
}

cls_status cls_buffer_get_address(cls_buffer handle, uint64_t *address) {
    struct buffer *buffer;
    if (!address)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_buffer_get_address: address is null");
    cls_status status = buffer_find(handle, &buffer);
    if (status)
        return status;
    status = buffer_address(buffer, address);
    buffer_put(buffer);
    return status;
}
