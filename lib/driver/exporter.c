/* SPDX-License-Identifier: MIT */
#include "driver/exporter.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "system/pages.h"

cls_status exporter_refused(const char *call, int code) {
    const bool full = code == EMFILE || code == ENFILE;
    const bool empty = code == ENOMEM || code == ENOSPC || code == EAGAIN;
    return error_set(full    ? CLS_ERROR_LIMIT
                     : empty ? CLS_ERROR_OUT_OF_DEVICE_MEMORY
                             : CLS_ERROR_UNSUPPORTED,
                     "shareable memory: %s: %s", call, strerror(code));
}

cls_status exporter_duplicate(int fd, int *out) {
    const int copy = descriptor_copy(fd);
    if (copy < 0)
        return exporter_refused("a file descriptor more", errno);
    *out = copy;
    return CLS_SUCCESS;
}

cls_status exporter_foreign(int fd) {
    return error_set(CLS_ERROR_INVALID_VALUE, "%d is no descriptor of cls_buffer_export", fd);
}
