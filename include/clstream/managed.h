/* SPDX-License-Identifier: MIT */
/**
 * @file managed.h
 * Unified memory: one allocation that kernels use as a buffer and the host uses through a pointer
 * that never changes. It needs a device with shared virtual memory (OpenCL 2.0 and later). A
 * cls_managed_context (managed_context.h) is something else: a context that owns its streams.
 *
 * On a **fine-grained** device the host and the device may both use the memory at any time; each
 * sees what the other has finished writing. cls_prefetch_async is only a hint there.
 *
 * On a **coarse-grained** device the memory belongs either to the host or to the device:
 *   - to the host at first, and again once cls_prefetch_async(buffer, CLS_TO_HOST, stream) is done;
 *   - to the device from the call of cls_prefetch_async(buffer, CLS_TO_DEVICE, stream) on.
 *
 * A command that uses the memory while it belongs to the host is CLS_ERROR_INVALID_STATE, even for
 * 0 bytes. The prefetches of one buffer take effect in the order of their calls, each after the one
 * before it, on whatever streams. A prefetch that its stream drops because earlier work failed
 * hands nothing over, and the prefetches after it do not fail.
 *
 * A program that follows the coarse-grained rule runs on both. CLSTREAM_MANAGED=coarse in the
 * environment applies this rule on every device, to test for it.
 *
 * Every function may be called from any thread.
 */
#ifndef CLSTREAM_MANAGED_H
#define CLSTREAM_MANAGED_H

#include <clstream/buffer.h>

CLS_BEGIN_DECLS

/** How a device shares memory with the host. */
typedef enum cls_managed_kind {
    CLS_MANAGED_NONE = 0,   /**< not at all: cls_managed_alloc returns CLS_ERROR_UNSUPPORTED */
    CLS_MANAGED_COARSE = 1, /**< one owner at a time, changed by cls_prefetch_async */
    CLS_MANAGED_FINE = 2    /**< both at the same time */
} cls_managed_kind;

/** Gets how the context's device shares memory with the host. */
CLS_API cls_status cls_managed_get_kind(cls_context context, cls_managed_kind *out);

/**
 * Allocates unified memory with undefined contents, which belongs to the host at first. `host`
 * receives the host's pointer, and may be NULL. The caller frees the memory with
 * cls_buffer_destroy: submitted work keeps it until it is done, the host must no longer use it.
 * @retval CLS_ERROR_INVALID_VALUE        `out` is null, or `bytes` is 0
 * @retval CLS_ERROR_UNSUPPORTED          the device does not share memory
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY also for more than the device allows in one buffer
 */
CLS_API cls_status cls_managed_alloc(cls_context context, size_t bytes, cls_buffer *out,
                                     void **host);

/**
 * Gets the host's pointer to memory of cls_managed_alloc, or of a buffer of cls_host_buffer.
 * @retval CLS_ERROR_INVALID_VALUE the buffer is of neither
 */
CLS_API cls_status cls_managed_get_host(cls_buffer buffer, void **host);

CLS_END_DECLS

#endif
