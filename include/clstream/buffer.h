/* SPDX-License-Identifier: MIT */
/**
 * @file buffer.h
 * Device memory, pinned host memory, and the copies between them.
 *
 * Sizes and offsets are in bytes. The `_async` forms return before the work is done, for pageable
 * host memory too: it must stay valid, and the source of an upload unchanged, until the copy is
 * done. The forms without the suffix have completed on return. A NULL stream means the default
 * stream of the buffer's context. Every function may be called from any thread.
 *
 * A copy or fill of zero bytes, and a copy of memory onto itself, do nothing: all arguments are
 * checked as in any other call, except that host memory may be null for zero bytes, and no command
 * is submitted.
 *
 * Every copy and fill can return CLS_ERROR_INVALID_HANDLE (buffer or stream),
 * CLS_ERROR_INVALID_VALUE (null host memory with a size above 0), CLS_ERROR_OUT_OF_RANGE (offset +
 * bytes is past the end, or overflows), CLS_ERROR_OVERLAP (source and destination overlap in one
 * buffer), CLS_ERROR_WRONG_CONTEXT, CLS_ERROR_CONTEXT_DESTROYED, CLS_ERROR_OUT_OF_MEMORY,
 * CLS_ERROR_LIMIT, and the error of a poisoned stream. The blocking forms also return the stream's
 * error, and CLS_ERROR_WOULD_DEADLOCK inside a host function or callback.
 *
 * See also: mempool.h for memory that is allocated and freed in stream order, as cudaMallocAsync
 * does; managed.h for unified memory; share.h for buffers that several contexts use.
 */
#ifndef CLSTREAM_BUFFER_H
#define CLSTREAM_BUFFER_H

#include <clstream/mempool.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/**
 * Allocates device memory with undefined contents. The caller destroys the buffer.
 * @retval CLS_ERROR_INVALID_VALUE        `out` is null, or `bytes` is 0
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY also for more than the device allows in one buffer
 */
CLS_API cls_status cls_buffer_create(cls_context context, size_t bytes, cls_buffer *out);

/** Allocates device memory and uploads `bytes` bytes of `data` to it. Both are done on return. */
CLS_API cls_status cls_buffer_from_host(cls_context context, const void *data, size_t bytes,
                                        cls_buffer *out);

/**
 * Downloads the first `bytes` bytes of a buffer, on its context's default stream. Done on return.
 */
CLS_API cls_status cls_buffer_to_host(cls_buffer buffer, void *data, size_t bytes);

/**
 * Releases the caller's handle and returns at once. Submitted work keeps the memory until it is
 * done. It frees stream-ordered memory (cls_malloc_async) as well.
 * @retval CLS_ERROR_INVALID_VALUE the buffer belongs to a triple buffer, a prefetcher, a pipeline or
 *                                 pinned memory (cls_host_buffer)
 */
CLS_API cls_status cls_buffer_destroy(cls_buffer buffer);

/** Gets the size in bytes. */
CLS_API cls_status cls_buffer_get_size(cls_buffer buffer, size_t *bytes);

/** Where the memory of a buffer comes from. */
typedef enum cls_buffer_kind {
    CLS_BUFFER_OWN = 0,  /**< device memory of its own: cls_buffer_create */
    CLS_BUFFER_POOL = 1, /**< memory of a pool: cls_malloc_async, cls_mempool_malloc_async */
    CLS_BUFFER_CAPTURED =
        2, /**< the same calls, on a stream that was captured: memory of no pool */
    CLS_BUFFER_SHAREABLE = 3, /**< cls_buffer_create_shareable */
    CLS_BUFFER_OPENED = 4,    /**< memory of another handle or process: cls_buffer_open,
                                   cls_buffer_import */
    CLS_BUFFER_WRAPPED = 5,   /**< a cl_mem of the caller: cls_buffer_wrap */
    CLS_BUFFER_UNIFIED = 6,   /**< cls_managed_alloc */
    CLS_BUFFER_PINNED = 7     /**< pinned host memory: cls_host_buffer */
} cls_buffer_kind;

/** Properties of a buffer, from cls_buffer_get_info. Start with CLS_BUFFER_INFO_INIT. */
typedef struct cls_buffer_info {
    size_t size;          /**< sizeof(cls_buffer_info) */
    cls_context context;  /**< the context of the buffer */
    size_t bytes;         /**< as requested, or the size of the wrapped cl_mem */
    void *host;           /**< the host's pointer to unified or pinned memory; NULL: of all other
                               memory */
    cls_mempool pool;     /**< of CLS_BUFFER_POOL; NULL: of all others, and once the pool is
                               destroyed */
    cls_buffer_kind kind; /**< where the memory comes from */
    int shareable;        /**< nonzero: cls_buffer_open takes the buffer; cls_context_can_share says
                               in which contexts */
    int owned;            /**< nonzero: cls_buffer_destroy refuses the buffer, because it belongs to
                               an object of the library or to pinned memory */
    int reserved;         /**< 0; later releases may give it a meaning */
} cls_buffer_info;

#define CLS_BUFFER_INFO_INIT \
    { sizeof(cls_buffer_info), 0, 0, 0, 0, CLS_BUFFER_OWN, 0, 0, 0 }

/**
 * Gets the buffer's properties. The handles in them remain their owners'.
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_INVALID_VALUE  `info` is null, or its size field is wrong
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 */
CLS_API cls_status cls_buffer_get_info(cls_buffer buffer, cls_buffer_info *info);

/**
 * Allocates pinned host memory, aligned to a page, with undefined contents. Copies from and to it,
 * those of other contexts included, need no staging and run at the full speed of the bus. The caller
 * frees it with cls_host_free.
 *
 * To map memory takes a driver tens of microseconds or more. Therefore sizes are rounded up, by at
 * most an eighth or to a page, and a context keeps what was freed for its later calls of about the
 * same size: at most 256 MiB, of which it gives back first what was freed longest ago (cls_host_trim
 * gives back more). It keeps no memory that was a buffer (cls_host_buffer).
 * @retval CLS_ERROR_INVALID_VALUE        `out` is null, or `bytes` is 0
 * @retval CLS_ERROR_OUT_OF_MEMORY
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY which of the two depends on the driver
 */
CLS_API cls_status cls_host_alloc(cls_context context, size_t bytes, void **out);

/**
 * Gets memory of cls_host_alloc, or of cls_host_register, as a buffer of the context that it was allocated on, so that
 * kernels, fills, copies and typed operations take it. Every call for the same memory gives the same
 * handle. It belongs to the memory: cls_host_free ends it, and cls_buffer_destroy refuses it.
 *
 * On a CPU the host and the device use the same bytes: the host may access them while no pending
 * command uses the buffer, and sees what finished commands wrote. Other devices may work on a copy
 * of their own. There the rule of coarse-grained unified memory holds from the first call on
 * (managed.h): the memory belongs to the host until cls_prefetch_async(buffer, CLS_TO_DEVICE, stream)
 * and from then on to the device, until cls_prefetch_async(buffer, CLS_TO_HOST, stream) is done.
 * While it belongs to the device, neither the host nor a copy from or to its address may use it.
 * A program that follows this rule runs on all devices; CLSTREAM_MANAGED=coarse applies it on all.
 *
 * The race checker compares commands that use the buffer with copies from and to the memory.
 * @retval CLS_ERROR_INVALID_VALUE a pointer is null, or `memory` is not the start of memory of
 *                                 cls_host_alloc; the detail has the offset of a pointer inside it
 * @retval CLS_ERROR_UNSUPPORTED   the driver's pinned memory cannot be a buffer
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_OUT_OF_MEMORY
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY
 */
CLS_API cls_status cls_host_buffer(const void *memory, cls_buffer *out);

/**
 * Frees memory of cls_host_alloc, after waiting for the pending copies that use it and for the
 * pending commands that use its buffer. Inside a host function or callback it returns at once, and
 * the memory is freed when those are done. NULL is a no-op.
 * @retval CLS_ERROR_INVALID_VALUE the pointer is not from cls_host_alloc
 * @retval CLS_ERROR_OUT_OF_MEMORY inside a host function: nothing was done
 */
CLS_API cls_status cls_host_free(void *memory);

/**
 * Makes memory of the program's pinned memory of a context, as cudaHostRegister does, on a device that shares the host's
 * memory (cls_device_info.unified_memory). From then on it is as memory of cls_host_alloc: copies from and to it need no
 * staging, and cls_host_buffer gets it as a buffer, whose kernels use the same bytes without a copy. What the host does to
 * see results is said there: on a CPU it waits for the commands, elsewhere cls_prefetch_async hands the bytes over.
 *
 * `memory` begins at a multiple of cls_device_info.base_align bytes. It stays valid until cls_host_unregister has returned,
 * also if the context is destroyed before. That the driver uses the memory itself is tried by values at the first use of
 * a device.
 * @retval CLS_ERROR_INVALID_VALUE        `memory` is null or not aligned, or `bytes` is 0
 * @retval CLS_ERROR_INVALID_STATE        some of it is pinned already
 * @retval CLS_ERROR_OUT_OF_RANGE         it passes the end of memory
 * @retval CLS_ERROR_UNSUPPORTED          the device has memory of its own, or its driver copies the program's
 * @retval CLS_ERROR_OUT_OF_MEMORY
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY also for more than the device allows in one buffer
 */
CLS_API cls_status cls_host_register(cls_context context, void *memory, size_t bytes);

/**
 * Ends cls_host_register and the buffer of the memory, after waiting for the pending copies that use the memory and for
 * the pending commands that use its buffer. From its return on the memory is the program's alone, unless
 * the driver never ends a command that uses it, which the library has reported as failed. If the device owned it
 * (cls_prefetch_async), its contents are undefined then.
 * @retval CLS_ERROR_INVALID_VALUE  `memory` is not the start of memory of cls_host_register
 * @retval CLS_ERROR_WOULD_DEADLOCK inside a host function or callback
 */
CLS_API cls_status cls_host_unregister(void *memory);

/**
 * Gives freed pinned memory that the context keeps (cls_host_alloc) back to the driver until no more
 * than `keep` bytes are kept. The library's staged copies keep theirs in the same place, and map it
 * anew when they need it.
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 */
CLS_API cls_status cls_host_trim(cls_context context, size_t keep);

/**
 * Copies `bytes` bytes of host memory to a buffer. The memory must stay unchanged until the copy is
 * done, except by work that the copy comes after: unlike cudaMemcpyAsync, the call copies no pageable
 * memory before it returns. CLSTREAM_CHECK=race finds changes (check.h).
 */
CLS_API cls_status cls_copy_h2d_async(cls_buffer dst, size_t dst_offset, const void *src,
                                      size_t bytes, cls_stream stream);
/** Like cls_copy_h2d_async, and waits for the copy. */
CLS_API cls_status cls_copy_h2d(cls_buffer dst, size_t dst_offset, const void *src, size_t bytes,
                                cls_stream stream);

/** Copies `bytes` bytes of a buffer to host memory, which holds them once the copy is done. */
CLS_API cls_status cls_copy_d2h_async(void *dst, cls_buffer src, size_t src_offset, size_t bytes,
                                      cls_stream stream);
/** Like cls_copy_d2h_async, and waits for the copy. */
CLS_API cls_status cls_copy_d2h(void *dst, cls_buffer src, size_t src_offset, size_t bytes,
                                cls_stream stream);

/**
 * Copies `bytes` bytes from buffer to buffer, or within one buffer, on the device. A kernel of the
 * library does it, and counts as a kernel, on drivers whose own copies cannot be used (`clstream
 * info` lists that among the quirks); the same holds for fills.
 *
 * The buffers may be of two contexts, of one device or of two. The copy is a command of `stream`,
 * which belongs to the context of one of them (NULL: of `dst`): it runs after the stream's earlier
 * work and before its later work. Order it with streams of the other context by events. If the
 * stream's context can use the other buffer because that is shareable (share.h), the driver copies,
 * as within one context. Otherwise the bytes go through pinned memory, on a thread of the library
 * that starts once the stream's earlier work is done. A cls_device_group (device_group.h) overlaps
 * such copies with each other and with computation.
 * @retval CLS_ERROR_OVERLAP       also of two handles of one shareable memory
 * @retval CLS_ERROR_WRONG_CONTEXT `stream` is of neither buffer's context
 */
CLS_API cls_status cls_copy_d2d_async(cls_buffer dst, size_t dst_offset, cls_buffer src,
                                      size_t src_offset, size_t bytes, cls_stream stream);
/** Like cls_copy_d2d_async, and waits for the copy. */
CLS_API cls_status cls_copy_d2d(cls_buffer dst, size_t dst_offset, cls_buffer src,
                                size_t src_offset, size_t bytes, cls_stream stream);

/**
 * Copies `bytes` bytes of host memory on the host, in the order of a stream: after its earlier work
 * and before its later work. It counts as a host function (CLS_COMMAND_HOST).
 * @retval CLS_ERROR_OVERLAP source and destination overlap
 */
CLS_API cls_status cls_copy_h2h_async(void *dst, const void *src, size_t bytes, cls_stream stream);
/** Like cls_copy_h2h_async, and waits for the copy. */
CLS_API cls_status cls_copy_h2h(void *dst, const void *src, size_t bytes, cls_stream stream);

/**
 * A rectangle of bytes in two or three dimensions: `depth` slices of `height` rows of `width` bytes.
 * A pitch is the distance in bytes from the start of one row to the start of the next, a slice pitch
 * from the start of one slice to the start of the next. Two dimensions leave the members from `depth`
 * on at 0.
 */
typedef struct cls_rect {
    size_t width;      /**< bytes per row */
    size_t height;     /**< rows per slice */
    size_t dst_offset; /**< bytes from the start of the destination to the first row */
    size_t dst_pitch;  /**< at least width */
    size_t src_offset; /**< bytes from the start of the source to the first row */
    size_t src_pitch;  /**< at least width */
    size_t depth;      /**< number of slices; 0 counts as 1 */
    /** At least the bytes from the start of a slice to the end of its last row, or 0 for height *
     * dst_pitch; of one slice any. */
    size_t dst_slice_pitch;
    size_t src_slice_pitch; /**< the same for the source */
} cls_rect;

/**
 * Copies a rectangle of host memory to a buffer.
 * @retval CLS_ERROR_INVALID_VALUE a pitch is below the width, or a slice pitch below the bytes of a
 *                                 slice; all rectangle copies return this
 */
CLS_API cls_status cls_copy_rect_h2d_async(cls_buffer dst, const void *src, const cls_rect *rect,
                                           cls_stream stream);
/** Like cls_copy_rect_h2d_async, and waits for the copy. */
CLS_API cls_status cls_copy_rect_h2d(cls_buffer dst, const void *src, const cls_rect *rect,
                                     cls_stream stream);
/** Copies a rectangle of a buffer to host memory. */
CLS_API cls_status cls_copy_rect_d2h_async(void *dst, cls_buffer src, const cls_rect *rect,
                                           cls_stream stream);
/** Like cls_copy_rect_d2h_async, and waits for the copy. */
CLS_API cls_status cls_copy_rect_d2h(void *dst, cls_buffer src, const cls_rect *rect,
                                     cls_stream stream);
/**
 * Copies a rectangle from buffer to buffer, or within one buffer, on the device. The buffers may be of
 * two contexts, as in cls_copy_d2d_async. Several slices without a gap between them are one, and so
 * are slices of one row. A kernel of the library does the copy, and counts as a kernel that copied so
 * many bytes, in three cases: within one buffer if the pitches differ, rows cross a multiple of the
 * pitch, or there are several slices; if a slice pitch is no multiple of the pitch; and on drivers
 * whose own copy cannot be used (`clstream info` lists that among the quirks).
 * @retval CLS_ERROR_WRONG_CONTEXT `stream` is of neither buffer's context
 */
CLS_API cls_status cls_copy_rect_d2d_async(cls_buffer dst, cls_buffer src, const cls_rect *rect,
                                           cls_stream stream);
/** Like cls_copy_rect_d2d_async, and waits for the copy. */
CLS_API cls_status cls_copy_rect_d2d(cls_buffer dst, cls_buffer src, const cls_rect *rect,
                                     cls_stream stream);
/**
 * Copies a rectangle of host memory on the host, in the order of a stream, as cls_copy_h2h_async does.
 * @retval CLS_ERROR_OVERLAP source and destination share a byte
 */
CLS_API cls_status cls_copy_rect_h2h_async(void *dst, const void *src, const cls_rect *rect,
                                           cls_stream stream);
/** Like cls_copy_rect_h2h_async, and waits for the copy. */
CLS_API cls_status cls_copy_rect_h2h(void *dst, const void *src, const cls_rect *rect,
                                     cls_stream stream);

/**
 * Fills `bytes` bytes with a pattern of 1, 2, 4, 8 or 16 bytes. The call copies the pattern.
 * @retval CLS_ERROR_INVALID_VALUE also if the offset or the size is no multiple of the pattern's
 *                                 size
 */
CLS_API cls_status cls_fill_async(cls_buffer dst, size_t offset, size_t bytes, const void *pattern,
                                  size_t pattern_bytes, cls_stream stream);
/** Like cls_fill_async, and waits for the fill. */
CLS_API cls_status cls_fill(cls_buffer dst, size_t offset, size_t bytes, const void *pattern,
                            size_t pattern_bytes, cls_stream stream);

/**
 * Fills a rectangle with a pattern of 1, 2, 4, 8 or 16 bytes, which begins anew in each row. The call
 * copies the pattern, and uses the destination's members of `rect` only. A kernel of the library fills,
 * and counts as a kernel that copied so many bytes, unless all rows follow each other without a gap.
 * @retval CLS_ERROR_INVALID_VALUE also if the offset, the width or, of more than one row or slice, a
 *                                 pitch is no multiple of the pattern's size
 */
CLS_API cls_status cls_fill_rect_async(cls_buffer dst, const cls_rect *rect, const void *pattern,
                                       size_t pattern_bytes, cls_stream stream);
/** Like cls_fill_rect_async, and waits for the fill. */
CLS_API cls_status cls_fill_rect(cls_buffer dst, const cls_rect *rect, const void *pattern,
                                 size_t pattern_bytes, cls_stream stream);

/** The target of a prefetch. */
typedef enum cls_location {
    CLS_TO_DEVICE = 0, /**< where the stream's kernels run */
    CLS_TO_HOST = 1    /**< where the program runs */
} cls_location;

/**
 * Moves a buffer's memory to the stream's device or to the host ahead of its use. This is a hint,
 * except for unified memory on a coarse-grained device, where it hands the memory over (managed.h).
 * It moves nothing to the host if the driver's migration cannot be trusted (`clstream info` lists
 * that among the quirks). This call moves one buffer; a cls_prefetcher (prefetcher.h) loads batches
 * of data ahead.
 */
CLS_API cls_status cls_prefetch_async(cls_buffer buffer, cls_location where, cls_stream stream);
/** Like cls_prefetch_async, and waits for the move. */
CLS_API cls_status cls_prefetch(cls_buffer buffer, cls_location where, cls_stream stream);

/** What the host does with mapped bytes: OpenCL's CL_MAP_READ and its kind. */
typedef enum cls_map_access {
    CLS_MAP_READ = 1,            /**< reads them */
    CLS_MAP_WRITE = 2,           /**< writes some of them; those that it does not write stay */
    CLS_MAP_READ_WRITE = 3,      /**< reads and writes them */
    CLS_MAP_WRITE_INVALIDATE = 4 /**< writes all of them; their former contents are lost */
} cls_map_access;

/**
 * Maps `bytes` bytes of a buffer for the host, in the order of a stream. `pointer` receives their
 * address at once. The host may use it after it has waited for the map: for the stream, or for an
 * event recorded behind the map. cls_buffer_unmap_async ends the map. A host function may do all of this; one that
 * the stream runs behind the map may use the pointer without a wait.
 *
 * Pinned memory as a buffer on a CPU (cls_host_buffer) and fine-grained unified memory are mapped where they are, without
 * a copy. Of any other buffer the bytes are copied, by the stream, to pinned memory of the context, and back by the unmap
 * of a map for writing: the address is known before the stream reaches the map, which no driver's own map offers.
 *
 * From the map to the unmap, no command may write mapped bytes, and none may read bytes that are mapped for writing;
 * CLSTREAM_CHECK=race finds such commands (check.h). Maps for reading may overlap.
 *
 * A buffer may be destroyed while it is mapped: this ends its maps, whose pointers must not be used any more, and what the
 * host has written is lost. CLSTREAM_CHECK=leak reports maps that were not ended. If the stream fails before it reaches
 * the map, the mapped bytes are undefined until the unmap. A graph cannot contain maps, because it would use the pointer
 * of one capture in each launch: capture copies from and to memory of cls_host_alloc instead.
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_INVALID_VALUE        `pointer` is null, `bytes` is 0, or `access` is unknown
 * @retval CLS_ERROR_OUT_OF_RANGE
 * @retval CLS_ERROR_WRONG_CONTEXT
 * @retval CLS_ERROR_INVALID_STATE        the bytes overlap with a map, and one of the two is for writing; the host owns
 *                                        the unified memory (managed.h); or the stream is captured, and its capture is
 *                                        invalid from then on
 * @retval CLS_ERROR_OUT_OF_MEMORY
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY
 * @return also the error of a poisoned stream
 */
CLS_API cls_status cls_buffer_map_async(cls_buffer buffer, cls_map_access access, size_t offset,
                                        size_t bytes, cls_stream stream, void **pointer);
/** Like cls_buffer_map_async, and waits for the map. After an error the buffer is not mapped. */
CLS_API cls_status cls_buffer_map(cls_buffer buffer, cls_map_access access, size_t offset,
                                  size_t bytes, cls_stream stream, void **pointer);

/**
 * Ends a map. The host must not use the pointer from the call on. Later commands of the stream see what the host has
 * written. The stream need not be the map's: another one is ordered behind the map by the host's wait for it, or by an
 * event. After an error the bytes are still mapped, as on a poisoned stream: unmap them on another one, or after
 * cls_stream_reset.
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_INVALID_VALUE `pointer` is not where a map of the buffer begins: it never was, or the map has ended
 * @retval CLS_ERROR_WRONG_CONTEXT
 * @retval CLS_ERROR_INVALID_STATE the stream is captured, and its capture is invalid from then on; or the host owns the
 *                                 unified memory
 * @retval CLS_ERROR_OUT_OF_MEMORY
 * @return also the error of a poisoned stream
 */
CLS_API cls_status cls_buffer_unmap_async(cls_buffer buffer, const void *pointer,
                                          cls_stream stream);
/** Like cls_buffer_unmap_async, and waits for the unmap. */
CLS_API cls_status cls_buffer_unmap(cls_buffer buffer, const void *pointer, cls_stream stream);

CLS_END_DECLS

#endif
