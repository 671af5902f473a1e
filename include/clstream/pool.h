/* SPDX-License-Identifier: MIT */
/**
 * @file pool.h
 * A pool of streams: gives out the stream that suits a piece of work, makes more under load, and learns
 * from the durations that are reported to it.
 *
 * Streams are shared: the same one is given to several callers, who hold it until they release it. A
 * leased stream is one caller's alone. Streams belong to the pool: they are not to be destroyed.
 *
 * **Outstanding work** of a stream is an estimate, in nanoseconds, of what it has yet to do. Work comes
 * in pieces: what is submitted from a get to its release. A piece counts with the first of these that is
 * known:
 *
 *   - its cost, as the request said (cls_pool_request.cost_ns);
 *   - the average of the durations recorded for its kind of work (cls_pool_record_completion);
 *   - its size: 2,000 ns a command, 2 ns a work-item of a launch over the device's compute units,
 *     1 ns for 10 bytes that are copied or filled.
 *
 * A cost or an average counts from the get on, a size from the submission; both until the piece's
 * commands are done, in proportion to those that are not. The size is a rough guess, and knows nothing
 * of how long a kernel loops: where like launches take unlike times, say the cost. Pieces are only
 * compared with each other, so costs in another unit do as well, if all pieces have one. Whose commands
 * are whose is not known of a stream that several hold: their costs are added up, and a release takes
 * off an equal share.
 *
 * **Growing and shrinking.** A get that finds every stream busy, of those that it is to choose from, makes one
 * more, up to max_streams, and a period of idle_ns begins. The pool's need in a period is the most streams that were held or had work
 * at once, as each get, release and optimize found it. The first of these calls after a period destroys
 * as many streams as were more than that need and min_streams, of those that nobody holds and that have
 * no work; and the next period begins. Without such a call nothing is destroyed.
 *
 * **Priorities.** A stream of the pool is created with the priority that is asked for; stream.h says what
 * that does where the device has priorities and where it has none.
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
    CLS_POOL_LOAD_BALANCED = 1, /**< the one with the least work outstanding */
    CLS_POOL_PRIORITY = 2,      /**< the most urgent one without work, or else as load balanced */
    CLS_POOL_WORKLOAD = 3       /**< streams of this kind of work; as load balanced among them */
} cls_pool_strategy;

/** Kinds of work. */
typedef enum cls_workload {
    CLS_WORKLOAD_COMPUTE = 0,      /**< kernels */
    CLS_WORKLOAD_MEMORY = 1,       /**< copies and fills */
    CLS_WORKLOAD_MIXED = 2,        /**< both */
    CLS_WORKLOAD_COORDINATION = 3, /**< short steps that others wait for */
    CLS_WORKLOADS = 4,             /**< how many kinds there are */
    CLS_WORKLOAD_ANY = -1          /**< in a request: no kind in particular */
} cls_workload;

/** A clock in nanoseconds, called without a lock held, from any thread. */
typedef uint64_t (*cls_pool_clock)(void *arg);

/** Options of cls_pool_create. Start with CLS_POOL_CONFIG_INIT. */
typedef struct cls_pool_config {
    size_t size;                /**< sizeof(cls_pool_config) */
    cls_pool_strategy strategy; /**< of cls_pool_get */
    unsigned min_streams;       /**< made at once; 0: 4 */
    unsigned max_streams;       /**< 0: four times min_streams */
    unsigned busy;              /**< outstanding commands from which on a stream is busy; 0: 16 */
    uint64_t busy_ns;           /**< the same of outstanding work; 0: commands alone count */
    uint64_t idle_ns;           /**< the period of shrinking; 0: 100 ms; UINT64_MAX: streams stay */
    cls_pool_clock clock;       /**< for the period; NULL: the host's monotonic clock */
    void *clock_arg;            /**< what it is called with */
} cls_pool_config;

#define CLS_POOL_CONFIG_INIT \
    { sizeof(cls_pool_config), CLS_POOL_ROUND_ROBIN, 0, 0, 0, 0, 0, 0, 0 }

/** What a stream is wanted for. Start with CLS_POOL_REQUEST_INIT, which is cls_pool_get's. */
typedef struct cls_pool_request {
    size_t size;           /**< sizeof(cls_pool_request) */
    uint64_t cost_ns;      /**< how long the piece of work takes, about; 0: not known */
    cls_workload workload; /**< as cls_pool_get_for_workload; CLS_WORKLOAD_ANY */
    int by_priority;       /**< nonzero: as cls_pool_get_with_priority, with `priority` */
    int priority;          /**< where by_priority asks for one; clamped */
    int exclusive;         /**< nonzero: as cls_pool_lease */
} cls_pool_request;

#define CLS_POOL_REQUEST_INIT \
    { sizeof(cls_pool_request), 0, CLS_WORKLOAD_ANY, 0, 0, 0 }

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
 * @retval CLS_ERROR_INVALID_VALUE also max_streams below min_streams, or one of them above 65536 */
CLS_API cls_status cls_pool_create(cls_context context, const cls_pool_config *config,
                                   cls_pool *out);

/** Destroys a pool and its streams, held ones too, and returns at once; pending work still completes. */
CLS_API cls_status cls_pool_destroy(cls_pool pool);

/**
 * Gives the stream that the strategy prefers. Where every stream that is not leased is busy, or poisoned, one
 * more is made, up to max_streams; where that fails the preferred one is given all the same. To be got again
 * for the next piece of work: what is held for long is not balanced.
 * @retval CLS_ERROR_LIMIT every stream is leased, and there may be no more
 */
CLS_API cls_status cls_pool_get(cls_pool pool, cls_stream *out);

/** As cls_pool_get, for a kind of work: with CLS_POOL_WORKLOAD a stream that is kept for that kind, as long as
 * there are enough. Where those are busy one that is kept for none yet is taken, or made. */
CLS_API cls_status cls_pool_get_for_workload(cls_pool pool, cls_workload workload, cls_stream *out);

/** As cls_pool_get, among the streams of a priority (clamped). Without one, or where they are busy, it is made,
 * up to max_streams; without one then, one of the nearest priority is given. */
CLS_API cls_status cls_pool_get_with_priority(cls_pool pool, int priority, cls_stream *out);

/** As cls_pool_get, but gives a stream that nobody holds, to this caller alone.
 * @retval CLS_ERROR_LIMIT every stream is held, and there may be no more */
CLS_API cls_status cls_pool_lease(cls_pool pool, cls_stream *out);

/** All of these in one: a request says what is known of the work and wanted of the stream. NULL is
 * cls_pool_get. */
CLS_API cls_status cls_pool_get_with(cls_pool pool, const cls_pool_request *request,
                                     cls_stream *out);

/**
 * Gives a stream back, once for each time it was given: the piece of work is submitted. It need not be
 * done.
 * @retval CLS_ERROR_NOT_FOUND the stream is not held, or not the pool's
 */
CLS_API cls_status cls_pool_release(cls_pool pool, cls_stream stream);

/** The outstanding work of one of the pool's streams.
 * @retval CLS_ERROR_NOT_FOUND the stream is not the pool's */
CLS_API cls_status cls_pool_get_outstanding(cls_pool pool, cls_stream stream, uint64_t *ns);

/** Sets `ready` to 1 or 0: whether some stream that is not leased has no work outstanding. */
CLS_API cls_status cls_pool_has_ready(cls_pool pool, int *ready);

/**
 * Waits until some stream that is not leased is done with the work that it has at the call, for at most
 * `timeout_ns` nanoseconds (UINT64_MAX: without end), and stores it, not held: others may be given it
 * meanwhile, or a call of theirs destroy it. Whether its work failed is for cls_stream_query to say.
 * @retval CLS_ERROR_TIMEOUT        all are at work still; the detail says what they wait for
 * @retval CLS_ERROR_LIMIT          every stream is leased
 * @retval CLS_ERROR_WOULD_DEADLOCK called inside a host function or callback
 */
CLS_API cls_status cls_pool_wait_any(cls_pool pool, uint64_t timeout_ns, cls_stream *out);

/** Reports how long a piece of work took: for the averages, by which later pieces of its kind count, and
 * for cls_pool_optimize. */
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
