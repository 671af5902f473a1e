/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_error.h
 * Errors of clstream/cuda_runtime.h: CUDA's names and numbers, from the library's statuses, and the last error of a thread.
 *
 * cls_last_error_detail has the words for the thread's last failed call, whatever the number is.
 *
 * A failed command (CLS_ERROR_COMMAND_FAILED, CLS_ERROR_CONTEXT_LOST) is cudaErrorLaunchFailure, and sticky: each later
 * call on that device returns it, in all threads, until cudaDeviceReset. cudaErrorNotReady is kept by no thread as its
 * last error. Every function may be called from any thread.
 */
#ifndef CLSTREAM_CUDA_ERROR_H
#define CLSTREAM_CUDA_ERROR_H

#include <stddef.h>
#include <stdint.h>

#include <pthread.h>

#include <clstream/status.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Errors, with CUDA's numbers. */
typedef enum cudaError {
    cudaSuccess = 0,                         /**< the call succeeded */
    cudaErrorInvalidValue = 1,               /**< a wrong argument or range */
    cudaErrorMemoryAllocation = 2,           /**< no memory, or a limit is reached */
    cudaErrorInitializationError = 3,        /**< a forked child uses the library */
    cudaErrorCudartUnloading = 4,            /**< the process is exiting */
    cudaErrorInvalidConfiguration = 9,       /**< a grid or block of 0, or too large a block */
    cudaErrorInvalidPitchValue = 12,         /**< a pitch below the width */
    cudaErrorInvalidSymbol = 13,             /**< a symbol of another size has the address */
    cudaErrorInvalidDevicePointer = 17,      /**< a pointer to nothing that the library knows */
    cudaErrorInvalidMemcpyDirection = 21,    /**< no cudaMemcpyKind */
    cudaErrorInvalidDeviceFunction = 98,     /**< the source has no kernel of this name */
    cudaErrorNoDevice = 100,                 /**< there is no device */
    cudaErrorInvalidDevice = 101,            /**< there is no device of this number */
    cudaErrorInvalidKernelImage = 200,       /**< the source does not compile */
    cudaErrorDeviceUninitialized = 201,      /**< the context was destroyed: cudaDeviceReset */
    cudaErrorPeerAccessUnsupported = 217,    /**< kernels reach no memory of another device */
    cudaErrorFileNotFound = 301,             /**< there is no such file */
    cudaErrorOperatingSystem = 304,          /**< reading a file failed */
    cudaErrorInvalidResourceHandle = 400,    /**< a wrong or destroyed handle */
    cudaErrorIllegalState = 401,             /**< the object's state does not allow the call */
    cudaErrorNotReady = 600,                 /**< work is pending */
    cudaErrorPeerAccessNotEnabled = 705,     /**< peer access was never enabled */
    cudaErrorLaunchFailure = 719,            /**< a command failed; sticky */
    cudaErrorNotPermitted = 800,             /**< the call would wait for itself */
    cudaErrorNotSupported = 801,             /**< the device or the library has none of it */
    cudaErrorStreamCaptureUnsupported = 900, /**< a capture cannot hold this call */
    cudaErrorStreamCaptureInvalidated = 901, /**< an earlier call made the capture invalid */
    cudaErrorGraphExecUpdateFailure = 910,   /**< the graphs differ in more than arguments */
    cudaErrorUnknown = 999                   /**< any other: cls_last_error_detail has it */
} cudaError;

/** What each call returns. */
typedef enum cudaError cudaError_t;

/** @cond */
#ifdef __cplusplus
#define CLS_CUDA_CAST(type, value) (static_cast<type>(value))
#define CLS_CUDA_POINTER(type, value) (reinterpret_cast<type>(value))
#define CLS_CUDA_UNCONST(pointer) (const_cast<void *>(static_cast<const void *>(pointer)))
#define CLS_CUDA_THREAD __thread
#define CLS_CUDA_ZERO \
    {}
#else
#define CLS_CUDA_CAST(type, value) ((type)(value))
#define CLS_CUDA_POINTER(type, value) ((type)(value))
#define CLS_CUDA_UNCONST(pointer) ((void *)(uintptr_t)(pointer))
#define CLS_CUDA_THREAD _Thread_local
#define CLS_CUDA_ZERO \
    { 0 }
#endif
#define CLS_CUDA_DEVICES 64

/* One of each for all translation units of a program, in C and C++: the linker keeps one of the definitions. Windows has no
 * weak data, and takes no definition without a value for one of several. */
#ifdef _WIN32
#define CLS_CUDA_ONE __declspec(selectany)
#else
#define CLS_CUDA_ONE __attribute__((weak))
#endif

/* What a thread has. */
struct cls_cuda_thread {
    int device;                           /* the current one */
    cudaError_t last;                     /* as cudaGetLastError tells it */
    cls_stream streams[CLS_CUDA_DEVICES]; /* cudaStreamPerThread of each device */
    cls_context owners[CLS_CUDA_DEVICES]; /* the contexts of those */
};
CLS_CUDA_ONE CLS_CUDA_THREAD struct cls_cuda_thread cls_cuda_thread = CLS_CUDA_ZERO;

/* A variable that stands for device memory (cuda_symbol.h). It stays known until the process exits. */
struct cls_cuda_symbol {
    struct cls_cuda_symbol *next;
    const void *variable;
    size_t bytes;
    struct {
        cls_context context;
        cls_buffer buffer; /* NULL: not used on the device yet */
        void *pointer;
    } at[CLS_CUDA_DEVICES];
};

/* A buffer or an event that has a handle for other processes (cuda_export.h). */
struct cls_cuda_export {
    struct cls_cuda_export *next;
    const void *object;
    int fd;
    uint32_t index; /* of its ticket */
    unsigned char key[16];
};

/* A graph that got nodes (cuda_node.h). */
struct cls_cuda_graph {
    struct cls_cuda_graph *next;
    struct cls_graph_handle *name; /* as the program has it; it has the first nodes only */
    struct cls_graph_handle *now;  /* with all nodes but those of a capture that is open */
    cls_stream stream;             /* of the captures that add nodes */
    int open;                      /* a capture is */
};

/* What a process has of each device. Read without the lock, by atomic loads. */
struct cls_cuda_state {
    int listed;                            /* number of devices, and one; 0: not counted yet */
    size_t index[CLS_CUDA_DEVICES];        /* the library's number of each */
    cls_context context[CLS_CUDA_DEVICES]; /* NULL: made on first use */
    int sticky[CLS_CUDA_DEVICES];          /* a cudaError_t */
    uint64_t allocated[CLS_CUDA_DEVICES];  /* bytes of cudaMalloc */
    struct cls_cuda_symbol *symbols;       /* under cls_cuda_symbol_lock */
    struct cls_cuda_export *exports;       /* written under cls_cuda_export_lock */
    struct cls_cuda_graph *graphs;         /* written under cls_cuda_graph_lock */
    int tickets;                           /* descriptor of their file, and one; the same lock */
    uint32_t n_tickets;                    /* of all times; the same lock */
    struct cls_cuda_coarse *coarse;        /* written under cls_cuda_coarse_lock */
    cls_stream internal_streams[CLS_CUDA_DEVICES]; /* the same lock (cuda_owner.h) */
};
CLS_CUDA_ONE struct cls_cuda_state cls_cuda_state = CLS_CUDA_ZERO;
/* Held while a context, a program or a kernel is made. */
CLS_CUDA_ONE pthread_mutex_t cls_cuda_lock = PTHREAD_MUTEX_INITIALIZER;
CLS_CUDA_ONE pthread_mutex_t cls_cuda_symbol_lock = PTHREAD_MUTEX_INITIALIZER;
CLS_CUDA_ONE pthread_mutex_t cls_cuda_export_lock = PTHREAD_MUTEX_INITIALIZER;
CLS_CUDA_ONE pthread_mutex_t cls_cuda_coarse_lock = PTHREAD_MUTEX_INITIALIZER;
CLS_CUDA_ONE pthread_mutex_t cls_cuda_graph_lock = PTHREAD_MUTEX_INITIALIZER;
CLS_CUDA_ONE pthread_once_t cls_cuda_key_once = PTHREAD_ONCE_INIT;
CLS_CUDA_ONE pthread_key_t cls_cuda_key = 0;

/* The number and the words of each error. */
#define CLS_CUDA_ERRORS(X)                                                                 \
    X(cudaSuccess, "no error")                                                             \
    X(cudaErrorInvalidValue, "an argument is wrong")                                       \
    X(cudaErrorMemoryAllocation, "there is not enough memory")                             \
    X(cudaErrorInitializationError, "the process was forked after the library was used")   \
    X(cudaErrorCudartUnloading, "the process is exiting")                                  \
    X(cudaErrorInvalidConfiguration, "the device cannot run a grid or block of this size") \
    X(cudaErrorInvalidPitchValue, "the pitch is below the width")                          \
    X(cudaErrorInvalidSymbol, "no symbol of this size has the address")                    \
    X(cudaErrorInvalidDevicePointer, "the pointer is in no known memory")                  \
    X(cudaErrorInvalidMemcpyDirection, "there is no such direction of copies")             \
    X(cudaErrorInvalidDeviceFunction, "the source has no kernel of this name")             \
    X(cudaErrorNoDevice, "there is no OpenCL device")                                      \
    X(cudaErrorInvalidDevice, "there is no device of this number")                         \
    X(cudaErrorInvalidKernelImage, "the OpenCL C source does not compile")                 \
    X(cudaErrorDeviceUninitialized, "the context of the object was destroyed")             \
    X(cudaErrorPeerAccessUnsupported, "kernels cannot use memory of the other device")     \
    X(cudaErrorFileNotFound, "there is no such file")                                      \
    X(cudaErrorOperatingSystem, "the operating system refused a call")                     \
    X(cudaErrorInvalidResourceHandle, "the handle is wrong, or its object was destroyed")  \
    X(cudaErrorIllegalState, "the state of the object does not allow the call")            \
    X(cudaErrorNotReady, "work is pending")                                                \
    X(cudaErrorPeerAccessNotEnabled, "peer access was not enabled")                        \
    X(cudaErrorLaunchFailure, "a command failed on the device")                            \
    X(cudaErrorNotPermitted, "the call would wait for itself")                             \
    X(cudaErrorNotSupported, "the device or the library does not support the call")        \
    X(cudaErrorStreamCaptureUnsupported, "a capture cannot hold this call")                \
    X(cudaErrorStreamCaptureInvalidated, "the capture is invalid")                         \
    X(cudaErrorGraphExecUpdateFailure, "the graphs are of different shapes")               \
    X(cudaErrorUnknown, "another error; cls_last_error_detail has the words")

/* The error that a status is. */
static inline cudaError_t cls_cuda_error(cls_status status) {
    switch (status) {
    case CLS_SUCCESS:
        return cudaSuccess;
    case CLS_NOT_READY:
        return cudaErrorNotReady;
    case CLS_ERROR_INVALID_VALUE:
    case CLS_ERROR_WRONG_CONTEXT:
    case CLS_ERROR_OUT_OF_RANGE:
    case CLS_ERROR_OVERLAP:
    case CLS_ERROR_SIZE_MISMATCH:
    case CLS_ERROR_TYPE_MISMATCH:
        return cudaErrorInvalidValue;
    case CLS_ERROR_INVALID_HANDLE:
    case CLS_ERROR_NOT_TIMED:
        return cudaErrorInvalidResourceHandle;
    case CLS_ERROR_CONTEXT_DESTROYED:
        return cudaErrorDeviceUninitialized;
    case CLS_ERROR_UNSUPPORTED:
        return cudaErrorNotSupported;
    case CLS_ERROR_OUT_OF_MEMORY:
    case CLS_ERROR_OUT_OF_DEVICE_MEMORY:
    case CLS_ERROR_LIMIT:
        return cudaErrorMemoryAllocation;
    case CLS_ERROR_NO_DEVICE:
        return cudaErrorNoDevice;
    case CLS_ERROR_BUILD_FAILED:
        return cudaErrorInvalidKernelImage;
    case CLS_ERROR_NOT_FOUND:
        return cudaErrorInvalidDevicePointer;
    case CLS_ERROR_IO:
        return cudaErrorOperatingSystem;
    case CLS_ERROR_WOULD_DEADLOCK:
    case CLS_ERROR_DEADLOCK:
        return cudaErrorNotPermitted;
    case CLS_ERROR_COMMAND_FAILED:
    case CLS_ERROR_CONTEXT_LOST:
        return cudaErrorLaunchFailure;
    case CLS_ERROR_SHUTDOWN:
        return cudaErrorCudartUnloading;
    case CLS_ERROR_INVALID_STATE:
        return cudaErrorIllegalState;
    case CLS_ERROR_FORKED:
        return cudaErrorInitializationError;
    case CLS_ERROR_TIMEOUT:
    case CLS_ERROR_DRIVER:
        return cudaErrorUnknown;
    }
    return cudaErrorUnknown;
}

/* Keeps an error as the thread's last one, and returns it. */
static inline cudaError_t cls_cuda_keep(cudaError_t error) {
    if (error != cudaSuccess && error != cudaErrorNotReady)
        cls_cuda_thread.last = error;
    return error;
}

/* The same with words for cls_last_error_detail. */
static inline cudaError_t cls_cuda_refuse(cudaError_t error, const char *detail) {
    cls_set_last_error(detail);
    return cls_cuda_keep(error);
}

static inline cudaError_t cls_cuda_sticky_of(int device) {
    return CLS_CUDA_CAST(cudaError_t,
                         __atomic_load_n(&cls_cuda_state.sticky[device], __ATOMIC_ACQUIRE));
}

/* What a call on a device returns. A failed command makes the error the device's. */
static inline cudaError_t cls_cuda_result_of(int device, cls_status status) {
    cudaError_t error = cls_cuda_error(status);
    if (error == cudaErrorLaunchFailure)
        __atomic_store_n(&cls_cuda_state.sticky[device], CLS_CUDA_CAST(int, error),
                         __ATOMIC_RELEASE);
    return cls_cuda_keep(error);
}

/* The same for the thread's current device. */
static inline cudaError_t cls_cuda_result(cls_status status) {
    return cls_cuda_result_of(cls_cuda_thread.device, status);
}
/** @endcond */

/** Returns the thread's last error without forgetting it; the device's sticky one, if there is one. */
static inline cudaError_t cudaPeekAtLastError(void) {
    cudaError_t sticky = cls_cuda_sticky_of(cls_cuda_thread.device);
    return sticky != cudaSuccess ? sticky : cls_cuda_thread.last;
}

/** Returns the thread's last error and forgets it; a sticky one stays. */
static inline cudaError_t cudaGetLastError(void) {
    cudaError_t error = cudaPeekAtLastError();
    cls_cuda_thread.last = cudaSuccess;
    return error;
}

/** Returns the name of an error, or "unrecognized error code". */
static inline const char *cudaGetErrorName(cudaError_t error) {
#define CLS_CUDA_ROW(name, words) \
    case name:                    \
        return #name;
    switch (error) { CLS_CUDA_ERRORS(CLS_CUDA_ROW) }
#undef CLS_CUDA_ROW
    return "unrecognized error code";
}

/** Returns an error in words. */
static inline const char *cudaGetErrorString(cudaError_t error) {
#define CLS_CUDA_ROW(name, words) \
    case name:                    \
        return words;
    switch (error) { CLS_CUDA_ERRORS(CLS_CUDA_ROW) }
#undef CLS_CUDA_ROW
    return "unrecognized error code";
}

CLS_END_DECLS

#endif
