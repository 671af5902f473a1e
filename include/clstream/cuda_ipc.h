/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_ipc.h
 * Memory and events of other processes in clstream/cuda_runtime.h: the handles of 64 bytes that CUDA's programs pass in
 * shared memory, through a pipe or in a message.
 *
 * Only shareable memory (share.h) has a handle. cudaMalloc gives such memory to programs that are compiled with
 * `-DCLS_CUDA_SHAREABLE`, where the device has it: each allocation then is whole pages (2 MiB for NVIDIA's) and keeps a file
 * descriptor open. A pointer that cls_buffer_get_pointer tells of shareable memory is as good.
 *
 * A handle names a process, one of its descriptors and a random key. The process that opens it must see the other one under
 * the same number (one PID namespace), and be allowed to open its files, as processes of one user are (`/proc/PID/fd`).
 * Memory of CPUs takes no more. That of NVIDIA's devices takes pidfd_getfd (Linux 5.6), which many systems allow only to a
 * parent or root. The mechanism is Linux's: elsewhere the calls are cudaErrorNotSupported.
 *
 * A handle is valid until its memory is freed, its event destroyed or its process ends; after any of that it is
 * cudaErrorInvalidResourceHandle. Opened memory stays until cudaIpcCloseMemHandle and an opened event until
 * cudaEventDestroy, also when the other process is gone.
 *
 * An event of cudaEventInterprocess has one latest record for all processes: a wait takes the one that there is when it is
 * called, so tell the other process to wait once the record was made. The hosts pass records on (event.h): a record costs
 * its stream what a host function does. Work behind a record whose process died before it was done fails, and
 * cudaEventQuery and cudaEventSynchronize of it are cudaErrorLaunchFailure, which is sticky.
 *
 * Every function may be called from any thread, and returns the device's sticky error if it has one (cuda_error.h).
 */
#ifndef CLSTREAM_CUDA_IPC_H
#define CLSTREAM_CUDA_IPC_H

#include <string.h>

#include <clstream/cuda_export.h>
#include <clstream/cuda_memory.h>
#include <clstream/cuda_stream.h>
#include <clstream/share.h>

CLS_BEGIN_DECLS

/** A handle for memory, which other processes open. */
typedef struct cudaIpcMemHandle_st {
    char reserved[64]; /**< the header's */
} cudaIpcMemHandle_t;

/** A handle for an event, which other processes open. */
typedef struct cudaIpcEventHandle_st {
    char reserved[64]; /**< the header's */
} cudaIpcEventHandle_t;

#define cudaIpcMemLazyEnablePeerAccess 0x01 /**< taken, without effect */

/**
 * Gets a handle of the allocation that has a pointer's byte. Memory that is not shareable is cudaErrorNotSupported: see
 * `-DCLS_CUDA_SHAREABLE` above.
 */
static inline cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *pointer) {
    cls_buffer_info info = CLS_BUFFER_INFO_INIT;
    struct cls_cuda_ticket ticket;
    cls_buffer buffer;
    cls_context context;
    cls_status status;
    int fd = -1;
    cudaError_t error = cls_cuda_enter(&context);
    if (error != cudaSuccess)
        return error;
    if (!handle || !pointer)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaIpcGetMemHandle: a pointer is null");
    status = cls_pointer_get_buffer(pointer, &buffer, NULL);
    if (status == CLS_SUCCESS)
        status = cls_buffer_get_info(buffer, &info);
    if (status == CLS_SUCCESS && (!info.shareable || info.kind != CLS_BUFFER_SHAREABLE))
        return cls_cuda_refuse(cudaErrorNotSupported,
                               "this memory is not shareable: define CLS_CUDA_SHAREABLE, and see "
                               "cls_context_can_share for the device");
    memset(&ticket, 0, sizeof ticket);
    if (status == CLS_SUCCESS)
        status = cls_buffer_export_part(buffer, &fd, &ticket.part);
    ticket.fd = fd;
    if (status == CLS_SUCCESS)
        status = cls_cuda_export(CLS_CUDA_MEMORY_HANDLE, buffer, &ticket, handle->reserved);
    return cls_cuda_result(status);
}

/** Opens the memory of a handle on the current device. `flags`: cudaIpcMemLazyEnablePeerAccess. */
static inline cudaError_t cudaIpcOpenMemHandle(void **out, cudaIpcMemHandle_t handle,
                                               unsigned flags) {
    struct cls_cuda_ticket ticket;
    cls_buffer buffer;
    cls_context context;
    cls_status status;
    int fd = -1;
    cudaError_t error = cls_cuda_enter(&context);
    if (error != cudaSuccess)
        return error;
    if (!out || flags & ~1u)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaIpcOpenMemHandle: null, or flags");
    error = cls_cuda_take_export(CLS_CUDA_MEMORY_HANDLE, handle.reserved, &fd, &ticket);
    if (error != cudaSuccess)
        return error;
    status = cls_buffer_import_part(context, fd, &ticket.part, &buffer);
    close(fd);
    if (status == CLS_SUCCESS && (status = cls_buffer_get_pointer(buffer, out)) != CLS_SUCCESS)
        cls_buffer_destroy(buffer);
    return cls_cuda_result(status);
}

/** Closes what cudaIpcOpenMemHandle has opened, by the pointer that it gave. Submitted work keeps it. */
static inline cudaError_t cudaIpcCloseMemHandle(void *pointer) {
    cls_buffer_info info = CLS_BUFFER_INFO_INIT;
    cls_buffer buffer;
    size_t offset = 0;
    cls_status status = cls_pointer_get_buffer(pointer, &buffer, &offset);
    if (status == CLS_SUCCESS)
        status = cls_buffer_get_info(buffer, &info);
    if (status == CLS_SUCCESS && (info.kind != CLS_BUFFER_OPENED || offset != 0))
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaIpcCloseMemHandle: it was not opened");
    if (status == CLS_SUCCESS)
        status = cls_buffer_destroy(buffer);
    return cls_cuda_result(status);
}

/** Gets a handle of an event, which was created with cudaEventInterprocess. */
static inline cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event) {
    struct cls_cuda_ticket ticket;
    cls_context context;
    cls_status status;
    int fd = -1;
    cudaError_t error = cls_cuda_enter(&context);
    if (error != cudaSuccess)
        return error;
    if (!handle)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaIpcGetEventHandle: handle is null");
    memset(&ticket, 0, sizeof ticket);
    status = cls_event_export(event, &fd);
    ticket.fd = fd;
    if (status == CLS_SUCCESS)
        status = cls_cuda_export(CLS_CUDA_EVENT_HANDLE, event, &ticket, handle->reserved);
    return cls_cuda_result(status);
}

/** Opens the event of a handle for streams of the current device. */
static inline cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *out, cudaIpcEventHandle_t handle) {
    struct cls_cuda_ticket ticket;
    cls_context context;
    cls_status status;
    int fd = -1;
    cudaError_t error = cls_cuda_enter(&context);
    if (error != cudaSuccess)
        return error;
    if (!out)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaIpcOpenEventHandle: the event is null");
    error = cls_cuda_take_export(CLS_CUDA_EVENT_HANDLE, handle.reserved, &fd, &ticket);
    if (error != cudaSuccess)
        return error;
    status = cls_event_import(context, fd, out);
    close(fd);
    return cls_cuda_result(status);
}

CLS_END_DECLS

#endif
