/* SPDX-License-Identifier: MIT */
/**
 * @file mempool.h
 * Stream-ordered memory: allocations and frees that take effect at a point of a stream's order,
 * like cudaMallocAsync and cudaFreeAsync. Memory pools hold this memory; a cls_pool (pool.h) is a
 * pool of streams.
 *
 * cls_malloc_async returns a buffer that work submitted to `stream` from now on may use, and work
 * of other streams that is ordered after this point. cls_free_async ends the buffer's life at a
 * point of a stream: work submitted before that point may still use it, later work may not. Neither
 * waits, neither is a command, and both work on a poisoned stream too. In steady state a malloc and
 * free together cost about as much as two uncontended locks, and threads that use different streams
 * do not contend.
 *
 * The memory comes from the context's current pool, unless the call names another one. Sizes are
 * rounded up to size classes, by at most an eighth. From 256 KiB on, an allocation may get free
 * memory of up to twice its size. Every buffer starts at the device's base alignment. A pool keeps
 * at most a quarter more than was ever in use (plus 16 MiB for allocations below 256 KiB), and
 * gives unused memory beyond that back to the driver.
 *
 * A freed handle is stale at once: using it or freeing it again is CLS_ERROR_INVALID_HANDLE, even
 * after the memory was allocated again. Both calls free every buffer of the caller's:
 * cls_buffer_destroy works on these buffers too, and their memory is reused once no submitted
 * command needs it; cls_free_async works on buffers of cls_buffer_create, cls_managed_alloc and
 * cls_buffer_wrap too, as cls_buffer_destroy does.
 *
 * **Reuse.** The pool gives freed memory out again, in this order of preference:
 *   - to the stream that freed it, at once;
 *   - to another stream that is already ordered after the free, by events that it waited for,
 *     directly or through other streams (CLS_REUSE_FOLLOW);
 *   - to any stream, once the work before the free is done (CLS_REUSE_DONE);
 *   - to another stream, after making it wait for the free (CLS_REUSE_INSERT).
 *
 * cls_mempool_config selects which of these a pool may use between streams.
 *
 * **Shareable pools.** Buffers of a pool that was created with `shareable`, and of the default pool of
 * a context that was created with `shareable_pool` (context.h), can be opened in other
 * contexts (cls_buffer_open, share.h), as CUDA's cudaMemPoolSetAccess allows; cls_buffer_export
 * does not take them. Such a pool takes memory in blocks of at least 2 MiB, each one allocation
 * that the contexts share, and a file descriptor for each block. Freeing a buffer that is open
 * elsewhere succeeds: its own handle is stale, the opened ones stay valid, and the pool gives the
 * memory out again once the last of them is destroyed and its work is done. An error would be no
 * safer: another context may open the buffer at any moment before the free.
 *
 * A NULL stream means a default stream: that of the buffer's or pool's context, or that of the
 * default context. Statuses common to all calls: CLS_ERROR_INVALID_HANDLE,
 * CLS_ERROR_CONTEXT_DESTROYED (not returned by frees and destroys, which still succeed then),
 * CLS_ERROR_INVALID_VALUE for null out-parameters and wrong size fields, CLS_ERROR_OUT_OF_MEMORY
 * (host memory). Every function may be called from any thread, and inside host functions.
 */
#ifndef CLSTREAM_MEMPOOL_H
#define CLSTREAM_MEMPOOL_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** A pool of device memory of one context. */
typedef struct cls_mempool_handle *cls_mempool;

/** How a stream may get memory that was freed on another stream. A combination of bits. */
typedef enum cls_reuse {
    CLS_REUSE_NONE = 0,        /**< only memory that was given back to the pool */
    CLS_REUSE_FOLLOW = 1,      /**< if the stream is already ordered after the free */
    CLS_REUSE_DONE = 2,        /**< if the work before the free is done */
    CLS_REUSE_FOLLOW_DONE = 3, /**< both of these: the default */
    CLS_REUSE_INSERT = 4,      /**< after making the stream wait for the free; a failure or a
                                    delay of the one stream then affects the other */
    CLS_REUSE_ALL = 7          /**< all of these */
} cls_reuse;

/** Options of a memory pool. Start with CLS_MEMPOOL_CONFIG_INIT. */
typedef struct cls_mempool_config {
    size_t size;              /**< sizeof(cls_mempool_config) */
    size_t release_threshold; /**< bytes that may stay reserved when the host synchronizes with a
                                   stream that uses the pool; unused memory beyond goes back to the
                                   driver. SIZE_MAX (the default) keeps all that is likely to be
                                   useful; CUDA's default is 0 */
    size_t max_bytes;         /**< most bytes reserved at a time; 0: no limit */
    cls_reuse reuse;          /**< how freed memory may go from stream to stream */
    int shareable;            /**< nonzero: other contexts can open the pool's buffers. Decided at
                                   creation: cls_mempool_set_config does not change it */
} cls_mempool_config;

#define CLS_MEMPOOL_CONFIG_INIT \
    { sizeof(cls_mempool_config), SIZE_MAX, 0, CLS_REUSE_FOLLOW_DONE, 0 }

/** Statistics of a memory pool. Start with CLS_MEMPOOL_STATISTICS_INIT. */
typedef struct cls_mempool_statistics {
    size_t size;            /**< sizeof(cls_mempool_statistics) */
    uint64_t used;          /**< bytes allocated and not freed, after rounding up */
    uint64_t used_high;     /**< highest `used` since cls_mempool_reset_peaks: exact with one
                                 stream; with several, memory that each freed recently may be
                                 included */
    uint64_t reserved;      /**< bytes taken from the driver */
    uint64_t reserved_high; /**< highest `reserved` since cls_mempool_reset_peaks */
    uint64_t blocks;        /**< driver buffers that make up `reserved` */
    uint64_t mallocs;       /**< allocations that succeeded */
    uint64_t frees;         /**< frees that succeeded */
    uint64_t fresh;         /**< allocations of memory used for the first time */
    uint64_t same_stream;   /**< allocations of memory that the same stream had freed */
    uint64_t followed;      /**< allocations by CLS_REUSE_FOLLOW */
    uint64_t done;          /**< allocations by CLS_REUSE_DONE, or of memory that was given back
                                 to the pool */
    uint64_t inserted;      /**< allocations by CLS_REUSE_INSERT */
} cls_mempool_statistics;

#define CLS_MEMPOOL_STATISTICS_INIT \
    { sizeof(cls_mempool_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Memory allocated for one stream, over all pools. Start with CLS_STREAM_MEMORY_INIT. */
typedef struct cls_stream_memory {
    size_t size;      /**< sizeof(cls_stream_memory) */
    uint64_t used;    /**< bytes allocated for the stream and not freed on any, after rounding up */
    uint64_t peak;    /**< highest `used` in each pool, summed over the pools */
    uint64_t cached;  /**< bytes freed on this stream and not yet reused */
    uint64_t mallocs; /**< allocations for this stream that succeeded */
    uint64_t frees;   /**< frees on this stream that succeeded */
} cls_stream_memory;

#define CLS_STREAM_MEMORY_INIT \
    { sizeof(cls_stream_memory), 0, 0, 0, 0, 0 }

/**
 * Allocates `bytes` bytes with undefined contents from the current pool of the stream's context.
 * @retval CLS_ERROR_INVALID_VALUE        `out` is null, or `bytes` is 0
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY the driver has no more memory, the pool would exceed
 *                                        max_bytes, or `bytes` is more than the device allows in
 *                                        one buffer; the detail says which
 */
CLS_API cls_status cls_malloc_async(cls_stream stream, size_t bytes, cls_buffer *out);

/**
 * Frees a buffer of cls_malloc_async at this point of `stream`, which need not be the stream that
 * it was allocated for. Uses by other streams must be ordered before this point. Any other buffer of
 * the stream's context is destroyed, and submitted work keeps its memory until it is done.
 * @retval CLS_ERROR_INVALID_HANDLE also a buffer that is already freed
 * @retval CLS_ERROR_INVALID_VALUE  the buffer belongs to an object, or to pinned memory
 * @retval CLS_ERROR_WRONG_CONTEXT
 * @retval CLS_ERROR_INVALID_STATE  the stream is captured, and its capture did not allocate the buffer
 */
CLS_API cls_status cls_free_async(cls_buffer buffer, cls_stream stream);

/**
 * Like cls_malloc_async, from a given pool of the stream's context.
 * @retval CLS_ERROR_WRONG_CONTEXT
 */
CLS_API cls_status cls_mempool_malloc_async(cls_mempool pool, cls_stream stream, size_t bytes,
                                            cls_buffer *out);

/**
 * Creates a memory pool. NULL `config`: the defaults. The pool takes no memory from the driver
 * before the first allocation. The caller destroys the pool.
 * @retval CLS_ERROR_INVALID_VALUE an unknown bit in `reuse`
 * @retval CLS_ERROR_UNSUPPORTED   `shareable`, and the device has no memory that can be shared; the
 *                                 detail has the reason
 */
CLS_API cls_status cls_mempool_create(cls_context context, const cls_mempool_config *config,
                                      cls_mempool *out);

/**
 * Destroys a memory pool and returns at once. Its buffers stay valid until they are freed. Memory
 * goes back to the driver once it is free and the work on it is done; nothing has to wait for that
 * work. If it was the context's current pool, the default pool becomes current.
 * @retval CLS_ERROR_INVALID_VALUE the pool is a default pool
 */
CLS_API cls_status cls_mempool_destroy(cls_mempool pool);

/** Gets the default pool of the context. It is the current pool unless another one was set. */
CLS_API cls_status cls_mempool_default(cls_context context, cls_mempool *out);

/**
 * Sets the context's current pool. NULL: the default pool.
 * @retval CLS_ERROR_WRONG_CONTEXT
 */
CLS_API cls_status cls_context_set_mempool(cls_context context, cls_mempool pool);

/** Gets the context's current pool. */
CLS_API cls_status cls_context_get_mempool(cls_context context, cls_mempool *out);

/** Gets the pool's current options. */
CLS_API cls_status cls_mempool_get_config(cls_mempool pool, cls_mempool_config *config);
/**
 * Sets the pool's options but `shareable`. NULL: the defaults. Lowering a limit does not release memory by itself.
 */
CLS_API cls_status cls_mempool_set_config(cls_mempool pool, const cls_mempool_config *config);

/**
 * Gives unused memory back to the driver until no more than `keep` bytes are reserved. It does not
 * wait: memory whose last work is pending stays.
 */
CLS_API cls_status cls_mempool_trim(cls_mempool pool, size_t keep);

/** Gets the pool's statistics. */
CLS_API cls_status cls_mempool_get_statistics(cls_mempool pool, cls_mempool_statistics *statistics);

/** Sets the high-water marks of the pool, and the peaks of its streams, to the current use. */
CLS_API cls_status cls_mempool_reset_peaks(cls_mempool pool);

/** When memory freed by cls_stream_free_all_async may be reused. */
typedef enum cls_free_mode {
    /** At once, in the stream's order, as with cls_free_async. */
    CLS_FREE_IN_ORDER = 0,
    /** Only when the stream's work so far is done, also by the stream itself. */
    CLS_FREE_WHEN_DONE = 1
} cls_free_mode;

/**
 * Frees all memory that was allocated for `stream` from any pool and is not freed yet, at this
 * point of the stream. Buffers that other threads allocate for it at the same time may or may not
 * be included. Temporary memory of the library's own operations is not included.
 * @retval CLS_ERROR_INVALID_VALUE an unknown mode
 * @retval CLS_ERROR_INVALID_STATE the stream is captured (graph.h)
 */
CLS_API cls_status cls_stream_free_all_async(cls_stream stream, cls_free_mode mode);

/**
 * Makes later frees on `stream` wait for the event's latest record at the time of this call: the
 * memory is not reused before that work is done. The stream's own work does not wait for the event.
 * Use it if another stream still reads the memory while this stream goes on.
 */
CLS_API cls_status cls_stream_frees_wait_event(cls_stream stream, cls_event event);

/**
 * Asks whether all memory freed on the stream so far could be reused by any stream. Calling it
 * repeatedly is enough for the work to finish.
 * @retval CLS_SUCCESS   it could
 * @retval CLS_NOT_READY work before one of the frees, or an event that they wait for, is pending
 */
CLS_API cls_status cls_stream_query_frees(cls_stream stream);

/** Gets how much memory is allocated for the stream. */
CLS_API cls_status cls_stream_get_memory(cls_stream stream, cls_stream_memory *memory);

CLS_END_DECLS

#endif
