/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_stream.h
 * Streams, events and host functions of clstream/cuda_runtime.h.
 *
 * A cudaStream_t is a cls_stream and a cudaEvent_t a cls_event, so that both kinds of calls take them. Stream 0 and
 * cudaStreamLegacy are the default stream of the current device, which has CUDA's legacy order with all streams but those
 * of cudaStreamNonBlocking. cudaStreamPerThread is a stream of each thread's own on each device, in that order too. With
 * CUDA_API_PER_THREAD_DEFAULT_STREAM defined before the header is included, stream 0 is that one.
 *
 * Every function may be called from any thread, and returns the device's sticky error if it has one (cuda_error.h).
 */
#ifndef CLSTREAM_CUDA_STREAM_H
#define CLSTREAM_CUDA_STREAM_H

#include <stdlib.h>

#include <clstream/cuda_device.h>
#include <clstream/cuda_export.h>
#include <clstream/event.h>
#include <clstream/graph.h>
#include <clstream/pointer.h>
#include <clstream/stream.h>

CLS_BEGIN_DECLS

typedef cls_stream cudaStream_t; /**< a stream */
typedef cls_event cudaEvent_t;   /**< an event */

#define CUDART_CB /**< before the name of a host function or callback: nothing */

#define cudaStreamLegacy (CLS_CUDA_POINTER(cudaStream_t, 1))    /**< the default stream */
#define cudaStreamPerThread (CLS_CUDA_POINTER(cudaStream_t, 2)) /**< the thread's own stream */

#define cudaStreamDefault 0x00     /**< in the legacy order */
#define cudaStreamNonBlocking 0x01 /**< in no order with the default stream */

#define cudaEventDefault 0x00       /**< timed */
#define cudaEventBlockingSync 0x01  /**< taken, without effect */
#define cudaEventDisableTiming 0x02 /**< not timed: costs less */
#define cudaEventInterprocess \
    0x04 /**< for other processes (cuda_ipc.h); takes cudaEventDisableTiming */

#define cudaEventRecordDefault 0x00 /**< as cudaEventRecord */
#define cudaEventWaitDefault 0x00   /**< as of CUDA */
#define cudaEventWaitExternal \
    0x01 /**< a capture waits for an event from outside: cls_stream_wait_external_event */

/** A host function; calls that wait return cudaErrorNotPermitted in it. */
typedef cls_host_fn cudaHostFn_t;
/** A callback, called once, in the order of the stream. */
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *arg);

/** @cond */
#ifdef __cplusplus
#define CLS_CUDA_OR_ZERO = 0
#else
#define CLS_CUDA_OR_ZERO
#endif

/* Ends the streams that a thread has of its own; their work goes on. */
static inline void cls_cuda_thread_end(void *thread) {
    struct cls_cuda_thread *ended = CLS_CUDA_CAST(struct cls_cuda_thread *, thread);
    int i;
    for (i = 0; i < CLS_CUDA_DEVICES; i++)
        if (ended->streams[i])
            cls_stream_destroy(ended->streams[i]);
}

static inline void cls_cuda_make_key(void) {
    pthread_key_create(&cls_cuda_key, cls_cuda_thread_end);
}

/* Gets the thread's own stream of a device. */
static inline cls_status cls_cuda_own_stream(int device, cls_context context, cls_stream *out) {
    struct cls_cuda_thread *thread = &cls_cuda_thread;
    if (thread->streams[device] && thread->owners[device] != context) { /* before a reset */
        cls_stream_destroy(thread->streams[device]);
        thread->streams[device] = NULL;
    }
    if (!thread->streams[device]) {
        cls_stream made;
        cls_status status = cls_stream_create(context, NULL, &made);
        if (status != CLS_SUCCESS)
            return status;
        pthread_once(&cls_cuda_key_once, cls_cuda_make_key);
        pthread_setspecific(cls_cuda_key, thread);
        thread->streams[device] = made;
        thread->owners[device] = context;
    }
    *out = thread->streams[device];
    return CLS_SUCCESS;
}

/* Gets the stream that a program names, and the number of its device: the current one, of a stream of the program's too,
 * until a call fails. */
static inline cudaError_t cls_cuda_stream_on(int device, cudaStream_t stream, cls_stream *out) {
    cls_context context;
    cudaError_t error = cls_cuda_context_of(device, &context);
    if (error != cudaSuccess)
        return error;
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
    if (!stream)
        stream = cudaStreamPerThread;
#endif
    if (stream == cudaStreamPerThread)
        return cls_cuda_result_of(device, cls_cuda_own_stream(device, context, out));
    if (!stream || stream == cudaStreamLegacy)
        return cls_cuda_result_of(device, cls_context_default_stream(context, out));
    *out = stream;
    return cudaSuccess;
}

static inline cudaError_t cls_cuda_stream(cudaStream_t stream, cls_stream *out) {
    return cls_cuda_stream_on(cls_cuda_thread.device, stream, out);
}

/* What a call on a stream returns: a failed command is an error of the stream's device. */
static inline cudaError_t cls_cuda_result_on(cls_stream stream, cls_status status) {
    int device = cls_cuda_thread.device;
    if (status == CLS_ERROR_COMMAND_FAILED || status == CLS_ERROR_CONTEXT_LOST) {
        cls_stream_info info = CLS_STREAM_INFO_INIT;
        if (cls_stream_get_info(stream, &info) == CLS_SUCCESS)
            device = cls_cuda_device_of(info.context);
    }
    return cls_cuda_result_of(device, status);
}

static inline cudaError_t cls_cuda_create_stream(cudaStream_t *stream, unsigned flags,
                                                 int priority) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_context context;
    cudaError_t error = cls_cuda_enter(&context);
    if (error != cudaSuccess)
        return error;
    if (!stream || flags > cudaStreamNonBlocking)
        return cls_cuda_refuse(cudaErrorInvalidValue, "a stream is null, or has unknown flags");
    config.non_blocking = flags == cudaStreamNonBlocking;
    config.priority = priority;
    return cls_cuda_result(cls_stream_create(context, &config, stream));
}
/** @endcond */

/** Creates a stream on the current device, in the legacy order. */
static inline cudaError_t cudaStreamCreate(cudaStream_t *stream) {
    return cls_cuda_create_stream(stream, cudaStreamDefault, 0);
}

/** The same with cudaStreamDefault or cudaStreamNonBlocking. */
static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    return cls_cuda_create_stream(stream, flags, 0);
}

/** The same with a priority; lower is more urgent, and others than -1, 0 and 1 are clamped. */
static inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags,
                                                       int priority) {
    return cls_cuda_create_stream(stream, flags, priority);
}

/** Destroys a stream and returns at once. Pending work still completes. */
static inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
        return cls_cuda_refuse(cudaErrorInvalidResourceHandle,
                               "cudaStreamDestroy: a default stream is nobody's to destroy");
    return cls_cuda_result(cls_stream_destroy(stream));
}

/** Waits for the work of a stream. */
static inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    cls_stream found;
    cudaError_t error = cls_cuda_stream(stream, &found);
    return error != cudaSuccess
               ? error
               : cls_cuda_result_on(found, cls_cuda_waited(cls_stream_synchronize(found)));
}

/** Says whether the work of a stream is done: cudaSuccess or cudaErrorNotReady. */
static inline cudaError_t cudaStreamQuery(cudaStream_t stream) {
    cls_stream found;
    cudaError_t error = cls_cuda_stream(stream, &found);
    return error != cudaSuccess
               ? error
               : cls_cuda_result_on(found, cls_cuda_asked(cls_stream_query(found)));
}

/** Gets the priority of a stream, as it was asked for and clamped. */
static inline cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority) {
    cls_stream_info info = CLS_STREAM_INFO_INIT;
    cls_stream found;
    cudaError_t error = cls_cuda_stream(stream, &found);
    if (error == cudaSuccess && !priority)
        error = cls_cuda_refuse(cudaErrorInvalidValue, "cudaStreamGetPriority: priority is null");
    if (error == cudaSuccess)
        error = cls_cuda_result(cls_stream_get_info(found, &info));
    if (error == cudaSuccess)
        *priority = info.held_priority;
    return error;
}

/** Gets the flags of a stream. */
static inline cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags) {
    cls_stream_info info = CLS_STREAM_INFO_INIT;
    cls_stream found;
    cudaError_t error = cls_cuda_stream(stream, &found);
    if (error == cudaSuccess && !flags)
        error = cls_cuda_refuse(cudaErrorInvalidValue, "cudaStreamGetFlags: flags is null");
    if (error == cudaSuccess)
        error = cls_cuda_result(cls_stream_get_info(found, &info));
    if (error == cudaSuccess)
        *flags = info.non_blocking ? cudaStreamNonBlocking : cudaStreamDefault;
    return error;
}

/** Makes later work of a stream wait for an event's latest record. */
static inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                              unsigned flags CLS_CUDA_OR_ZERO) {
    cls_stream found;
    cudaError_t error = cls_cuda_stream(stream, &found);
    if (error != cudaSuccess)
        return error;
    if (flags > cudaEventWaitExternal)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaStreamWaitEvent: unknown flags");
    return cls_cuda_result_on(found, flags == cudaEventWaitExternal
                                         ? cls_stream_wait_external_event(found, event)
                                         : cls_stream_wait_event(found, event));
}

/** Runs a function on the host in the order of a stream; in a capture, in each launch of the graph. */
static inline cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *arg) {
    cls_stream found;
    cls_status status;
    cudaError_t error = cls_cuda_stream(stream, &found);
    if (error != cudaSuccess)
        return error;
    status = cls_cuda_host_follows(found);
    if (status == CLS_SUCCESS)
        status = cls_stream_launch_host_async(found, fn, arg);
    return cls_cuda_result_on(found, status);
}

/** @cond */
struct cls_cuda_callback {
    cudaStreamCallback_t fn;
    void *arg;
    cudaStream_t stream; /* as the program named it */
};

static inline void cls_cuda_call_back(cls_stream stream, cls_status status, void *arg) {
    struct cls_cuda_callback *call = CLS_CUDA_CAST(struct cls_cuda_callback *, arg);
    (void)stream;
    call->fn(call->stream, cls_cuda_error(status), call->arg);
    free(call);
}
/** @endcond */

/**
 * Calls a function on the host once the stream's work so far is done, also when it failed. `flags` is 0.
 * In a capture: cudaErrorStreamCaptureUnsupported, and the capture goes on.
 */
static inline cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t fn,
                                                void *arg, unsigned flags) {
    struct cls_cuda_callback *call;
    cls_stream found;
    cls_status status;
    cudaError_t error = cls_cuda_stream(stream, &found);
    if (error != cudaSuccess)
        return error;
    if (!fn || flags)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaStreamAddCallback: fn or flags");
    if (cls_cuda_captures(found))
        return cls_cuda_refuse(cudaErrorStreamCaptureUnsupported,
                               "a capture holds no callbacks: cudaLaunchHostFunc");
    call = CLS_CUDA_CAST(struct cls_cuda_callback *, malloc(sizeof *call));
    if (!call)
        return cls_cuda_refuse(cudaErrorMemoryAllocation, "cudaStreamAddCallback: no memory");
    call->fn = fn;
    call->arg = arg;
    call->stream = stream;
    status = cls_cuda_host_follows(found);
    if (status == CLS_SUCCESS)
        status = cls_stream_add_callback(found, cls_cuda_call_back, call);
    if (status != CLS_SUCCESS)
        free(call);
    return cls_cuda_result_on(found, status);
}

/**
 * Says in the order of a stream who uses managed memory, with one of cudaMemAttach* (cuda_managed.h). `bytes` is 0 or the size
 * of the memory. Stream 0 cannot be cudaMemAttachSingle, and a captured stream is cudaErrorStreamCaptureUnsupported. Where
 * unified memory is fine-grained, it has no effect.
 */
static inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *memory,
                                                   size_t bytes CLS_CUDA_OR_ZERO,
                                                   unsigned flags
#ifdef __cplusplus
                                                   = cudaMemAttachSingle
#endif
) {
    cls_pointer_info info = CLS_POINTER_INFO_INIT;
    cls_stream found, legacy;
    cls_status status;
    cudaError_t error = cls_cuda_stream(stream, &found);
    if (error == cudaSuccess)
        error = cls_cuda_stream(cudaStreamLegacy, &legacy);
    if (error != cudaSuccess)
        return error;
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost &&
        (flags != cudaMemAttachSingle || found == legacy))
        return cls_cuda_refuse(cudaErrorInvalidValue,
                               "cudaStreamAttachMemAsync: unknown flags, or stream 0 alone");
    status = cls_pointer_get_info(memory, &info);
    if (status == CLS_SUCCESS &&
        (info.kind != CLS_POINTER_UNIFIED || (bytes && (bytes != info.bytes || info.offset))))
        return cls_cuda_refuse(cudaErrorInvalidValue,
                               "cudaStreamAttachMemAsync: no managed memory, or a part of it");
    if (cls_cuda_captures(found))
        return cls_cuda_refuse(cudaErrorStreamCaptureUnsupported,
                               "a capture holds no attachments of memory");
    if (status == CLS_SUCCESS)
        status = cls_cuda_attach(memory, flags, found);
    return cls_cuda_result_on(found, status);
}

/* --- events --- */

/** Creates an event on the current device, with flags of cudaEvent*. */
static inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
    cls_event_config config = CLS_EVENT_CONFIG_INIT;
    cls_context context;
    cudaError_t error = cls_cuda_enter(&context);
    if (error != cudaSuccess)
        return error;
    if (!event || flags > 7)
        return cls_cuda_refuse(cudaErrorInvalidValue, "an event is null, or has unknown flags");
    config.timed = !(flags & cudaEventDisableTiming);
    config.shareable = (flags & cudaEventInterprocess) != 0;
    return cls_cuda_result(cls_event_create(context, &config, event));
}

/** Creates a timed event. */
static inline cudaError_t cudaEventCreate(cudaEvent_t *event) {
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

/** Destroys an event. */
static inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
    cls_cuda_forget_export(event);
    return cls_cuda_result(cls_event_destroy(event));
}

/** Records an event: it stands for the work of the stream so far. */
static inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream CLS_CUDA_OR_ZERO) {
    cls_stream found;
    cudaError_t error = cls_cuda_stream(stream, &found);
    return error != cudaSuccess ? error : cls_cuda_result_on(found, cls_event_record(event, found));
}

/** Says whether the recorded work is done. */
static inline cudaError_t cudaEventQuery(cudaEvent_t event) {
    cls_context context;
    cudaError_t error = cls_cuda_enter(&context);
    return error != cudaSuccess ? error : cls_cuda_result(cls_cuda_asked(cls_event_query(event)));
}

/** Waits for the recorded work. */
static inline cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    cls_context context;
    cudaError_t error = cls_cuda_enter(&context);
    return error != cudaSuccess ? error
                                : cls_cuda_result(cls_cuda_waited(cls_event_synchronize(event)));
}

/** Gets the time between two events in milliseconds. */
static inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) {
    cls_context context;
    double time = 0;
    cudaError_t error = cls_cuda_enter(&context);
    if (error == cudaSuccess && !ms)
        error = cls_cuda_refuse(cudaErrorInvalidValue, "cudaEventElapsedTime: ms is null");
    if (error == cudaSuccess)
        error = cls_cuda_result(cls_event_elapsed(start, end, &time));
    if (error == cudaSuccess)
        *ms = CLS_CUDA_CAST(float, time);
    return error;
}

CLS_END_DECLS

#endif
