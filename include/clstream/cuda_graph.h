/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_graph.h
 * Graphs of clstream/cuda_runtime.h, by capture. A cudaGraph_t is a cls_graph, a cudaGraphExec_t a cls_graph_exec.
 *
 * All captures are as CUDA's relaxed ones: calls of other threads and on other streams are never refused because of a
 * capture. Stream 0 cannot be captured. cuda_node.h has the calls that add nodes. The library's graphs do not change, so that
 * a cudaGraph_t with added nodes is a name for the graph that has them all: only the calls here know it by that name.
 *
 * Every function may be called from any thread.
 */
#ifndef CLSTREAM_CUDA_GRAPH_H
#define CLSTREAM_CUDA_GRAPH_H

#include <clstream/cuda_managed.h>
#include <clstream/cuda_stream.h>
#include <clstream/graph.h>

CLS_BEGIN_DECLS

typedef cls_graph cudaGraph_t;          /**< what a capture has recorded */
typedef cls_graph_exec cudaGraphExec_t; /**< a graph that can be launched */
typedef struct cls_cuda_graph_node
    *cudaGraphNode_t; /**< a node: its number in the graph, and one */

/** How a capture treats other threads: taken, without effect. */
typedef enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal = 0,      /**< as cudaStreamCaptureModeRelaxed */
    cudaStreamCaptureModeThreadLocal = 1, /**< as cudaStreamCaptureModeRelaxed */
    cudaStreamCaptureModeRelaxed = 2      /**< no call is refused elsewhere */
} cudaStreamCaptureMode;

/** The state of a stream with regard to captures. */
typedef enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone = 0,       /**< not captured */
    cudaStreamCaptureStatusActive = 1,     /**< captured */
    cudaStreamCaptureStatusInvalidated = 2 /**< captured, and the capture is invalid */
} cudaStreamCaptureStatus;

/** Why an update was refused. */
typedef enum cudaGraphExecUpdateResult {
    cudaGraphExecUpdateSuccess = 0,              /**< it was not */
    cudaGraphExecUpdateError = 1,                /**< for its arguments */
    cudaGraphExecUpdateErrorTopologyChanged = 2, /**< other nodes or dependencies */
    cudaGraphExecUpdateErrorNodeTypeChanged = 3, /**< a node is another command */
    cudaGraphExecUpdateErrorNotSupported = 6     /**< operations are fused otherwise */
} cudaGraphExecUpdateResult;

/** The result of cudaGraphExecUpdate. cls_last_error_detail names the difference. */
typedef struct cudaGraphExecUpdateResultInfo {
    cudaGraphExecUpdateResult result; /**< why it was refused */
    cudaGraphNode_t errorNode;        /**< NULL */
    cudaGraphNode_t errorFromNode;    /**< NULL */
} cudaGraphExecUpdateResultInfo;

/** @cond */
/* Ends the capture in which a graph gets nodes. The lock is held. */
static inline cls_status cls_cuda_close_graph(struct cls_cuda_graph *grown) {
    cls_graph made;
    cls_status status;
    if (!grown->open)
        return CLS_SUCCESS;
    status = cls_stream_end_capture(grown->stream, &made);
    grown->open = 0;
    if (status != CLS_SUCCESS)
        return status;
    if (grown->now != grown->name)
        cls_graph_destroy(grown->now);
    grown->now = made;
    return CLS_SUCCESS;
}

static inline struct cls_cuda_graph **cls_cuda_grown_graph(cudaGraph_t graph) {
    struct cls_cuda_graph **place = &cls_cuda_state.graphs;
    while (*place && (*place)->name != graph)
        place = &(*place)->next;
    return place;
}

/* Gets the graph that a name stands for, with all nodes that were added. */
static inline cls_status cls_cuda_graph_of(cudaGraph_t graph, cls_graph *out) {
    cls_status status = CLS_SUCCESS;
    *out = graph;
    if (!__atomic_load_n(&cls_cuda_state.graphs, __ATOMIC_ACQUIRE))
        return status;
    pthread_mutex_lock(&cls_cuda_graph_lock);
    if (*cls_cuda_grown_graph(graph)) {
        struct cls_cuda_graph *grown = *cls_cuda_grown_graph(graph);
        status = cls_cuda_close_graph(grown);
        *out = grown->now;
    }
    pthread_mutex_unlock(&cls_cuda_graph_lock);
    return status;
}

/* Forgets what a graph has besides its name. */
static inline void cls_cuda_forget_graph(cudaGraph_t graph) {
    struct cls_cuda_graph **place, *grown;
    if (!__atomic_load_n(&cls_cuda_state.graphs, __ATOMIC_ACQUIRE))
        return;
    pthread_mutex_lock(&cls_cuda_graph_lock);
    place = cls_cuda_grown_graph(graph);
    grown = *place;
    if (grown) {
        if (grown->now != grown->name)
            cls_graph_destroy(grown->now);
        cls_stream_destroy(grown->stream);
        __atomic_store_n(place, grown->next, __ATOMIC_RELEASE);
        free(grown);
    }
    pthread_mutex_unlock(&cls_cuda_graph_lock);
}
/** @endcond */

/** Begins a capture: what the stream is given from now on is recorded, not run. */
static inline cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    cls_stream found;
    cls_status status;
    cudaError_t error = cls_cuda_stream(stream, &found);
    (void)mode;
    if (error != cudaSuccess)
        return error;
    status = cls_stream_begin_capture(found, NULL);
    return status == CLS_ERROR_UNSUPPORTED ? cls_cuda_keep(cudaErrorStreamCaptureUnsupported)
                                           : cls_cuda_result_on(found, status);
}

/** @cond */
static inline cudaError_t cls_cuda_get_capture(cudaStream_t stream, cls_capture_info *info) {
    cls_stream found;
    cudaError_t error = cls_cuda_stream(stream, &found);
    return error != cudaSuccess ? error : cls_cuda_result(cls_stream_get_capture(found, info));
}
/** @endcond */

/** Ends a capture. An invalid one is cudaErrorStreamCaptureInvalidated, and gives no graph. */
static inline cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    cls_capture_info info = CLS_CAPTURE_INFO_INIT;
    cls_stream found;
    cls_status status;
    cudaError_t error = cls_cuda_get_capture(stream, &info);
    if (error == cudaSuccess)
        error = cls_cuda_stream(stream, &found);
    if (error != cudaSuccess)
        return error;
    status = cls_stream_end_capture(found, graph);
    if (status == CLS_ERROR_INVALID_STATE && info.state != CLS_CAPTURE_NONE)
        return cls_cuda_keep(cudaErrorStreamCaptureInvalidated);
    return cls_cuda_result_on(found, status);
}

/** Says whether a stream is captured. */
static inline cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                                cudaStreamCaptureStatus *status) {
    cls_capture_info info = CLS_CAPTURE_INFO_INIT;
    cudaError_t error = cls_cuda_get_capture(stream, &info);
    if (error == cudaSuccess && !status)
        error = cls_cuda_refuse(cudaErrorInvalidValue, "cudaStreamIsCapturing: status is null");
    if (error == cudaSuccess)
        *status = info.state == CLS_CAPTURE_NONE     ? cudaStreamCaptureStatusNone
                  : info.state == CLS_CAPTURE_ACTIVE ? cudaStreamCaptureStatusActive
                                                     : cudaStreamCaptureStatusInvalidated;
    return error;
}

/** Makes an executable graph. `flags` is 0. */
static inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                               unsigned long long flags CLS_CUDA_OR_ZERO) {
    cls_graph now;
    cls_status status;
    if (flags)
        return cls_cuda_refuse(cudaErrorNotSupported, "cudaGraphInstantiate: flags");
    status = cls_cuda_graph_of(graph, &now);
    return cls_cuda_result(status == CLS_SUCCESS ? cls_graph_instantiate(now, NULL, exec) : status);
}

/** The same. */
static inline cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                                        unsigned long long flags) {
    return cudaGraphInstantiate(exec, graph, flags);
}

/** Checks the stream; an executable graph is ready once it is made. */
static inline cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
    cls_graph_statistics statistics = CLS_GRAPH_STATISTICS_INIT;
    cls_stream found;
    cudaError_t error = cls_cuda_stream(stream, &found);
    return error != cudaSuccess ? error
                                : cls_cuda_result(cls_graph_get_statistics(exec, &statistics));
}

/** Launches a graph as one command of a stream. */
static inline cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    cls_stream found;
    cls_status status;
    cudaError_t error = cls_cuda_stream(stream, &found);
    if (error != cudaSuccess)
        return error;
    status = cls_cuda_managed_begin(found, NULL, 0);
    if (status == CLS_SUCCESS)
        status = cls_cuda_managed_end(found, NULL, 0, cls_graph_launch_async(exec, found));
    return cls_cuda_result_on(found, status);
}

/** Has later launches do what another graph of the same shape does. `info` may be null. */
static inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                              cudaGraphExecUpdateResultInfo *info) {
    cls_graph_difference difference = CLS_GRAPH_DIFFERENCE_INIT;
    cudaGraphExecUpdateResult result = cudaGraphExecUpdateSuccess;
    cls_graph now;
    cls_status status = cls_cuda_graph_of(graph, &now);
    if (status == CLS_SUCCESS)
        status = cls_graph_compare(exec, now, &difference);
    if (status != CLS_SUCCESS)
        result = cudaGraphExecUpdateError;
    else if (difference.kind == CLS_GRAPH_OTHER_COMMAND)
        result = cudaGraphExecUpdateErrorNodeTypeChanged;
    else if (difference.kind == CLS_GRAPH_OTHER_FUSION)
        result = cudaGraphExecUpdateErrorNotSupported;
    else if (difference.kind != CLS_GRAPH_SAME_SHAPE)
        result = cudaGraphExecUpdateErrorTopologyChanged;
    if (status == CLS_SUCCESS)
        status = cls_graph_update(exec, now);
    if (info) {
        info->result = status != CLS_SUCCESS && result == cudaGraphExecUpdateSuccess
                           ? cudaGraphExecUpdateError
                           : result;
        info->errorNode = info->errorFromNode = NULL;
    }
    return result > cudaGraphExecUpdateError ? cls_cuda_keep(cudaErrorGraphExecUpdateFailure)
                                             : cls_cuda_result(status);
}

/** Gets the nodes of a graph, at most `*count` of them; null `nodes`: their number. `*count` receives how many it is. */
static inline cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes,
                                            size_t *count) {
    cls_graph now;
    uint64_t n = 0;
    size_t i;
    cls_status status = cls_cuda_graph_of(graph, &now);
    if (status == CLS_SUCCESS)
        status = cls_graph_get_nodes(now, &n);
    if (status != CLS_SUCCESS)
        return cls_cuda_result(status);
    if (!count)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaGraphGetNodes: count is null");
    if (!nodes || *count > n)
        *count = CLS_CUDA_CAST(size_t, n);
    for (i = 0; nodes && i < *count; i++)
        nodes[i] = CLS_CUDA_POINTER(cudaGraphNode_t, i + 1);
    return cudaSuccess;
}

/** Copies a graph, by a capture that begins with its nodes, on the current device. */
static inline cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph) {
    cls_context context;
    cls_stream stream;
    cls_graph now;
    cls_status status;
    cudaError_t error = cls_cuda_enter(&context);
    if (error != cudaSuccess)
        return error;
    status = cls_cuda_graph_of(graph, &now);
    if (status == CLS_SUCCESS)
        status = cls_stream_create(context, NULL, &stream);
    if (status != CLS_SUCCESS)
        return cls_cuda_result(status);
    status = cls_stream_begin_capture_from(stream, NULL, now);
    if (status == CLS_SUCCESS)
        status = cls_stream_end_capture(stream, clone);
    cls_stream_destroy(stream);
    return cls_cuda_result(status);
}

/** Destroys a graph; executable ones stay. */
static inline cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    cls_cuda_forget_graph(graph);
    return cls_cuda_result(cls_graph_destroy(graph));
}

/** Destroys an executable graph; its launches complete. */
static inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    return cls_cuda_result(cls_graph_exec_destroy(exec));
}

CLS_END_DECLS

#endif
