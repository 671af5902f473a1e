/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_managed.h
 * Ownership of the managed memory of clstream/cuda_runtime.h (cudaMallocManaged).
 *
 * Where a device's unified memory is fine-grained (managed.h), the host and kernels use it at the same time, and nothing here
 * has an effect. Where it is coarse-grained, concurrentManagedAccess is 0 and CUDA's rule for such devices holds: the memory
 * belongs to the device while work that uses it is pending, and else to the host, which may not touch the device's.
 *
 * - A launch, a copy or a fill takes the memory that its arguments point into, from the call on. Its stream is one of the
 *   memory's device.
 * - A call that has waited, or has asked, gives all memory back to the host whose uses are over, on whatever streams they were,
 *   before it returns cudaSuccess: cudaDeviceSynchronize, cudaStreamSynchronize, cudaStreamQuery, cudaEventSynchronize,
 *   cudaEventQuery, copies and fills that wait. A query is cudaErrorNotReady while memory is on its way.
 * - A host function or callback of a stream may use the memory that earlier work of the stream uses, and no pending work of
 *   another one.
 * - The launch of a graph takes all memory of its device that any capture or node has used. Its host functions have none.
 * - cudaStreamAttachMemAsync with cudaMemAttachHost gives memory to the host in the order of the stream. Launches with it are
 *   cudaErrorIllegalState from the call on, copies and fills run on the host. cudaMemAttachGlobal or cudaMemAttachSingle ends
 *   that. These two are the same, since the streams that use the memory are known from the calls.
 *
 * A launch takes nothing that its kernel reaches by addresses in memory. A value among its arguments that holds the address of
 * memory which no argument points into is cudaErrorNotSupported. The library's own calls take nothing: one that uses managed
 * memory stands between cls_cuda_managed_begin and cls_cuda_managed_end.
 *
 * Every function may be called from any thread.
 */
#ifndef CLSTREAM_CUDA_MANAGED_H
#define CLSTREAM_CUDA_MANAGED_H

#include <string.h>

#include <clstream/cuda_owner.h>
#include <clstream/kernel.h>

CLS_BEGIN_DECLS

/** @cond */
/* A call that uses memory. */
struct cls_cuda_call {
    cls_stream stream; /* NULL: the call is captured, and runs in no stream's order now */
    const cls_arg *args;
    unsigned n;
    cls_context graphs; /* not NULL: it launches a graph */
};

static inline struct cls_cuda_call cls_cuda_call_on(cls_stream stream, const cls_arg *args,
                                                    unsigned n) {
    struct cls_cuda_call call = {NULL, NULL, 0, NULL};
    cls_stream_info info = CLS_STREAM_INFO_INIT;
    if (stream && !cls_cuda_captures(stream))
        call.stream = stream;
    call.args = args;
    call.n = n;
    if (!args && cls_stream_get_info(stream, &info) == CLS_SUCCESS)
        call.graphs = info.context;
    return call;
}

static inline int cls_cuda_points_into(const struct cls_cuda_coarse *memory, const cls_arg *arg) {
    if (arg->kind == CLS_ARG_POINTER)
        return CLS_CUDA_POINTER(uintptr_t, arg->u.pointer) - memory->start < memory->bytes;
    return (arg->kind == CLS_ARG_BUFFER || arg->kind == CLS_ARG_BUFFER_PART ||
            arg->kind == CLS_ARG_ADDRESS) &&
           arg->u.buffer == memory->buffer;
}

/* Whether a value has an address in memory, at a place where structures have pointers. */
static inline int cls_cuda_contains(const struct cls_cuda_coarse *memory, const cls_arg *arg) {
    const char *bytes = CLS_CUDA_CAST(const char *, arg->size > sizeof arg->u.bytes ? arg->u.pointer
                                                                                    : arg->u.bytes);
    uintptr_t word;
    size_t at;
    for (at = 0; arg->kind == CLS_ARG_VALUE && at + sizeof word <= arg->size; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        if (word - memory->start < memory->bytes)
            return 1;
    }
    return 0;
}

static inline int cls_cuda_any_arg(const struct cls_cuda_coarse *memory,
                                   const struct cls_cuda_call *call,
                                   int (*is)(const struct cls_cuda_coarse *, const cls_arg *)) {
    unsigned i;
    for (i = 0; i < call->n; i++)
        if (is(memory, &call->args[i]))
            return 1;
    return 0;
}

static inline int cls_cuda_takes(const struct cls_cuda_coarse *memory,
                                 const struct cls_cuda_call *call) {
    if (memory->attached == cudaMemAttachHost)
        return 0;
    return call->graphs ? memory->in_graphs && memory->context == call->graphs
                        : cls_cuda_any_arg(memory, call, cls_cuda_points_into);
}

static inline cls_status cls_cuda_take(struct cls_cuda_coarse *memory,
                                       const struct cls_cuda_call *call) {
    if (cls_cuda_takes(memory, call)) {
        memory->in_graphs |= !call->stream;
        return cls_cuda_open_use(memory, call->stream ? call->stream : memory->internal);
    }
    if (cls_cuda_any_arg(memory, call, cls_cuda_contains)) {
        cls_set_last_error("an argument has the address of managed memory that no argument points "
                           "into: a launch takes memory by pointers among its arguments");
        return CLS_ERROR_UNSUPPORTED;
    }
    return CLS_SUCCESS;
}

/* Ends the uses of a call by the memory up to `end`, which is not looked at. The last stream of them is told. */
static inline cls_status cls_cuda_close_uses(const struct cls_cuda_call *call,
                                             const struct cls_cuda_coarse *end, cls_stream *last) {
    struct cls_cuda_coarse *memory;
    cls_status status = CLS_SUCCESS;
    for (memory = cls_cuda_state.coarse; memory != end; memory = memory->next)
        if (cls_cuda_takes(memory, call)) {
            cls_status closed;
            *last = call->stream ? call->stream : memory->internal;
            closed = cls_cuda_close_use(memory, *last);
            if (status == CLS_SUCCESS)
                status = closed;
        }
    return status;
}

/* What a call that used memory returns. If it did nothing now, because it was refused or captured, the memory goes back. */
static inline cls_status cls_cuda_leave(const struct cls_cuda_call *call, cls_stream last,
                                        cls_status status) {
    cls_status returned = CLS_SUCCESS;
    if (last && (status != CLS_SUCCESS || !call->stream))
        returned = cls_cuda_waited(cls_stream_synchronize(last));
    return status == CLS_SUCCESS ? returned : status;
}
/** @endcond */

/**
 * Begins a call of the library's own that uses managed memory: makes the memory that its arguments point into the device's, in
 * the order of `stream`, until the work is done that the stream has by cls_cuda_managed_end. A captured stream, or NULL: the
 * call makes a node of a graph, or changes one. NULL `args`: the call launches a graph.
 *
 *     cls_arg args[] = {cls_arg_pointer(x), cls_arg_pointer(y)};
 *     cls_status status = cls_cuda_managed_begin(stream, args, 2);
 *     if (status == CLS_SUCCESS)
 *         status = cls_cuda_managed_end(stream, args, 2, cls_axpy_async(...));
 *
 * @retval CLS_ERROR_UNSUPPORTED   an argument is a value with the address of memory that none of them points into
 * @retval CLS_ERROR_WRONG_CONTEXT the memory is of another device than the stream
 * @retval CLS_ERROR_OUT_OF_MEMORY
 * @return also the statuses of submissions (stream.h). With any of them nothing was begun
 */
static inline cls_status cls_cuda_managed_begin(cls_stream stream, const cls_arg *args,
                                                unsigned n) {
    struct cls_cuda_coarse *memory;
    struct cls_cuda_call call;
    cls_stream last = NULL;
    cls_status status = CLS_SUCCESS;
    if (!cls_cuda_has_coarse())
        return CLS_SUCCESS;
    call = cls_cuda_call_on(stream, args, n);
    pthread_mutex_lock(&cls_cuda_coarse_lock);
    for (memory = cls_cuda_state.coarse; memory; memory = memory->next) {
        status = cls_cuda_take(memory, &call);
        if (status != CLS_SUCCESS)
            break;
    }
    if (status != CLS_SUCCESS)
        cls_cuda_close_uses(&call, memory, &last);
    pthread_mutex_unlock(&cls_cuda_coarse_lock);
    return cls_cuda_leave(&call, status == CLS_SUCCESS ? NULL : last, status);
}

/**
 * Ends what cls_cuda_managed_begin began with the same arguments, after the call, which returned `status`. If the call failed,
 * waits for the stream, since the memory then goes back to the host.
 * @return `status`; if that is CLS_SUCCESS, the statuses of cls_event_record
 */
static inline cls_status cls_cuda_managed_end(cls_stream stream, const cls_arg *args, unsigned n,
                                              cls_status status) {
    struct cls_cuda_call call;
    cls_stream last = NULL;
    cls_status closed;
    if (!cls_cuda_has_coarse())
        return status;
    call = cls_cuda_call_on(stream, args, n);
    pthread_mutex_lock(&cls_cuda_coarse_lock);
    closed = cls_cuda_close_uses(&call, NULL, &last);
    pthread_mutex_unlock(&cls_cuda_coarse_lock);
    return cls_cuda_leave(&call, last, status == CLS_SUCCESS ? closed : status);
}

CLS_END_DECLS

#endif
