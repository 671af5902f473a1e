/* SPDX-License-Identifier: MIT */
/*
 * CUDA's host code in C++ over clstream/cuda_runtime.h, with kernels in OpenCL C: launches with typed arguments, the
 * allocating calls by a pointer of any type, streams, callbacks, graphs, stream-ordered and unified memory. Prints what does
 * not hold, and exits with 1 then.
 */
#include <clstream/cuda_nvcc.h>
#include <clstream/cuda_profiler_api.h>
#include <clstream/cuda_runtime_api.h>

#if !defined(__CUDA_RUNTIME_H__) || !defined(__DRIVER_TYPES_H__)
#error headers of others do not know the calls
#endif
#include <cmath>
#include <cstdio>
#include <vector>

#include "expect.h"

#define CUDA(call) EXPECT((call) == cudaSuccess)

static const int n = 1 << 14, block = 64, parts = 4;

struct range {
    int first, step;
};

static cls_cuda_module module = CLS_CUDA_SOURCE(
    "typedef struct { int first, step; } range;\n"
    "kernel void fill(global int *x, range r) {\n"
    "    x[get_global_id(0)] = r.first + r.step * (int)get_global_id(0); }\n"
    "kernel void scale(global float *x, float by, ulong unused) { x[get_global_id(0)] *= by; }\n"
    "kernel void sum(global const int *x, global int *sums, local int *shared) {\n"
    "    int k = get_local_id(0);\n"
    "    shared[k] = x[get_global_id(0)];\n"
    "    for (int s = get_local_size(0) / 2; s > 0; s /= 2) {\n"
    "        barrier(CLK_LOCAL_MEM_FENCE); if (k < s) shared[k] += shared[k + s]; }\n"
    "    if (k == 0) sums[get_group_id(0)] = shared[0]; }\n"
    "kernel void sweep(global const float *x, global float *y, int n) {\n"
    "    int i = get_global_id(0);\n"
    "    y[i] = i == 0 || i == n - 1 ? x[i] : 0.5f * (x[i - 1] + x[i + 1]); }\n"
    "kernel void add(global const float *a, global const float *b, global float *c) {\n"
    "    int i = get_global_id(0); c[i] = a[i] + b[i]; }\n"
    "kernel void weigh(global float *x, constant float2 *terms, global int *total) {\n"
    "    int i = get_global_id(0); x[i] = terms[i].x + terms[i].y; if (i == 0) *total += 1; }\n");
static cls_cuda_kernel fill = CLS_CUDA_KERNEL(&module, "fill");
static cls_cuda_kernel scale = CLS_CUDA_KERNEL(&module, "scale");
static cls_cuda_kernel sum = CLS_CUDA_KERNEL(&module, "sum");
static cls_cuda_kernel sweep = CLS_CUDA_KERNEL(&module, "sweep");
static cls_cuda_kernel add = CLS_CUDA_KERNEL(&module, "add");
static cls_cuda_kernel weigh = CLS_CUDA_KERNEL(&module, "weigh");

/* As asyncAPI: stream 0 between events, and a host that counts. */
static void test_events() {
    float *host, *device, ms = -1;
    cudaEvent_t start, stop;
    CUDA(cudaMallocHost(&host, n * sizeof *host));
    CUDA(cudaMalloc(&device, n * sizeof *device));
    for (int i = 0; i < n; i++)
        host[i] = static_cast<float>(i);
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreate(&stop));
    CUDA(cudaEventRecord(start));
    CUDA(cudaMemcpyAsync(device, host, n * sizeof *host, cudaMemcpyHostToDevice));
    CUDA(cls_cuda_launch(&scale, n / block, block, 0, 0, device, 3.0f, sizeof n));
    CUDA(cudaMemcpyAsync(host, device, n * sizeof *host, cudaMemcpyDeviceToHost));
    CUDA(cudaEventRecord(stop));
    unsigned long counter = 0;
    while (cudaEventQuery(stop) == cudaErrorNotReady)
        counter++;
    CUDA(cudaEventElapsedTime(&ms, start, stop));
    EXPECT(ms >= 0);
    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += host[i] != 3.0f * static_cast<float>(i);
    EXPECT(wrong == 0);
    CUDA(cudaEventDestroy(start));
    CUDA(cudaEventDestroy(stop));
    CUDA(cudaFreeHost(host));
    CUDA(cudaFree(device));
}

static void count_callback(cudaStream_t, cudaError_t status, void *count) {
    if (status == cudaSuccess)
        __atomic_fetch_add(static_cast<int *>(count), 1, __ATOMIC_RELAXED);
}

/* As simpleStreams and simpleCallback: a structure as an argument, parts on streams, a callback of each. */
static void test_streams() {
    int *host, *device, called = 0, wrong = 0;
    cudaStream_t streams[parts];
    const int part = n / parts;
    CUDA(cudaHostAlloc(&host, n * sizeof *host, cudaHostAllocPortable));
    CUDA(cudaMalloc(&device, n * sizeof *device));
    for (int i = 0; i < parts; i++) {
        CUDA(cudaStreamCreateWithFlags(&streams[i],
                                       i % 2 ? cudaStreamNonBlocking : cudaStreamDefault));
        const range from = {i * part, 1};
        CUDA(cls_cuda_launch(&fill, part / block, block, 0, streams[i], device + i * part, from));
        CUDA(cudaMemcpyAsync(host + i * part, device + i * part, part * sizeof *host,
                             cudaMemcpyDefault, streams[i]));
        CUDA(cudaStreamAddCallback(streams[i], count_callback, &called, 0));
    }
    CUDA(cudaDeviceSynchronize());
    EXPECT(called == parts);
    for (int i = 0; i < n; i++)
        wrong += host[i] != i;
    EXPECT(wrong == 0);
    for (cudaStream_t stream : streams)
        CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFreeHost(host));
    CUDA(cudaFree(device));
}

/* As simpleCudaGraphs: a captured reduction, by both forms of cudaGraphInstantiate. */
static void test_graphs() {
    int *x, *sums, *total, got = 0;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec, older;
    const int blocks = n / 256;
    CUDA(cudaMalloc(&x, n * sizeof *x));
    CUDA(cudaMalloc(&sums, blocks * sizeof *sums));
    CUDA(cudaMalloc(&total, sizeof *total));
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    const range ones = {1, 0};
    CUDA(cls_cuda_launch(&fill, dim3(blocks), dim3(256), 0, stream, x, ones));
    CUDA(cls_cuda_launch(&sum, blocks, 256, 256 * sizeof(int), stream, x, sums));
    CUDA(cls_cuda_launch(&sum, 1, blocks, blocks * sizeof(int), stream, sums, total));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph));
    CUDA(cudaGraphInstantiate(&older, graph, nullptr, nullptr, 0));
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaMemcpyAsync(&got, total, sizeof got, cudaMemcpyDeviceToHost, stream));
    EXPECT(got == n);
    CUDA(cudaMemsetAsync(total, 0, sizeof *total, stream));
    CUDA(cudaGraphLaunch(older, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpy(&got, total, sizeof got, cudaMemcpyDeviceToHost));
    EXPECT(got == n);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphExecDestroy(older));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(x));
    CUDA(cudaFree(sums));
    CUDA(cudaFree(total));
}

/* As jacobiCudaGraphs: each sweep is captured, and updates the executable graph. */
static cudaError_t update_as_of_cuda_11(cudaGraphExec_t exec, cudaGraph_t graph) {
    cudaGraphNode_t node = reinterpret_cast<cudaGraphNode_t>(&exec);
    cudaGraphExecUpdateResult result = cudaGraphExecUpdateError;
    cudaError_t error = cudaGraphExecUpdate(exec, graph, &node, &result);
    EXPECT(!node && result == cudaGraphExecUpdateSuccess);
    return error;
}

static void test_graph_updates() {
    const int points = 128;
    std::vector<float> wanted(points, 0.0f), next(points), got(points);
    float *x[2];
    cudaStream_t stream;
    cudaGraphExec_t exec = nullptr;
    wanted[0] = 1;
    wanted[points - 1] = -2;
    CUDA(cudaStreamCreate(&stream));
    for (float *&array : x)
        CUDA(cudaMallocAsync(&array, points * sizeof(float), stream));
    CUDA(cudaMemcpyAsync(x[0], wanted.data(), points * sizeof(float), cudaMemcpyHostToDevice,
                         stream));
    for (int k = 0; k < 30; k++) {
        cudaGraph_t graph;
        CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        CUDA(cls_cuda_launch(&sweep, points / block, block, 0, stream, x[k % 2], x[1 - k % 2],
                             points));
        CUDA(cudaStreamEndCapture(stream, &graph));
        if (exec)
            CUDA(k % 2 ? cudaGraphExecUpdate(exec, graph, nullptr)
                       : update_as_of_cuda_11(exec, graph));
        else
            CUDA(cudaGraphInstantiate(&exec, graph));
        CUDA(cudaGraphDestroy(graph));
        CUDA(cudaGraphLaunch(exec, stream));
        next = wanted;
        for (int i = 1; i < points - 1; i++)
            next[static_cast<size_t>(i)] =
                0.5f * (wanted[static_cast<size_t>(i - 1)] + wanted[static_cast<size_t>(i + 1)]);
        wanted.swap(next);
    }
    CUDA(cudaMemcpyAsync(got.data(), x[0], points * sizeof(float), cudaMemcpyDeviceToHost, stream));
    float most = 0;
    for (size_t i = 0; i < got.size(); i++)
        most = std::fmax(most, std::fabs(got[i] - wanted[i]));
    EXPECT(most < 1e-5f);
    CUDA(cudaGraphExecDestroy(exec));
    for (float *array : x)
        CUDA(cudaFreeAsync(array, stream));
    CUDA(cudaStreamDestroy(stream));
}

/* As UnifiedMemoryStreams: one pointer for host and kernels, where the device has that. */
static void test_unified_memory() {
    int managed = 0, wrong = 0;
    float *x = nullptr;
    cudaStream_t stream;
    CUDA(cudaDeviceGetAttribute(&managed, cudaDevAttrManagedMemory, 0));
    if (!managed) {
        EXPECT(cudaMallocManaged(&x, sizeof *x) == cudaErrorNotSupported);
        EXPECT(cudaGetLastError() == cudaErrorNotSupported);
        return;
    }
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaMallocManaged(&x, 3 * n * sizeof *x));
    for (int i = 0; i < n; i++) {
        x[i] = static_cast<float>(i);
        x[n + i] = 1;
    }
    CUDA(cudaStreamAttachMemAsync(stream, x));
    CUDA(cls_cuda_launch(&add, n / block, block, 0, stream, x, x + n, x + 2 * n));
    CUDA(cudaStreamSynchronize(stream));
    for (int i = 0; i < n; i++)
        wrong += x[2 * n + i] != static_cast<float>(i + 1);
    EXPECT(wrong == 0);
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(x));
}

static void test_errors() {
    int *x = nullptr;
    EXPECT(cudaMalloc(static_cast<int **>(nullptr), 4) == cudaErrorInvalidValue);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    CUDA(cudaMalloc(&x, 64 * sizeof *x));
    EXPECT(cls_cuda_launch(&fill, 1, block, 0, 0, x, 1ull << 40, 2) == cudaErrorInvalidValue);
    EXPECT(cls_cuda_launch(&fill, dim3(0, 1), block, 0, 0, x, range()) ==
           cudaErrorInvalidConfiguration);
    EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
    CUDA(cudaGetLastError());
    CUDA(cudaFree(x));
}

/* What nvcc declares for every program. */
static void CUDART_CB count_call(void *count) { ++*static_cast<int *>(count); }

static void test_what_nvcc_declares() {
    int count = 0, mode = -1;
    EXPECT(max(1, 2u) == 2u && max(1, 2) == 2 && min(1u, 2u) == 1u && max(1.5f, 0.5f) == 1.5f &&
           min(-1.0, 1.0f) == -1.0);
    CUDA(cudaProfilerStart());
    CUDA(cudaLaunchHostFunc(nullptr, count_call, &count));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaProfilerStop());
    EXPECT(count == 1);
    CUDA(cudaSetDeviceFlags(cudaDeviceBlockingSync));
    CUDA(cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, 0));
    EXPECT(mode == cudaComputeModeDefault);
}

/* Variables that stand for device memory, by CUDA's default arguments. */
struct weights {
    float factor, add;
};
static __constant__ weights terms[2] = {{2, 1}, {3, -1}};
__device__ int total;

static __host__ __device__ int twice(int x) { return 2 * x; }

static void test_symbols() {
    const weights next = {4, 5};
    float *x = nullptr;
    int *address = nullptr, got = -1, seven = twice(3) + 1;
    size_t bytes = 0;
    CUDA(cudaMalloc(&x, 2 * sizeof *x));
    CUDA(cudaMemcpyToSymbol(total, &seven, sizeof seven));
    CUDA(cudaMemcpyToSymbolAsync(terms, &next, sizeof next, sizeof next));
    CUDA(cls_cuda_launch(&weigh, 2, 1, 0, nullptr, x, cls_cuda_symbol(terms),
                         cls_cuda_symbol(total)));
    CUDA(cudaMemcpyFromSymbolAsync(&got, total, sizeof got));
    CUDA(cudaStreamSynchronize(nullptr));
    EXPECT(got == 8);
    CUDA(cudaMemcpyFromSymbol(&got, total, sizeof got));
    EXPECT(got == 8);
    CUDA(cudaGetSymbolAddress(&address, total));
    CUDA(cudaMemcpy(&got, address, sizeof got, cudaMemcpyDeviceToHost));
    EXPECT(got == 8);
    CUDA(cudaGetSymbolAddress(reinterpret_cast<void **>(&address), total));
    CUDA(cudaGetSymbolSize(&bytes, terms));
    EXPECT(bytes == sizeof terms);
    float values[2];
    CUDA(cudaMemcpy(values, x, sizeof values, cudaMemcpyDeviceToHost));
    EXPECT(values[0] == 3 && values[1] == 9);
    EXPECT(cudaGetSymbolSize(&bytes, terms[0]) == cudaErrorInvalidSymbol);
    EXPECT(cudaGetLastError() == cudaErrorInvalidSymbol);
    CUDA(cudaFree(x));
}

int main() {
    test_events();
    test_streams();
    test_graphs();
    test_graph_updates();
    test_unified_memory();
    test_what_nvcc_declares();
    test_symbols();
    test_errors();
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceReset());
    return failures != 0;
}
