/* SPDX-License-Identifier: MIT */
/* The public calls by which a program declares its own accesses to the race checker (clstream/check.h). */
#include <clstream/check.h>

#include "base/error.h"
#include "base/process.h"
#include "check/race.h"
#include "command/copy_call.h"
#include "memory/buffer.h"
#include "stream/context.h"

static cls_status check_access(cls_access access) {
    if ((unsigned)access > CLS_ACCESS_READ_WRITE)
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_access", (int)access);
    return CLS_SUCCESS;
}

static bool writes(cls_access access) { return access != CLS_ACCESS_READ; }

cls_status cls_check_host_access(const void *memory, size_t bytes, cls_access access) {
    struct touches touches = {0};
    const struct byte_span span = byte_span_1d(0, bytes);
    cls_status status = process_check();
    if (!status)
        status = check_access(access);
    if (!status)
        status = copy_check_host(memory, bytes);
    if (status || !race_on())
        return status;
    touches_add_host(&touches, memory, &span, writes(access));
    race_declared(&touches);
    return CLS_SUCCESS;
}

cls_status cls_check_buffer_access(cls_buffer handle, size_t offset, size_t bytes,
                                   cls_access access) {
    struct touches touches = {0};
    const struct byte_span span = byte_span_1d(offset, bytes);
    struct buffer *buffer;
    cls_status status = check_access(access);
    if (!status)
        status = buffer_get(handle, &buffer);
    if (status)
        return status;
    status = copy_check_range(buffer, offset, bytes);
    if (!status && race_on()) {
        touches_add_buffer(&touches, buffer->context->device, buffer->memory, &span, writes(access),
                           access == CLS_ACCESS_UNKNOWN);
        race_declared(&touches);
    }
    buffer_put(buffer);
    return status;
}
