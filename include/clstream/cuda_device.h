/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_device.h
 * Devices of clstream/cuda_runtime.h, and the context that each has. Their properties are in cuda_properties.h.
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

#include <clstream/buffer.h>
#include <clstream/context.h>
#include <clstream/cuda_error.h>
#include <clstream/cuda_owner.h>
#include <clstream/device.h>
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
#define cudaDeviceBlockingSync 0x04         /**< the older name of cudaDeviceScheduleBlockingSync */
#define cudaDeviceMapHost 0x08              /**< taken, without effect */
#define cudaDeviceLmemResizeToMax 0x10      /**< taken, without effect */

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

/* The same of a number that the program gives. */
static inline cudaError_t cls_cuda_context_at(int device, cls_context *context) {
    cudaError_t error = cls_cuda_check_device(device);
    return error != cudaSuccess ? error : cls_cuda_context_of(device, context);
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

/* Frees the memory of a symbol on a device. The symbols' lock is held. */
static inline void cls_cuda_forget_symbol(struct cls_cuda_symbol *symbol, int device) {
    if (symbol->at[device].buffer)
        cls_buffer_destroy(symbol->at[device].buffer);
    symbol->at[device].buffer = NULL;
}

static inline void cls_cuda_forget_symbols(int device) {
    struct cls_cuda_symbol *symbol;
    pthread_mutex_lock(&cls_cuda_symbol_lock);
    for (symbol = cls_cuda_state.symbols; symbol; symbol = symbol->next)
        cls_cuda_forget_symbol(symbol, device);
    pthread_mutex_unlock(&cls_cuda_symbol_lock);
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

/** Waits for all work of the current device. */
static inline cudaError_t cudaDeviceSynchronize(void) {
    cls_context context;
    cudaError_t error = cls_cuda_enter(&context);
    return error != cudaSuccess
               ? error
               : cls_cuda_result(cls_cuda_waited(cls_context_synchronize(context)));
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
    cls_cuda_forget_symbols(device);
    if (context) {
        cls_cuda_reset_coarse(device, context);
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

/** Does nothing: the library's profiler is started by its own calls (profiler.h) or by CLSTREAM_TRACE. */
static inline cudaError_t cudaProfilerStart(void) { return cudaSuccess; }

/** Does nothing, as cudaProfilerStart. */
static inline cudaError_t cudaProfilerStop(void) { return cudaSuccess; }

CLS_END_DECLS

#endif
