/* SPDX-License-Identifier: MIT */
/**
 * @file async_coordinator.h
 * Async coordinators: three streams of one context, for uploads, for computing and for downloads, and
 * operations on them that are named by a number and depend on one another.
 *
 * Every queue call only submits; with a triple buffer of `host_wait` an upload waits as upload_slot does, and
 * holds nobody else up. An operation runs behind the earlier ones of its own stream, behind the
 * operations named as its dependencies (fork: several name one; join: one names several), and behind every
 * earlier operation on a buffer of its own: an upload does not overwrite what is still being computed
 * with, and a download waits for the compute that wrote its buffer, named or not.
 *
 * **Numbers.** A cls_op is never 0 and never given twice by one coordinator. The coordinator forgets
 * operations that are done and went well, so that millions of them leave memory flat; a forgotten one
 * counts as satisfied, as a dependency and for wait. Failed ones are kept until the reset.
 *
 * **Failure** is the streams': an operation behind a failed one fails with its error, and the queue calls
 * return that error until cls_async_coordinator_reset, and behind that those on the triple buffers that failed
 * operations used until cls_triple_buffer_reset. Where a queue call fails once it has taken a slot of a
 * triple buffer, as by a function's error, the slot stays taken until cls_triple_buffer_reset: it and those behind it
 * come to no later stage, whose calls return CLS_ERROR_INVALID_STATE. What a function had submitted before its error
 * is no operation, but later ones on its buffers run behind it.
 *
 * All calls are safe from any thread. Statuses common to all: CLS_ERROR_INVALID_HANDLE,
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

/** An operation of a coordinator; 0 is none. */
typedef uint64_t cls_op;

/** Kinds of operations, each with a stream of its own. */
typedef enum cls_op_kind {
    CLS_OP_UPLOAD = 0,  /**< of queue_upload */
    CLS_OP_COMPUTE = 1, /**< of queue_compute */
    CLS_OP_DOWNLOAD = 2 /**< of queue_download */
} cls_op_kind;

/** Options of cls_async_coordinator_create. Start with CLS_ASYNC_COORDINATOR_CONFIG_INIT. */
typedef struct cls_async_coordinator_config {
    size_t size;    /**< sizeof(cls_async_coordinator_config) */
    size_t reports; /**< completions kept for poll; 0: 65536. The oldest are dropped beyond. */
} cls_async_coordinator_config;

#define CLS_ASYNC_COORDINATOR_CONFIG_INIT \
    { sizeof(cls_async_coordinator_config), 0 }

/**
 * Creates a coordinator with three streams. `config` may be NULL. Statuses as cls_stream_create.
 */
CLS_API cls_status cls_async_coordinator_create(cls_context context,
                                                const cls_async_coordinator_config *config,
                                                cls_async_coordinator *out);

/** Destroys a coordinator and its streams and returns at once; what was queued still completes. */
CLS_API cls_status cls_async_coordinator_destroy(cls_async_coordinator coordinator);

/** The stream of a kind of operation. It is the coordinator's: not to be destroyed. */
CLS_API cls_status cls_async_coordinator_get_stream(cls_async_coordinator coordinator,
                                                    cls_op_kind kind, cls_stream *out);

/** Where an upload goes and a download comes from: a buffer, or the slot that a triple buffer chooses. */
typedef struct cls_place {
    cls_buffer buffer;       /**< NULL: `slots` */
    cls_triple_buffer slots; /**< used when `buffer` is NULL */
    size_t offset;           /**< in bytes */
} cls_place;

/** The start of a buffer. */
static inline cls_place cls_place_buffer(cls_buffer buffer) {
    cls_place place = {buffer, 0, 0};
    return place;
}

/** The start of the slot that a triple buffer chooses. */
static inline cls_place cls_place_slots(cls_triple_buffer slots) {
    cls_place place = {0, slots, 0};
    return place;
}

/**
 * Queues an upload.
 * @param coordinator to queue it on
 * @param host   memory that must stay as it is until the operation is done
 * @param bytes  how much of it
 * @param to     where it goes; a triple buffer's slot is taken for it
 * @param deps   operations to wait for, besides what is implied; NULL with n_deps 0
 * @param n_deps of `deps`
 * @param op     its number; may be NULL
 * @retval CLS_ERROR_INVALID_VALUE null host memory or deps; a dependency that was never issued; 0 bytes
 * @retval CLS_ERROR_INVALID_STATE the triple buffer has no slot for this operation now, or was reset while it was
 *                                 being queued
 * @retval CLS_ERROR_OUT_OF_RANGE  past the end of the buffer or slot
 * @return also what cls_copy_h2d_async and, for a triple buffer, cls_triple_buffer_upload_slot return
 */
CLS_API cls_status cls_async_coordinator_queue_upload(cls_async_coordinator coordinator,
                                                      const void *host, size_t bytes, cls_place to,
                                                      const cls_op *deps, unsigned n_deps,
                                                      cls_op *op);

/**
 * Queues a download. A triple buffer's slot is taken for it, and free again once it is done. Statuses
 * as queue_upload.
 */
CLS_API cls_status cls_async_coordinator_queue_download(cls_async_coordinator coordinator,
                                                        cls_place from, void *host, size_t bytes,
                                                        const cls_op *deps, unsigned n_deps,
                                                        cls_op *op);

/**
 * Submits work to the compute stream; called once, by the queue call, without a lock held.
 * @param stream the compute stream
 * @param slot   of the operation's triple buffer, or NULL
 * @param arg    of the cls_compute
 * @return what is not CLS_SUCCESS makes the queue call fail with it
 */
typedef cls_status (*cls_compute_fn)(cls_stream stream, const cls_slot *slot, void *arg);

/** What to compute: a kernel or a function. Start with CLS_COMPUTE_INIT. */
typedef struct cls_compute {
    size_t size;       /**< sizeof(cls_compute) */
    cls_compute_fn fn; /**< called with the compute stream; or NULL: `kernel` */
    void *arg;         /**< for `fn` */
    cls_kernel
        kernel; /**< when fn is NULL; its buffer arguments count as the operation's buffers */
    const cls_launch *launch; /**< of the kernel */
    const cls_arg *args;      /**< of the kernel */
    unsigned n_args;          /**< of `args`, at most 64 */
    cls_triple_buffer
        slots; /**< may be NULL; a kernel's first argument is then the slot, before args */
    const cls_buffer *buffers; /**< that fn reads or writes */
    unsigned n_buffers; /**< 0 without slots: unknown, so every later download waits for it */
} cls_compute;

#define CLS_COMPUTE_INIT \
    { sizeof(cls_compute), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * Queues computing. Statuses as queue_upload, those of cls_kernel_launch_async, and what fn returns.
 * @retval CLS_ERROR_INVALID_VALUE also neither fn nor kernel, more than 64 args, or a size that is not of
 *                                 this library
 * @retval CLS_ERROR_INVALID_HANDLE also one of `buffers` is no live buffer
 */
CLS_API cls_status cls_async_coordinator_queue_compute(cls_async_coordinator coordinator,
                                                       const cls_compute *compute,
                                                       const cls_op *deps, unsigned n_deps,
                                                       cls_op *op);

/** An operation that is done. */
typedef struct cls_completion {
    cls_op op;         /**< its number */
    cls_op_kind kind;  /**< what it was */
    cls_status status; /**< CLS_SUCCESS, or its error */
} cls_completion;

/**
 * Takes the completions that nobody has taken yet, at most `capacity`, without waiting. Each is given once,
 * whichever thread asks; those of one kind come in their order. Polling alone finishes the work.
 * @retval CLS_ERROR_INVALID_VALUE null pointers
 */
CLS_API cls_status cls_async_coordinator_poll(cls_async_coordinator coordinator,
                                              cls_completion *completions, size_t capacity,
                                              size_t *count);

/**
 * Waits for an operation.
 * @retval CLS_ERROR_INVALID_VALUE  never issued
 * @retval CLS_ERROR_WOULD_DEADLOCK inside a host function
 * @return the operation's error
 */
CLS_API cls_status cls_async_coordinator_wait(cls_async_coordinator coordinator, cls_op op);

/** Waits for everything queued. @return the first error of the three streams */
CLS_API cls_status cls_async_coordinator_synchronize_all(cls_async_coordinator coordinator);

/** Waits for everything queued, forgets failed operations and resets the streams (cls_stream_reset). */
CLS_API cls_status cls_async_coordinator_reset(cls_async_coordinator coordinator);

CLS_END_DECLS

#endif
