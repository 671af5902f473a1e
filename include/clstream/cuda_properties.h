/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_properties.h
 * Properties of the devices of clstream/cuda_runtime.h. What OpenCL does not tell is 0.
 *
 * Every function may be called from any thread, and returns the device's sticky error if it has one (cuda_error.h).
 */
#ifndef CLSTREAM_CUDA_PROPERTIES_H
#define CLSTREAM_CUDA_PROPERTIES_H

#include <clstream/cuda_device.h>
#include <clstream/managed.h>

CLS_BEGIN_DECLS

/** Modes of a device's use by threads: cudaDeviceProp's computeMode is cudaComputeModeDefault. */
typedef enum cudaComputeMode {
    cudaComputeModeDefault = 0,         /**< every thread of every process */
    cudaComputeModeExclusive = 1,       /**< one thread */
    cudaComputeModeProhibited = 2,      /**< nobody */
    cudaComputeModeExclusiveProcess = 3 /**< one process */
} cudaComputeMode;

/** Properties of a device. What OpenCL does not tell is 0. */
typedef struct cudaDeviceProp {
    char name[256];           /**< name of the device */
    unsigned char uuid[16];   /**< the same in other interfaces */
    size_t totalGlobalMem;    /**< bytes */
    size_t sharedMemPerBlock; /**< bytes of __local memory of a group */
    int regsPerBlock;         /**< not told: 0 */
    int warpSize;             /**< as NVIDIA's and AMD's drivers tell it, else 1 */
    size_t memPitch;          /**< largest pitch */
    int maxThreadsPerBlock;   /**< most work-items of a group */
    int maxThreadsDim[3];     /**< the same by dimension */
    int maxGridSize[3];       /**< INT32_MAX: OpenCL has no limit of its own */
    int clockRate;            /**< kHz */
    size_t totalConstMem;     /**< bytes of __constant memory in one argument */
    int major; /**< of NVIDIA's devices the compute capability; else OpenCL's version */
    int minor; /**< the same */
    size_t textureAlignment;           /**< alignment of buffers */
    int deviceOverlap;                 /**< 1 */
    int multiProcessorCount;           /**< compute units */
    int kernelExecTimeoutEnabled;      /**< not told: 0 */
    int integrated;                    /**< 1: host and device share physical memory */
    int canMapHostMemory;              /**< 1: kernels use pinned memory, on CPUs */
    int computeMode;                   /**< 0 */
    int concurrentKernels;             /**< 1 */
    int ECCEnabled;                    /**< not told: 0 */
    int pciBusID;                      /**< bus, where the driver tells it */
    int pciDeviceID;                   /**< slot */
    int pciDomainID;                   /**< domain */
    int tccDriver;                     /**< 0 */
    int asyncEngineCount;              /**< 1 */
    int unifiedAddressing;             /**< 1: copies find their direction */
    int memoryClockRate;               /**< not told: 0 */
    int memoryBusWidth;                /**< not told: 0 */
    int l2CacheSize;                   /**< bytes of the cache of global memory */
    int maxThreadsPerMultiProcessor;   /**< maxThreadsPerBlock: OpenCL does not tell more */
    int streamPrioritiesSupported;     /**< 1: the library's own, on every device */
    size_t sharedMemPerMultiprocessor; /**< sharedMemPerBlock */
    int managedMemory;                 /**< 1: cudaMallocManaged works */
    int isMultiGpuBoard;               /**< 0 */
    int pageableMemoryAccess;          /**< 0 */
    int concurrentManagedAccess;       /**< 1: host and kernels use it at the same time */
    int cooperativeLaunch;             /**< 0 */
    int hostRegisterSupported;         /**< `integrated`: cudaHostRegister may work */
    int memoryPoolsSupported;          /**< 1 */
} cudaDeviceProp;

/** What cudaDeviceGetAttribute tells, with CUDA's numbers. */
typedef enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,           /**< maxThreadsPerBlock */
    cudaDevAttrMaxBlockDimX = 2,                 /**< maxThreadsDim */
    cudaDevAttrMaxBlockDimY = 3,                 /**< maxThreadsDim */
    cudaDevAttrMaxBlockDimZ = 4,                 /**< maxThreadsDim */
    cudaDevAttrMaxGridDimX = 5,                  /**< maxGridSize */
    cudaDevAttrMaxGridDimY = 6,                  /**< maxGridSize */
    cudaDevAttrMaxGridDimZ = 7,                  /**< maxGridSize */
    cudaDevAttrMaxSharedMemoryPerBlock = 8,      /**< sharedMemPerBlock */
    cudaDevAttrTotalConstantMemory = 9,          /**< totalConstMem */
    cudaDevAttrWarpSize = 10,                    /**< warpSize */
    cudaDevAttrClockRate = 13,                   /**< clockRate */
    cudaDevAttrTextureAlignment = 14,            /**< textureAlignment */
    cudaDevAttrGpuOverlap = 15,                  /**< deviceOverlap */
    cudaDevAttrMultiProcessorCount = 16,         /**< multiProcessorCount */
    cudaDevAttrIntegrated = 18,                  /**< integrated */
    cudaDevAttrCanMapHostMemory = 19,            /**< canMapHostMemory */
    cudaDevAttrComputeMode = 20,                 /**< computeMode */
    cudaDevAttrConcurrentKernels = 31,           /**< concurrentKernels */
    cudaDevAttrEccEnabled = 32,                  /**< ECCEnabled */
    cudaDevAttrPciBusId = 33,                    /**< pciBusID */
    cudaDevAttrPciDeviceId = 34,                 /**< pciDeviceID */
    cudaDevAttrL2CacheSize = 38,                 /**< l2CacheSize */
    cudaDevAttrMaxThreadsPerMultiProcessor = 39, /**< maxThreadsPerMultiProcessor */
    cudaDevAttrAsyncEngineCount = 40,            /**< asyncEngineCount */
    cudaDevAttrUnifiedAddressing = 41,           /**< unifiedAddressing */
    cudaDevAttrPciDomainId = 50,                 /**< pciDomainID */
    cudaDevAttrComputeCapabilityMajor = 75,      /**< major */
    cudaDevAttrComputeCapabilityMinor = 76,      /**< minor */
    cudaDevAttrStreamPrioritiesSupported = 78,   /**< streamPrioritiesSupported */
    cudaDevAttrManagedMemory = 83,               /**< managedMemory */
    cudaDevAttrPageableMemoryAccess = 88,        /**< pageableMemoryAccess */
    cudaDevAttrConcurrentManagedAccess = 89,     /**< concurrentManagedAccess */
    cudaDevAttrCooperativeLaunch = 95,           /**< cooperativeLaunch */
    cudaDevAttrHostRegisterSupported = 99,       /**< hostRegisterSupported */
    cudaDevAttrMemoryPoolsSupported = 115        /**< memoryPoolsSupported */
} cudaDeviceAttr;

/** @cond */
/* A number that the driver may tell: 0 if it does not. */
static inline unsigned cls_cuda_query(size_t index, unsigned name) {
    unsigned value = 0;
    return cls_device_query(index, name, sizeof value, &value, NULL) == CLS_SUCCESS ? value : 0;
}

/* The properties that only some drivers tell, without a trace of the failed questions. */
static inline void cls_cuda_fill_special(cudaDeviceProp *prop, size_t index,
                                         const cls_device_info *info) {
    unsigned major = cls_cuda_query(index, 0x4000); /* CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV */
    unsigned warp = cls_cuda_query(index, 0x4003);  /* CL_DEVICE_WARP_SIZE_NV */
    if (!warp)
        warp = cls_cuda_query(index, 0x4043); /* CL_DEVICE_WAVEFRONT_WIDTH_AMD */
    prop->warpSize = warp ? CLS_CUDA_CAST(int, warp) : 1;
    if (major) {
        prop->major = CLS_CUDA_CAST(int, major);
        prop->minor = CLS_CUDA_CAST(int, cls_cuda_query(index, 0x4001));
    } else {
        prop->major = CLS_CUDA_CAST(int, info->opencl_version / 100);
        prop->minor = CLS_CUDA_CAST(int, info->opencl_version / 10 % 10);
    }
    cls_clear_last_error();
}

static inline int cls_cuda_to_int(uint64_t value) {
    return value > INT32_MAX ? INT32_MAX : CLS_CUDA_CAST(int, value);
}

static inline void cls_cuda_fill(cudaDeviceProp *prop, const cls_device_info *info) {
    int i;
    memset(prop, 0, sizeof *prop);
    memcpy(prop->name, info->name, sizeof info->name);
    memcpy(prop->uuid, info->uuid, sizeof prop->uuid);
    prop->totalGlobalMem = CLS_CUDA_CAST(size_t, info->global_memory);
    prop->sharedMemPerBlock = CLS_CUDA_CAST(size_t, info->local_memory);
    prop->sharedMemPerMultiprocessor = prop->sharedMemPerBlock;
    prop->memPitch = INT32_MAX;
    prop->maxThreadsPerBlock = cls_cuda_to_int(info->max_work_group);
    prop->maxThreadsPerMultiProcessor = prop->maxThreadsPerBlock;
    for (i = 0; i < 3; i++) {
        prop->maxThreadsDim[i] = cls_cuda_to_int(info->max_work_items[i]);
        prop->maxGridSize[i] = INT32_MAX;
    }
    prop->clockRate = cls_cuda_to_int(UINT64_C(1000) * info->clock_mhz);
    prop->totalConstMem = CLS_CUDA_CAST(size_t, info->max_constant);
    prop->textureAlignment = info->base_align;
    prop->multiProcessorCount = cls_cuda_to_int(info->compute_units);
    prop->integrated = info->unified_memory != 0;
    prop->hostRegisterSupported = prop->integrated;
    prop->pciBusID = cls_cuda_to_int(info->pci_bus);
    prop->pciDeviceID = cls_cuda_to_int(info->pci_device);
    prop->pciDomainID = cls_cuda_to_int(info->pci_domain);
    prop->l2CacheSize = cls_cuda_to_int(info->cache_bytes);
    prop->deviceOverlap = prop->concurrentKernels = prop->asyncEngineCount = 1;
    prop->unifiedAddressing = prop->streamPrioritiesSupported = prop->memoryPoolsSupported = 1;
}
/** @endcond */

/** Gets the properties of a device. Makes its context, as only that tells of managed memory. */
static inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *prop, int device) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    cls_managed_kind kind = CLS_MANAGED_NONE;
    cls_context context;
    cls_status status;
    cudaError_t error;
    if (!prop)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaGetDeviceProperties: prop is null");
    error = cls_cuda_context_at(device, &context);
    if (error != cudaSuccess)
        return error;
    status = cls_device_get_info(cls_cuda_state.index[device], &info);
    if (status == CLS_SUCCESS)
        status = cls_managed_get_kind(context, &kind);
    if (status != CLS_SUCCESS)
        return cls_cuda_result_of(device, status);
    cls_cuda_fill(prop, &info);
    cls_cuda_fill_special(prop, cls_cuda_state.index[device], &info);
    prop->managedMemory = kind != CLS_MANAGED_NONE;
    prop->concurrentManagedAccess = kind == CLS_MANAGED_FINE;
    prop->canMapHostMemory = info.type == CLS_DEVICE_CPU && kind != CLS_MANAGED_COARSE;
    return cudaSuccess;
}

/** Gets a property as a number. One that is not in cudaDeviceAttr is cudaErrorInvalidValue. */
static inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
    cudaDeviceProp prop;
    cudaError_t error;
    if (!value)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaDeviceGetAttribute: value is null");
    error = cudaGetDeviceProperties(&prop, device);
    if (error != cudaSuccess)
        return error;
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
        *value = prop.maxThreadsPerBlock;
        return cudaSuccess;
    case cudaDevAttrMaxBlockDimX:
        *value = prop.maxThreadsDim[0];
        return cudaSuccess;
    case cudaDevAttrMaxBlockDimY:
        *value = prop.maxThreadsDim[1];
        return cudaSuccess;
    case cudaDevAttrMaxBlockDimZ:
        *value = prop.maxThreadsDim[2];
        return cudaSuccess;
    case cudaDevAttrMaxGridDimX:
        *value = prop.maxGridSize[0];
        return cudaSuccess;
    case cudaDevAttrMaxGridDimY:
        *value = prop.maxGridSize[1];
        return cudaSuccess;
    case cudaDevAttrMaxGridDimZ:
        *value = prop.maxGridSize[2];
        return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
        *value = cls_cuda_to_int(prop.sharedMemPerBlock);
        return cudaSuccess;
    case cudaDevAttrTotalConstantMemory:
        *value = cls_cuda_to_int(prop.totalConstMem);
        return cudaSuccess;
    case cudaDevAttrWarpSize:
        *value = prop.warpSize;
        return cudaSuccess;
    case cudaDevAttrClockRate:
        *value = prop.clockRate;
        return cudaSuccess;
    case cudaDevAttrTextureAlignment:
        *value = cls_cuda_to_int(prop.textureAlignment);
        return cudaSuccess;
    case cudaDevAttrGpuOverlap:
        *value = prop.deviceOverlap;
        return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
        *value = prop.multiProcessorCount;
        return cudaSuccess;
    case cudaDevAttrIntegrated:
        *value = prop.integrated;
        return cudaSuccess;
    case cudaDevAttrCanMapHostMemory:
        *value = prop.canMapHostMemory;
        return cudaSuccess;
    case cudaDevAttrComputeMode:
        *value = prop.computeMode;
        return cudaSuccess;
    case cudaDevAttrConcurrentKernels:
        *value = prop.concurrentKernels;
        return cudaSuccess;
    case cudaDevAttrEccEnabled:
        *value = prop.ECCEnabled;
        return cudaSuccess;
    case cudaDevAttrPciBusId:
        *value = prop.pciBusID;
        return cudaSuccess;
    case cudaDevAttrPciDeviceId:
        *value = prop.pciDeviceID;
        return cudaSuccess;
    case cudaDevAttrL2CacheSize:
        *value = prop.l2CacheSize;
        return cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        *value = prop.maxThreadsPerMultiProcessor;
        return cudaSuccess;
    case cudaDevAttrAsyncEngineCount:
        *value = prop.asyncEngineCount;
        return cudaSuccess;
    case cudaDevAttrUnifiedAddressing:
        *value = prop.unifiedAddressing;
        return cudaSuccess;
    case cudaDevAttrPciDomainId:
        *value = prop.pciDomainID;
        return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
        *value = prop.major;
        return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
        *value = prop.minor;
        return cudaSuccess;
    case cudaDevAttrStreamPrioritiesSupported:
        *value = prop.streamPrioritiesSupported;
        return cudaSuccess;
    case cudaDevAttrManagedMemory:
        *value = prop.managedMemory;
        return cudaSuccess;
    case cudaDevAttrPageableMemoryAccess:
        *value = prop.pageableMemoryAccess;
        return cudaSuccess;
    case cudaDevAttrConcurrentManagedAccess:
        *value = prop.concurrentManagedAccess;
        return cudaSuccess;
    case cudaDevAttrCooperativeLaunch:
        *value = prop.cooperativeLaunch;
        return cudaSuccess;
    case cudaDevAttrHostRegisterSupported:
        *value = prop.hostRegisterSupported;
        return cudaSuccess;
    case cudaDevAttrMemoryPoolsSupported:
        *value = prop.memoryPoolsSupported;
        return cudaSuccess;
    }
    return cls_cuda_refuse(cudaErrorInvalidValue, "cudaDeviceGetAttribute: unknown attribute");
}

CLS_END_DECLS

#endif
