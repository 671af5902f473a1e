/* SPDX-License-Identifier: MIT */
/* Ranges of bytes within buffers. */
#ifndef CLSTREAM_BASE_RANGE_H
#define CLSTREAM_BASE_RANGE_H

#include "base/error.h"

/* CLS_ERROR_OUT_OF_RANGE where `bytes` from `offset` on are not within `room` bytes. */
static inline cls_status range_check(size_t offset, size_t bytes, size_t room) {
    if (offset <= room && bytes <= room - offset)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_OUT_OF_RANGE,
                     "%zu bytes from offset %zu pass the end of a buffer of %zu", bytes, offset,
                     room);
}

#endif
