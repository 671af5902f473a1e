/* SPDX-License-Identifier: MIT */
/**
 * @file stream.h
 * Streams: commands of one stream take effect in submission order; commands of different streams
 * may overlap.
 *
 * A NULL stream means a default stream: that of the context of the call's other arguments, or that
 * of the default context if no other argument has a context. Every function may be called from any
 * thread. Functions whose names end in `_async`, cls_event_record and cls_stream_wait_event only
 * submit: they return without waiting for the device.
 *
 * **Failure.** A command that fails poisons its stream. From the moment the failure is observed,
 * every stream that depends on a poisoned stream is poisoned too. While a stream is poisoned:
 *   - it hands no more commands to the driver; the commands that the library still holds are
 *     dropped and reported as failed;
 *   - every submission, query and synchronize returns its first error to every caller, and the
 *     error detail names the command that failed;
 *   - cls_stream_add_callback still works: the callbacks are called with that error.
 *
 * cls_stream_reset ends this state.
 *
 * On some drivers consecutive launches share one OpenCL event (the capabilities `event_less` and
 * `chain_shares` in `clstream info`). There a launch that fails by itself also fails up to 255
 * launches around it, and if their kernels differ the detail calls it one of several kernels. Run
 * with CLSTREAM_LAUNCH_BLOCKING=1 to find out which.
 *
 * Work fails if the driver does not start it and every clFlush has failed for 250 ms; it gets the
 * error of the first of these clFlush calls. A driver that recovers may still run the work later,
 * so the host memory of such copies must stay valid.
 *
 * Every submission can return CLS_ERROR_INVALID_HANDLE, CLS_ERROR_CONTEXT_DESTROYED,
 * CLS_ERROR_OUT_OF_MEMORY, CLS_ERROR_LIMIT (fifo_limit is reached), CLS_ERROR_SHUTDOWN, the error
 * of a poisoned stream, and the driver's error if the driver refuses the command. A refused
 * submission changes nothing. An operation of several commands, such as a reduction, may be refused
 * after its first command was submitted; its output is unchanged in that case.
 *
 * **Priorities.** If the device has queue priorities (the capability "priorities"), the stream's
 * OpenCL queue is created with the stream's priority, and its effect is up to the driver. On every
 * device the library submits the commands that it holds itself in order of priority. It holds
 * commands that wait for a host function, a timeline, a cl_event, work of another context or work
 * that is not with the driver yet, and commands that found max_in_flight reached. Before it hands a
 * stream's held commands to the driver, and again after every 32 of them, it hands over the
 * commands of more urgent streams of the same context that are ready to go. It never holds a ready
 * command back for one that is not ready, so no stream starves. Priorities have no effect on
 * commands that the driver already has (a low max_in_flight on the less urgent streams keeps these
 * few), on commands that go to the driver inside the submitting call because nothing is ahead of
 * them, on the order of what two threads hand over at the same time, or between contexts.
 *
 * **Environment.** CLSTREAM_QUEUE_ORDER=in|out forces the queue order of every stream, where the
 * device supports it. CLSTREAM_LAUNCH_BLOCKING=1 completes every command before its call returns,
 * to find the one that fails; it does not wait for commands behind a wait for a timeline or for a
 * caller's cl_event.
 */
#ifndef CLSTREAM_STREAM_H
#define CLSTREAM_STREAM_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** How the device keeps the order of a stream. The semantics are the same for all. */
typedef enum cls_order {
    CLS_ORDER_AUTO = 0,         /**< the order that was measured to be better on this device */
    CLS_ORDER_OUT_OF_ORDER = 1, /**< an out-of-order queue, with wait lists */
    CLS_ORDER_IN_ORDER = 2      /**< an in-order queue */
} cls_order;

/** How a blocking call on a stream waits. */
typedef enum cls_wait_policy {
    CLS_WAIT_AUTO = 0,  /**< spins briefly, then blocks; blocks at once where the device computes on
                             the host's cores, which would lack the one that spins */
    CLS_WAIT_SPIN = 1,  /**< spins: lowest latency, keeps one core busy */
    CLS_WAIT_YIELD = 2, /**< spins and yields to other threads */
    CLS_WAIT_BLOCK = 3  /**< blocks at once */
} cls_wait_policy;

/** The most urgent priority. Lower numbers are more urgent, as in CUDA; others are clamped. */
#define CLS_PRIORITY_HIGH (-1)
#define CLS_PRIORITY_NORMAL 0 /**< the default */
#define CLS_PRIORITY_LOW 1    /**< the least urgent priority */

/** Options of cls_stream_create. Start with CLS_STREAM_CONFIG_INIT. */
typedef struct cls_stream_config {
    size_t size;            /**< sizeof(cls_stream_config) */
    const char *name;       /**< copied, at most 63 bytes kept; NULL: "stream N" */
    int priority;           /**< CLS_PRIORITY_* */
    cls_order order;        /**< CLSTREAM_QUEUE_ORDER=in|out in the environment overrides it */
    cls_wait_policy wait;   /**< how blocking calls on the stream wait */
    int timing;             /**< nonzero: the queue is profiled from the start */
    unsigned max_in_flight; /**< most commands that the driver holds at a time, up to 2^20; 0:
                                 1024 */
    size_t fifo_limit;      /**< most commands that the library holds besides; 0: no limit */
    int non_blocking;       /**< nonzero: exempt from the legacy order of its context's default
                                 stream (cls_context_default_stream); without effect in others */
    int reserved;           /**< 0; later releases may give it a meaning */
} cls_stream_config;

#define CLS_STREAM_CONFIG_INIT \
    { sizeof(cls_stream_config), 0, 0, CLS_ORDER_AUTO, CLS_WAIT_AUTO, 0, 0, 0, 0, 0 }

/** Properties of a stream, from cls_stream_get_info. Start with CLS_STREAM_INFO_INIT. */
typedef struct cls_stream_info {
    size_t size;            /**< sizeof(cls_stream_info) */
    char name[64];          /**< as created, or "stream N" */
    cls_context context;    /**< the context of the stream */
    int priority;           /**< of the device queue; CLS_PRIORITY_NORMAL if the device has no
                                 priorities */
    int held_priority;      /**< for the commands that the library holds: as requested, clamped */
    cls_order order;        /**< in effect; never CLS_ORDER_AUTO */
    cls_wait_policy wait;   /**< how blocking calls on the stream wait */
    int timing;             /**< nonzero: the stream's queue is profiled */
    unsigned max_in_flight; /**< in effect */
    size_t fifo_limit;      /**< 0: no limit */
    int non_blocking;       /**< 0: the stream takes part in the legacy order of its context's
                                 default stream */
    int reserved;           /**< 0; later releases may give it a meaning */
} cls_stream_info;

#define CLS_STREAM_INFO_INIT \
    { sizeof(cls_stream_info), "", 0, 0, 0, CLS_ORDER_AUTO, CLS_WAIT_AUTO, 0, 0, 0, 0, 0 }

/** Kinds of commands, for the counters and the profiler. */
typedef enum cls_command_kind {
    CLS_COMMAND_KERNEL = 0,   /**< launches, including those of typed operations and batches */
    CLS_COMMAND_COPY_H2D = 1, /**< uploads */
    CLS_COMMAND_COPY_D2H = 2, /**< downloads */
    CLS_COMMAND_COPY_D2D = 3, /**< copies within the device */
    CLS_COMMAND_FILL = 4,     /**< cls_fill_async */
    CLS_COMMAND_MIGRATE = 5,  /**< cls_prefetch_async */
    CLS_COMMAND_MARKER = 6,   /**< records of timed events, and other markers */
    CLS_COMMAND_HOST = 7,     /**< host functions */
    CLS_COMMAND_CALLBACK = 8, /**< callbacks of cls_stream_add_callback */
    CLS_COMMAND_FOREIGN = 9,  /**< the caller's OpenCL code (cls_stream_foreign_async) and
                                   CLBlast */
    CLS_COMMAND_GRAPH = 10,   /**< cls_graph_launch_async */
    CLS_COMMAND_KINDS = 11    /**< the number of kinds */
} cls_command_kind;

/** Totals since the stream was created. Start with CLS_STREAM_COUNTERS_INIT. */
typedef struct cls_stream_counters {
    size_t size;                          /**< sizeof(cls_stream_counters) */
    uint64_t submitted;                   /**< commands submitted */
    uint64_t completed;                   /**< submitted commands that are done, failed or
                                               dropped */
    uint64_t failed;                      /**< completed commands that failed or were dropped */
    uint64_t commands[CLS_COMMAND_KINDS]; /**< commands submitted, by cls_command_kind */
    uint64_t bytes_to_device;             /**< bytes copied from the host */
    uint64_t bytes_to_host;               /**< bytes copied to the host */
    uint64_t bytes_on_device;             /**< bytes copied or filled within the device */
    uint64_t work_items;                  /**< work-items of all launches */
    uint64_t waits;                       /**< wait_* calls that made later work wait */
    uint64_t deferred;                    /**< commands that went through the library's FIFO */
    uint64_t stalls;    /**< submissions that found max_in_flight commands with the
                                               driver and the library, and waited up to 200 us */
    uint64_t in_flight; /**< commands that the driver holds now */
    uint64_t queued;    /**< commands that the library holds now */
} cls_stream_counters;

#define CLS_STREAM_COUNTERS_INIT \
    { sizeof(cls_stream_counters), 0, 0, 0, {0}, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * Creates a stream on a context. NULL `config`: the defaults. The caller destroys the stream.
 * @retval CLS_ERROR_INVALID_VALUE `out` is null, a constant is unknown, or max_in_flight is above
 *                                 2^20
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_UNSUPPORTED   out-of-order was requested and the device does not support it
 * @retval CLS_ERROR_OUT_OF_MEMORY
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY
 */
CLS_API cls_status cls_stream_create(cls_context context, const cls_stream_config *config,
                                     cls_stream *out);

/**
 * Destroys a stream and returns at once. Pending work, including callbacks, still completes.
 * @retval CLS_ERROR_INVALID_VALUE  the stream is a default stream, or belongs to a pool, a pipeline
 *                                  or another object
 * @retval CLS_ERROR_INVALID_HANDLE also for NULL, which does not mean the default stream here
 */
CLS_API cls_status cls_stream_destroy(cls_stream stream);

/**
 * Asks whether all work submitted so far is done. Calling it repeatedly is enough for the work to
 * finish; no flush is needed. In a context with the legacy order, cls_context_default_stream says
 * which other work this call, cls_stream_synchronize and cls_stream_wait are about.
 * @retval CLS_SUCCESS   all work is done
 * @retval CLS_NOT_READY work is pending
 * @return the first error of a poisoned stream
 */
CLS_API cls_status cls_stream_query(cls_stream stream);

/**
 * Waits until all work submitted before the call is done and all its callbacks have returned.
 * @retval CLS_ERROR_WOULD_DEADLOCK called inside a host function or callback
 * @return the first error of a poisoned stream
 */
CLS_API cls_status cls_stream_synchronize(cls_stream stream);

/**
 * Like cls_stream_synchronize, but waits for at most `timeout_ns` nanoseconds (CLS_FOREVER: without limit).
 * @retval CLS_ERROR_TIMEOUT work is still pending and continues; the detail says what it waits for,
 *                           in the form of cls_context_explain
 */
CLS_API cls_status cls_stream_wait(cls_stream stream, uint64_t timeout_ns);

/**
 * Makes a poisoned stream usable again: waits until its pending work has drained, clears the error,
 * and replaces the OpenCL queues that the failure made unusable. On a healthy stream it only waits.
 *
 * Events recorded before the reset keep reporting the failure. Waits are kept: work submitted after
 * the reset still waits for the other streams' work, timelines and cl_events that the stream was
 * told to wait for, although the commands in between were dropped. If another stream that it waits
 * for has failed, the wait ends once that stream's work has ended. Work submitted after the reset
 * also waits for work of other streams that still uses stream-ordered memory now allocated for this
 * stream (mempool.h), because the order that allowed the reuse may have ended with the failure.
 * @retval CLS_ERROR_WOULD_DEADLOCK called inside a host function or callback
 * @retval CLS_ERROR_DEADLOCK       the work that uses such memory waits for later work of this
 *                                  stream
 * @retval CLS_ERROR_CONTEXT_LOST   the driver lost the context; nothing can be reset
 */
CLS_API cls_status cls_stream_reset(cls_stream stream);

/**
 * Makes later work of the stream wait for the event's latest record at the time of this call. An
 * event that was never recorded, or whose work is done, makes nothing wait. Recording the event
 * again later does not change this wait. The event may belong to another context or device. A
 * poisoned stream accepts the wait too. If the event was recorded in a capture, the stream joins
 * the capture (graph.h).
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_DEADLOCK      the stream would wait for its own later work (timeline.h)
 * @retval CLS_ERROR_INVALID_STATE the stream is captured, and the event was recorded outside of its
 *                                 capture; or the event's capture is invalid or has ended
 * @retval CLS_ERROR_UNSUPPORTED   the stream would join a capture, and belongs to an object of the
 *                                 library, or is the default stream of a context with the legacy
 *                                 order
 * @retval CLS_ERROR_WRONG_CONTEXT the stream would join a capture of another context
 */
CLS_API cls_status cls_stream_wait_event(cls_stream stream, cls_event event);

/** What cls_stream_wait_value compares: `seen` is the element in memory, with the bits of the mask. */
typedef enum cls_value_condition {
    CLS_VALUE_GEQ =
        0, /**< seen - value, as a signed integer of the element's size, is not negative: a
                           counter may wrap around */
    CLS_VALUE_EQ = 1,  /**< seen == value */
    CLS_VALUE_AND = 2, /**< (seen & value) != 0 */
    CLS_VALUE_NOR = 3  /**< (~(seen | value) & mask) != 0 */
} cls_value_condition;

/**
 * Makes later work of the stream wait until an element of a buffer's memory meets a condition, as
 * cuStreamWaitValue32 does: the unsigned integer of `bytes` bytes (4 or 8), `offset` bytes from the
 * start, of which `mask` says the bits that count (UINT64_MAX: all). The element is first looked at
 * once the stream's earlier work is done. A value that is there for a short time only may be missed.
 * The wait keeps the buffer's memory.
 *
 * The memory is one that host and device use at the same time: of cls_managed_alloc where
 * cls_managed_get_kind is CLS_MANAGED_FINE, or a buffer of cls_host_buffer on a CPU device. The wait
 * sees what the host stores (with an atomic store, of release order for what it wrote before) and what
 * finished commands of any stream wrote (cls_stream_write_value, fills, copies, kernels). What a kernel
 * writes may be seen before the kernel ends. The buffer may be of another context than the stream. NULL
 * `stream`: the default stream of the buffer's context.
 *
 * A thread of the library looks at the memory, about every 0.4 ms, and on a device that does not
 * compute on the host's cores every 20 us at first: a timeline (timeline.h) costs less. Commands behind
 * the wait are held by the library. cls_context_explain and the details of CLS_ERROR_TIMEOUT say what
 * the wait is for, and what the memory holds. As with a timeline that anybody may signal, a wait that
 * nothing ends lasts until the stream fails or the process exits: no deadlock is reported, and
 * cls_stream_reset does not end it. The race checker does not know who wrote the value, and knows no
 * order by this wait, as by a cl_event of the program's (check.h).
 * @retval CLS_ERROR_INVALID_VALUE `bytes` is neither 4 nor 8, `offset` is no multiple of it, the
 *                                 condition is unknown, the value has more than `bytes` bytes, or no
 *                                 bit of the mask is in the element
 * @retval CLS_ERROR_OUT_OF_RANGE  the element is past the buffer's end
 * @retval CLS_ERROR_UNSUPPORTED   host and device do not use the buffer's memory at the same time
 * @retval CLS_ERROR_INVALID_STATE the stream is captured; its capture becomes invalid
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_stream_wait_value(cls_stream stream, cls_buffer buffer, size_t offset,
                                         size_t bytes, uint64_t value, uint64_t mask,
                                         cls_value_condition condition);

/**
 * Writes an unsigned integer of `bytes` bytes (4 or 8) to any buffer, `offset` bytes from its start,
 * after the stream's earlier work, as cuStreamWriteValue32 does. It is a fill (cls_fill_async) of one
 * element, is captured as one, and returns the statuses of one. NULL `stream`: the default stream of the
 * buffer's context.
 * @retval CLS_ERROR_INVALID_VALUE `bytes` is neither 4 nor 8, `offset` is no multiple of it, or the
 *                                 value has more than `bytes` bytes
 */
CLS_API cls_status cls_stream_write_value(cls_stream stream, cls_buffer buffer, size_t offset,
                                          size_t bytes, uint64_t value);

/**
 * A host function. It runs once, after the stream's earlier work and before its later work, on a
 * thread of the library that holds no lock. It does not run if an earlier command of the stream
 * failed. It may submit to any stream; blocking clstream calls inside it return
 * CLS_ERROR_WOULD_DEADLOCK.
 * The library's threads block the signals that are sent to the process.
 */
typedef void (*cls_host_fn)(void *arg);

/**
 * Makes the host function, callback or foreign call (opencl.h) that calls it fail: when it has
 * returned, its stream is poisoned with CLS_ERROR_COMMAND_FAILED, and the error detail has
 * `message`. The message is copied and cut to 127 bytes; the first one counts.
 * @retval CLS_ERROR_INVALID_STATE called elsewhere
 */
CLS_API cls_status cls_host_function_fail(const char *message);

/** Submits a host function. A long-running function delays only its own stream. */
CLS_API cls_status cls_stream_launch_host_async(cls_stream stream, cls_host_fn fn, void *arg);

/**
 * A completion callback: like a host function, but also called after a failure, with the status.
 */
typedef void (*cls_stream_callback)(cls_stream stream, cls_status status, void *arg);

/**
 * Calls `fn` exactly once, in stream order, when the stream's work so far is done. It is also
 * called when that work failed, with the stream's first error as `status`, and when the process
 * exits first, with CLS_ERROR_SHUTDOWN. Later work of the stream starts after the callback has
 * returned.
 */
CLS_API cls_status cls_stream_add_callback(cls_stream stream, cls_stream_callback fn, void *arg);

/** Gets the properties of the stream, with the values in effect. */
CLS_API cls_status cls_stream_get_info(cls_stream stream, cls_stream_info *info);

/** Gets a snapshot of the stream's counters. */
CLS_API cls_status cls_stream_get_counters(cls_stream stream, cls_stream_counters *counters);

CLS_END_DECLS

#endif
