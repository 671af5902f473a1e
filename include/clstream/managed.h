/* SPDX-License-Identifier: MIT */
/**
 * @file managed.h
 * Unified memory: one allocation that kernels use as a buffer and the host by a pointer that never
 * changes, on devices with shared virtual memory (OpenCL 2.0 and later).
 *
 * On a fine-grained device host and device may both use the memory at any time, each seeing what the
 * other has finished; cls_prefetch_async is a hint there. On a coarse-grained device it belongs to one of
 * them: to the host at first and after cls_prefetch_async(buffer, CLS_TO_HOST, stream) is done, to the
 * device from the call of cls_prefetch_async(buffer, CLS_TO_DEVICE, stream) on; a command that uses it
 * while it is the host's, though for 0 bytes, is CLS_ERROR_INVALID_STATE. Its prefetches take place in the order of
 * their calls, each behind the one before, whatever their streams. One that its stream drops, because earlier work
 * failed, hands nothing over, and those behind it do not fail. A program that follows the second rule runs on both;
 * CLSTREAM_MANAGED=coarse in the environment applies it on every device, to find out.
 *
 * All calls are safe from any thread.
 */
#ifndef CLSTREAM_MANAGED_H
#define CLSTREAM_MANAGED_H

#include <clstream/buffer.h>

CLS_BEGIN_DECLS

/** How far a device shares memory with the host. */
typedef enum cls_managed_kind {
    CLS_MANAGED_NONE = 0,   /**< not at all: cls_managed_alloc is CLS_ERROR_UNSUPPORTED */
    CLS_MANAGED_COARSE = 1, /**< by turns */
    CLS_MANAGED_FINE = 2    /**< at the same time */
} cls_managed_kind;

/** What the context's device has. */
CLS_API cls_status cls_managed_get_kind(cls_context context, cls_managed_kind *out);

/**
 * Allocates unified memory, which belongs to the host at first; its contents are undefined. `host` may be
 * NULL. Freed by cls_buffer_destroy, once the work that uses it is done; the host must be done with it.
 * @retval CLS_ERROR_INVALID_VALUE        null out, or 0 bytes
 * @retval CLS_ERROR_UNSUPPORTED          the device shares no memory
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY also for more than the device allows in one buffer
 */
CLS_API cls_status cls_managed_alloc(cls_context context, size_t bytes, cls_buffer *out,
                                     void **host);

/**
 * The host's pointer to the memory of cls_managed_alloc.
 * @retval CLS_ERROR_INVALID_VALUE a buffer of another kind
 */
CLS_API cls_status cls_managed_get_host(cls_buffer buffer, void **host);

CLS_END_DECLS

#endif
