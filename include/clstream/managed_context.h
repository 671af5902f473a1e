/* SPDX-License-Identifier: MIT */
/**
 * @file managed_context.h
 * Managed contexts: a context with an async coordinator, which makes triple buffers and pipelines and runs
 * triple-buffered steps. Made without streams it has no coordinator and everything runs in place.
 *
 * All calls are safe from any thread. Statuses common to all: CLS_ERROR_INVALID_HANDLE,
 * CLS_ERROR_CONTEXT_DESTROYED.
 */
#ifndef CLSTREAM_MANAGED_CONTEXT_H
#define CLSTREAM_MANAGED_CONTEXT_H

#include <clstream/async_coordinator.h>
#include <clstream/pipeline.h>
#include <clstream/triple_buffer.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/** A context, and its coordinator where it has streams. */
typedef struct cls_managed_context_handle *cls_managed_context;

/**
 * Creates a context on a device.
 * @param device       as in cls_device_find; NULL: the default device
 * @param with_streams 0: no coordinator, and steps run in place
 * @param out          the managed context
 * @return also what cls_context_create and cls_async_coordinator_create return
 */
CLS_API cls_status cls_managed_context_create(const char *device, int with_streams,
                                              cls_managed_context *out);

/** Destroys the context, with what was made on it, and returns at once (cls_context_destroy). */
CLS_API cls_status cls_managed_context_destroy(cls_managed_context managed);

/** The context. It is the managed context's: not to be destroyed. */
CLS_API cls_status cls_managed_context_get_context(cls_managed_context managed, cls_context *out);

/** The coordinator; not to be destroyed. @retval CLS_ERROR_INVALID_STATE made without streams */
CLS_API cls_status cls_managed_context_get_coordinator(cls_managed_context managed,
                                                       cls_async_coordinator *out);

/** cls_triple_buffer_create on the context. The caller destroys the ring. */
CLS_API cls_status cls_managed_context_make_triple_buffer(cls_managed_context managed, size_t bytes,
                                                          const cls_triple_buffer_config *config,
                                                          cls_triple_buffer *out);

/**
 * cls_pipeline_create on the context. The caller destroys the pipeline. Without streams it runs in place too:
 * cls_pipeline_execute_iteration completes each stage before the next one, returns the first error of one, and is
 * CLS_ERROR_WOULD_DEADLOCK inside a host function.
 */
CLS_API cls_status cls_managed_context_make_pipeline(cls_managed_context managed,
                                                     const cls_pipeline_config *config,
                                                     cls_pipeline *out);

/** One round of a triple buffer. Start with CLS_BUFFERED_STEP_INIT. */
typedef struct cls_buffered_step {
    size_t size;             /**< sizeof(cls_buffered_step) */
    cls_triple_buffer slots; /**< the ring that goes round */
    const void *in;   /**< uploaded to the slot; must stay as it is until the upload is done */
    size_t in_bytes;  /**< of `in`; at most a slot */
    void *out;        /**< downloaded from the slot */
    size_t out_bytes; /**< of `out`; at most a slot */
    const cls_compute *compute; /**< its `slots` is ignored: it is called with the step's slot */
    int timed; /**< nonzero: takes times on the device, as profiled queues are slower on some drivers */
} cls_buffered_step;

#define CLS_BUFFERED_STEP_INIT \
    { sizeof(cls_buffered_step), 0, 0, 0, 0, 0, 0, 0 }

/**
 * What became of a step. Start with CLS_STEP_TELEMETRY_INIT.
 *
 * A timed step is not measured where another one was being submitted at the same time, whose work would be in its
 * times. What else the program puts into the coordinator's streams meanwhile counts, and in place what other threads
 * have the default stream do.
 */
typedef struct cls_step_telemetry {
    size_t size;            /**< sizeof(cls_step_telemetry) */
    uint64_t step;          /**< from 0 */
    cls_op upload;          /**< for cls_async_coordinator_wait; 0 in place */
    cls_op compute;         /**< as `upload` */
    cls_op download;        /**< as `upload` */
    double submit_ms;       /**< that the call took */
    int measured;           /**< nonzero: the times below are those of `measured_step` */
    uint64_t measured_step; /**< the latest one measured and done; in place it is this one */
    double upload_ms;       /**< behind what came before it in its stream and step */
    double compute_ms;      /**< as `upload_ms` */
    double download_ms;     /**< as `upload_ms` */
} cls_step_telemetry;

#define CLS_STEP_TELEMETRY_INIT \
    { sizeof(cls_step_telemetry), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * Runs upload, compute and download on a slot of the triple buffer: submits them to the coordinator, or, without
 * streams, has completed them on return. With one triple buffer one step is submitted at a time, and nothing else
 * uses its slots. Where a step fails its slot is free for the next one, but its upload may have been submitted:
 * `in` is the caller's again behind cls_async_coordinator_synchronize_all. Where work fails on the device steps go
 * on once the coordinator is reset, and then the triple buffer.
 * @retval CLS_ERROR_INVALID_VALUE  null pointers, a wrong size
 * @retval CLS_ERROR_OUT_OF_RANGE   more bytes than a slot has
 * @retval CLS_ERROR_INVALID_STATE  another step with the triple buffer is being submitted, or a slot is in use
 * @retval CLS_ERROR_WOULD_DEADLOCK without streams, inside a host function
 * @return also what cls_async_coordinator_queue_upload, _compute and _download return
 */
CLS_API cls_status cls_managed_context_triple_buffered_step(cls_managed_context managed,
                                                            const cls_buffered_step *step,
                                                            cls_step_telemetry *out);

CLS_END_DECLS

#endif
