/* SPDX-License-Identifier: MIT */
#include "memory/pointer_place.h"

#include "base/error.h"
#include "base/hidden.h"
#include "base/reserve.h"
#include "memory/address.h"
#include "memory/buffer.h"
#include "memory/pinned_pool.h"
#include "stream/context.h"

/* `addresses` of a context. */
enum { ADDRESSES_UNTRIED, ADDRESSES_HOSTS, ADDRESSES_APART };

/* 0: there is none, or the device does not tell now. */
static cls_status told_address(struct buffer *buffer, uintptr_t *out) {
    struct detail held;
    uint64_t address = 0;
    error_save(&held);
    cls_status status = buffer_address(buffer, &address);
    if (status == CLS_ERROR_UNSUPPORTED || status == CLS_ERROR_INVALID_STATE)
        status = CLS_SUCCESS;
    *out = address > UINTPTR_MAX ? 0 : (uintptr_t)address;
    return error_restore(&held, status);
}

/* Where the driver maps memory for the host at the address that kernels see, they are the same bytes: a driver that
 * computes in another process would have to hit it by chance. */
static cls_status try_pinned(struct context *context, const struct pinned *pinned, int *out) {
    const struct device *device = context->device;
    struct buffer *buffer;
    uintptr_t address;
    cls_status status = memory_retain(device, pinned->memory);
    if (status)
        return status;
    status = buffer_new_uncounted(context, pinned->memory, RESERVE_ALIGN, &buffer);
    if (status) {
        memory_release(device, pinned->memory);
        return status;
    }
    status = told_address(buffer, &address);
    *out = address == (uintptr_t)pinned->mapped ? ADDRESSES_HOSTS : ADDRESSES_APART;
    buffer_put(buffer);
    return status;
}

static cls_status try_addresses(struct context *context, int *out) {
    struct pinned pinned;
    *out = ADDRESSES_APART;
    if (context->device->info.type != CLS_DEVICE_CPU)
        return CLS_SUCCESS;
    cls_status status = pinned_take(context, RESERVE_ALIGN, &pinned);
    if (status)
        return status;
    status = try_pinned(context, &pinned, out);
    pinned_drop(context, &pinned);
    return status;
}

static cls_status find_whose(struct context *context, bool *are_hosts) {
    int is = atomic_load(&context->addresses);
    cls_status status = is == ADDRESSES_UNTRIED ? try_addresses(context, &is) : CLS_SUCCESS;
    if (status)
        return status;
    atomic_store(&context->addresses, is);
    *are_hosts = is == ADDRESSES_HOSTS;
    return CLS_SUCCESS;
}

/* Memory of a capture is another one in each executable graph. */
cls_status pointer_place_find(struct buffer *buffer, struct pointer_place *out) {
    *out = (struct pointer_place){0, false};
    if (buffer->kind == CLS_BUFFER_CAPTURED)
        return CLS_SUCCESS;
    cls_status status = told_address(buffer, &out->address);
    return status || !out->address ? status : find_whose(buffer->context, &out->is_hosts);
}

bool pointer_place_is_free(const struct pointer_place *place, size_t bytes) {
    if (!place->address || bytes > UINTPTR_MAX - place->address)
        return false;
    if (place->is_hosts)
        return hidden_is_readable(place->address, bytes);
    return hidden_has(place->address, bytes) || reserve_claim(place->address, bytes);
}

/* A driver gives pinned memory rights in its range. To ask the system takes a microsecond, which the list of it saves. */
bool pointer_place_is_drivers(const void *pointer) {
    const uintptr_t address = (uintptr_t)pointer;
    return (hidden_was_seen(address) && !host_is_pinned(pointer, 1) &&
            !hidden_is_readable(address, 1)) ||
           reserve_has(address);
}
