/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_pool.h
 * Stream-ordered memory of clstream/cuda_runtime.h: a cudaMemPool_t is a cls_mempool.
 *
 * A pool keeps its unused memory (cudaMemPoolAttrReleaseThreshold is UINT64_MAX at first, where CUDA's is 0), and inserts no
 * waits between streams (cudaMemPoolReuseAllowInternalDependencies is 0, where CUDA's is 1).
 *
 * Every function may be called from any thread, and returns the device's sticky error if it has one (cuda_error.h).
 */
#ifndef CLSTREAM_CUDA_POOL_H
#define CLSTREAM_CUDA_POOL_H

#include <clstream/cuda_stream.h>
#include <clstream/mempool.h>
#include <clstream/pointer.h>

CLS_BEGIN_DECLS

/** A memory pool. */
typedef cls_mempool cudaMemPool_t;

/** Attributes of a pool: the first three are an int, the others a uint64_t. */
typedef enum cudaMemPoolAttr {
    cudaMemPoolReuseFollowEventDependencies = 1,   /**< CLS_REUSE_FOLLOW */
    cudaMemPoolReuseAllowOpportunistic = 2,        /**< CLS_REUSE_DONE */
    cudaMemPoolReuseAllowInternalDependencies = 3, /**< CLS_REUSE_INSERT */
    cudaMemPoolAttrReleaseThreshold = 4,   /**< bytes that stay reserved at a synchronization */
    cudaMemPoolAttrReservedMemCurrent = 5, /**< bytes from the driver; read only */
    cudaMemPoolAttrReservedMemHigh = 6,    /**< most so far; setting it to 0 sets both peaks back */
    cudaMemPoolAttrUsedMemCurrent = 7,     /**< bytes allocated; read only */
    cudaMemPoolAttrUsedMemHigh = 8         /**< most so far; setting it to 0 sets both peaks back */
} cudaMemPoolAttr;

/** Kinds of memory of a pool. */
typedef enum cudaMemAllocationType {
    cudaMemAllocationTypeInvalid = 0, /**< none */
    cudaMemAllocationTypePinned = 1   /**< device memory that stays where it is */
} cudaMemAllocationType;

/** How a pool is exported. */
typedef enum cudaMemAllocationHandleType {
    cudaMemHandleTypeNone = 0 /**< not at all; other values are cudaErrorNotSupported */
} cudaMemAllocationHandleType;

/** Kinds of places of memory. */
typedef enum cudaMemLocationType {
    cudaMemLocationTypeInvalid = 0, /**< none */
    cudaMemLocationTypeDevice = 1   /**< a device */
} cudaMemLocationType;

/** A place of memory. */
typedef struct cudaMemLocation {
    cudaMemLocationType type; /**< cudaMemLocationTypeDevice */
    int id;                   /**< number of the device */
} cudaMemLocation;

/** Options of cudaMemPoolCreate. Set all of it to 0 first. */
typedef struct cudaMemPoolProps {
    cudaMemAllocationType allocType;         /**< cudaMemAllocationTypePinned */
    cudaMemAllocationHandleType handleTypes; /**< cudaMemHandleTypeNone */
    cudaMemLocation location;                /**< the device */
    void *win32SecurityAttributes;           /**< not looked at */
    size_t maxSize;                          /**< most bytes; 0: no limit */
    unsigned char reserved[56];              /**< not looked at */
} cudaMemPoolProps;

/** Allocates memory of the current pool of the stream's device, for work of the stream from now on. */
static inline cudaError_t cudaMallocAsync(void **out, size_t bytes, cudaStream_t stream) {
    cls_stream found;
    cudaError_t error = cls_cuda_stream(stream, &found);
    if (error == cudaSuccess && (!out || bytes == 0))
        error = cls_cuda_refuse(cudaErrorInvalidValue, "cudaMallocAsync: null, or 0 bytes");
    return error != cudaSuccess
               ? error
               : cls_cuda_result_on(found, cls_device_malloc_async(found, bytes, out));
}

/** Allocates memory of a pool, for work of the stream from now on. */
static inline cudaError_t cudaMallocFromPoolAsync(void **out, size_t bytes, cudaMemPool_t pool,
                                                  cudaStream_t stream) {
    cls_stream found;
    cls_buffer buffer;
    cls_status status;
    cudaError_t error = cls_cuda_stream(stream, &found);
    if (error == cudaSuccess && (!out || bytes == 0))
        error = cls_cuda_refuse(cudaErrorInvalidValue, "cudaMallocFromPoolAsync: null, or 0 bytes");
    if (error != cudaSuccess)
        return error;
    status = cls_mempool_malloc_async(pool, found, bytes, &buffer);
    if (status == CLS_SUCCESS && (status = cls_buffer_get_pointer(buffer, out)) != CLS_SUCCESS)
        cls_buffer_destroy(buffer);
    return cls_cuda_result_on(found, status);
}

/** Frees memory at this point of a stream. */
static inline cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream) {
    cls_stream found;
    cudaError_t error = cls_cuda_stream(stream, &found);
    return error != cudaSuccess ? error
                                : cls_cuda_result_on(found, cls_device_free_async(pointer, found));
}

/** Gets the default pool of a device. */
static inline cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
    cls_context context;
    cudaError_t error = cls_cuda_context_at(device, &context);
    return error != cudaSuccess ? error
                                : cls_cuda_result_of(device, cls_mempool_default(context, pool));
}

/** Gets the current pool of a device. */
static inline cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device) {
    cls_context context;
    cudaError_t error = cls_cuda_context_at(device, &context);
    return error != cudaSuccess
               ? error
               : cls_cuda_result_of(device, cls_context_get_mempool(context, pool));
}

/** Sets the current pool of a device. */
static inline cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
    cls_context context;
    cudaError_t error = cls_cuda_context_at(device, &context);
    return error != cudaSuccess
               ? error
               : cls_cuda_result_of(device, cls_context_set_mempool(context, pool));
}

/** Creates a pool on the device that the options name. */
static inline cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *props) {
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    cls_context context;
    cudaError_t error;
    if (!pool || !props || props->allocType != cudaMemAllocationTypePinned ||
        props->location.type != cudaMemLocationTypeDevice)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaMemPoolCreate: null, or no device");
    if (props->handleTypes != cudaMemHandleTypeNone)
        return cls_cuda_refuse(cudaErrorNotSupported, "cudaMemPoolCreate: pools are not exported");
    error = cls_cuda_context_at(props->location.id, &context);
    if (error != cudaSuccess)
        return error;
    config.max_bytes = props->maxSize;
    return cls_cuda_result_of(props->location.id, cls_mempool_create(context, &config, pool));
}

/** Destroys a pool; its memory stays valid until it is freed. */
static inline cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    return cls_cuda_result(cls_mempool_destroy(pool));
}

/** Gives unused memory back to the driver until no more than `keep` bytes are reserved. */
static inline cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) {
    return cls_cuda_result(cls_mempool_trim(pool, keep));
}

/** @cond */
/* The bit of an attribute that is a kind of reuse; 0 of the others. */
static inline int cls_cuda_reuse_bit(cudaMemPoolAttr attribute) {
    switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
        return CLS_REUSE_FOLLOW;
    case cudaMemPoolReuseAllowOpportunistic:
        return CLS_REUSE_DONE;
    case cudaMemPoolReuseAllowInternalDependencies:
        return CLS_REUSE_INSERT;
    case cudaMemPoolAttrReleaseThreshold:
    case cudaMemPoolAttrReservedMemCurrent:
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemCurrent:
    case cudaMemPoolAttrUsedMemHigh:
        return 0;
    }
    return 0;
}
/** @endcond */

/** Gets an attribute of a pool. */
static inline cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute,
                                                  void *value) {
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    cls_mempool_statistics statistics = CLS_MEMPOOL_STATISTICS_INIT;
    uint64_t *wide = CLS_CUDA_CAST(uint64_t *, value);
    int bit = cls_cuda_reuse_bit(attribute);
    cls_status status = cls_mempool_get_config(pool, &config);
    if (status == CLS_SUCCESS)
        status = cls_mempool_get_statistics(pool, &statistics);
    if (status != CLS_SUCCESS)
        return cls_cuda_result(status);
    if (!value)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaMemPoolGetAttribute: value is null");
    if (bit) {
        *CLS_CUDA_CAST(int *, value) = (CLS_CUDA_CAST(int, config.reuse) & bit) != 0;
        return cudaSuccess;
    }
    if (attribute == cudaMemPoolAttrReleaseThreshold)
        *wide = config.release_threshold == SIZE_MAX ? UINT64_MAX : config.release_threshold;
    else if (attribute == cudaMemPoolAttrReservedMemCurrent)
        *wide = statistics.reserved;
    else if (attribute == cudaMemPoolAttrReservedMemHigh)
        *wide = statistics.reserved_high;
    else if (attribute == cudaMemPoolAttrUsedMemCurrent)
        *wide = statistics.used;
    else if (attribute == cudaMemPoolAttrUsedMemHigh)
        *wide = statistics.used_high;
    else
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaMemPoolGetAttribute: unknown attribute");
    return cudaSuccess;
}

/** Sets an attribute of a pool. */
static inline cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute,
                                                  void *value) {
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    const uint64_t *wide = CLS_CUDA_CAST(const uint64_t *, value);
    int bit = cls_cuda_reuse_bit(attribute);
    cls_status status = cls_mempool_get_config(pool, &config);
    if (status != CLS_SUCCESS)
        return cls_cuda_result(status);
    if (!value)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaMemPoolSetAttribute: value is null");
    if (bit) {
        int on = *CLS_CUDA_CAST(const int *, value), reuse = CLS_CUDA_CAST(int, config.reuse);
        config.reuse = CLS_CUDA_CAST(cls_reuse, on ? reuse | bit : reuse & ~bit);
        return cls_cuda_result(cls_mempool_set_config(pool, &config));
    }
    if (attribute == cudaMemPoolAttrReleaseThreshold) {
        config.release_threshold = *wide > SIZE_MAX ? SIZE_MAX : CLS_CUDA_CAST(size_t, *wide);
        return cls_cuda_result(cls_mempool_set_config(pool, &config));
    }
    if ((attribute == cudaMemPoolAttrReservedMemHigh || attribute == cudaMemPoolAttrUsedMemHigh) &&
        *wide == 0)
        return cls_cuda_result(cls_mempool_reset_peaks(pool));
    return cls_cuda_refuse(cudaErrorInvalidValue, "cudaMemPoolSetAttribute: attribute or value");
}

CLS_END_DECLS

#endif
