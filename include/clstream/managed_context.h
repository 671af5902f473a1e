/* SPDX-License-Identifier: MIT */
/**
 * @file managed_context.h
 * Managed contexts: a context that owns an async coordinator (async_coordinator.h), creates triple
 * buffers and pipelines, and runs triple-buffered steps. If it is created without streams, it has
 * no coordinator, and each step completes inside its call. Unified memory is something else:
 * managed.h.
 *
 * **Host memory.** A step's `in` must stay unchanged, and its `out` must not be touched, until its
 * operations are done (cls_async_coordinator_wait). With a triple buffer of n slots without
 * `async_reuse`, a step that succeeds returns once the step n before it is done. So n + 1 pairs of
 * `in` and `out` that are used in turn need no other wait: before a step, the pair that it will use
 * holds the results of n + 1 steps ago.
 *
 * Every function may be called from any thread. Statuses common to all: CLS_ERROR_INVALID_HANDLE,
 * CLS_ERROR_CONTEXT_DESTROYED.
 */
#ifndef CLSTREAM_MANAGED_CONTEXT_H
#define CLSTREAM_MANAGED_CONTEXT_H

#include <clstream/async_coordinator.h>
#include <clstream/pipeline.h>
#include <clstream/triple_buffer.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/** A context, with an async coordinator if it was created with streams. */
typedef struct cls_managed_context_handle *cls_managed_context;

/**
 * Creates a managed context on a device. The caller destroys it.
 * @param device       as in cls_device_find; NULL: the default device
 * @param with_streams 0: no coordinator; steps complete inside their call
 * @param out          receives the managed context
 * @return also the statuses of cls_context_create and cls_async_coordinator_create
 */
CLS_API cls_status cls_managed_context_create(const char *device, int with_streams,
                                              cls_managed_context *out);

/**
 * Destroys the managed context with everything created on it, and returns at once
 * (cls_context_destroy).
 */
CLS_API cls_status cls_managed_context_destroy(cls_managed_context managed);

/** Gets the context. It belongs to the managed context; do not destroy it. */
CLS_API cls_status cls_managed_context_get_context(cls_managed_context managed, cls_context *out);

/**
 * Gets the async coordinator. It belongs to the managed context; do not destroy it.
 * @retval CLS_ERROR_INVALID_STATE the managed context was created without streams
 */
CLS_API cls_status cls_managed_context_get_coordinator(cls_managed_context managed,
                                                       cls_async_coordinator *out);

/** Calls cls_triple_buffer_create on the context. The caller destroys the ring. */
CLS_API cls_status cls_managed_context_make_triple_buffer(cls_managed_context managed, size_t bytes,
                                                          const cls_triple_buffer_config *config,
                                                          cls_triple_buffer *out);

/**
 * Calls cls_pipeline_create on the context. The caller destroys the pipeline. Without streams, each
 * stage of cls_pipeline_execute_iteration completes before the next one begins; the call then
 * returns the first error of a stage, and CLS_ERROR_WOULD_DEADLOCK inside a host function.
 */
CLS_API cls_status cls_managed_context_make_pipeline(cls_managed_context managed,
                                                     const cls_pipeline_config *config,
                                                     cls_pipeline *out);

/** One round of a triple buffer. Start with CLS_BUFFERED_STEP_INIT. */
typedef struct cls_buffered_step {
    size_t size;                /**< sizeof(cls_buffered_step) */
    cls_triple_buffer slots;    /**< the triple buffer */
    const void *in;             /**< uploaded to the slot; must stay unchanged until the upload
                                     is done */
    size_t in_bytes;            /**< bytes of `in`; at most the size of a slot */
    void *out;                  /**< downloaded from the slot */
    size_t out_bytes;           /**< bytes of `out`; at most the size of a slot */
    const cls_compute *compute; /**< its `slots` is ignored: it gets the slot of this step */
    int timed;                  /**< nonzero: measures device times; profiled queues are slower
                                     on some drivers */
    int reserved;               /**< 0; later releases may give it a meaning */
} cls_buffered_step;

#define CLS_BUFFERED_STEP_INIT \
    { sizeof(cls_buffered_step), 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * Outcome of a step. Start with CLS_STEP_TELEMETRY_INIT.
 *
 * A timed step is not measured if another step was being submitted at the same time, because its
 * times would include the other's work. Other work that the program submits to the coordinator's
 * streams meanwhile is included; without streams, so is the work that other threads submit to the
 * default stream.
 */
typedef struct cls_step_telemetry {
    size_t size;            /**< sizeof(cls_step_telemetry) */
    uint64_t step;          /**< number of the step, from 0 */
    cls_op upload;          /**< for cls_async_coordinator_wait; 0 without streams */
    cls_op compute;         /**< like `upload` */
    cls_op download;        /**< like `upload` */
    double submit_ms;       /**< duration of the call */
    int measured;           /**< nonzero: the fields below hold the times of `measured_step` */
    uint64_t measured_step; /**< the latest step that is measured and done; without streams, this
                                 one */
    double upload_ms;       /**< duration of the stage, from the end of earlier work of its
                                 stream and step */
    double compute_ms;      /**< like `upload_ms` */
    double download_ms;     /**< like `upload_ms` */
} cls_step_telemetry;

#define CLS_STEP_TELEMETRY_INIT \
    { sizeof(cls_step_telemetry), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * Runs an upload, a compute step and a download on a slot of the triple buffer. With streams it
 * only submits them to the coordinator; without, they have completed on return. One step at a time
 * can be submitted to a triple buffer, and nothing else may use its slots. If the call fails, its
 * slot is free for the next step, but the upload may have been submitted: do not touch `in` before
 * cls_async_coordinator_synchronize_all has returned. If work fails on the device, steps can go on
 * after a reset of the coordinator and then of the triple buffer.
 * @retval CLS_ERROR_INVALID_VALUE  a pointer is null, or a size field is wrong
 * @retval CLS_ERROR_OUT_OF_RANGE   more bytes than a slot has
 * @retval CLS_ERROR_INVALID_STATE  another step with this triple buffer is being submitted, or a
 *                                  slot is in use
 * @retval CLS_ERROR_WOULD_DEADLOCK without streams, inside a host function
 * @return also the statuses of cls_async_coordinator_queue_upload, _compute and _download
 */
CLS_API cls_status cls_managed_context_triple_buffered_step(cls_managed_context managed,
                                                            const cls_buffered_step *step,
                                                            cls_step_telemetry *out);

CLS_END_DECLS

#endif
