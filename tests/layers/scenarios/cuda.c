/* SPDX-License-Identifier: MIT */
/* The scenario of CUDA's calls: both kinds of memory, copies, a launch, events, a capture and its launch. */
#include "scenario.h"

#include <clstream/cuda_runtime.h>

#include "world.h"

static bool cuda_ok(struct run *run, cudaError_t error) {
    return ok(run, error == cudaSuccess ? CLS_SUCCESS : CLS_ERROR_DRIVER);
}

static __constant__ uint32_t step = 1;

/* What the scenario creates; 0 where it did not. */
struct calls {
    cls_cuda_module module;
    cls_cuda_kernel scale;
    uint32_t *own, *ordered, *host;
    cudaStream_t stream;
    cudaEvent_t event;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
};

static bool create(struct run *run, struct calls *calls) {
    return cuda_ok(run, cudaMallocHost((void **)&calls->host, BYTES)) &&
           cuda_ok(run, cudaMalloc((void **)&calls->own, BYTES)) &&
           cuda_ok(run, cudaStreamCreate(&calls->stream)) &&
           cuda_ok(run, cudaEventCreate(&calls->event)) &&
           cuda_ok(run, cudaMallocAsync((void **)&calls->ordered, BYTES, calls->stream));
}

/* Another launch behind the nodes that the graph has. */
static bool add_node(struct run *run, struct calls *calls) {
    uint32_t *address, one = 1;
    void *args[] = {&calls->own, &one, &address};
    cudaKernelNodeParams params = {&calls->scale, {1, 1, 1}, {WORDS, 1, 1}, 0, args, NULL};
    cudaGraphNode_t nodes[4], added;
    size_t n = 4;
    return cuda_ok(run, cudaGetSymbolAddress((void **)&address, step)) &&
           cuda_ok(run, cudaGraphGetNodes(calls->graph, nodes, &n)) &&
           cuda_ok(run, cudaGraphAddKernelNode(&added, calls->graph, nodes, n, &params));
}

static bool capture(struct run *run, struct calls *calls) {
    if (!cuda_ok(run, cudaStreamBeginCapture(calls->stream, cudaStreamCaptureModeRelaxed)))
        return false;
    cuda_ok(run, cls_cuda_launch(&calls->scale, 1, WORDS, 0, calls->stream, calls->own, 3u,
                                 cls_cuda_symbol(step)));
    return cuda_ok(run, cudaStreamEndCapture(calls->stream, &calls->graph)) &&
           add_node(run, calls) &&
           cuda_ok(run, cudaGraphInstantiate(&calls->exec, calls->graph, 0));
}

static bool compute(struct run *run, struct calls *calls) {
    const uint32_t next = 2;
    for (uint32_t i = 0; i < WORDS; i++)
        calls->host[i] = i;
    return cuda_ok(run, cudaMemcpyToSymbol(step, &next, sizeof next, 0, cudaMemcpyHostToDevice)) &&
           cuda_ok(run, cudaMemset(calls->own, 0, BYTES)) &&
           cuda_ok(run, cudaMemcpyAsync(calls->ordered, calls->host, BYTES, cudaMemcpyDefault,
                                        calls->stream)) &&
           cuda_ok(run, cudaMemcpyAsync(calls->own, calls->ordered, BYTES, cudaMemcpyDefault,
                                        calls->stream)) &&
           capture(run, calls) && cuda_ok(run, cudaGraphLaunch(calls->exec, calls->stream)) &&
           cuda_ok(run, cudaEventRecord(calls->event, calls->stream)) &&
           cuda_ok(run, cudaStreamWaitEvent(0, calls->event, 0)) &&
           cuda_ok(run, cls_cuda_launch(&calls->scale, 1, WORDS, 0, 0, calls->own, 2u,
                                        cls_cuda_symbol(step))) &&
           cuda_ok(run, cudaMemcpyAsync(calls->host, calls->own, BYTES, cudaMemcpyDeviceToHost, 0));
}

static void destroy(struct calls *calls) {
    cudaFree(calls->own);
    if (calls->ordered)
        cudaFree(calls->ordered);
    if (calls->exec)
        cudaGraphExecDestroy(calls->exec);
    if (calls->graph)
        cudaGraphDestroy(calls->graph);
    if (calls->event)
        cudaEventDestroy(calls->event);
    if (calls->stream)
        cudaStreamDestroy(calls->stream);
    cudaFreeHost(calls->host);
    cls_cuda_release_kernel(&calls->scale);
    cls_cuda_release_module(&calls->module);
    cudaDeviceReset();
}

void cuda_calls(struct run *run) {
    struct calls calls = {
        CLS_CUDA_SOURCE("kernel void scale(global uint *x, uint factor, constant uint *step) {"
                        " x[get_global_id(0)] = x[get_global_id(0)] * factor + *step; }"),
        CLS_CUDA_KERNEL(NULL, "scale"),
        NULL,
        NULL,
        NULL,
        NULL,
        NULL,
        NULL,
        NULL};
    bool done, right = true;
    calls.scale.module = &calls.module;
    done = create(run, &calls) && compute(run, &calls);
    done = cuda_ok(run, cudaDeviceSynchronize()) && done;
    for (uint32_t i = 0; done && i < WORDS; i++)
        right = right && calls.host[i] == 2 * (3 * i + 4) + 2;
    if (done)
        expect(run, right, "the result of CUDA's calls");
    destroy(&calls);
}
