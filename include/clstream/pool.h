/* SPDX-License-Identifier: MIT */
/**
 * @file pool.h
 * A pool of streams: gives out the stream that suits a piece of work, creates more under load, and
 * learns from reported durations. For pools of memory see mempool.h.
 *
 * Streams are shared: several callers may hold the same one, each until it releases it. A leased
 * stream is held by one caller alone. The streams belong to the pool: do not destroy them.
 *
 * **Outstanding work** of a stream is an estimate, in nanoseconds, of the work that it has still to
 * do. A piece of work is what a caller submits between getting a stream and releasing it. Its
 * estimate is the first of these that is known:
 *   - its cost, as given in the request (cls_pool_request.cost_ns);
 *   - the average of the durations recorded for its kind of work (cls_pool_record_completion);
 *   - its size: 2,000 ns per command, 2 ns per work-item of a launch divided by the device's
 *     compute units, 1 ns per 10 bytes copied or filled.
 *
 * A cost or an average counts from the get on, a size from the submission. Each counts down as the
 * commands of the piece complete. The size is a rough guess, and does not know how long a kernel
 * loops: if similar launches take different times, state the cost. The pool only compares pieces
 * with each other, so costs in any other unit work too, if all pieces have one. If several callers
 * hold a stream, the pool cannot tell their commands apart: it adds up their costs, and each
 * release takes off an equal share.
 *
 * **Growing and shrinking.** A get creates one more stream, up to max_streams, if all streams that
 * it may choose from are busy; a period of idle_ns begins then. The need of a period is the most
 * streams that were held or had work at the same time, as observed by every get, release and
 * optimize. The first of these calls after a period destroys the streams beyond that need and
 * beyond min_streams, as far as they are not held and have no work, and the next period begins.
 * Without such a call nothing is destroyed.
 *
 * **Priorities.** A stream of the pool is created with the requested priority; stream.h describes
 * its effect on devices with and without queue priorities.
 *
 * Every function may be called from any thread. Statuses common to all: CLS_ERROR_INVALID_HANDLE,
 * CLS_ERROR_INVALID_VALUE (a null argument, an unknown constant, a wrong size),
 * CLS_ERROR_CONTEXT_DESTROYED, CLS_ERROR_OUT_OF_MEMORY.
 */
#ifndef CLSTREAM_POOL_H
#define CLSTREAM_POOL_H

#include <clstream/stream.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/** A pool of streams of one context. */
typedef struct cls_pool_handle *cls_pool;

/** How cls_pool_get chooses a stream. It gives a poisoned stream only if all are poisoned. */
typedef enum cls_pool_strategy {
    CLS_POOL_ROUND_ROBIN = 0,   /**< each stream in turn */
    CLS_POOL_LOAD_BALANCED = 1, /**< the stream with the least outstanding work */
    CLS_POOL_PRIORITY = 2,      /**< the most urgent stream without work; if none, as load
                                     balanced */
    CLS_POOL_WORKLOAD = 3       /**< a stream kept for this kind of work; as load balanced among
                                     these */
} cls_pool_strategy;

/** Kinds of work. */
typedef enum cls_workload {
    CLS_WORKLOAD_COMPUTE = 0,      /**< kernels */
    CLS_WORKLOAD_MEMORY = 1,       /**< copies and fills */
    CLS_WORKLOAD_MIXED = 2,        /**< both */
    CLS_WORKLOAD_COORDINATION = 3, /**< short steps that other work waits for */
    CLS_WORKLOADS = 4,             /**< the number of kinds */
    CLS_WORKLOAD_ANY = -1          /**< in a request: no particular kind */
} cls_workload;

/** A clock that returns nanoseconds. Called from any thread, without a lock held. */
typedef uint64_t (*cls_pool_clock)(void *arg);

/** Options of cls_pool_create. Start with CLS_POOL_CONFIG_INIT. */
typedef struct cls_pool_config {
    size_t size;                /**< sizeof(cls_pool_config) */
    cls_pool_strategy strategy; /**< for cls_pool_get */
    unsigned min_streams;       /**< created with the pool; 0: 4 */
    unsigned max_streams;       /**< 0: four times min_streams */
    unsigned busy;              /**< a stream with so many outstanding commands is busy; 0: 16 */
    uint64_t busy_ns;           /**< a stream with so much outstanding work is busy; 0: only
                                     `busy` counts */
    uint64_t idle_ns;           /**< period for shrinking; 0: 100 ms; UINT64_MAX: never shrink */
    cls_pool_clock clock;       /**< for the period; NULL: the host's monotonic clock */
    void *clock_arg;            /**< argument of `clock` */
} cls_pool_config;

#define CLS_POOL_CONFIG_INIT \
    { sizeof(cls_pool_config), CLS_POOL_ROUND_ROBIN, 0, 0, 0, 0, 0, 0, 0 }

/** A request for a stream. Start with CLS_POOL_REQUEST_INIT, which means cls_pool_get. */
typedef struct cls_pool_request {
    size_t size;           /**< sizeof(cls_pool_request) */
    uint64_t cost_ns;      /**< estimated duration of the piece of work; 0: unknown */
    cls_workload workload; /**< as in cls_pool_get_for_workload; or CLS_WORKLOAD_ANY */
    int by_priority;       /**< nonzero: as cls_pool_get_with_priority, with `priority` */
    int priority;          /**< used if by_priority is set; clamped */
    int exclusive;         /**< nonzero: as cls_pool_lease */
} cls_pool_request;

#define CLS_POOL_REQUEST_INIT \
    { sizeof(cls_pool_request), 0, CLS_WORKLOAD_ANY, 0, 0, 0 }

/** Recorded durations of one kind of work. */
typedef struct cls_workload_figures {
    uint64_t completions; /**< number of recorded durations */
    double average_ns;    /**< their average; 0 without any */
    double deviation_ns;  /**< their standard deviation */
} cls_workload_figures;

/** State of a pool, and what it has learnt. Start with CLS_POOL_INFO_INIT. */
typedef struct cls_pool_info {
    size_t size;                                   /**< sizeof(cls_pool_info) */
    cls_pool_strategy strategy;                    /**< the current strategy */
    unsigned streams;                              /**< streams that exist now */
    unsigned held;                                 /**< streams that are held now */
    unsigned leased;                               /**< held streams that are leased to one
                                                        caller */
    unsigned min_streams;                          /**< lower limit of `streams` */
    unsigned max_streams;                          /**< upper limit of `streams` */
    uint64_t grown;                                /**< streams created after the pool itself */
    uint64_t shrunk;                               /**< streams destroyed before the pool itself */
    cls_workload_figures workloads[CLS_WORKLOADS]; /**< durations by kind of work */
} cls_pool_info;

#define CLS_POOL_INFO_INIT                                                  \
    {                                                                       \
        sizeof(cls_pool_info), CLS_POOL_ROUND_ROBIN, 0, 0, 0, 0, 0, 0, 0, { \
            { 0, 0, 0 }                                                     \
        }                                                                   \
    }

/** Decision of cls_pool_optimize. Start with CLS_POOL_ADVICE_INIT. */
typedef struct cls_pool_advice {
    size_t size;              /**< sizeof(cls_pool_advice) */
    cls_pool_strategy before; /**< strategy before the call */
    cls_pool_strategy after;  /**< strategy after the call; the same if it did not change */
    char why[192];            /**< one sentence with the figures behind the decision */
} cls_pool_advice;

#define CLS_POOL_ADVICE_INIT \
    { sizeof(cls_pool_advice), CLS_POOL_ROUND_ROBIN, CLS_POOL_ROUND_ROBIN, "" }

/**
 * Creates a pool and its first streams on a context. NULL `config`: the defaults. The caller
 * destroys the pool.
 * @retval CLS_ERROR_INVALID_VALUE also if max_streams is below min_streams, or one of them is above
 *                                 65536
 */
CLS_API cls_status cls_pool_create(cls_context context, const cls_pool_config *config,
                                   cls_pool *out);

/**
 * Destroys a pool and its streams, including streams that are held, and returns at once. Pending
 * work still completes.
 */
CLS_API cls_status cls_pool_destroy(cls_pool pool);

/**
 * Gets the stream that the strategy prefers; the caller then holds it. If every stream that is not
 * leased is busy or poisoned, the pool creates one more, up to max_streams; if that fails, it gives
 * the preferred stream. Get a stream for each piece of work: work on a stream that is held for long
 * is not balanced.
 * @retval CLS_ERROR_LIMIT all streams are leased, and max_streams is reached
 */
CLS_API cls_status cls_pool_get(cls_pool pool, cls_stream *out);

/**
 * Like cls_pool_get, for a kind of work. With CLS_POOL_WORKLOAD it gives a stream that is kept for
 * that kind, as long as there are enough streams. If those are busy, it takes a stream that is not
 * kept for any kind yet, or creates one.
 */
CLS_API cls_status cls_pool_get_for_workload(cls_pool pool, cls_workload workload, cls_stream *out);

/**
 * Like cls_pool_get, among the streams of one priority (clamped). If there is none, or all are
 * busy, the pool creates one, up to max_streams. If there is still none, it gives a stream of the
 * nearest priority.
 */
CLS_API cls_status cls_pool_get_with_priority(cls_pool pool, int priority, cls_stream *out);

/**
 * Like cls_pool_get, but gives a stream that nobody holds, to this caller alone.
 * @retval CLS_ERROR_LIMIT all streams are held, and max_streams is reached
 */
CLS_API cls_status cls_pool_lease(cls_pool pool, cls_stream *out);

/**
 * All these functions in one: the request states what is known about the work and which stream is
 * wanted. NULL means cls_pool_get.
 */
CLS_API cls_status cls_pool_get_with(cls_pool pool, const cls_pool_request *request,
                                     cls_stream *out);

/**
 * Gives a stream back, once for every time that it was given. The piece of work must be submitted,
 * but need not be done.
 * @retval CLS_ERROR_NOT_FOUND the stream is not held, or does not belong to the pool
 */
CLS_API cls_status cls_pool_release(cls_pool pool, cls_stream stream);

/**
 * Gets the outstanding work of one of the pool's streams.
 * @retval CLS_ERROR_NOT_FOUND the stream does not belong to the pool
 */
CLS_API cls_status cls_pool_get_outstanding(cls_pool pool, cls_stream stream, uint64_t *ns);

/** Sets `ready` to 1 if some stream that is not leased has no outstanding work, else to 0. */
CLS_API cls_status cls_pool_has_ready(cls_pool pool, int *ready);

/**
 * Waits until some stream that is not leased has finished the work that it has at the time of the
 * call, for at most `timeout_ns` nanoseconds (CLS_FOREVER: without limit), and stores that stream.
 * The caller does not hold it: other threads may get it, or cause the pool to destroy it.
 * cls_stream_query says whether its work failed.
 * @retval CLS_ERROR_TIMEOUT        all streams still have work; the detail says what they wait for
 * @retval CLS_ERROR_LIMIT          all streams are leased
 * @retval CLS_ERROR_WOULD_DEADLOCK called inside a host function or callback
 */
CLS_API cls_status cls_pool_wait_any(cls_pool pool, uint64_t timeout_ns, cls_stream *out);

/**
 * Reports the duration of a piece of work. The averages estimate later pieces of the same kind, and
 * cls_pool_optimize uses them.
 */
CLS_API cls_status cls_pool_record_completion(cls_pool pool, cls_workload workload,
                                              uint64_t duration_ns);

/** Gets the state of the pool. */
CLS_API cls_status cls_pool_get_info(cls_pool pool, cls_pool_info *info);

/** Sets the strategy. */
CLS_API cls_status cls_pool_set_strategy(cls_pool pool, cls_pool_strategy strategy);

/**
 * Changes to the strategy that the recorded durations favour, and explains the decision in `advice`
 * (may be NULL): priority if coordination work is short compared with the rest, workload if kinds
 * of work differ by a factor of two or more, load balanced if durations scatter, round robin if
 * they are even. With fewer than 8 records the strategy does not change.
 */
CLS_API cls_status cls_pool_optimize(cls_pool pool, cls_pool_advice *advice);

CLS_END_DECLS

#endif
