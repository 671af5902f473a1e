/* SPDX-License-Identifier: MIT */
/**
 * @file opencl.h
 * Interoperation with OpenCL code. This is the only header that names cl_* types, and clstream.h
 * does not include it.
 *
 * The library retains the OpenCL objects that it wraps, and releases them once the handle is
 * destroyed and the work is done, a cl_context once all objects of the context are destroyed too;
 * the caller keeps its own reference. Objects that the library hands out are borrowed unless
 * stated otherwise: the caller does not release them. The library cannot check an OpenCL object
 * before the driver reads it. A null object is CLS_ERROR_INVALID_VALUE, and a buffer, program or queue of
 * another context than the call's is CLS_ERROR_WRONG_CONTEXT; passing a released object is an error
 * of the caller that may crash.
 *
 * The driver may call the caller's OpenCL callbacks (clSetEventCallback,
 * clSetMemObjectDestructorCallback, the error callback of a wrapped cl_context) from within calls
 * that the library makes with locks held. Such callbacks must not call the library. They may wake a
 * thread that does; host functions and callbacks of a stream may call it too.
 *
 * A program that calls OpenCL itself links its library too: `pkg-config --libs clstream OpenCL`, or
 * -lOpenCL. The flags of clstream alone do not name it.
 *
 * Every function may be called from any thread.
 */
#ifndef CLSTREAM_OPENCL_H
#define CLSTREAM_OPENCL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120 /**< define it first for a later version's calls */
#endif
#include <CL/cl.h>

#include <clstream/types.h>

CLS_BEGIN_DECLS

/**
 * Gets the platform and the cl_device_id of device `index` (device.h), which need no release. Either
 * out-parameter may be NULL. No context is made.
 * @retval CLS_ERROR_NO_DEVICE there is no device of this index
 */
CLS_API cls_status cls_device_get_cl(size_t index, cl_platform_id *platform, cl_device_id *device);

/** Creates a context on the caller's cl_context and one device of it. */
CLS_API cls_status cls_context_wrap(cl_context context, cl_device_id device, cls_context *out);

/**
 * Creates a buffer from the caller's cl_mem, which must be a buffer of the context's cl_context.
 * Sub-buffers of one memory object become separate buffers of the library: it does not know that
 * they overlap, and may not report CLS_ERROR_OVERLAP.
 * @retval CLS_ERROR_UNSUPPORTED the cl_mem is an image or a pipe, or a sub-buffer on a device where
 *                               the probes found these wrong
 */
CLS_API cls_status cls_buffer_wrap(cls_context context, cl_mem memory, cls_buffer *out);

/**
 * Creates an image from the caller's cl_mem, which must be an image of the context's cl_context.
 * @retval CLS_ERROR_UNSUPPORTED the cl_mem is no image, or of a kind or format that cls_image_shape does not have
 */
CLS_API cls_status cls_image_wrap(cls_context context, cl_mem memory, cls_image *out);

/**
 * Creates a stream on the caller's queue, in-order or out-of-order, of the context's device. The
 * stream orders its own commands. Only events order these with commands that the caller enqueues on
 * the same queue. The library does not replace the queue: if it has no profiling, a timed event
 * gets the host time at which the library noticed that the work was done, which may be milliseconds
 * late.
 * @retval CLS_ERROR_UNSUPPORTED an out-of-order queue on a device where the probes found that wait
 *                               lists do not keep their order
 * @retval CLS_ERROR_WRONG_CONTEXT also a queue of another device of the context's cl_context
 */
CLS_API cls_status cls_stream_wrap(cls_context context, cl_command_queue queue, cls_stream *out);

/**
 * Creates a program from the caller's cl_program, which is built for the context's device, by whatever way: from several
 * sources or libraries, from a binary of another compiler. The library knows nothing of its source (cls_launch).
 * @retval CLS_ERROR_INVALID_STATE it is not built for the device
 */
CLS_API cls_status cls_program_wrap(cls_context context, cl_program program, cls_program *out);

/** Gets the program's cl_program, borrowed. */
CLS_API cls_status cls_program_get_cl(cls_program program, cl_program *out);

/** Gets the context's cl_context and device, borrowed. Either out-parameter may be NULL. */
CLS_API cls_status cls_context_get_cl(cls_context context, cl_context *out, cl_device_id *device);

/** Gets the buffer's cl_mem, borrowed. */
CLS_API cls_status cls_buffer_get_cl(cls_buffer buffer, cl_mem *out);

/** Gets the image's cl_mem, borrowed. */
CLS_API cls_status cls_image_get_cl(cls_image image, cl_mem *out);

/**
 * Gets a cl_event that completes with the event's latest record, for a wait list of the caller's.
 * The caller releases it. It is flushed, so any queue of the context may wait for it.
 * @retval CLS_NOT_READY           the library has not handed the work to the driver yet;
 *                                 cls_event_wait_cl waits for that
 * @retval CLS_ERROR_INVALID_STATE the event was never recorded
 * @return the stream's error if the work has failed
 */
CLS_API cls_status cls_event_get_cl(cls_event event, cl_event *out);

/**
 * Like cls_event_get_cl, but waits until the work is with the driver, for at most `timeout_ns`
 * nanoseconds.
 * @retval CLS_ERROR_TIMEOUT the work is not with the driver yet; the detail says what it waits for
 */
CLS_API cls_status cls_event_wait_cl(cls_event event, uint64_t timeout_ns, cl_event *out);

/**
 * Makes later work of the stream wait for the caller's cl_event, which is retained and may belong
 * to another cl_context. The event's queue is flushed. A user event is allowed; the library, not
 * the driver, holds the stream's work until it is set. An event that fails poisons the stream. A
 * poisoned stream accepts the wait too.
 */
CLS_API cls_status cls_stream_wait_cl(cls_stream stream, cl_event event);

/**
 * The caller's own OpenCL code, or a call of another OpenCL library, as one command of a stream.
 * `fn` enqueues any commands on `queue`, an in-order queue that belongs to the stream. They run
 * after the stream's earlier work and before its later work. `fn` runs on a thread of the library,
 * so it may take long (a first GEMM compiles for seconds). It must not make blocking clstream
 * calls, keep the queue or call clFinish on it.
 * @return CL_SUCCESS, or an error code, which poisons the stream
 */
typedef cl_int (*cls_foreign_fn)(cl_command_queue queue, void *arg);

/**
 * Submits `fn` to the stream. `label` names it in errors and traces; it is copied and may be NULL.
 * A process can have 16,384 different names, including those of kernels; commands with further
 * names are reported without their name.
 */
CLS_API cls_status cls_stream_foreign_async(cls_stream stream, const char *label, cls_foreign_fn fn,
                                            void *arg);

CLS_END_DECLS

#endif
