/* SPDX-License-Identifier: MIT */
/**
 * @file async_coordinator.h
 * Async coordinators: three streams of one context, one each for uploads, compute and downloads,
 * with numbered operations on them that can depend on one another. A cls_coordinator
 * (coordinator.h) is the general form: any set of the caller's streams, with dependencies between
 * streams.
 *
 * All queue calls only submit. One exception: an upload to a triple buffer without `async_reuse`
 * waits as cls_triple_buffer_upload_slot does; it does not delay other calls. An operation runs after
 *   - the earlier operations on its own stream;
 *   - the operations named as its dependencies. Several may name the same one (fork), and one may
 *     name several (join);
 *   - every earlier operation on a buffer that it uses. An upload does not overwrite data that is
 *     still being computed with, and a download waits for the compute that wrote its buffer,
 *     whether it is named or not.
 *
 * **Host memory.** The source of an upload must stay unchanged, and the target of a download must not
 * be touched, until the operation is done: cls_async_coordinator_wait or
 * cls_async_coordinator_poll says so. Memory that a compute's function keeps for each slot is free
 * when the function gets the slot, unless the triple buffer has `async_reuse` (triple_buffer.h).
 *
 * **Numbers.** A coordinator never issues the number 0, and no number twice. It forgets operations
 * that succeeded, so memory use stays constant over millions of them. A forgotten operation counts
 * as done, as a dependency and in cls_async_coordinator_wait. Failed operations are kept until the
 * reset.
 *
 * **Failure** is that of the streams (stream.h). An operation after a failed one fails with the
 * same error, and the queue calls return that error until cls_async_coordinator_reset. After it,
 * queue calls on triple buffers that failed operations used still return it, until
 * cls_triple_buffer_reset. If a queue call fails after it has taken a slot of a triple buffer,
 * because of a function's error for example, the slot stays taken until cls_triple_buffer_reset:
 * this slot and those behind it cannot enter a later stage, and the calls for those stages return
 * CLS_ERROR_INVALID_STATE. Work that a function submitted before it returned an error is not an
 * operation, but later operations on its buffers run after it.
 *
 * Every function may be called from any thread. Statuses common to all: CLS_ERROR_INVALID_HANDLE,
 * CLS_ERROR_CONTEXT_DESTROYED.
 */
#ifndef CLSTREAM_ASYNC_COORDINATOR_H
#define CLSTREAM_ASYNC_COORDINATOR_H

#include <clstream/kernel.h>
#include <clstream/triple_buffer.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Three streams, and the operations queued on them. */
typedef struct cls_async_coordinator_handle *cls_async_coordinator;

/** The number of an operation of one coordinator; 0 is none. */
typedef uint64_t cls_op;

/** Kinds of operations. Each kind has its own stream. */
typedef enum cls_op_kind {
    CLS_OP_UPLOAD = 0,  /**< by queue_upload */
    CLS_OP_COMPUTE = 1, /**< by queue_compute */
    CLS_OP_DOWNLOAD = 2 /**< by queue_download */
} cls_op_kind;

/** Options of cls_async_coordinator_create. Start with CLS_ASYNC_COORDINATOR_CONFIG_INIT. */
typedef struct cls_async_coordinator_config {
    size_t size;    /**< sizeof(cls_async_coordinator_config) */
    size_t reports; /**< completions kept for poll, the latest; 0: 65536 */
} cls_async_coordinator_config;

#define CLS_ASYNC_COORDINATOR_CONFIG_INIT \
    { sizeof(cls_async_coordinator_config), 0 }

/**
 * Creates a coordinator with three streams. NULL `config`: the defaults. The caller destroys it.
 * Statuses as for cls_stream_create.
 */
CLS_API cls_status cls_async_coordinator_create(cls_context context,
                                                const cls_async_coordinator_config *config,
                                                cls_async_coordinator *out);

/** Destroys a coordinator and its streams, and returns at once. Queued work still completes. */
CLS_API cls_status cls_async_coordinator_destroy(cls_async_coordinator coordinator);

/** Gets the stream of a kind of operation. It belongs to the coordinator; do not destroy it. */
CLS_API cls_status cls_async_coordinator_get_stream(cls_async_coordinator coordinator,
                                                    cls_op_kind kind, cls_stream *out);

/**
 * The target of an upload or the source of a download: a buffer, or the next slot of a triple
 * buffer.
 */
typedef struct cls_place {
    cls_buffer buffer;       /**< NULL: `slots` is used */
    cls_triple_buffer slots; /**< used if `buffer` is NULL */
    size_t offset;           /**< in bytes */
} cls_place;

/** The start of a buffer. */
static inline cls_place cls_place_buffer(cls_buffer buffer) {
    cls_place place = {buffer, 0, 0};
    return place;
}

/** The start of the triple buffer's next slot. */
static inline cls_place cls_place_slots(cls_triple_buffer slots) {
    cls_place place = {0, slots, 0};
    return place;
}

/**
 * Queues an upload.
 * @param coordinator to queue it on
 * @param host        source; must stay unchanged until the operation is done
 * @param bytes       number of bytes
 * @param to          target; of a triple buffer, a slot is taken for the upload
 * @param deps        operations to wait for besides the implied ones; NULL if n_deps is 0
 * @param n_deps      number of `deps`
 * @param op          receives the number of the operation; may be NULL
 * @retval CLS_ERROR_INVALID_VALUE `host` or `deps` is null, a dependency was never issued, or 0
 *                                 bytes
 * @retval CLS_ERROR_INVALID_STATE the triple buffer has no slot for this operation now, or was
 *                                 reset during the call
 * @retval CLS_ERROR_OUT_OF_RANGE  past the end of the buffer or slot
 * @return also the statuses of cls_copy_h2d_async and, for a triple buffer, of
 *         cls_triple_buffer_upload_slot
 */
CLS_API cls_status cls_async_coordinator_queue_upload(cls_async_coordinator coordinator,
                                                      const void *host, size_t bytes, cls_place to,
                                                      const cls_op *deps, unsigned n_deps,
                                                      cls_op *op);

/**
 * Queues a download. Of a triple buffer, a slot is taken for it, and becomes free once the download
 * is done. Statuses as for queue_upload.
 */
CLS_API cls_status cls_async_coordinator_queue_download(cls_async_coordinator coordinator,
                                                        cls_place from, void *host, size_t bytes,
                                                        const cls_op *deps, unsigned n_deps,
                                                        cls_op *op);

/**
 * Submits work to the compute stream. The queue call calls it once, without a lock held.
 * @param stream the compute stream
 * @param slot   the slot of the operation's triple buffer, or NULL
 * @param arg    of the cls_compute
 * @return CLS_SUCCESS; any other status makes the queue call fail with it
 */
typedef cls_status (*cls_compute_fn)(cls_stream stream, const cls_slot *slot, void *arg);

/** A compute operation: a kernel or a function. Start with CLS_COMPUTE_INIT. */
typedef struct cls_compute {
    size_t size;               /**< sizeof(cls_compute) */
    cls_compute_fn fn;         /**< submits the work; NULL: `kernel` is launched */
    void *arg;                 /**< for `fn` */
    cls_kernel kernel;         /**< if fn is NULL; its buffer arguments count as buffers of the
                                    operation */
    const cls_launch *launch;  /**< shape of the kernel's launch */
    const cls_arg *args;       /**< arguments of the kernel */
    unsigned n_args;           /**< number of `args`, at most 64 */
    cls_triple_buffer slots;   /**< may be NULL; else the slot is the kernel's first argument,
                                    before `args` */
    const cls_buffer *buffers; /**< buffers that fn reads or writes */
    unsigned n_buffers;        /**< number of `buffers`. 0 without `slots`: unknown, so every
                                    later download waits for it */
    int reserved;              /**< 0; later releases may give it a meaning */
} cls_compute;

#define CLS_COMPUTE_INIT \
    { sizeof(cls_compute), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * Queues a compute operation. Statuses as for queue_upload and cls_kernel_launch_async, and those
 * that fn returns.
 * @retval CLS_ERROR_INVALID_VALUE  also if both fn and kernel are missing, for more than 64 args,
 *                                  or a wrong size
 * @retval CLS_ERROR_INVALID_HANDLE also if one of `buffers` is not a valid buffer
 */
CLS_API cls_status cls_async_coordinator_queue_compute(cls_async_coordinator coordinator,
                                                       const cls_compute *compute,
                                                       const cls_op *deps, unsigned n_deps,
                                                       cls_op *op);

/** A completed operation. */
typedef struct cls_completion {
    cls_op op;         /**< number of the operation */
    cls_op_kind kind;  /**< kind of the operation */
    cls_status status; /**< CLS_SUCCESS, or its error */
} cls_completion;

/**
 * Takes at most `capacity` completions that no call has taken yet, without waiting. Each completion
 * is given out once, to any one thread; those of one kind come in order. Calling it repeatedly is
 * enough for the work to finish.
 * @retval CLS_ERROR_INVALID_VALUE a pointer is null
 */
CLS_API cls_status cls_async_coordinator_poll(cls_async_coordinator coordinator,
                                              cls_completion *completions, size_t capacity,
                                              size_t *count);

/**
 * Waits for an operation for at most `timeout_ns` nanoseconds (CLS_FOREVER: without limit).
 * @retval CLS_ERROR_INVALID_VALUE  the number was never issued
 * @retval CLS_ERROR_TIMEOUT        it is still pending; the detail says what its stream waits for
 * @retval CLS_ERROR_WOULD_DEADLOCK inside a host function
 * @return the operation's error
 */
CLS_API cls_status cls_async_coordinator_wait(cls_async_coordinator coordinator, cls_op op,
                                              uint64_t timeout_ns);

/**
 * Waits for everything queued.
 * @return the first error of the three streams
 */
CLS_API cls_status cls_async_coordinator_synchronize_all(cls_async_coordinator coordinator);

/**
 * Waits for everything queued, forgets failed operations, and resets the streams
 * (cls_stream_reset).
 */
CLS_API cls_status cls_async_coordinator_reset(cls_async_coordinator coordinator);

CLS_END_DECLS

#endif
