/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_runtime.h
 * Calls of CUDA's runtime over clStream, for programs that keep their host code and have their kernels in OpenCL C.
 *
 * The header is all there is: each call is an inline function over the other headers, in C11 and C++11, and a program
 * links libclstream alone. With `-I` of the folder that has it, `#include <cuda_runtime.h>` stays as it is. Handles are
 * the library's own: a cudaStream_t is a cls_stream, and the calls of clstream.h take it.
 *
 * - cuda_error.h: errors, with CUDA's names and numbers
 * - cuda_device.h: devices
 * - cuda_properties.h: their properties
 * - cuda_stream.h: streams, events, host functions
 * - cuda_memory.h: memory
 * - cuda_managed.h, cuda_owner.h: the ownership of managed memory
 * - cuda_copy.h: copies and fills
 * - cuda_pool.h: stream-ordered memory
 * - cuda_ipc.h: memory and events of other processes; cuda_export.h: what their handles hold
 * - cuda_graph.h: graphs by capture
 * - cuda_node.h: graphs made node by node
 * - cuda_kernel.h: kernels in OpenCL C; cls_cuda_launch in the place of `<<<>>>`
 * - cuda_launch.h: launches with an address of each argument; how many blocks fill a device
 * - cuda_symbol.h: variables that stand for device memory
 * - cuda_missing.h: calls that do not compile, because the library has none of it
 * - cuda_runtime_api.h, cuda_profiler_api.h: the same header, by the other names that programs include it by
 * - cuda_nvcc.h: what nvcc includes ahead of a program; for `c++ -x c++ -include clstream/cuda_nvcc.h program.cu`
 *
 * A program has one state, whichever of its translation units use the header, in C or C++: the current device and the last
 * error of each thread, the context of each device. A shared library that hides its symbols has one of its own.
 *
 * What differs from CUDA: a free does not wait, a failed command is told at the next call on its stream rather than by any
 * call, and memory, streams and graphs follow the rules of the library's own calls (doc/porting.md).
 */
#ifndef CLSTREAM_CUDA_RUNTIME_H
#define CLSTREAM_CUDA_RUNTIME_H

#include <clstream/cuda_copy.h>
#include <clstream/cuda_device.h>
#include <clstream/cuda_error.h>
#include <clstream/cuda_export.h>
#include <clstream/cuda_graph.h>
#include <clstream/cuda_ipc.h>
#include <clstream/cuda_kernel.h>
#include <clstream/cuda_launch.h>
#include <clstream/cuda_managed.h>
#include <clstream/cuda_memory.h>
#include <clstream/cuda_missing.h>
#include <clstream/cuda_node.h>
#include <clstream/cuda_owner.h>
#include <clstream/cuda_pool.h>
#include <clstream/cuda_properties.h>
#include <clstream/cuda_stream.h>
#include <clstream/cuda_symbol.h>

/* CUDA's own guards, by which headers of others know that the runtime's calls are declared. */
#ifndef __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_H__
#endif
#ifndef __DRIVER_TYPES_H__
#define __DRIVER_TYPES_H__
#endif

CLS_BEGIN_DECLS
/* All declarations of C are in the headers above. */
CLS_END_DECLS

#ifdef __cplusplus

/* The allocating calls by a pointer to a pointer of any type, as CUDA's C++ has them. */

/** @cond */
template <class T> inline cudaError_t cls_cuda_give(T **out, void *pointer, cudaError_t error) {
    if (error == cudaSuccess)
        *out = static_cast<T *>(pointer);
    return error;
}

/* The null pointer, if there is no place for the result. */
template <class T> inline void **cls_cuda_place(T **out, void **pointer) {
    return out ? pointer : nullptr;
}
/** @endcond */

/** cudaMalloc for any type. */
template <class T> inline cudaError_t cudaMalloc(T **out, size_t bytes) {
    void *pointer = nullptr;
    cudaError_t error = cudaMalloc(cls_cuda_place(out, &pointer), bytes);
    return cls_cuda_give(out, pointer, error);
}

/** cudaMallocPitch for any type. */
template <class T>
inline cudaError_t cudaMallocPitch(T **out, size_t *pitch, size_t width, size_t height) {
    void *pointer = nullptr;
    cudaError_t error = cudaMallocPitch(cls_cuda_place(out, &pointer), pitch, width, height);
    return cls_cuda_give(out, pointer, error);
}

/** cudaMallocHost for any type. */
template <class T> inline cudaError_t cudaMallocHost(T **out, size_t bytes, unsigned flags = 0) {
    void *pointer = nullptr;
    cudaError_t error = cudaHostAlloc(cls_cuda_place(out, &pointer), bytes, flags);
    return cls_cuda_give(out, pointer, error);
}

/** cudaHostAlloc for any type. */
template <class T> inline cudaError_t cudaHostAlloc(T **out, size_t bytes, unsigned flags) {
    return cudaMallocHost(out, bytes, flags);
}

/** cudaHostGetDevicePointer for any type. */
template <class T>
inline cudaError_t cudaHostGetDevicePointer(T **out, void *memory, unsigned flags) {
    void *pointer = nullptr;
    cudaError_t error = cudaHostGetDevicePointer(cls_cuda_place(out, &pointer), memory, flags);
    return cls_cuda_give(out, pointer, error);
}

/** cudaMallocManaged for any type. */
template <class T>
inline cudaError_t cudaMallocManaged(T **out, size_t bytes, unsigned flags = cudaMemAttachGlobal) {
    void *pointer = nullptr;
    cudaError_t error = cudaMallocManaged(cls_cuda_place(out, &pointer), bytes, flags);
    return cls_cuda_give(out, pointer, error);
}

/** cudaMallocAsync for any type. */
template <class T> inline cudaError_t cudaMallocAsync(T **out, size_t bytes, cudaStream_t stream) {
    void *pointer = nullptr;
    cudaError_t error = cudaMallocAsync(cls_cuda_place(out, &pointer), bytes, stream);
    return cls_cuda_give(out, pointer, error);
}

/** cudaMallocFromPoolAsync for any type. */
template <class T>
inline cudaError_t cudaMallocFromPoolAsync(T **out, size_t bytes, cudaMemPool_t pool,
                                           cudaStream_t stream) {
    void *pointer = nullptr;
    cudaError_t error = cudaMallocFromPoolAsync(cls_cuda_place(out, &pointer), bytes, pool, stream);
    return cls_cuda_give(out, pointer, error);
}

/** cudaEventCreateWithFlags by the name that CUDA's C++ has for it as well. */
inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned flags) {
    return cudaEventCreateWithFlags(event, flags);
}

/** cudaGraphInstantiate as CUDA 11 has it. `node`, if not null, becomes null, and `log` of `size` bytes an empty text. */
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                        cudaGraphNode_t *node, char *log, size_t size) {
    if (node)
        *node = nullptr;
    if (log && size)
        *log = 0;
    return cudaGraphInstantiate(exec, graph, 0ull);
}

/** cudaGraphExecUpdate as CUDA 11 has it. `node`, if not null, becomes null. */
inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                       cudaGraphNode_t *node, cudaGraphExecUpdateResult *result) {
    cudaGraphExecUpdateResultInfo info = {cudaGraphExecUpdateSuccess, nullptr, nullptr};
    cudaError_t error = cudaGraphExecUpdate(exec, graph, &info);
    if (node)
        *node = nullptr;
    if (result)
        *result = info.result;
    return error;
}

#endif

#endif
