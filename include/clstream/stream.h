/* SPDX-License-Identifier: MIT */
/**
 * @file stream.h
 * Streams: work submitted to one takes effect in submission order; work of different streams may
 * overlap.
 *
 * A NULL stream means the default stream: of the context of the other arguments, or of the default
 * context where there are none. All calls are safe from any thread. Functions whose names end in
 * `_async`, record and wait_event only submit and never wait for the device.
 *
 * **Failure.** When a command fails its stream is poisoned, and so is every stream that comes to depend
 * on it, from the moment the failure is observed. A poisoned stream hands nothing more to the driver:
 * what it still holds is dropped and reported failed, and every submission to it, query and synchronize
 * return the first error, with the failed command's name in the detail, to every caller until
 * cls_stream_reset. Where a driver's launches share events (`event_less` and `chain_shares` of `clstream info`), one
 * that fails by itself takes up to 255 of those around it along, and is named as one of several where their kernels
 * differ; CLSTREAM_LAUNCH_BLOCKING=1 tells which. Callbacks are accepted and called all the same, with that error.
 *
 * Work that the driver does not start because every clFlush has failed for a quarter of a second has failed
 * too, with what the first clFlush said. Should the driver recover it may run after all: host memory that
 * such copies use must stay.
 *
 * Statuses common to all submissions: CLS_ERROR_INVALID_HANDLE, CLS_ERROR_CONTEXT_DESTROYED,
 * CLS_ERROR_OUT_OF_MEMORY, CLS_ERROR_LIMIT (fifo_limit reached), CLS_ERROR_SHUTDOWN, a poisoned stream's
 * error, and what the driver says when it refuses a command; a refused submission changes nothing. An operation
 * of several commands, as a reduction is, may be refused behind its first: its output stays as it was.
 *
 * **Priorities.** Where the device has them (the capability "priorities") a stream's queue is made with
 * its priority, and the driver does with it what it likes. Everywhere the library hands over in order of
 * priority what it still holds: commands behind a host function, a timeline, a cl_event, the work of
 * another context or work that is not with the driver itself, and those that found max_in_flight
 * reached. Before a stream's held commands go to the driver, and after each 32 of them, those of the
 * more urgent streams of its context go that can. Nothing is held back for commands that cannot go yet,
 * so no stream starves. Not promised: anything of commands that the driver has (a low max_in_flight of
 * the less urgent streams leaves it few), or that go to it in the call that submits them, because
 * nothing is ahead; any order of what two threads hand over at the same time, or of different contexts.
 *
 * **Environment.** CLSTREAM_QUEUE_ORDER=in|out forces the queue order of every stream (where the device
 * has it); CLSTREAM_LAUNCH_BLOCKING=1 makes every command complete before its call returns, to find the
 * one that fails; but for commands behind the wait for a timeline or a cl_event of the caller's.
 */
#ifndef CLSTREAM_STREAM_H
#define CLSTREAM_STREAM_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** How a stream's order is kept on the device. The semantics are the same. */
typedef enum cls_order {
    CLS_ORDER_AUTO = 0,         /**< what was measured to be better on this device */
    CLS_ORDER_OUT_OF_ORDER = 1, /**< an out-of-order queue and wait lists */
    CLS_ORDER_IN_ORDER = 2      /**< an in-order queue */
} cls_order;

/** How a blocking call waits. */
typedef enum cls_wait_policy {
    CLS_WAIT_AUTO = 0,  /**< a brief spin, then block */
    CLS_WAIT_SPIN = 1,  /**< lowest latency, a core burnt */
    CLS_WAIT_YIELD = 2, /**< spin, giving way to other threads */
    CLS_WAIT_BLOCK = 3  /**< block at once */
} cls_wait_policy;

/** Priorities: lower is more urgent, as in CUDA. Values outside are clamped. */
#define CLS_PRIORITY_HIGH (-1)
#define CLS_PRIORITY_NORMAL 0 /**< the default */
#define CLS_PRIORITY_LOW 1    /**< gives way to the others */

/** Options of cls_stream_create. Start with CLS_STREAM_CONFIG_INIT. */
typedef struct cls_stream_config {
    size_t size;            /**< sizeof(cls_stream_config) */
    const char *name;       /**< copied, at most 63 bytes kept; NULL: "stream N" */
    int priority;           /**< CLS_PRIORITY_* */
    cls_order order;        /**< overridden by CLSTREAM_QUEUE_ORDER=in|out in the environment */
    cls_wait_policy wait;   /**< how blocking calls on the stream wait */
    int timing;             /**< nonzero: the stream's queue is profiled from the start */
    unsigned max_in_flight; /**< commands the driver may hold, 2^20 at most; 0: 1024 */
    size_t fifo_limit;      /**< commands the library may hold besides; 0: no limit */
} cls_stream_config;

#define CLS_STREAM_CONFIG_INIT \
    { sizeof(cls_stream_config), 0, 0, CLS_ORDER_AUTO, CLS_WAIT_AUTO, 0, 0, 0 }

/** What a stream is. Start with CLS_STREAM_INFO_INIT. */
typedef struct cls_stream_info {
    size_t size;            /**< sizeof(cls_stream_info) */
    char name[64];          /**< as created, or "stream N" */
    cls_context context;    /**< that it is of */
    int priority;           /**< on the device: CLS_PRIORITY_NORMAL where it has no priorities */
    int held_priority;      /**< among what the library holds: as asked for, clamped */
    cls_order order;        /**< in effect: never AUTO */
    cls_wait_policy wait;   /**< how blocking calls on it wait */
    int timing;             /**< nonzero: the stream's queue is profiled */
    unsigned max_in_flight; /**< in effect */
    size_t fifo_limit;      /**< 0: none */
} cls_stream_info;

#define CLS_STREAM_INFO_INIT \
    { sizeof(cls_stream_info), "", 0, 0, 0, CLS_ORDER_AUTO, CLS_WAIT_AUTO, 0, 0, 0 }

/** Kinds of commands, as the counters and the profiler tell them apart. */
typedef enum cls_command_kind {
    CLS_COMMAND_KERNEL = 0,   /**< launches, typed operations and batches among them */
    CLS_COMMAND_COPY_H2D = 1, /**< uploads */
    CLS_COMMAND_COPY_D2H = 2, /**< downloads */
    CLS_COMMAND_COPY_D2D = 3, /**< copies within the device */
    CLS_COMMAND_FILL = 4,     /**< cls_fill_async */
    CLS_COMMAND_MIGRATE = 5,  /**< cls_prefetch_async */
    CLS_COMMAND_MARKER = 6,   /**< records of timed events, and what else only marks a point */
    CLS_COMMAND_HOST = 7,     /**< host functions */
    CLS_COMMAND_CALLBACK = 8, /**< cls_stream_add_callback */
    CLS_COMMAND_FOREIGN = 9,  /**< foreign code: cls_stream_foreign_async, CLBlast */
    CLS_COMMAND_KINDS = 10    /**< how many kinds there are */
} cls_command_kind;

/** Totals since the stream was created. Start with CLS_STREAM_COUNTERS_INIT. */
typedef struct cls_stream_counters {
    size_t size;                          /**< sizeof(cls_stream_counters) */
    uint64_t submitted;                   /**< commands */
    uint64_t completed;                   /**< of those: done, failed or dropped */
    uint64_t failed;                      /**< of the completed: failed or dropped */
    uint64_t commands[CLS_COMMAND_KINDS]; /**< submitted, by kind */
    uint64_t bytes_to_device;             /**< copied */
    uint64_t bytes_to_host;               /**< copied */
    uint64_t bytes_on_device;             /**< copied or filled within the device */
    uint64_t work_items;                  /**< of launches */
    uint64_t waits;                       /**< wait_* calls that made later work wait */
    uint64_t deferred;                    /**< commands that went through the FIFO */
    uint64_t stalls;                      /**< submissions that found max_in_flight reached */
    uint64_t in_flight;                   /**< held by the driver now */
    uint64_t queued;                      /**< held by the library now */
} cls_stream_counters;

#define CLS_STREAM_COUNTERS_INIT \
    { sizeof(cls_stream_counters), 0, 0, 0, {0}, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * Creates a stream on a context. `config` may be NULL.
 * @retval CLS_ERROR_INVALID_VALUE  a null out, an unknown constant, max_in_flight above 2^20
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_UNSUPPORTED    out-of-order asked for where the device has none
 * @retval CLS_ERROR_OUT_OF_MEMORY
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY
 */
CLS_API cls_status cls_stream_create(cls_context context, const cls_stream_config *config,
                                     cls_stream *out);

/**
 * Destroys a stream and returns at once; pending work, callbacks included, still completes.
 * @retval CLS_ERROR_INVALID_VALUE  a default stream, or one that belongs to a pool, a pipeline and so on
 * @retval CLS_ERROR_INVALID_HANDLE also NULL: destroy takes no default
 */
CLS_API cls_status cls_stream_destroy(cls_stream stream);

/**
 * Asks whether everything submitted so far is done. Polling alone finishes the work.
 * @retval CLS_SUCCESS   all done
 * @retval CLS_NOT_READY still pending
 * @return the first error of a poisoned stream
 */
CLS_API cls_status cls_stream_query(cls_stream stream);

/**
 * Waits until everything submitted before the call is done and every callback among it has returned.
 * @retval CLS_ERROR_WOULD_DEADLOCK called inside a host function or callback
 * @return the first error of a poisoned stream
 */
CLS_API cls_status cls_stream_synchronize(cls_stream stream);

/**
 * As cls_stream_synchronize, for at most `timeout_ns` nanoseconds.
 * @retval CLS_ERROR_TIMEOUT the work is still pending, and goes on; the detail says what it waits for,
 *                           as cls_context_explain
 */
CLS_API cls_status cls_stream_wait(cls_stream stream, uint64_t timeout_ns);

/**
 * Clears a poisoned stream once its pending work has drained: waits for it, forgets the error, and
 * replaces a queue that the failure killed. On a healthy stream it only waits.
 * Events recorded before the reset go on reporting the failure. What the stream was told to wait for, other
 * streams' work, timelines and cl_events, is waited for by what comes after, though the commands in between were
 * dropped; of a stream that has failed, only until its work has ended. So is other streams' work that still uses
 * stream-ordered memory which is this stream's now (mempool.h): the order in which it was given may have ended
 * with the failure.
 * @retval CLS_ERROR_WOULD_DEADLOCK called inside a host function or callback
 * @retval CLS_ERROR_DEADLOCK       work that uses such memory would wait for this stream's later work
 * @retval CLS_ERROR_CONTEXT_LOST   the driver lost the context; nothing can be reset
 */
CLS_API cls_status cls_stream_reset(cls_stream stream);

/**
 * Makes the stream's later work wait for the event's latest record at the time of this call. An event
 * that was never recorded, or whose work is done, makes nothing wait. Re-recording the event later
 * does not disturb the wait. The event may be of another context or device. A poisoned stream takes the
 * wait as well.
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_DEADLOCK the stream would wait for its own later work (timeline.h)
 */
CLS_API cls_status cls_stream_wait_event(cls_stream stream, cls_event event);

/**
 * A host function: runs after the stream's earlier work and before its later work, once, on a thread
 * of the library, without a lock held. It never runs when an earlier command of the stream failed.
 * Blocking clstream calls inside it return CLS_ERROR_WOULD_DEADLOCK; submitting to any stream is allowed.
 */
typedef void (*cls_host_fn)(void *arg);

/** Submits a host function. A function that runs for long delays nothing but its own stream. */
CLS_API cls_status cls_stream_launch_host_async(cls_stream stream, cls_host_fn fn, void *arg);

/** A completion callback: as a host function, but called on failure too, with the status. */
typedef void (*cls_stream_callback)(cls_stream stream, cls_status status, void *arg);

/**
 * Calls `fn` once the stream's work so far is done, exactly once, in stream order, also when it failed
 * (`status` is then the stream's first error) and when the process exits first (CLS_ERROR_SHUTDOWN).
 * Later work of the stream does not start before the callback has returned.
 */
CLS_API cls_status cls_stream_add_callback(cls_stream stream, cls_stream_callback fn, void *arg);

/** What the stream is, with the values in effect. */
CLS_API cls_status cls_stream_get_info(cls_stream stream, cls_stream_info *info);

/** A snapshot of the stream's counters. */
CLS_API cls_status cls_stream_get_counters(cls_stream stream, cls_stream_counters *counters);

CLS_END_DECLS

#endif
