/* SPDX-License-Identifier: MIT */
/**
 * @file share.h
 * Memory that several contexts use, as CUDA's peer access allows, or several processes, as its IPC
 * handles do.
 *
 * A shareable buffer is an ordinary buffer of its context. cls_buffer_open gives a handle for the
 * same bytes in another context, of the same device or of another one; nothing is copied. Kernels,
 * copies, rectangles, fills, operations, batches and cls_buffer_get_cl take either handle. Whether
 * two contexts can share memory depends on their devices and drivers: the library tries it, by
 * values, at the first question about a pair of devices, which takes about 20 ms, and at the first about
 * a device as long as one more context takes (1 s on a machine of four NVIDIA GPUs). Devices that
 * compute in the host's memory share its pages (CLS_SHARE_HOST_MEMORY). NVIDIA's devices reach each
 * other's memory where they have a link, NVLink or PCI Express (CLS_SHARE_DIRECT_LINK); libcuda.so.1,
 * which comes with their driver, makes such memory, and is loaded at the first question.
 *
 * **Order.** The handles are one memory. Streams of different contexts are ordered by events and
 * timelines, as for any other work; the race checker (check.h) knows the handles to be one memory. A
 * copy between buffers of two contexts is a command of the driver where the stream's context can
 * share the other one's buffer, and needs no pinned memory (cls_copy_d2d_async).
 *
 * Stream-ordered memory can be shared too: buffers of a memory pool that was created with `shareable`
 * (mempool.h).
 *
 * **Lifetime.** Each handle is destroyed by itself (cls_buffer_destroy), in any order. The memory
 * lives until the last handle is destroyed and the work submitted with any of them is done. This holds
 * for memory of a pool as well: freed while another handle is open, it is not given out again before. After
 * cls_context_destroy the handles of that context are unusable, and those of others stay valid.
 *
 * **Other processes.** cls_buffer_export gives a file descriptor of the memory, which is sent over a
 * Unix socket (sendmsg with SCM_RIGHTS) or inherited, and cls_buffer_import opens it there. The
 * memory lives until the last process has ended or destroyed its handles, and closed the
 * descriptors: one that dies leaves the others' memory valid. Shareable events (event.h) order the streams
 * of processes; without one, wait for the commands that write the memory before you tell another process
 * to read it. No checker reaches into another process.
 *
 * Memory of a pool is exported by an opened handle (cls_buffer_open, cls_buffer_export_part): the pool does not give it out
 * again before that handle is destroyed, which the program does once the other process is done with it. The library does
 * not know when that is. The other process maps the block that the buffer is part of whole, so it must be trusted with
 * what else is in there.
 *
 * Shareable memory is whole pages, all present from the start, or whole units of a device's memory (2
 * MiB for NVIDIA's), and takes a file descriptor for each buffer.
 *
 * Statuses common to all calls: CLS_ERROR_INVALID_HANDLE, CLS_ERROR_CONTEXT_DESTROYED,
 * CLS_ERROR_INVALID_VALUE for null out-parameters and wrong size fields, CLS_ERROR_OUT_OF_MEMORY
 * (host memory), CLS_ERROR_OUT_OF_DEVICE_MEMORY (also for more than the device allows in one
 * buffer), CLS_ERROR_LIMIT (the process has no file descriptor left), CLS_ERROR_UNSUPPORTED. A NULL context is the
 * default context. Every function may be called from any thread, and inside host functions.
 */
#ifndef CLSTREAM_SHARE_H
#define CLSTREAM_SHARE_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** How a context reaches memory of another one. */
typedef enum cls_share_kind {
    CLS_SHARE_NONE = 0,        /**< not at all; copies go through pinned memory */
    CLS_SHARE_HOST_MEMORY = 1, /**< both devices compute in the host's memory: the same pages */
    CLS_SHARE_DIRECT_LINK = 2  /**< over a link from device to device */
} cls_share_kind;

/** The answer of cls_context_can_share about a pair of contexts. Start with CLS_SHARE_INFO_INIT. */
typedef struct cls_share_info {
    size_t size;         /**< sizeof(cls_share_info) */
    cls_share_kind kind; /**< how memory is shared */
    double gb_per_s;     /**< measured: a copy of 16 MiB from shared memory of `owner` to memory of
                              `other`, by `other`'s device; GB/s; 0 for CLS_SHARE_NONE */
    double latency_ns;   /**< measured: the same of 64 bytes, with the wait for it; ns */
    char reason[256];    /**< why memory cannot be shared; empty if it can */
} cls_share_info;

#define CLS_SHARE_INFO_INIT \
    { sizeof(cls_share_info), CLS_SHARE_NONE, 0, 0, "" }

/**
 * Asks whether `other` can open shareable buffers of `owner`, which may be the same context: then
 * whether it can have shareable buffers at all. The answer is of the contexts' devices, and is found
 * once in a process.
 */
CLS_API cls_status cls_context_can_share(cls_context owner, cls_context other,
                                         cls_share_info *info);

/**
 * Allocates device memory that other contexts can open, with undefined contents. The caller destroys
 * the buffer. A command uses it at the speed of other memory of the device.
 * @retval CLS_ERROR_INVALID_VALUE `out` is null, or `bytes` is 0
 * @retval CLS_ERROR_UNSUPPORTED   the device has no memory that can be shared; the detail has the
 *                                 reason
 */
CLS_API cls_status cls_buffer_create_shareable(cls_context context, size_t bytes, cls_buffer *out);

/**
 * Gets a handle for the bytes of a shareable buffer, or of one that a shareable memory pool has
 * given, in another context; in the buffer's own context it is one handle more. The caller destroys
 * it.
 * @retval CLS_ERROR_INVALID_VALUE the buffer is not shareable
 * @retval CLS_ERROR_UNSUPPORTED   the context cannot use this memory; the detail has the reason
 */
CLS_API cls_status cls_buffer_open(cls_context context, cls_buffer buffer, cls_buffer *out);

/**
 * Gets a file descriptor of a shareable buffer's memory, for cls_buffer_import in another process. The
 * caller closes it (it is closed on exec); the memory stays as long as it is open.
 * @retval CLS_ERROR_INVALID_VALUE the buffer is not shareable, or of a memory pool (cls_buffer_export_part)
 */
CLS_API cls_status cls_buffer_export(cls_buffer buffer, int *fd);

/**
 * Opens the memory of a buffer that was exported, of `bytes` bytes: the size of that buffer. The caller
 * destroys the buffer, and keeps the descriptor, which may be closed at once. Where the process has
 * the memory already, its own or imported, this is one handle more for it, as of cls_buffer_open.
 * @retval CLS_ERROR_INVALID_VALUE `out` is null, `bytes` is 0, or `fd` is not of cls_buffer_export for
 *                                 memory of the kind that the context's device shares
 * @retval CLS_ERROR_SIZE_MISMATCH the exported buffer has another size; of a device's memory only a
 *                                 size that its units do not have is noticed
 * @retval CLS_ERROR_UNSUPPORTED   the context's device cannot use this memory; the detail has the
 *                                 reason
 */
CLS_API cls_status cls_buffer_import(cls_context context, int fd, size_t bytes, cls_buffer *out);

/** Where a buffer is in exported memory. */
typedef struct cls_buffer_part {
    size_t memory_bytes; /**< bytes of the memory that the descriptor names */
    size_t offset;       /**< bytes from its start to the buffer */
    size_t bytes;        /**< of the buffer */
} cls_buffer_part;

/**
 * Like cls_buffer_export, for a buffer that may be a part of the memory: an opened handle of a pool's buffer, and any other
 * shareable one. `part` goes to the other process with the descriptor.
 * @retval CLS_ERROR_INVALID_VALUE the buffer is not shareable, or is a memory pool's itself, which could be freed: open it
 */
CLS_API cls_status cls_buffer_export_part(cls_buffer buffer, int *fd, cls_buffer_part *part);

/**
 * Like cls_buffer_import, for what cls_buffer_export_part has exported.
 * @retval CLS_ERROR_INVALID_VALUE also 0 bytes, or an offset at which this device's buffers cannot begin
 * @retval CLS_ERROR_OUT_OF_RANGE  the part is past the end of the memory
 */
CLS_API cls_status cls_buffer_import_part(cls_context context, int fd, const cls_buffer_part *part,
                                          cls_buffer *out);

CLS_END_DECLS

#endif
