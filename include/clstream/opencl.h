/* SPDX-License-Identifier: MIT */
/**
 * @file opencl.h
 * Interoperation with OpenCL code. The only header that names cl_* types; not in the umbrella.
 *
 * Wrapped objects are retained by the library and released when it is done with them; the caller keeps
 * its own reference. Objects handed out are borrowed unless said otherwise. OpenCL objects cannot be
 * checked before the driver reads them: a null one is CLS_ERROR_INVALID_VALUE, a buffer or queue of another
 * context than the call's CLS_ERROR_WRONG_CONTEXT, and one that was released is the caller's fault.
 *
 * Callbacks that the caller sets with the driver (clSetEventCallback, clSetMemObjectDestructorCallback, the
 * error callback of a wrapped cl_context) are the driver's to call, also from within the library's calls to
 * it, which are made with locks held: they must not call the library. A thread that they wake may, and so may
 * the host functions and callbacks of a stream.
 */
#ifndef CLSTREAM_OPENCL_H
#define CLSTREAM_OPENCL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120 /**< set it before, for the calls of a later one */
#endif
#include <CL/cl.h>

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Makes a context on the caller's cl_context and one device of it. */
CLS_API cls_status cls_context_wrap(cl_context context, cl_device_id device, cls_context *out);

/**
 * Makes a buffer of the caller's cl_mem, which must be a buffer of the context's cl_context. Buffers that are
 * made of different parts (sub-buffers) of one memory are different buffers to the library: that the parts
 * overlap is for the caller to know, and CLS_ERROR_OVERLAP is not promised.
 * @retval CLS_ERROR_UNSUPPORTED the cl_mem is no buffer but an image or a pipe
 */
CLS_API cls_status cls_buffer_wrap(cls_context context, cl_mem memory, cls_buffer *out);

/**
 * Makes a stream on the caller's queue, in-order or out-of-order, of the context's device. The stream orders
 * its own commands; commands that the caller enqueues on the queue beside it are ordered by events only. The
 * queue is kept as it is: where it is not profiled, a timed event's time is when the library came to see it
 * done, by the host's clock, which may be milliseconds late.
 * @retval CLS_ERROR_WRONG_CONTEXT also a queue of another device of the context's cl_context
 */
CLS_API cls_status cls_stream_wrap(cls_context context, cl_command_queue queue, cls_stream *out);

/** The context's cl_context and device; either out-parameter may be NULL. Borrowed. */
CLS_API cls_status cls_context_get_cl(cls_context context, cl_context *out, cl_device_id *device);

/** The buffer's cl_mem. Borrowed. */
CLS_API cls_status cls_buffer_get_cl(cls_buffer buffer, cl_mem *out);

/**
 * A cl_event that completes with the event's latest record, for a wait list of the caller's. The
 * caller releases it. Flushed: any queue of the context may wait for it.
 * @retval CLS_NOT_READY         the work is not with the driver yet; cls_event_wait_cl waits for that
 * @retval CLS_ERROR_INVALID_STATE the event was never recorded
 * @return the stream's error if the work has failed
 */
CLS_API cls_status cls_event_get_cl(cls_event event, cl_event *out);

/**
 * As cls_event_get_cl, but waits until the work is with the driver, for at most `timeout_ns`.
 * @retval CLS_ERROR_TIMEOUT it is not yet; the detail says what it waits for
 */
CLS_API cls_status cls_event_wait_cl(cls_event event, uint64_t timeout_ns, cl_event *out);

/**
 * Makes the stream's later work wait for the caller's cl_event, which is retained and may be of another
 * cl_context. The queue that it comes from is flushed. A user event is allowed; until it is set the stream's
 * work is held by the library, not by the driver. An event that fails poisons the stream. A poisoned stream
 * takes the wait as well.
 */
CLS_API cls_status cls_stream_wait_cl(cls_stream stream, cl_event event);

/**
 * The caller's own OpenCL code, or a foreign library's call, as one command of a stream: `fn` enqueues
 * what it likes on `queue`, an in-order queue that is the stream's companion. What it enqueues runs
 * after the stream's earlier work and before its later work. It runs on a thread of the library, so it
 * may take long (a first GEMM compiles for seconds), and must not block on clstream calls. It must not
 * keep or finish the queue.
 * @return CL_SUCCESS, or a code that poisons the stream
 */
typedef cl_int (*cls_foreign_fn)(cl_command_queue queue, void *arg);

/**
 * Submits `fn` to the stream. `label` (copied; may be NULL) names it in errors and traces; a process has 16,384
 * different names at most, those of kernels included, and what has one beyond is told of without it.
 */
CLS_API cls_status cls_stream_foreign_async(cls_stream stream, const char *label, cls_foreign_fn fn,
                                            void *arg);

CLS_END_DECLS

#endif
