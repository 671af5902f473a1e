/* SPDX-License-Identifier: MIT */
/* The address at which kernels see a buffer: asked from the device once a buffer, and kept with it. */
#ifndef CLSTREAM_MEMORY_ADDRESS_H
#define CLSTREAM_MEMORY_ADDRESS_H

#include <stdint.h>

#include <clstream/address.h>

struct buffer;

/* CLS_ERROR_UNSUPPORTED for a buffer without an address. Asks nobody. */
cls_status buffer_check_address(const struct buffer *buffer);

/* The same of a buffer whose address the library itself uses while the memory is what it is: in a capture too. */
cls_status buffer_tell_address(struct buffer *buffer, uint64_t *out);

/* Of a buffer that the caller keeps. Waits for the device's answer the first time, without a lock: not for work of the
 * user's. The statuses of cls_buffer_get_address. */
cls_status buffer_address(struct buffer *buffer, uint64_t *out);

#endif
