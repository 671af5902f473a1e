/* SPDX-License-Identifier: MIT */
/**
 * @file pool.h
 * A pool of streams: gives out the stream that suits a piece of work, makes more under load, and learns
 * from the durations that are reported to it.
 *
 * Streams are shared: the same one is given to several callers, who hold it until they release it. A
 * leased stream is one caller's alone. Streams belong to the pool: they are not to be destroyed.
 *
 * **Priorities.** A stream of the pool is created with the priority that is asked for. What that does is
 * what cls_stream_get_info shows as its priority in effect: where the device has no priorities every
 * stream's is CLS_PRIORITY_NORMAL, and a priority only chooses among the pool's streams.
 *
 * All calls are safe from any thread. Statuses common to all: CLS_ERROR_INVALID_HANDLE,
 * CLS_ERROR_INVALID_VALUE (a null argument, an unknown constant, a size field of another library),
 * CLS_ERROR_CONTEXT_DESTROYED, CLS_ERROR_OUT_OF_MEMORY.
 */
#ifndef CLSTREAM_POOL_H
#define CLSTREAM_POOL_H

#include <clstream/stream.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/** A pool of streams of one context. */
typedef struct cls_pool_handle *cls_pool;

/** How cls_pool_get chooses. A poisoned stream is given only where all are. */
typedef enum cls_pool_strategy {
    CLS_POOL_ROUND_ROBIN = 0,   /**< one after the other */
    CLS_POOL_LOAD_BALANCED = 1, /**< the one with the fewest commands outstanding */
    CLS_POOL_PRIORITY = 2,      /**< the most urgent one without work, or else as load balanced */
    CLS_POOL_WORKLOAD = 3       /**< streams of this kind of work; as load balanced among them */
} cls_pool_strategy;

/** Kinds of work. */
typedef enum cls_workload {
    CLS_WORKLOAD_COMPUTE = 0,      /**< kernels */
    CLS_WORKLOAD_MEMORY = 1,       /**< copies and fills */
    CLS_WORKLOAD_MIXED = 2,        /**< both */
    CLS_WORKLOAD_COORDINATION = 3, /**< short steps that others wait for */
    CLS_WORKLOADS = 4              /**< how many kinds there are */
} cls_workload;

/** Options of cls_pool_create. Start with CLS_POOL_CONFIG_INIT. */
typedef struct cls_pool_config {
    size_t size;                /**< sizeof(cls_pool_config) */
    cls_pool_strategy strategy; /**< of cls_pool_get */
    unsigned min_streams;       /**< made at once; 0: 4 */
    unsigned max_streams;       /**< 0: four times min_streams */
    unsigned busy;              /**< outstanding commands from which on a stream is busy; 0: 16 */
} cls_pool_config;

#define CLS_POOL_CONFIG_INIT \
    { sizeof(cls_pool_config), CLS_POOL_ROUND_ROBIN, 0, 0, 0 }

/** What is known of a kind of work. */
typedef struct cls_workload_figures {
    uint64_t completions; /**< recorded */
    double average_ns;    /**< 0 without any */
    double deviation_ns;  /**< the standard deviation */
} cls_workload_figures;

/** What a pool is and has learnt. Start with CLS_POOL_INFO_INIT. */
typedef struct cls_pool_info {
    size_t size;                                   /**< sizeof(cls_pool_info) */
    cls_pool_strategy strategy;                    /**< in force */
    unsigned streams;                              /**< now */
    unsigned held;                                 /**< of them given out and not released */
    unsigned leased;                               /**< of those to one caller alone */
    unsigned min_streams;                          /**< it never has fewer */
    unsigned max_streams;                          /**< it never has more */
    uint64_t grown;                                /**< streams made under way */
    uint64_t shrunk;                               /**< streams destroyed under way */
    cls_workload_figures workloads[CLS_WORKLOADS]; /**< by kind of work */
} cls_pool_info;

#define CLS_POOL_INFO_INIT                                                  \
    {                                                                       \
        sizeof(cls_pool_info), CLS_POOL_ROUND_ROBIN, 0, 0, 0, 0, 0, 0, 0, { \
            { 0, 0, 0 }                                                     \
        }                                                                   \
    }

/** What cls_pool_optimize decided. Start with CLS_POOL_ADVICE_INIT. */
typedef struct cls_pool_advice {
    size_t size;              /**< sizeof(cls_pool_advice) */
    cls_pool_strategy before; /**< the call */
    cls_pool_strategy after;  /**< it; the same where it stayed */
    char why[192];            /**< a sentence with the figures behind it */
} cls_pool_advice;

#define CLS_POOL_ADVICE_INIT \
    { sizeof(cls_pool_advice), CLS_POOL_ROUND_ROBIN, CLS_POOL_ROUND_ROBIN, "" }

/** Creates a pool and its first streams on a context. `config` may be NULL.
 * @retval CLS_ERROR_INVALID_VALUE also max_streams below min_streams */
CLS_API cls_status cls_pool_create(cls_context context, const cls_pool_config *config,
                                   cls_pool *out);

/** Destroys a pool and its streams, held ones too, and returns at once; pending work still completes. */
CLS_API cls_status cls_pool_destroy(cls_pool pool);

/**
 * Gives the stream that the strategy prefers. Where every stream that is not leased is busy one more is
 * made, up to max_streams; where that fails the preferred one is given all the same.
 * @retval CLS_ERROR_LIMIT every stream is leased, and there may be no more
 */
CLS_API cls_status cls_pool_get(cls_pool pool, cls_stream *out);

/** As cls_pool_get, for a kind of work: with CLS_POOL_WORKLOAD a stream that has been given to that kind
 * only, as long as there are enough. */
CLS_API cls_status cls_pool_get_for_workload(cls_pool pool, cls_workload workload, cls_stream *out);

/** As cls_pool_get, among the streams of a priority (clamped). Without one it is made, up to max_streams;
 * else the one of the nearest priority is given. */
CLS_API cls_status cls_pool_get_with_priority(cls_pool pool, int priority, cls_stream *out);

/** Gives a stream that nobody holds, made if need be, to this caller alone.
 * @retval CLS_ERROR_LIMIT every stream is held, and there may be no more */
CLS_API cls_status cls_pool_lease(cls_pool pool, cls_stream *out);

/**
 * Gives a stream back, once for each time it was given. When nobody holds it any more, it has no work, and
 * there are more than min_streams, it is destroyed.
 * @retval CLS_ERROR_NOT_FOUND the stream is not held, or not the pool's
 */
CLS_API cls_status cls_pool_release(cls_pool pool, cls_stream stream);

/** Sets `ready` to 1 or 0: whether some stream that is not leased has no work outstanding. */
CLS_API cls_status cls_pool_has_ready(cls_pool pool, int *ready);

/**
 * Waits until some stream that is not leased has no work outstanding, for at most `timeout_ns` nanoseconds
 * (UINT64_MAX: without end), and stores it, not held. Whether its work failed is for cls_stream_query to say.
 * @retval CLS_ERROR_TIMEOUT        all are at work still
 * @retval CLS_ERROR_LIMIT          every stream is leased
 * @retval CLS_ERROR_WOULD_DEADLOCK called inside a host function or callback
 */
CLS_API cls_status cls_pool_wait_any(cls_pool pool, uint64_t timeout_ns, cls_stream *out);

/** Reports how long a piece of work took, for the averages and for cls_pool_optimize. */
CLS_API cls_status cls_pool_record_completion(cls_pool pool, cls_workload workload,
                                              uint64_t duration_ns);

/** What the pool is and has learnt. */
CLS_API cls_status cls_pool_get_info(cls_pool pool, cls_pool_info *info);

/** Sets the strategy. */
CLS_API cls_status cls_pool_set_strategy(cls_pool pool, cls_pool_strategy strategy);

/**
 * Moves to the strategy that the recorded durations favour, and says why (`advice` may be NULL): priority
 * where coordination is short beside the rest, workload where kinds of work differ by a factor of two or
 * more, load balanced where durations scatter, round robin where they are even. With fewer than 8 records it
 * stays.
 */
CLS_API cls_status cls_pool_optimize(cls_pool pool, cls_pool_advice *advice);

CLS_END_DECLS

#endif
