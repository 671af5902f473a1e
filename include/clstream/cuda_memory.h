/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_memory.h
 * Memory of clstream/cuda_runtime.h, by the pointers of pointer.h. Copies and fills are in cuda_copy.h.
 *
 * Device memory is never dereferenced by the host; arithmetic on its pointers is valid. Pinned memory speeds copies up; a
 * kernel takes it on CPUs only (cudaHostGetDevicePointer). Managed memory takes a device that shares memory with the host
 * (managed.h); cuda_managed.h has the rules of its ownership.
 *
 * Every function may be called from any thread, and returns the device's sticky error if it has one (cuda_error.h).
 * Those that free work all the same.
 */
#ifndef CLSTREAM_CUDA_MEMORY_H
#define CLSTREAM_CUDA_MEMORY_H

#include <clstream/buffer.h>
#include <clstream/cuda_export.h>
#include <clstream/cuda_managed.h>
#include <clstream/cuda_stream.h>
#include <clstream/managed.h>
#include <clstream/mempool.h>
#include <clstream/pointer.h>
#include <clstream/share.h>

CLS_BEGIN_DECLS

#define cudaHostAllocDefault 0x00       /**< pinned memory */
#define cudaHostAllocPortable 0x01      /**< taken: it always is */
#define cudaHostAllocMapped 0x02        /**< taken: cudaHostGetDevicePointer decides */
#define cudaHostAllocWriteCombined 0x04 /**< taken, without effect */
#define cudaHostRegisterDefault 0x00    /**< pins memory of the program's */
#define cudaHostRegisterPortable 0x01   /**< taken: it always is */
#define cudaHostRegisterMapped 0x02     /**< taken: cudaHostGetDevicePointer decides */

/** Kinds of memory. */
typedef enum cudaMemoryType {
    cudaMemoryTypeUnregistered = 0, /**< other memory of the host's */
    cudaMemoryTypeHost = 1,         /**< pinned memory */
    cudaMemoryTypeDevice = 2,       /**< device memory */
    cudaMemoryTypeManaged = 3       /**< managed memory */
} cudaMemoryType;

/** What cudaPointerGetAttributes tells. */
typedef struct cudaPointerAttributes {
    cudaMemoryType type; /**< kind of memory */
    int device;          /**< that it was allocated on; cudaInvalidDeviceId: on none */
    void *devicePointer; /**< for kernels; NULL: of memory that they do not take */
    void *hostPointer;   /**< for the host; NULL: of device memory */
} cudaPointerAttributes;

/** Advice about managed memory: taken by cudaMemAdvise, without effect. */
typedef enum cudaMemoryAdvise {
    cudaMemAdviseSetReadMostly = 1,          /**< without effect */
    cudaMemAdviseUnsetReadMostly = 2,        /**< without effect */
    cudaMemAdviseSetPreferredLocation = 3,   /**< without effect */
    cudaMemAdviseUnsetPreferredLocation = 4, /**< without effect */
    cudaMemAdviseSetAccessedBy = 5,          /**< without effect */
    cudaMemAdviseUnsetAccessedBy = 6         /**< without effect */
} cudaMemoryAdvise;

/** @cond */
/* Counts bytes of cudaMalloc, for cudaMemGetInfo. */
static inline void cls_cuda_count_bytes(int device, uint64_t bytes) {
    __atomic_fetch_add(&cls_cuda_state.allocated[device], bytes, __ATOMIC_RELAXED);
}

static inline cudaError_t cls_cuda_check_out(void **out, size_t bytes, cls_context *context) {
    cudaError_t error = cls_cuda_enter(context);
    if (error == cudaSuccess && !out)
        error = cls_cuda_refuse(cudaErrorInvalidValue, "the place for the pointer is null");
    if (error == cudaSuccess && bytes == 0)
        *out = NULL;
    return error;
}
/** @endcond */

/** @cond */
/* Allocates memory that other processes can open, if the program asks for it and the device has it, else other memory. */
static inline cls_status cls_cuda_allocate(cls_context context, size_t bytes, void **out) {
#ifdef CLS_CUDA_SHAREABLE
    cls_buffer buffer;
    cls_status status = cls_buffer_create_shareable(context, bytes, &buffer);
    if (status == CLS_SUCCESS) {
        status = cls_buffer_get_pointer(buffer, out);
        if (status != CLS_SUCCESS)
            cls_buffer_destroy(buffer);
        return status;
    }
    if (status != CLS_ERROR_UNSUPPORTED)
        return status;
    cls_clear_last_error();
#endif
    return cls_device_malloc(context, bytes, out);
}
/** @endcond */

/** Allocates device memory on the current device. 0 bytes: a null pointer. */
static inline cudaError_t cudaMalloc(void **out, size_t bytes) {
    cls_context context;
    cls_status status;
    cudaError_t error = cls_cuda_check_out(out, bytes, &context);
    if (error != cudaSuccess || bytes == 0)
        return error;
    status = cls_cuda_allocate(context, bytes, out);
    if (status == CLS_SUCCESS)
        cls_cuda_count_bytes(cls_cuda_thread.device, bytes);
    return cls_cuda_result(status);
}

/** Allocates rows of `width` bytes; `pitch` receives their distance, a multiple of the device's alignment. */
static inline cudaError_t cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    size_t align, row;
    cls_context context;
    cudaError_t error = cls_cuda_check_out(out, 1, &context);
    if (error != cudaSuccess)
        return error;
    if (!pitch)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaMallocPitch: pitch is null");
    error =
        cls_cuda_result(cls_device_get_info(cls_cuda_state.index[cls_cuda_thread.device], &info));
    if (error != cudaSuccess)
        return error;
    align = info.base_align ? info.base_align : 1;
    if (width > SIZE_MAX - align)
        return cls_cuda_refuse(cudaErrorMemoryAllocation, "cudaMallocPitch: the width overflows");
    row = (width + align - 1) / align * align;
    if (row && height > SIZE_MAX / row)
        return cls_cuda_refuse(cudaErrorMemoryAllocation, "cudaMallocPitch: the size overflows");
    error = cudaMalloc(out, row * height);
    if (error == cudaSuccess)
        *pitch = row;
    return error;
}

/** Frees memory of cudaMalloc, cudaMallocManaged or cudaMallocAsync. Submitted work keeps it: the call does not wait. */
static inline cudaError_t cudaFree(void *pointer) {
    cls_pointer_info info = CLS_POINTER_INFO_INIT;
    cls_buffer_info buffer = CLS_BUFFER_INFO_INIT;
    cls_context context;
    cls_status status;
    int device;
    if (!pointer)
        return cls_cuda_enter(&context);
    if (cls_pointer_get_info(pointer, &info) == CLS_SUCCESS && info.kind == CLS_POINTER_DEVICE &&
        cls_buffer_get_info(info.buffer, &buffer) != CLS_SUCCESS)
        buffer.bytes = 0;
    if (info.buffer && info.offset == 0)
        cls_cuda_forget_export(info.buffer);
    cls_cuda_forget_coarse(pointer, NULL);
    status = cls_device_free(pointer);
    device = cls_cuda_device_of(info.context);
    if (status == CLS_SUCCESS && buffer.bytes &&
        (buffer.kind == CLS_BUFFER_OWN || buffer.kind == CLS_BUFFER_SHAREABLE))
        cls_cuda_count_bytes(device, UINT64_C(0) - buffer.bytes);
    return cls_cuda_result_of(device, status);
}

/** Allocates pinned memory of the host's. */
static inline cudaError_t cudaMallocHost(void **out, size_t bytes) {
    cls_context context;
    cudaError_t error = cls_cuda_check_out(out, bytes, &context);
    return error != cudaSuccess || bytes == 0
               ? error
               : cls_cuda_result(cls_host_alloc(context, bytes, out));
}

/** The same with flags. */
static inline cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags) {
    return flags > 7 ? cls_cuda_refuse(cudaErrorInvalidValue, "cudaHostAlloc: unknown flags")
                     : cudaMallocHost(out, bytes);
}

/** Frees pinned memory, after waiting for the copies that use it. */
static inline cudaError_t cudaFreeHost(void *pointer) {
    return cls_cuda_result(cls_host_free(pointer));
}

/** Pins memory of the program's; cls_host_register says on which devices, and how it is aligned. */
static inline cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned flags) {
    cls_context context;
    cudaError_t error = cls_cuda_enter(&context);
    if (error == cudaSuccess && flags > 3)
        error = cls_cuda_refuse(cudaErrorInvalidValue, "cudaHostRegister: unknown flags");
    return error != cudaSuccess ? error
                                : cls_cuda_result(cls_host_register(context, pointer, bytes));
}

/** Ends cudaHostRegister. */
static inline cudaError_t cudaHostUnregister(void *pointer) {
    return cls_cuda_result(cls_host_unregister(pointer));
}

/**
 * Gets the pointer by which kernels take pinned memory: the same one. Devices other than CPUs work on copies of their own:
 * cudaErrorNotSupported. `pointer` is the start of the memory, and `flags` is 0.
 */
static inline cudaError_t cudaHostGetDevicePointer(void **out, void *pointer, unsigned flags) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    cls_managed_kind kind = CLS_MANAGED_NONE;
    cls_context context;
    cls_buffer buffer;
    cls_status status;
    cudaError_t error = cls_cuda_check_out(out, 1, &context);
    if (error == cudaSuccess && flags)
        error = cls_cuda_refuse(cudaErrorInvalidValue, "cudaHostGetDevicePointer: flags");
    if (error != cudaSuccess)
        return error;
    status = cls_device_get_info(cls_cuda_state.index[cls_cuda_thread.device], &info);
    if (status == CLS_SUCCESS)
        status = cls_managed_get_kind(context, &kind);
    if (status == CLS_SUCCESS && (info.type != CLS_DEVICE_CPU || kind == CLS_MANAGED_COARSE))
        return cls_cuda_refuse(cudaErrorNotSupported, "only CPUs compute in pinned memory");
    if (status == CLS_SUCCESS)
        status = cls_host_buffer(pointer, &buffer);
    if (status == CLS_SUCCESS)
        status = cls_buffer_get_pointer(buffer, out);
    return cls_cuda_result(status);
}

/**
 * Allocates memory that host and kernels use by one pointer: at the same time, or by turns (cuda_managed.h). `flags`:
 * cudaMemAttachGlobal or cudaMemAttachHost. A device that shares no memory: cudaErrorNotSupported.
 */
static inline cudaError_t cudaMallocManaged(void **out, size_t bytes,
                                            unsigned flags
#ifdef __cplusplus
                                            = cudaMemAttachGlobal
#endif
) {
    cls_managed_kind kind = CLS_MANAGED_NONE;
    cls_context context;
    cls_buffer buffer;
    void *pointer = NULL;
    cls_status status;
    cudaError_t error = cls_cuda_check_out(out, 1, &context);
    if (error != cudaSuccess)
        return error;
    if (bytes == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost))
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaMallocManaged: bytes or flags");
    status = cls_managed_get_kind(context, &kind);
    if (status == CLS_SUCCESS)
        status = cls_managed_alloc(context, bytes, &buffer, NULL);
    if (status != CLS_SUCCESS)
        return cls_cuda_result(status);
    status = cls_buffer_get_pointer(buffer, &pointer);
    if (status == CLS_SUCCESS && kind == CLS_MANAGED_COARSE)
        status =
            cls_cuda_add_coarse(cls_cuda_thread.device, context, buffer, pointer, bytes, flags);
    if (status == CLS_SUCCESS)
        *out = pointer;
    else
        cls_buffer_destroy(buffer);
    return cls_cuda_result(status);
}

/** @cond */
/* Moves managed memory in the order of a stream: by its owners where it has them, else as a hint. */
static inline cls_status cls_cuda_move(const void *pointer, cls_buffer buffer, cls_location where,
                                       cls_stream stream) {
    cls_arg arg = cls_arg_pointer(pointer);
    cls_status status;
    if (!cls_cuda_has_coarse() || !cls_cuda_is_coarse(pointer) ||
        (where == CLS_TO_HOST && cls_cuda_captures(stream))) /* which is refused */
        return cls_prefetch_async(buffer, where, stream);
    if (where == CLS_TO_HOST)
        return cls_cuda_attach(pointer, 0, stream);
    status = cls_cuda_managed_begin(stream, &arg, 1);
    return status == CLS_SUCCESS ? cls_cuda_managed_end(stream, &arg, 1, status) : status;
}
/** @endcond */

/**
 * Moves managed memory to a device, or to the host (cudaCpuDeviceId), ahead of its use: a hint. Memory that is used by turns
 * changes its owner (cuda_managed.h): the host may touch it after waiting for the stream.
 */
static inline cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, int device,
                                               cudaStream_t stream CLS_CUDA_OR_ZERO) {
    cls_pointer_info info = CLS_POINTER_INFO_INIT;
    cls_stream found;
    cls_status status;
    cudaError_t error = cls_cuda_stream(stream, &found);
    if (error == cudaSuccess && device != cudaCpuDeviceId)
        error = cls_cuda_check_device(device);
    if (error != cudaSuccess)
        return error;
    status = cls_pointer_get_info(pointer, &info);
    if (status == CLS_SUCCESS &&
        (info.kind != CLS_POINTER_UNIFIED || bytes == 0 || bytes > info.bytes - info.offset))
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaMemPrefetchAsync: not managed memory");
    if (status == CLS_SUCCESS)
        status = cls_cuda_move(pointer, info.buffer,
                               device == cudaCpuDeviceId ? CLS_TO_HOST : CLS_TO_DEVICE, found);
    return cls_cuda_result_on(found, status);
}

/** Takes advice about managed memory, without effect. */
static inline cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, cudaMemoryAdvise advice,
                                        int device) {
    cls_pointer_info info = CLS_POINTER_INFO_INIT;
    cls_status status = cls_pointer_get_info(pointer, &info);
    int named = CLS_CUDA_CAST(int, advice);
    (void)device;
    if (status == CLS_SUCCESS && (info.kind != CLS_POINTER_UNIFIED || bytes == 0 ||
                                  bytes > info.bytes - info.offset || named < 1 || named > 6))
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaMemAdvise: not managed memory");
    return cls_cuda_result(status);
}

/**
 * Gets the bytes of the current device's memory. `free` is the total without what the process has of cudaMalloc and of the
 * default pool, as OpenCL does not tell what others use.
 */
static inline cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    cls_mempool_statistics statistics = CLS_MEMPOOL_STATISTICS_INIT;
    int device = cls_cuda_thread.device;
    cls_context context;
    cls_mempool pool;
    uint64_t used;
    cls_status status;
    cudaError_t error = cls_cuda_enter(&context);
    if (error != cudaSuccess)
        return error;
    if (!free_bytes || !total)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaMemGetInfo: a pointer is null");
    status = cls_device_get_info(cls_cuda_state.index[device], &info);
    if (status == CLS_SUCCESS)
        status = cls_mempool_default(context, &pool);
    if (status == CLS_SUCCESS)
        status = cls_mempool_get_statistics(pool, &statistics);
    if (status != CLS_SUCCESS)
        return cls_cuda_result(status);
    used =
        __atomic_load_n(&cls_cuda_state.allocated[device], __ATOMIC_RELAXED) + statistics.reserved;
    *total = CLS_CUDA_CAST(size_t, info.global_memory);
    *free_bytes = CLS_CUDA_CAST(size_t, used < info.global_memory ? info.global_memory - used : 0);
    return cudaSuccess;
}

/** Gets what a pointer points to. */
static inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes,
                                                   const void *pointer) {
    cls_pointer_info info = CLS_POINTER_INFO_INIT;
    char *start;
    cls_status status;
    if (!attributes)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaPointerGetAttributes: null");
    status = cls_pointer_get_info(pointer, &info);
    if (status != CLS_SUCCESS)
        return cls_cuda_result(status);
    start = CLS_CUDA_CAST(char *, info.base);
    attributes->type = CLS_CUDA_CAST(cudaMemoryType, 0);
    attributes->device = cudaInvalidDeviceId;
    attributes->devicePointer = attributes->hostPointer = NULL;
    if (info.kind == CLS_POINTER_HOST)
        return cudaSuccess;
    attributes->device = cls_cuda_device_of(info.context);
    attributes->type = info.kind == CLS_POINTER_DEVICE    ? cudaMemoryTypeDevice
                       : info.kind == CLS_POINTER_UNIFIED ? cudaMemoryTypeManaged
                                                          : cudaMemoryTypeHost;
    if (info.buffer)
        attributes->devicePointer = start + info.offset;
    if (info.kind != CLS_POINTER_DEVICE)
        attributes->hostPointer = start + info.offset;
    return cudaSuccess;
}

CLS_END_DECLS

#endif
