/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_device.h
 * Devices of clstream/cuda_runtime.h, and the context that each has.
 *
 * Device 0 is the one that cls_device_find(NULL) chooses, with CLSTREAM_DEVICE from the environment. Those after it are the
 * other devices of its type and platform, in the library's order. Each thread has a current device, 0 at first. A device
 * has one context, made by the first call that needs it, whose default stream has CUDA's legacy order
 * (cls_context_default_stream).
 *
 * Every function may be called from any thread. Every one but cudaDeviceReset, and those that only ask about a device,
 * returns the device's sticky error if it has one (cuda_error.h).
 */
#ifndef CLSTREAM_CUDA_DEVICE_H
#define CLSTREAM_CUDA_DEVICE_H

#include <stdio.h>
#include <string.h>

#include <clstream/context.h>
#include <clstream/cuda_error.h>
#include <clstream/device.h>
#include <clstream/managed.h>
#include <clstream/stream.h>

CLS_BEGIN_DECLS

/** The version of CUDA whose forms of the calls these are. */
#define CUDART_VERSION 12000

#define cudaCpuDeviceId (-1)     /**< the host, as a place of memory */
#define cudaInvalidDeviceId (-2) /**< no device */

#define cudaDeviceScheduleAuto 0x00         /**< how a blocking call waits: taken, without effect */
#define cudaDeviceScheduleSpin 0x01         /**< taken, without effect */
#define cudaDeviceScheduleYield 0x02        /**< taken, without effect */
#define cudaDeviceScheduleBlockingSync 0x04 /**< taken, without effect */
#define cudaDeviceMapHost 0x08              /**< taken, without effect */
#define cudaDeviceLmemResizeToMax 0x10      /**< taken, without effect */

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
    int concurrentManagedAccess;       /**< managedMemory */
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
/* Appends the devices of the default one's type and platform. The lock is held. */
static inline cls_status cls_cuda_list(void) {
    cls_device_info first = CLS_DEVICE_INFO_INIT, info = CLS_DEVICE_INFO_INIT;
    size_t all, chosen, i;
    int n = 0;
    cls_status status = cls_device_count(&all);
    if (status == CLS_SUCCESS && all > 0)
        status = cls_device_find(NULL, &chosen);
    if (status == CLS_SUCCESS && all > 0)
        status = cls_device_get_info(chosen, &first);
    if (status != CLS_SUCCESS)
        return status;
    if (all > 0)
        cls_cuda_state.index[n++] = chosen;
    for (i = 0; i < all && n < CLS_CUDA_DEVICES; i++) {
        status = cls_device_get_info(i, &info);
        if (status != CLS_SUCCESS)
            return status;
        if (i != chosen && info.type == first.type && strcmp(info.platform, first.platform) == 0)
            cls_cuda_state.index[n++] = i;
    }
    __atomic_store_n(&cls_cuda_state.listed, n + 1, __ATOMIC_RELEASE);
    return CLS_SUCCESS;
}

static inline cls_status cls_cuda_count(int *count) {
    cls_status status = CLS_SUCCESS;
    if (!__atomic_load_n(&cls_cuda_state.listed, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&cls_cuda_lock);
        if (!cls_cuda_state.listed)
            status = cls_cuda_list();
        pthread_mutex_unlock(&cls_cuda_lock);
    }
    if (status == CLS_SUCCESS)
        *count = __atomic_load_n(&cls_cuda_state.listed, __ATOMIC_ACQUIRE) - 1;
    return status;
}

/* Whether there is a device of this number. */
static inline cudaError_t cls_cuda_check_device(int device) {
    int count = 0;
    cls_status status = cls_cuda_count(&count);
    if (status != CLS_SUCCESS)
        return cls_cuda_keep(cls_cuda_error(status));
    if (count == 0)
        return cls_cuda_refuse(cudaErrorNoDevice, "there is no OpenCL device");
    if (device < 0 || device >= count)
        return cls_cuda_refuse(cudaErrorInvalidDevice, "there is no device of this number");
    return cudaSuccess;
}

/* Makes the context of a device. The lock is held. */
static inline cls_status cls_cuda_make_context(int device) {
    cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
    char number[24];
    cls_context made;
    cls_status status;
    if (cls_cuda_state.context[device])
        return CLS_SUCCESS;
    snprintf(number, sizeof number, "%llu",
             CLS_CUDA_CAST(unsigned long long, cls_cuda_state.index[device]));
    config.device = number;
    config.legacy_default_stream = 1;
    status = cls_context_create(&config, &made);
    if (status == CLS_SUCCESS)
        __atomic_store_n(&cls_cuda_state.context[device], made, __ATOMIC_RELEASE);
    return status;
}

/* Gets the context of a device, or the device's sticky error. */
static inline cudaError_t cls_cuda_context_of(int device, cls_context *context) {
    cudaError_t error = cls_cuda_sticky_of(device);
    if (error != cudaSuccess)
        return cls_cuda_keep(error);
    *context = __atomic_load_n(&cls_cuda_state.context[device], __ATOMIC_ACQUIRE);
    if (*context)
        return cudaSuccess;
    error = cls_cuda_check_device(device);
    if (error == cudaSuccess) {
        cls_status status;
        pthread_mutex_lock(&cls_cuda_lock);
        status = cls_cuda_make_context(device);
        *context = cls_cuda_state.context[device];
        pthread_mutex_unlock(&cls_cuda_lock);
        error = cls_cuda_keep(cls_cuda_error(status));
    }
    return error;
}

/* The same of the current device. */
static inline cudaError_t cls_cuda_enter(cls_context *context) {
    return cls_cuda_context_of(cls_cuda_thread.device, context);
}

/* The number of the device that has this context; the current one if none has. */
static inline int cls_cuda_device_of(cls_context context) {
    int i;
    for (i = 0; i < CLS_CUDA_DEVICES; i++)
        if (context && __atomic_load_n(&cls_cuda_state.context[i], __ATOMIC_ACQUIRE) == context)
            return i;
    return cls_cuda_thread.device;
}

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
    prop->canMapHostMemory = info->type == CLS_DEVICE_CPU;
    prop->pciBusID = cls_cuda_to_int(info->pci_bus);
    prop->pciDeviceID = cls_cuda_to_int(info->pci_device);
    prop->pciDomainID = cls_cuda_to_int(info->pci_domain);
    prop->l2CacheSize = cls_cuda_to_int(info->cache_bytes);
    prop->deviceOverlap = prop->concurrentKernels = prop->asyncEngineCount = 1;
    prop->unifiedAddressing = prop->streamPrioritiesSupported = prop->memoryPoolsSupported = 1;
}
/** @endcond */

/** Counts the devices. Without one: cudaErrorNoDevice. */
static inline cudaError_t cudaGetDeviceCount(int *count) {
    int found = 0;
    cls_status status;
    if (!count)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaGetDeviceCount: count is null");
    status = cls_cuda_count(&found);
    if (status != CLS_SUCCESS)
        return cls_cuda_keep(cls_cuda_error(status));
    *count = found;
    return found > 0 ? cudaSuccess : cls_cuda_refuse(cudaErrorNoDevice, "there is no device");
}

/** Makes a device the thread's current one. */
static inline cudaError_t cudaSetDevice(int device) {
    cudaError_t error = cls_cuda_check_device(device);
    if (error == cudaSuccess)
        cls_cuda_thread.device = device;
    return error;
}

/** Gets the thread's current device. */
static inline cudaError_t cudaGetDevice(int *device) {
    if (!device)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaGetDevice: device is null");
    *device = cls_cuda_thread.device;
    return cudaSuccess;
}

/** Gets the properties of a device. Makes its context, as only that tells of managed memory. */
static inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *prop, int device) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    cls_managed_kind kind = CLS_MANAGED_NONE;
    cls_context context;
    cls_status status;
    cudaError_t error;
    if (!prop)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaGetDeviceProperties: prop is null");
    error = cls_cuda_check_device(device);
    if (error == cudaSuccess)
        error = cls_cuda_context_of(device, &context);
    if (error != cudaSuccess)
        return error;
    status = cls_device_get_info(cls_cuda_state.index[device], &info);
    if (status == CLS_SUCCESS)
        status = cls_managed_get_kind(context, &kind);
    if (status != CLS_SUCCESS)
        return cls_cuda_result_of(device, status);
    cls_cuda_fill(prop, &info);
    cls_cuda_fill_special(prop, cls_cuda_state.index[device], &info);
    prop->managedMemory = prop->concurrentManagedAccess = kind == CLS_MANAGED_FINE;
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

/** Waits for all work of the current device. */
static inline cudaError_t cudaDeviceSynchronize(void) {
    cls_context context;
    cudaError_t error = cls_cuda_enter(&context);
    return error != cudaSuccess ? error : cls_cuda_result(cls_context_synchronize(context));
}

/**
 * Waits for the work of the current device and destroys its context, with its sticky error; the next call makes another.
 * Streams, events, graphs and pools of the old one are cudaErrorDeviceUninitialized, and only to be destroyed. Memory that
 * was not freed stays until the process exits, and its pointers are wrong.
 */
static inline cudaError_t cudaDeviceReset(void) {
    int device = cls_cuda_thread.device;
    cls_context context;
    cls_status status = CLS_SUCCESS;
    pthread_mutex_lock(&cls_cuda_lock);
    context = cls_cuda_state.context[device];
    __atomic_store_n(&cls_cuda_state.context[device], CLS_CUDA_CAST(cls_context, 0),
                     __ATOMIC_RELEASE);
    __atomic_store_n(&cls_cuda_state.sticky[device], 0, __ATOMIC_RELEASE);
    __atomic_store_n(&cls_cuda_state.allocated[device], UINT64_C(0), __ATOMIC_RELAXED);
    pthread_mutex_unlock(&cls_cuda_lock);
    cls_cuda_thread.last = cudaSuccess;
    if (context) {
        cls_context_synchronize(context); /* an error of the old context is gone with it */
        status = cls_context_destroy(context);
    }
    return cls_cuda_keep(cls_cuda_error(status));
}

/** Takes flags that CUDA knows, without effect. */
static inline cudaError_t cudaSetDeviceFlags(unsigned flags) {
    return flags & ~0x1fu ? cls_cuda_refuse(cudaErrorInvalidValue, "cudaSetDeviceFlags: flags")
                          : cudaSuccess;
}

/** Gets the range of priorities: 1 and -1, which order what the library holds on every device (stream.h). */
static inline cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    if (least)
        *least = CLS_PRIORITY_LOW;
    if (greatest)
        *greatest = CLS_PRIORITY_HIGH;
    return cudaSuccess;
}

/** Says that kernels of a device reach no memory of another one. Copies between devices work without. */
static inline cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    cudaError_t error = cls_cuda_check_device(device);
    if (error == cudaSuccess)
        error = cls_cuda_check_device(peer);
    if (error == cudaSuccess && !can)
        error = cls_cuda_refuse(cudaErrorInvalidValue, "cudaDeviceCanAccessPeer: can is null");
    if (error == cudaSuccess)
        *can = 0;
    return error;
}

/** Always cudaErrorPeerAccessUnsupported; cls_context_can_share and share.h have what the library offers. */
static inline cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    cudaError_t error = cls_cuda_check_device(peer);
    (void)flags;
    return error != cudaSuccess ? error
                                : cls_cuda_refuse(cudaErrorPeerAccessUnsupported,
                                                  "kernels reach no memory of another device");
}

/** Always cudaErrorPeerAccessNotEnabled. */
static inline cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    cudaError_t error = cls_cuda_check_device(peer);
    return error != cudaSuccess
               ? error
               : cls_cuda_refuse(cudaErrorPeerAccessNotEnabled, "peer access was not enabled");
}

/** Gets CUDART_VERSION. */
static inline cudaError_t cudaRuntimeGetVersion(int *version) {
    if (!version)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaRuntimeGetVersion: version is null");
    *version = CUDART_VERSION;
    return cudaSuccess;
}

/** Gets CUDART_VERSION: any OpenCL driver does. */
static inline cudaError_t cudaDriverGetVersion(int *version) {
    return cudaRuntimeGetVersion(version);
}

CLS_END_DECLS

#endif
