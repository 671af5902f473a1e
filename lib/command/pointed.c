/* SPDX-License-Identifier: MIT */
#include "command/pointed.h"

#include "base/error.h"
#include "memory/address.h"
#include "memory/buffer.h"
#include "stream/context.h"

bool kernel_may_point(const struct kernel *kernel) {
    const struct context *context = kernel->context;
    return device_takes_pointers(context->device) && caps_proves(context->caps, TRUST_ADDRESSES) &&
           caps_proves(context->caps, TRUST_POINTER_ARGUMENTS);
}

void kernel_point(struct kernel *kernel, unsigned i) {
    const unsigned bit = i < POINTED_BITS ? i : POINTED_BITS - 1;
    if (kernel_is_pointed(kernel, i))
        return;
    atomic_fetch_or_explicit(&kernel->pointed, UINT64_C(1) << bit, memory_order_relaxed);
    atomic_store_explicit(&kernel->has_pointed, true, memory_order_release);
}

cls_status kernel_set_pointed(const struct kernel *kernel, cl_kernel instance, unsigned i,
                              struct buffer *buffer, size_t offset) {
    uint64_t address = 0;
    if (!buffer)
        return error_set(CLS_ERROR_UNSUPPORTED,
                         "'%s': argument %u was a part at any offset before, and some drivers keep "
                         "the last address where a null pointer follows: use another cls_kernel",
                         kernel->label, i);
    cls_status status = buffer_tell_address(buffer, &address);
    if (status)
        return status;
    return kernel_set_pointer(kernel->context->device, instance, i, address + offset);
}
