/* SPDX-License-Identifier: MIT */
/**
 * @file mempool.h
 * Stream-ordered memory: allocation and free as points in a stream's order.
 *
 * cls_malloc_async returns a buffer that may be used by work submitted to `stream` from now on, and by
 * work of other streams that is ordered behind that point. cls_free_async ends its life at that point of
 * its stream: work submitted before may still use it, and no other work may. Neither waits, neither is a
 * command, and both take effect on a poisoned stream too. In steady state a pair costs about as much as
 * two uncontended locks, and threads on streams of their own do not meet.
 *
 * Memory comes from a pool, the context's current one unless another is named. Sizes are rounded up to
 * size classes, at most an eighth larger, and from 256 KiB on an allocation may be given free memory of up
 * to twice its size; every buffer starts at the device's base alignment. Rather than reserve a quarter
 * more than was ever in use (and 16 MiB more than that, for allocations below 256 KiB), a pool gives
 * unused memory back to the driver.
 *
 * A freed handle is stale at once: using it or freeing it again is CLS_ERROR_INVALID_HANDLE, also after
 * the memory has been handed out again. cls_buffer_destroy works on these buffers too: the memory is then
 * reused once no submitted command needs it any more.
 *
 * **Reuse.** Freed memory is given again, in this order of preference: to the stream that freed it, at
 * once; to another stream that is already ordered behind the free (by an event that it waited for,
 * directly or through other streams); to anyone, once the work before the free is done; behind a
 * dependency that the library inserts. cls_mempool_config says which of these a pool may use across
 * streams.
 *
 * A NULL stream is the default stream: of the buffer's or pool's context, or of the default context.
 * Statuses common to all calls: CLS_ERROR_INVALID_HANDLE, CLS_ERROR_CONTEXT_DESTROYED (but not from
 * frees and destroys, which then still succeed), CLS_ERROR_INVALID_VALUE for null out-parameters and
 * sizes of structs, CLS_ERROR_OUT_OF_MEMORY (of the host). All calls are safe from any thread, and
 * allowed in host functions.
 */
#ifndef CLSTREAM_MEMPOOL_H
#define CLSTREAM_MEMPOOL_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** A pool of device memory of one context. */
typedef struct cls_mempool_handle *cls_mempool;

/** Ways of giving a stream memory that was freed on another one. A combination of bits. */
typedef enum cls_reuse {
    CLS_REUSE_NONE = 0,        /**< only what is given back to the pool */
    CLS_REUSE_FOLLOW = 1,      /**< the stream is ordered behind the free already */
    CLS_REUSE_DONE = 2,        /**< the work before the free is done */
    CLS_REUSE_FOLLOW_DONE = 3, /**< both: the default */
    CLS_REUSE_INSERT = 4, /**< make the stream wait for the free. A failure of the one stream then
                                     poisons the other, and what holds up the one holds up the other */
    CLS_REUSE_ALL = 7     /**< every way */
} cls_reuse;

/** Options of a pool. Start with CLS_MEMPOOL_CONFIG_INIT. */
typedef struct cls_mempool_config {
    size_t size; /**< sizeof(cls_mempool_config) */
    size_t
        release_threshold; /**< bytes that may stay reserved when the host synchronizes with a stream
                                   that uses the pool: unused memory beyond is given back to the driver.
                                   SIZE_MAX (the default) keeps all that is likely to be of use, 0 is
                                   CUDA's default */
    size_t max_bytes;      /**< the most that is reserved at a time; 0: no limit */
    cls_reuse reuse;       /**< what may be given from stream to stream */
} cls_mempool_config;

#define CLS_MEMPOOL_CONFIG_INIT \
    { sizeof(cls_mempool_config), SIZE_MAX, 0, CLS_REUSE_FOLLOW_DONE }

/** What a pool holds and has done. Start with CLS_MEMPOOL_STATS_INIT. */
typedef struct cls_mempool_stats {
    size_t size;            /**< sizeof(cls_mempool_stats) */
    uint64_t used;          /**< bytes handed out and not freed, as rounded up */
    uint64_t used_high;     /**< the most since cls_mempool_reset_peaks: exact with one stream; with
                                  several, each may count what it has freed since its last detour */
    uint64_t reserved;      /**< bytes taken from the driver */
    uint64_t reserved_high; /**< the most since cls_mempool_reset_peaks */
    uint64_t blocks;        /**< buffers of the driver that make up `reserved` */
    uint64_t mallocs;       /**< calls that succeeded */
    uint64_t frees;         /**< calls that succeeded */
    uint64_t fresh;         /**< of the mallocs: memory used for the first time */
    uint64_t same_stream;   /**< freed on the same stream before */
    uint64_t followed;      /**< by CLS_REUSE_FOLLOW */
    uint64_t done;          /**< by CLS_REUSE_DONE, or from what had been given back to the pool */
    uint64_t inserted;      /**< by CLS_REUSE_INSERT */
} cls_mempool_stats;

#define CLS_MEMPOOL_STATS_INIT \
    { sizeof(cls_mempool_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** What was allocated for one stream, over all pools. Start with CLS_STREAM_MEMORY_INIT. */
typedef struct cls_stream_memory {
    size_t size;      /**< sizeof(cls_stream_memory) */
    uint64_t used;    /**< bytes allocated for the stream and not freed on any, as rounded up */
    uint64_t peak;    /**< the most of one pool at a time, summed over the pools */
    uint64_t cached;  /**< bytes freed on this stream that nobody has reused yet */
    uint64_t mallocs; /**< calls for this stream that succeeded */
    uint64_t frees;   /**< calls on this stream that succeeded */
} cls_stream_memory;

#define CLS_STREAM_MEMORY_INIT \
    { sizeof(cls_stream_memory), 0, 0, 0, 0, 0 }

/**
 * Allocates `bytes` bytes from the current pool of the stream's context; their contents are undefined.
 * @retval CLS_ERROR_INVALID_VALUE        null out, or 0 bytes
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY the driver has no more, the pool's max_bytes would be passed, or
 *                                        more than the device allows in one buffer; the detail says which
 */
CLS_API cls_status cls_malloc_async(cls_stream stream, size_t bytes, cls_buffer *out);

/**
 * Frees a buffer of cls_malloc_async at this point of `stream`, which may be another stream than it was
 * allocated for. What other streams still do with it must come before that point.
 * @retval CLS_ERROR_INVALID_HANDLE also a buffer that was freed already
 * @retval CLS_ERROR_INVALID_VALUE  a buffer of another kind
 * @retval CLS_ERROR_WRONG_CONTEXT
 */
CLS_API cls_status cls_free_async(cls_buffer buffer, cls_stream stream);

/** As cls_malloc_async, from a pool of the stream's context. @retval CLS_ERROR_WRONG_CONTEXT */
CLS_API cls_status cls_mempool_malloc_async(cls_mempool pool, cls_stream stream, size_t bytes,
                                            cls_buffer *out);

/**
 * Creates a pool. `config` may be NULL. It takes nothing from the driver before the first allocation.
 * @retval CLS_ERROR_INVALID_VALUE an unknown reuse bit
 */
CLS_API cls_status cls_mempool_create(cls_context context, const cls_mempool_config *config,
                                      cls_mempool *out);

/**
 * Destroys a pool and returns at once. Its buffers stay valid until they are freed; memory goes back to
 * the driver as soon as it is free and the work on it is done, whether or not anybody waits for that. Where
 * it was the context's current pool, the default pool takes its place.
 * @retval CLS_ERROR_INVALID_VALUE a default pool
 */
CLS_API cls_status cls_mempool_destroy(cls_mempool pool);

/** The pool that belongs to the context: the current one unless another was set. */
CLS_API cls_status cls_mempool_default(cls_context context, cls_mempool *out);

/**
 * Sets the context's current pool; NULL: the default pool.
 * @retval CLS_ERROR_WRONG_CONTEXT
 */
CLS_API cls_status cls_context_set_mempool(cls_context context, cls_mempool pool);

/** The context's current pool. */
CLS_API cls_status cls_context_get_mempool(cls_context context, cls_mempool *out);

/** A pool's options as they are. */
CLS_API cls_status cls_mempool_get_config(cls_mempool pool, cls_mempool_config *config);
/** Changes a pool's options; NULL: to the defaults. A lower limit gives nothing back by itself. */
CLS_API cls_status cls_mempool_set_config(cls_mempool pool, const cls_mempool_config *config);

/**
 * Gives memory that nothing uses back to the driver, as long as more than `keep` bytes are reserved.
 * Waits for nothing: memory whose last work is still pending stays.
 */
CLS_API cls_status cls_mempool_trim(cls_mempool pool, size_t keep);

/** What the pool holds and has done. */
CLS_API cls_status cls_mempool_get_stats(cls_mempool pool, cls_mempool_stats *stats);

/** Sets the high-water marks of the pool, and the peaks of its streams, to what is in use now. */
CLS_API cls_status cls_mempool_reset_peaks(cls_mempool pool);

/** When memory that is freed for all of a stream may be given again. */
typedef enum cls_free_mode {
    /** As with cls_free_async: at once, in the stream's order. */
    CLS_FREE_IN_ORDER = 0,
    /** To nobody, the stream itself included, before its work so far is done. */
    CLS_FREE_WHEN_DONE = 1
} cls_free_mode;

/**
 * Frees everything that was allocated for `stream`, from any pool, and was not freed yet, at this point
 * of the stream. Buffers that other threads allocate for it meanwhile may be among them or not. Temporary
 * memory of the library's own operations is not.
 * @retval CLS_ERROR_INVALID_VALUE an unknown mode
 */
CLS_API cls_status cls_stream_free_all_async(cls_stream stream, cls_free_mode mode);

/**
 * Makes later frees on `stream` wait for the event's latest record at the time of this call: what they
 * free is given to nobody before it is done. The stream's own work does not wait for the event. For
 * memory that another stream still reads while this one goes on.
 */
CLS_API cls_status cls_stream_frees_wait_event(cls_stream stream, cls_event event);

/**
 * Asks whether everything freed on the stream so far could be given to anyone. Polling alone gets there.
 * @retval CLS_SUCCESS   it could
 * @retval CLS_NOT_READY work before one of the frees, or an event that they wait for, is pending
 */
CLS_API cls_status cls_stream_query_frees(cls_stream stream);

/** What was allocated for the stream. */
CLS_API cls_status cls_stream_get_memory(cls_stream stream, cls_stream_memory *memory);

CLS_END_DECLS

#endif
