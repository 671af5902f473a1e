/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_copy.h
 * Copies and fills of clstream/cuda_runtime.h, by the pointers of cuda_memory.h and cuda_pool.h.
 *
 * Copies find the direction from the pointers; a cudaMemcpyKind that contradicts them is cudaErrorInvalidValue. An
 * asynchronous copy from or to host memory that is not pinned returns when it is done, because CUDA's programs may use that
 * memory right after the call; in a capture it is recorded. Calls that say no stream use stream 0 of the memory's device.
 * Overlapping copies are cudaErrorInvalidValue.
 *
 * Every function may be called from any thread, and returns the device's sticky error if it has one (cuda_error.h).
 */
#ifndef CLSTREAM_CUDA_COPY_H
#define CLSTREAM_CUDA_COPY_H

#include <clstream/cuda_managed.h>
#include <clstream/cuda_stream.h>
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

/* Begins a copy: finds its stream. `src` is NULL of a fill; `named` says that the program gave the stream. */
static inline cudaError_t cls_cuda_begin_copy(struct cls_cuda_route *route, const void *dst,
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
    if (error == cudaSuccess && cls_cuda_has_coarse()) {
        const cls_arg args[] = {cls_arg_pointer(dst), cls_arg_pointer(src)};
        error = cls_cuda_result_on(route->stream, cls_cuda_managed_begin(route->stream, args, 2));
    }
    return error;
}

/* What a copy or fill returns that was begun. */
static inline cudaError_t cls_cuda_end_copy(const struct cls_cuda_route *route, const void *dst,
                                            const void *src, cls_status status) {
    if (cls_cuda_has_coarse()) {
        const cls_arg args[] = {cls_arg_pointer(dst), cls_arg_pointer(src)};
        status = cls_cuda_managed_end(route->stream, args, 2, status);
        if (route->waits)
            status = cls_cuda_waited(status);
    }
    return cls_cuda_result_on(route->stream, status);
}

static inline cudaError_t cls_cuda_copy(void *dst, const void *src, size_t bytes,
                                        cudaMemcpyKind kind, cudaStream_t stream, int named) {
    struct cls_cuda_route route = {NULL, 0, 0};
    cudaError_t error;
    if (bytes == 0)
        return cls_cuda_stream(stream, &route.stream);
    if (!dst || !src)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaMemcpy: a pointer is null");
    error = cls_cuda_begin_copy(&route, dst, src, kind, stream, named);
    if (error != cudaSuccess)
        return error;
    return cls_cuda_end_copy(&route, dst, src,
                             route.waits ? cls_memcpy(dst, src, bytes, route.stream)
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
    error = cls_cuda_begin_copy(&route, dst, src, kind, stream, named);
    if (error != cudaSuccess)
        return error;
    return cls_cuda_end_copy(
        &route, dst, src,
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
    error = cls_cuda_begin_copy(&route, dst, NULL, cudaMemcpyDefault, stream, named);
    if (error != cudaSuccess)
        return error;
    if (height == 1)
        return cls_cuda_end_copy(&route, dst, NULL,
                                 route.waits ? cls_memset(dst, value, width, route.stream)
                                             : cls_memset_async(dst, value, width, route.stream));
    return cls_cuda_end_copy(
        &route, dst, NULL,
        route.waits ? cls_memset_2d(dst, pitch, value, width, height, route.stream)
                    : cls_memset_2d_async(dst, pitch, value, width, height, route.stream));
}
/** @endcond */

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
