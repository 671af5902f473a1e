/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_node.h
 * Nodes of graphs of clstream/cuda_runtime.h: added one by one, in the place of a capture, and launches that get other
 * arguments in an executable graph.
 *
 * A node comes after its dependencies. A graph that a capture has made takes nodes too; cudaGraphGetNodes gives its nodes, in
 * the order of the capture. Adding to a graph changes no executable one.
 *
 * A kernel is named by the address of its cls_cuda_kernel, and its arguments are given by an address of each, as
 * cudaLaunchKernel takes them (cuda_launch.h). Nodes are of the current device.
 *
 * Every function may be called from any thread, and returns the device's sticky error if it has one (cuda_error.h). A null
 * out-parameter or structure, and a dependency that is no node of the graph, are cudaErrorInvalidValue; a call that returns
 * an error adds nothing.
 */
#ifndef CLSTREAM_CUDA_NODE_H
#define CLSTREAM_CUDA_NODE_H

#include <clstream/buffer.h>
#include <clstream/cuda_copy.h>
#include <clstream/cuda_graph.h>
#include <clstream/cuda_launch.h>
#include <clstream/cuda_managed.h>
#include <clstream/graph.h>
#include <clstream/pointer.h>

CLS_BEGIN_DECLS

/** A launch of a kernel. */
typedef struct cudaKernelNodeParams {
    void *func;              /**< address of the cls_cuda_kernel */
    struct dim3 gridDim;     /**< blocks */
    struct dim3 blockDim;    /**< threads of a block */
    unsigned sharedMemBytes; /**< bytes of the kernel's __local parameter, if it has one */
    void **kernelParams;     /**< an address of each other argument */
    void **extra;            /**< NULL */
} cudaKernelNodeParams;

/** A fill. */
typedef struct cudaMemsetParams {
    void *dst;            /**< memory */
    size_t pitch;         /**< bytes from row to row; not looked at for one row */
    unsigned value;       /**< of an element */
    unsigned elementSize; /**< 1, 2 or 4 bytes; several rows take 1, or a value of equal bytes */
    size_t width;         /**< elements of a row */
    size_t height;        /**< rows */
} cudaMemsetParams;

/** A call of a host function. */
typedef struct cudaHostNodeParams {
    cudaHostFn_t fn; /**< the function */
    void *userData;  /**< its argument */
} cudaHostNodeParams;

/** An array: there are none. */
typedef struct cls_cuda_array *cudaArray_t;

/** Memory of rows. */
typedef struct cudaPitchedPtr {
    void *ptr;    /**< the first byte */
    size_t pitch; /**< bytes from row to row */
    size_t xsize; /**< not looked at */
    size_t ysize; /**< not looked at */
} cudaPitchedPtr;

/** A place in memory of rows. */
typedef struct cudaPos {
    size_t x; /**< bytes */
    size_t y; /**< rows */
    size_t z; /**< 0 */
} cudaPos;

/** A size. */
typedef struct cudaExtent {
    size_t width;  /**< bytes */
    size_t height; /**< rows */
    size_t depth;  /**< 1 */
} cudaExtent;

/** A copy of rows. */
typedef struct cudaMemcpy3DParms {
    cudaArray_t srcArray;  /**< NULL */
    cudaPos srcPos;        /**< where it begins to read */
    cudaPitchedPtr srcPtr; /**< memory to read */
    cudaArray_t dstArray;  /**< NULL */
    cudaPos dstPos;        /**< where it begins to write */
    cudaPitchedPtr dstPtr; /**< memory to write */
    cudaExtent extent;     /**< how much */
    cudaMemcpyKind kind;   /**< direction */
} cudaMemcpy3DParms;

/** Makes a cudaPitchedPtr. */
static inline cudaPitchedPtr make_cudaPitchedPtr(void *pointer, size_t pitch, size_t width,
                                                 size_t height) {
    cudaPitchedPtr made = {pointer, pitch, width, height};
    return made;
}

/** Makes a cudaPos. */
static inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) {
    cudaPos made = {x, y, z};
    return made;
}

/** Makes a cudaExtent. */
static inline cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) {
    cudaExtent made = {width, height, depth};
    return made;
}

/** Creates a graph without nodes. `flags` is 0. */
static inline cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags) {
    cls_context context;
    cls_stream stream;
    cls_status status;
    cudaError_t error = cls_cuda_enter(&context);
    if (error != cudaSuccess)
        return error;
    if (!graph || flags)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaGraphCreate: null, or flags");
    status = cls_stream_create(context, NULL, &stream);
    if (status != CLS_SUCCESS)
        return cls_cuda_result(status);
    status = cls_stream_begin_capture(stream, NULL);
    if (status == CLS_SUCCESS)
        status = cls_stream_end_capture(stream, graph);
    cls_stream_destroy(stream);
    return cls_cuda_result(status);
}

/** @cond */
/* Finds what a graph has besides its name, or makes it. The lock is held. */
static inline cls_status cls_cuda_grow_graph(cudaGraph_t graph, cls_context context,
                                             struct cls_cuda_graph **out) {
    struct cls_cuda_graph *grown = *cls_cuda_grown_graph(graph);
    uint64_t nodes;
    cls_status status = grown ? CLS_SUCCESS : cls_graph_get_nodes(graph, &nodes);
    *out = grown;
    if (grown || status != CLS_SUCCESS)
        return status;
    grown = CLS_CUDA_CAST(struct cls_cuda_graph *, calloc(1, sizeof *grown));
    if (!grown)
        return CLS_ERROR_OUT_OF_MEMORY;
    status = cls_stream_create(context, NULL, &grown->stream);
    if (status != CLS_SUCCESS) {
        free(grown);
        return status;
    }
    grown->name = grown->now = graph;
    grown->next = cls_cuda_state.graphs;
    __atomic_store_n(&cls_cuda_state.graphs, grown, __ATOMIC_RELEASE);
    *out = grown;
    return CLS_SUCCESS;
}

/* Has the next node of a graph come after these. */
static inline cls_status cls_cuda_set_dependencies(struct cls_cuda_graph *grown,
                                                   const cudaGraphNode_t *nodes, size_t n) {
    uint64_t few[16], *numbers = few;
    size_t i;
    cls_status status = CLS_SUCCESS;
    if (!grown->open) {
        status = cls_stream_begin_capture_from(grown->stream, NULL, grown->now);
        if (status != CLS_SUCCESS)
            return status;
        grown->open = 1;
    }
    if (n > sizeof few / sizeof *few)
        numbers = CLS_CUDA_CAST(uint64_t *, n > UINT32_MAX ? NULL : malloc(n * sizeof *numbers));
    if (!numbers)
        return CLS_ERROR_OUT_OF_MEMORY;
    for (i = 0; i < n; i++)
        numbers[i] = CLS_CUDA_CAST(uint64_t, CLS_CUDA_POINTER(uintptr_t, nodes[i])) - 1;
    status = cls_stream_set_capture_nodes(grown->stream, numbers, CLS_CUDA_CAST(unsigned, n));
    if (numbers != few)
        free(numbers);
    return status;
}

/* Submits what a node is to the stream of a graph's captures. */
typedef cudaError_t (*cls_cuda_submit)(cls_stream stream, const void *what);

static inline cudaError_t cls_cuda_add_node(cudaGraphNode_t *node, cudaGraph_t graph,
                                            const cudaGraphNode_t *after, size_t n,
                                            cls_cuda_submit submit, const void *what) {
    struct cls_cuda_graph *grown;
    uint64_t number = 0;
    unsigned count = 0;
    cls_context context;
    cls_status status;
    cudaError_t error = cls_cuda_enter(&context);
    if (error != cudaSuccess)
        return error;
    if (!node || !what || (n && !after))
        return cls_cuda_refuse(cudaErrorInvalidValue, "a node: an argument is null");
    pthread_mutex_lock(&cls_cuda_graph_lock);
    status = cls_cuda_grow_graph(graph, context, &grown);
    if (status == CLS_SUCCESS)
        status = cls_cuda_set_dependencies(grown, after, n);
    if (status == CLS_SUCCESS)
        error = submit(grown->stream, what);
    if (status == CLS_SUCCESS && error == cudaSuccess)
        status = cls_stream_get_capture_nodes(grown->stream, &number, 1, &count);
    pthread_mutex_unlock(&cls_cuda_graph_lock);
    if (status != CLS_SUCCESS)
        return cls_cuda_result(status);
    if (error == cudaSuccess)
        *node = CLS_CUDA_POINTER(cudaGraphNode_t, CLS_CUDA_CAST(uintptr_t, number) + 1);
    return error;
}

static inline cudaError_t cls_cuda_submit_kernel(cls_stream stream, const void *what) {
    const cudaKernelNodeParams *params = CLS_CUDA_CAST(const cudaKernelNodeParams *, what);
    if (params->extra)
        return cls_cuda_refuse(cudaErrorNotSupported, "a node of a kernel: extra");
    return cudaLaunchKernel(params->func, params->gridDim, params->blockDim, params->kernelParams,
                            params->sharedMemBytes, stream);
}

static inline cudaError_t cls_cuda_submit_copy(cls_stream stream, const void *what) {
    const cudaMemcpy3DParms *copy = CLS_CUDA_CAST(const cudaMemcpy3DParms *, what);
    const char *src = CLS_CUDA_CAST(const char *, copy->srcPtr.ptr);
    char *dst = CLS_CUDA_CAST(char *, copy->dstPtr.ptr);
    size_t width = copy->extent.width, height = copy->extent.height;
    if (copy->srcArray || copy->dstArray || copy->extent.depth != 1 || copy->srcPos.z ||
        copy->dstPos.z)
        return cls_cuda_refuse(cudaErrorNotSupported,
                               "a node of a copy: arrays, or more than one layer");
    if (!src || !dst || width == 0 || height == 0)
        return cls_cuda_refuse(cudaErrorInvalidValue, "a node of a copy: null, or no bytes");
    src += copy->srcPos.y * copy->srcPtr.pitch + copy->srcPos.x;
    dst += copy->dstPos.y * copy->dstPtr.pitch + copy->dstPos.x;
    return height == 1 ? cls_cuda_copy(dst, src, width, copy->kind, stream, 1)
                       : cls_cuda_copy_2d(dst, copy->dstPtr.pitch, src, copy->srcPtr.pitch, width,
                                          height, copy->kind, stream, 1);
}

static inline cudaError_t cls_cuda_submit_fill(cls_stream stream, const void *what) {
    const cudaMemsetParams *fill = CLS_CUDA_CAST(const cudaMemsetParams *, what);
    const unsigned size = fill->elementSize;
    const uint8_t one = CLS_CUDA_CAST(uint8_t, fill->value & 0xff);
    const uint16_t two = CLS_CUDA_CAST(uint16_t, fill->value & 0xffff);
    const uint32_t four = fill->value;
    const void *pattern = &one;
    int uniform = 1;
    cls_arg arg;
    cls_buffer buffer;
    size_t offset;
    cls_status status;
    if ((size != 1 && size != 2 && size != 4) || !fill->dst || fill->width == 0 ||
        fill->height == 0 || fill->width > SIZE_MAX / size)
        return cls_cuda_refuse(cudaErrorInvalidValue, "a node of a fill");
    if (size == 2) {
        pattern = &two;
        uniform = two == one * 0x101u;
    } else if (size == 4) {
        pattern = &four;
        uniform = four == one * 0x1010101u;
    }
    if (uniform)
        return cls_cuda_set(fill->dst, fill->height == 1 ? fill->width * size : fill->pitch, one,
                            fill->width * size, fill->height, stream, 1);
    if (fill->height != 1)
        return cls_cuda_refuse(cudaErrorNotSupported, "a node of a fill: rows of such elements");
    status = cls_pointer_get_buffer(fill->dst, &buffer, &offset);
    arg = cls_arg_pointer(fill->dst);
    if (status == CLS_SUCCESS)
        status = cls_cuda_managed_begin(stream, &arg, 1);
    if (status == CLS_SUCCESS)
        status = cls_cuda_managed_end(
            stream, &arg, 1,
            cls_fill_async(buffer, offset, fill->width * size, pattern, size, stream));
    return cls_cuda_result_on(stream, status);
}

static inline cudaError_t cls_cuda_submit_call(cls_stream stream, const void *what) {
    const cudaHostNodeParams *call = CLS_CUDA_CAST(const cudaHostNodeParams *, what);
    return cudaLaunchHostFunc(stream, call->fn, call->userData);
}
/** @endcond */

/** Adds a launch of a kernel. `extra` is NULL. */
static inline cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                                 const cudaGraphNode_t *after, size_t n,
                                                 const cudaKernelNodeParams *params) {
    return cls_cuda_add_node(node, graph, after, n, cls_cuda_submit_kernel, params);
}

/** Adds a copy of rows. Arrays and more than one layer are cudaErrorNotSupported. */
static inline cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                                 const cudaGraphNode_t *after, size_t n,
                                                 const cudaMemcpy3DParms *params) {
    return cls_cuda_add_node(node, graph, after, n, cls_cuda_submit_copy, params);
}

/** Adds a copy of `bytes` bytes. */
static inline cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph,
                                                   const cudaGraphNode_t *after, size_t n,
                                                   void *dst, const void *src, size_t bytes,
                                                   cudaMemcpyKind kind) {
    cudaMemcpy3DParms params;
    memset(&params, 0, sizeof params);
    params.srcPtr.ptr = CLS_CUDA_UNCONST(src);
    params.dstPtr.ptr = dst;
    params.extent = make_cudaExtent(bytes, 1, 1);
    params.kind = kind;
    return cls_cuda_add_node(node, graph, after, n, cls_cuda_submit_copy, &params);
}

/** Adds a fill. */
static inline cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                                 const cudaGraphNode_t *after, size_t n,
                                                 const cudaMemsetParams *params) {
    return cls_cuda_add_node(node, graph, after, n, cls_cuda_submit_fill, params);
}

/** Adds a call of a host function. */
static inline cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                               const cudaGraphNode_t *after, size_t n,
                                               const cudaHostNodeParams *params) {
    return cls_cuda_add_node(node, graph, after, n, cls_cuda_submit_call, params);
}

/** Gives a launch of an executable graph another kernel, grid and arguments, for later launches of the graph. */
static inline cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec,
                                                           cudaGraphNode_t node,
                                                           const cudaKernelNodeParams *params) {
    uint64_t number = CLS_CUDA_CAST(uint64_t, CLS_CUDA_POINTER(uintptr_t, node)) - 1;
    cls_arg args[CLS_CUDA_MAX_ARGUMENTS];
    cls_launch launch;
    cls_kernel kernel;
    cls_status status;
    unsigned n = 0;
    cudaError_t error;
    if (!node || !params || params->extra)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaGraphExecKernelNodeSetParams: null");
    error = cls_cuda_get_kernel(CLS_CUDA_CAST(cls_cuda_kernel *, params->func), &kernel);
    if (error == cudaSuccess)
        error = cls_cuda_shape(params->gridDim, params->blockDim, &launch);
    if (error == cudaSuccess)
        error =
            cls_cuda_read_params(kernel, params->kernelParams, params->sharedMemBytes, args, &n);
    if (error != cudaSuccess)
        return error;
    status = cls_cuda_managed_begin(NULL, args, n);
    if (status == CLS_SUCCESS)
        status = cls_cuda_managed_end(NULL, args, n,
                                      cls_graph_set_kernel(exec, number, kernel, &launch, args, n));
    return cls_cuda_result(status);
}

CLS_END_DECLS

#endif
