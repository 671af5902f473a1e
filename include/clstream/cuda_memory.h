/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_memory.h
 * Memory and copies of clstream/cuda_runtime.h, by the pointers of pointer.h.
 *
 * Device memory is never dereferenced by the host; arithmetic on its pointers is valid. Pinned memory speeds copies up; a
 * kernel takes it on CPUs only (cudaHostGetDevicePointer). Managed memory takes a device whose unified memory is
 * fine-grained (managed.h), else cudaMallocManaged is cudaErrorNotSupported.
 *
 * Copies find the direction from the pointers; a cudaMemcpyKind that contradicts them is cudaErrorInvalidValue. An
 * asynchronous copy from or to host memory that is not pinned returns when it is done, because CUDA's programs may use that
 * memory right after the call; in a capture it is recorded. Calls that say no stream use stream 0 of the memory's device.
 *
 * Every function may be called from any thread, and returns the device's sticky error if it has one (cuda_error.h).
 * Those that free work all the same.
 */
#ifndef CLSTREAM_CUDA_MEMORY_H
#define CLSTREAM_CUDA_MEMORY_H

#include <clstream/buffer.h>
#include <clstream/cuda_stream.h>
#include <clstream/managed.h>
#include <clstream/mempool.h>
#include <clstream/pointer.h>

CLS_BEGIN_DECLS

/** Directions of copies. */
typedef enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,     /**< from host to host */
    cudaMemcpyHostToDevice = 1,   /**< from host to device */
    cudaMemcpyDeviceToHost = 2,   /**< from device to host */
    cudaMemcpyDeviceToDevice = 3, /**< from device to device */
    cudaMemcpyDefault = 4         /**< as the pointers say */
} cudaMemcpyKind;

#define cudaHostAllocDefault 0x00       /**< pinned memory */
#define cudaHostAllocPortable 0x01      /**< taken: it always is */
#define cudaHostAllocMapped 0x02        /**< taken: cudaHostGetDevicePointer decides */
#define cudaHostAllocWriteCombined 0x04 /**< taken, without effect */
#define cudaHostRegisterDefault 0x00    /**< pins memory of the program's */
#define cudaHostRegisterPortable 0x01   /**< taken: it always is */
#define cudaHostRegisterMapped 0x02     /**< taken: cudaHostGetDevicePointer decides */
#define cudaMemAttachGlobal 0x01        /**< managed memory of all streams */
#define cudaMemAttachHost 0x02          /**< taken, as cudaMemAttachGlobal */
#define cudaMemAttachSingle 0x04        /**< taken, as cudaMemAttachGlobal */

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
/* Where a copy or fill runs, and what its pointers are. */
struct cls_cuda_route {
    cls_stream stream;
    int device; /* whose errors those of the call are */
    int waits;  /* the call returns when it is done */
};

/* Whether a kind contradicts a pointer that should be the device's, or the host's. */
static inline int cls_cuda_contradicts(cls_pointer_kind kind, int device) {
    return device ? kind == CLS_POINTER_HOST : kind == CLS_POINTER_DEVICE;
}

static inline cudaError_t cls_cuda_check_kind(cudaMemcpyKind kind, cls_pointer_kind dst,
                                              cls_pointer_kind src) {
    int named = CLS_CUDA_CAST(int, kind);
    if (named < 0 || named > cudaMemcpyDefault)
        return cls_cuda_refuse(cudaErrorInvalidMemcpyDirection, "there is no such direction");
    if (kind == cudaMemcpyDefault)
        return cudaSuccess;
    if (cls_cuda_contradicts(dst,
                             kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) ||
        cls_cuda_contradicts(src,
                             kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice))
        return cls_cuda_refuse(cudaErrorInvalidValue,
                               "the direction is another one than the pointers'");
    return cudaSuccess;
}

/* Finds the stream of a copy. `src` is NULL of a fill; `named` says that the program gave the stream. */
static inline cudaError_t cls_cuda_find_route(struct cls_cuda_route *route, const void *dst,
                                              const void *src, cudaMemcpyKind kind,
                                              cudaStream_t stream, int named) {
    cls_pointer_info to = CLS_POINTER_INFO_INIT, from = CLS_POINTER_INFO_INIT;
    cls_status status = cls_pointer_get_info(dst, &to);
    cudaError_t error;
    if (status == CLS_SUCCESS && src)
        status = cls_pointer_get_info(src, &from);
    if (status != CLS_SUCCESS)
        return cls_cuda_result(status);
    if (src && (error = cls_cuda_check_kind(kind, to.kind, from.kind)) != cudaSuccess)
        return error;
    route->device = cls_cuda_thread.device;
    if (!named)
        route->device = cls_cuda_device_of(to.context ? to.context : from.context);
    error = cls_cuda_stream_on(route->device, stream, &route->stream);
    route->waits = !named;
    if (error == cudaSuccess && named &&
        (to.kind == CLS_POINTER_HOST || (src && from.kind == CLS_POINTER_HOST)))
        route->waits = !cls_cuda_captures(route->stream);
    return error;
}

static inline cudaError_t cls_cuda_copy(void *dst, const void *src, size_t bytes,
                                        cudaMemcpyKind kind, cudaStream_t stream, int named) {
    struct cls_cuda_route route = {NULL, 0, 0};
    cudaError_t error;
    if (bytes == 0)
        return cls_cuda_stream(stream, &route.stream);
    if (!dst || !src)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaMemcpy: a pointer is null");
    error = cls_cuda_find_route(&route, dst, src, kind, stream, named);
    if (error != cudaSuccess)
        return error;
    return cls_cuda_result_on(route.stream, route.waits
                                                ? cls_memcpy(dst, src, bytes, route.stream)
                                                : cls_memcpy_async(dst, src, bytes, route.stream));
}

static inline cudaError_t cls_cuda_copy_2d(void *dst, size_t dst_pitch, const void *src,
                                           size_t src_pitch, size_t width, size_t height,
                                           cudaMemcpyKind kind, cudaStream_t stream, int named) {
    struct cls_cuda_route route = {NULL, 0, 0};
    cudaError_t error;
    if (width == 0 || height == 0)
        return cls_cuda_stream(stream, &route.stream);
    if (!dst || !src)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaMemcpy2D: a pointer is null");
    if (dst_pitch < width || src_pitch < width)
        return cls_cuda_refuse(cudaErrorInvalidPitchValue, "the pitch is below the width");
    error = cls_cuda_find_route(&route, dst, src, kind, stream, named);
    if (error != cudaSuccess)
        return error;
    return cls_cuda_result_on(
        route.stream,
        route.waits
            ? cls_memcpy_2d(dst, dst_pitch, src, src_pitch, width, height, route.stream)
            : cls_memcpy_2d_async(dst, dst_pitch, src, src_pitch, width, height, route.stream));
}

static inline cudaError_t cls_cuda_set(void *dst, size_t pitch, int value, size_t width,
                                       size_t height, cudaStream_t stream, int named) {
    struct cls_cuda_route route = {NULL, 0, 0};
    cudaError_t error;
    if (width == 0 || height == 0)
        return cls_cuda_stream(stream, &route.stream);
    if (!dst)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaMemset: the pointer is null");
    if (pitch < width)
        return cls_cuda_refuse(cudaErrorInvalidPitchValue, "the pitch is below the width");
    error = cls_cuda_find_route(&route, dst, NULL, cudaMemcpyDefault, stream, named);
    if (error != cudaSuccess)
        return error;
    if (height == 1)
        return cls_cuda_result_on(route.stream,
                                  route.waits ? cls_memset(dst, value, width, route.stream)
                                              : cls_memset_async(dst, value, width, route.stream));
    return cls_cuda_result_on(
        route.stream, route.waits
                          ? cls_memset_2d(dst, pitch, value, width, height, route.stream)
                          : cls_memset_2d_async(dst, pitch, value, width, height, route.stream));
}

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

/* --- allocation --- */

/** Allocates device memory on the current device. 0 bytes: a null pointer. */
static inline cudaError_t cudaMalloc(void **out, size_t bytes) {
    cls_context context;
    cls_status status;
    cudaError_t error = cls_cuda_check_out(out, bytes, &context);
    if (error != cudaSuccess || bytes == 0)
        return error;
    status = cls_device_malloc(context, bytes, out);
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
    status = cls_device_free(pointer);
    device = cls_cuda_device_of(info.context);
    if (status == CLS_SUCCESS && buffer.bytes && buffer.kind == CLS_BUFFER_OWN)
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
    cls_context context;
    cls_buffer buffer;
    cls_status status;
    cudaError_t error = cls_cuda_check_out(out, 1, &context);
    if (error == cudaSuccess && flags)
        error = cls_cuda_refuse(cudaErrorInvalidValue, "cudaHostGetDevicePointer: flags");
    if (error != cudaSuccess)
        return error;
    status = cls_device_get_info(cls_cuda_state.index[cls_cuda_thread.device], &info);
    if (status == CLS_SUCCESS && info.type != CLS_DEVICE_CPU)
        return cls_cuda_refuse(cudaErrorNotSupported, "only CPUs compute in pinned memory");
    if (status == CLS_SUCCESS)
        status = cls_host_buffer(pointer, &buffer);
    if (status == CLS_SUCCESS)
        status = cls_buffer_get_pointer(buffer, out);
    return cls_cuda_result(status);
}

/** Allocates memory that host and kernels use by one pointer. `flags`: cudaMemAttachGlobal or cudaMemAttachHost. */
static inline cudaError_t cudaMallocManaged(void **out, size_t bytes,
                                            unsigned flags
#ifdef __cplusplus
                                            = cudaMemAttachGlobal
#endif
) {
    cls_managed_kind kind = CLS_MANAGED_NONE;
    cls_context context;
    cls_buffer buffer;
    cls_status status;
    cudaError_t error = cls_cuda_check_out(out, 1, &context);
    if (error != cudaSuccess)
        return error;
    if (bytes == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost))
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaMallocManaged: bytes or flags");
    status = cls_managed_get_kind(context, &kind);
    if (status == CLS_SUCCESS && kind != CLS_MANAGED_FINE)
        return cls_cuda_refuse(cudaErrorNotSupported,
                               "host and device cannot use memory at the same time");
    if (status == CLS_SUCCESS)
        status = cls_managed_alloc(context, bytes, &buffer, NULL);
    if (status == CLS_SUCCESS && (status = cls_buffer_get_pointer(buffer, out)) != CLS_SUCCESS)
        cls_buffer_destroy(buffer);
    return cls_cuda_result(status);
}

/** Moves managed memory to a device, or to the host (cudaCpuDeviceId), ahead of its use: a hint. */
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
        status = cls_prefetch_async(info.buffer,
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

/* --- copies and fills --- */

/** Copies `bytes` bytes, and waits for the copy. */
static inline cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes,
                                     cudaMemcpyKind kind) {
    return cls_cuda_copy(dst, src, bytes, kind, NULL, 0);
}

/** Copies `bytes` bytes in the order of a stream. */
static inline cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes,
                                          cudaMemcpyKind kind,
                                          cudaStream_t stream CLS_CUDA_OR_ZERO) {
    return cls_cuda_copy(dst, src, bytes, kind, stream, 1);
}

/** Copies rows that begin a pitch apart, and waits for the copy. */
static inline cudaError_t cudaMemcpy2D(void *dst, size_t dst_pitch, const void *src,
                                       size_t src_pitch, size_t width, size_t height,
                                       cudaMemcpyKind kind) {
    return cls_cuda_copy_2d(dst, dst_pitch, src, src_pitch, width, height, kind, NULL, 0);
}

/** Copies rows that begin a pitch apart in the order of a stream. */
static inline cudaError_t cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src,
                                            size_t src_pitch, size_t width, size_t height,
                                            cudaMemcpyKind kind,
                                            cudaStream_t stream CLS_CUDA_OR_ZERO) {
    return cls_cuda_copy_2d(dst, dst_pitch, src, src_pitch, width, height, kind, stream, 1);
}

/** Copies memory of one device to another one, and waits for the copy. */
static inline cudaError_t cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device,
                                         size_t bytes) {
    cudaError_t error = cls_cuda_check_device(dst_device);
    if (error == cudaSuccess)
        error = cls_cuda_check_device(src_device);
    return error != cudaSuccess ? error
                                : cls_cuda_copy(dst, src, bytes, cudaMemcpyDeviceToDevice, NULL, 0);
}

/** The same in the order of a stream of either device. */
static inline cudaError_t cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src,
                                              int src_device, size_t bytes,
                                              cudaStream_t stream CLS_CUDA_OR_ZERO) {
    cudaError_t error = cls_cuda_check_device(dst_device);
    if (error == cudaSuccess)
        error = cls_cuda_check_device(src_device);
    return error != cudaSuccess
               ? error
               : cls_cuda_copy(dst, src, bytes, cudaMemcpyDeviceToDevice, stream, 1);
}

/** Sets bytes to the lowest eight bits of a value, and waits. */
static inline cudaError_t cudaMemset(void *dst, int value, size_t bytes) {
    return cls_cuda_set(dst, bytes, value, bytes, 1, NULL, 0);
}

/** The same in the order of a stream. */
static inline cudaError_t cudaMemsetAsync(void *dst, int value, size_t bytes,
                                          cudaStream_t stream CLS_CUDA_OR_ZERO) {
    return cls_cuda_set(dst, bytes, value, bytes, 1, stream, 1);
}

/** Sets rows of bytes that begin a pitch apart, and waits. */
static inline cudaError_t cudaMemset2D(void *dst, size_t pitch, int value, size_t width,
                                       size_t height) {
    return cls_cuda_set(dst, pitch, value, width, height, NULL, 0);
}

/** The same in the order of a stream. */
static inline cudaError_t cudaMemset2DAsync(void *dst, size_t pitch, int value, size_t width,
                                            size_t height, cudaStream_t stream CLS_CUDA_OR_ZERO) {
    return cls_cuda_set(dst, pitch, value, width, height, stream, 1);
}

CLS_END_DECLS

#endif
