/* SPDX-License-Identifier: MIT */
/*
 * Graphs of clstream/cuda_runtime.h made node by node: every kind of node, their order, captured graphs that grow, launches
 * with other arguments, arguments by address, blocks that fill a device, refusals that add nothing.
 */
#include "cuda_calls.h"

#include <string.h>

enum { N = 256, ROWS = 4, PITCH = 128, WIDTH = 64 };

static cls_cuda_module module = CLS_CUDA_SOURCE(
    "kernel void add(global int *x, int by) { x[get_global_id(0)] += by; }\n"
    "kernel void multiply(global int *x, ulong by) { x[get_global_id(0)] *= (int)by; }\n"
    "kernel void sum(global const int *x, global int *out, local int *scratch) {\n"
    "    int i = get_local_id(0); scratch[i] = x[get_global_id(0)];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (i == 0) { int s = 0; for (int k = 0; k < get_local_size(0); k++) s += scratch[k];\n"
    "        out[get_group_id(0)] = s; } }\n"
    "kernel void values(global float *out, char c, ushort s, float f, int2 v) {\n"
    "    out[0] = c; out[1] = s; out[2] = f; out[3] = v.x; out[4] = v.y; }\n"
    "typedef struct { int a; } int2_boxed;\n"
    "kernel void box(global int *x, int2_boxed b) { *x = b.a; }\n");
static cls_cuda_kernel add = CLS_CUDA_KERNEL(&module, "add");
static cls_cuda_kernel multiply = CLS_CUDA_KERNEL(&module, "multiply");
static cls_cuda_kernel sum = CLS_CUDA_KERNEL(&module, "sum");
static cls_cuda_kernel values = CLS_CUDA_KERNEL(&module, "values");
static cls_cuda_kernel box = CLS_CUDA_KERNEL(&module, "box");

static struct dim3 blocks(unsigned n) {
    struct dim3 made = {n, 1, 1};
    return made;
}

static cudaKernelNodeParams launch_of(cls_cuda_kernel *kernel, void **args) {
    cudaKernelNodeParams params;
    memset(&params, 0, sizeof params);
    params.func = kernel;
    params.gridDim = blocks(N / 64);
    params.blockDim = blocks(64);
    params.kernelParams = args;
    return params;
}

static void launch_and_wait(cudaGraph_t graph, int times) {
    cudaGraphExec_t exec;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < times; i++)
        CUDA(cudaGraphLaunch(exec, 0));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaGraphExecDestroy(exec));
}

static size_t count_of(cudaGraph_t graph) {
    size_t count = 0;
    CUDA(cudaGraphGetNodes(graph, NULL, &count));
    return count;
}

static void count_call(void *count) { ++*(int *)count; }

/* upload -> add -> download -> call, the fill beside the upload. */
static void nodes_of_each_kind(void **state) {
    int host[N], got[N], *x = device_ints(N), *y = device_ints(N), three = 3, calls = 0;
    void *args[] = {&x, &three};
    cudaKernelNodeParams kernel = launch_of(&add, args);
    cudaMemsetParams fill = {y, 0, 0x01020304, 4, N, 1};
    cudaHostNodeParams call = {count_call, &calls};
    cudaMemcpy3DParms copy;
    cudaGraphNode_t nodes[6], listed[8];
    cudaGraph_t graph, clone;
    size_t count = 8;
    (void)state;
    for (int i = 0; i < N; i++)
        host[i] = i;
    memset(&copy, 0, sizeof copy);
    copy.srcPtr = make_cudaPitchedPtr(host, sizeof host, N, 1);
    copy.dstPtr = make_cudaPitchedPtr(x, sizeof host, N, 1);
    copy.extent = make_cudaExtent(sizeof host, 1, 1);
    copy.kind = cudaMemcpyHostToDevice;
    CUDA(cudaGraphCreate(&graph, 0));
    assert_int_equal(count_of(graph), 0);
    CUDA(cudaGraphAddMemcpyNode(&nodes[0], graph, NULL, 0, &copy));
    CUDA(cudaGraphAddMemsetNode(&nodes[1], graph, NULL, 0, &fill));
    CUDA(cudaGraphAddKernelNode(&nodes[2], graph, nodes, 1, &kernel));
    assert_int_equal(count_of(graph), 3); /* and it goes on to grow */
    CUDA(cudaGraphAddMemcpyNode1D(&nodes[3], graph, &nodes[2], 1, got, x, sizeof got,
                                  cudaMemcpyDeviceToHost));
    CUDA(cudaGraphAddHostNode(&nodes[4], graph, &nodes[1], 3, &call));
    CUDA(cudaGraphGetNodes(graph, listed, &count));
    assert_int_equal(count, 5);
    assert_memory_equal(listed, nodes, 5 * sizeof *nodes);
    CUDA(cudaGraphClone(&clone, graph));
    launch_and_wait(graph, 2);
    for (int i = 0; i < N; i++)
        assert_int_equal(got[i], i + 3);
    assert_int_equal(calls, 2);
    CUDA(cudaMemcpy(got, y, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        assert_int_equal(got[i], 0x01020304);
    CUDA(cudaGraphDestroy(graph));
    assert_int_equal(count_of(clone), 5);
    launch_and_wait(clone, 1);
    assert_int_equal(calls, 3);
    CUDA(cudaGraphDestroy(clone));
    CUDA(cudaFree(x));
    CUDA(cudaFree(y));
}

/* A chain whose order decides, built from its end: each node depends on one that the program names. */
static void dependencies_are_the_order(void **state) {
    int *x = device_ints(N), one = 1, got[N];
    uint64_t ten = 10;
    void *adds[] = {&x, &one}, *multiplies[] = {&x, &ten};
    cudaKernelNodeParams plus = launch_of(&add, adds), times = launch_of(&multiply, multiplies);
    cudaGraphNode_t last;
    cudaGraph_t graph;
    (void)state;
    CUDA(cudaMemset(x, 0, sizeof got));
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphAddKernelNode(&last, graph, NULL, 0, &plus));
    for (int i = 0; i < 20; i++)
        CUDA(cudaGraphAddKernelNode(&last, graph, &last, 1, i % 4 == 3 ? &times : &plus));
    launch_and_wait(graph, 1);
    CUDA(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    int wanted = 1;
    for (int i = 0; i < 20; i++)
        wanted = i % 4 == 3 ? wanted * 10 : wanted + 1;
    for (int i = 0; i < N; i++)
        assert_int_equal(got[i], wanted);
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaFree(x));
}

static void captured_graph_grows(void **state) {
    int *x = device_ints(N), two = 2, got[N];
    void *args[] = {&x, &two};
    cudaKernelNodeParams plus = launch_of(&add, args);
    cudaGraphNode_t nodes[4], added;
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    cudaStream_t stream;
    size_t count = 4;
    (void)state;
    CUDA(cudaMemset(x, 0, sizeof got));
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CUDA(cls_cuda_launch(&add, N / 64, 64, 0, stream, x, 1));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 1);
    CUDA(cudaGraphAddKernelNode(&added, graph, nodes, 1, &plus));
    assert_int_equal(count_of(graph), 2);
    CUDA(cudaGraphLaunch(exec, 0)); /* has the first one only */
    launch_and_wait(graph, 1);
    CUDA(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        assert_int_equal(got[i], 4);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(x));
}

/* As jacobiCudaGraphs: the launch of an executable graph gets other arguments, and another kernel. */
static void launches_get_other_arguments(void **state) {
    int *x = device_ints(N), *y = device_ints(N), by = 5, got[N];
    uint64_t seven = 7;
    void *first[] = {&x, &by}, *second[] = {&y, &by}, *third[] = {&y, &seven};
    cudaKernelNodeParams on_x = launch_of(&add, first), on_y = launch_of(&add, second),
                         times = launch_of(&multiply, third);
    cudaGraphNode_t node;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    (void)state;
    CUDA(cudaMemset(x, 0, sizeof got));
    CUDA(cudaMemset(y, 0, sizeof got));
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphAddKernelNode(&node, graph, NULL, 0, &on_x));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphLaunch(exec, 0));
    by = 6; /* was read when the node was added */
    CUDA(cudaGraphLaunch(exec, 0));
    CUDA(cudaGraphExecKernelNodeSetParams(exec, node, &on_y));
    CUDA(cudaGraphLaunch(exec, 0));
    CUDA(cudaGraphExecKernelNodeSetParams(exec, node, &times));
    CUDA(cudaGraphLaunch(exec, 0));
    CUDA(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    assert_int_equal(got[N - 1], 10);
    CUDA(cudaMemcpy(got, y, sizeof got, cudaMemcpyDeviceToHost));
    assert_int_equal(got[N - 1], 42);
    CUDA_IS(cudaErrorInvalidValue, cudaGraphExecKernelNodeSetParams(exec, node, NULL));
    CUDA_IS(cudaErrorInvalidValue, cudaGraphExecKernelNodeSetParams(exec, NULL, &on_y));
    CUDA_IS(cudaErrorInvalidValue,
            cudaGraphExecKernelNodeSetParams(exec, (cudaGraphNode_t)(uintptr_t)9, &on_y));
    cudaGetLastError();
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaFree(x));
    CUDA(cudaFree(y));
}

static void arguments_by_address(void **state) {
    struct {
        int x, y;
    } pair = {-8, 9};
    float *out, got[5];
    signed char c = -3;
    unsigned short s = 60000;
    float f = 1.5f;
    int *x = device_ints(N), *sums = device_ints(N / 64), total[N / 64];
    void *all[] = {&out, &c, &s, &f, &pair}, *two[] = {&x, &sums}, *boxes[] = {&x, &pair};
    void *missing[] = {&x, NULL};
    (void)state;
    CUDA(cudaMalloc((void **)&out, sizeof got));
    CUDA(cudaLaunchKernel(&values, blocks(1), blocks(1), all, 0, 0));
    CUDA(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    assert_true(got[0] == -3 && got[1] == 60000 && got[2] == 1.5f && got[3] == -8 && got[4] == 9);
    CUDA(cudaMemset(x, 0, N * sizeof *x));
    CUDA(cls_cuda_launch(&add, N / 64, 64, 0, 0, x, 3));
    CUDA(cudaLaunchKernel(&sum, blocks(N / 64), blocks(64), two, 64 * sizeof(int), 0));
    CUDA(cudaMemcpy(total, sums, sizeof total, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N / 64; i++)
        assert_int_equal(total[i], 192);
    CUDA_IS(cudaErrorNotSupported, cudaLaunchKernel(&box, blocks(1), blocks(1), boxes, 0, 0));
    CUDA_IS(cudaErrorInvalidValue, cudaLaunchKernel(&add, blocks(1), blocks(1), missing, 0, 0));
    CUDA_IS(cudaErrorInvalidValue, cudaLaunchKernel(&add, blocks(1), blocks(1), NULL, 0, 0));
    CUDA_IS(cudaErrorInvalidDeviceFunction,
            cudaLaunchKernel(NULL, blocks(1), blocks(1), two, 0, 0));
    CUDA_IS(cudaErrorInvalidConfiguration, cudaLaunchKernel(&add, blocks(0), blocks(1), two, 0, 0));
    cudaGetLastError();
    CUDA(cudaFree(out));
    CUDA(cudaFree(x));
    CUDA(cudaFree(sums));
}

/* The blocks of so many threads that a compute unit holds. */
static int blocks_of(int threads, size_t shared) {
    int n = -1;
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, &add, threads, shared));
    return n;
}

static void blocks_fill_the_device(void **state) {
    struct cudaDeviceProp prop;
    int n;
    (void)state;
    CUDA(cudaGetDeviceProperties(&prop, 0));
    assert_int_equal(blocks_of(32, 0), prop.maxThreadsPerMultiProcessor / 32);
    /* Not all of it: NVIDIA's driver takes a few bytes of a group's memory for itself. */
    assert_int_equal(blocks_of(32, prop.sharedMemPerBlock / 2 + 1), 1);
    assert_int_equal(blocks_of(32, prop.sharedMemPerBlock + 1), 0);
    assert_int_equal(blocks_of(prop.maxThreadsPerBlock + 1, 0), 0);
    CUDA_IS(cudaErrorInvalidValue, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, &add, 0, 0));
    CUDA_IS(cudaErrorInvalidValue,
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(NULL, &add, 32, 0));
    CUDA_IS(cudaErrorInvalidDeviceFunction,
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, NULL, 32, 0));
    cudaGetLastError();
}

static void rows_are_copied_and_filled(void **state) {
    unsigned char host[ROWS * WIDTH], got[ROWS * PITCH];
    unsigned char *x;
    cudaMemcpy3DParms copy;
    cudaMemsetParams fill;
    cudaGraphNode_t node;
    cudaGraph_t graph;
    (void)state;
    for (int i = 0; i < ROWS * WIDTH; i++)
        host[i] = (unsigned char)i;
    CUDA(cudaMalloc((void **)&x, sizeof got));
    memset(&copy, 0, sizeof copy);
    copy.srcPtr = make_cudaPitchedPtr(host, WIDTH, WIDTH, ROWS);
    copy.srcPos = make_cudaPos(8, 1, 0);
    copy.dstPtr = make_cudaPitchedPtr(x, PITCH, WIDTH, ROWS);
    copy.dstPos = make_cudaPos(4, 2, 0);
    copy.extent = make_cudaExtent(16, 2, 1);
    copy.kind = cudaMemcpyDefault;
    memset(&fill, 0, sizeof fill);
    fill.dst = x;
    fill.pitch = PITCH;
    fill.value = 0x77;
    fill.elementSize = 1;
    fill.width = WIDTH;
    fill.height = ROWS;
    CUDA(cudaMemset(x, 0, sizeof got));
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &fill));
    CUDA(cudaGraphAddMemcpyNode(&node, graph, &node, 1, &copy));
    launch_and_wait(graph, 1);
    CUDA(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    for (int y = 0; y < ROWS; y++)
        for (int i = 0; i < PITCH; i++) {
            int copied = y >= 2 && i >= 4 && i < 20;
            int wanted = copied ? host[(y - 1) * WIDTH + i + 4] : i < WIDTH ? 0x77 : 0;
            assert_int_equal(got[y * PITCH + i], wanted);
        }
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaFree(x));
}

static void refusals_add_nothing(void **state) {
    int *x = device_ints(N), one = 1, got[N];
    void *args[] = {&x, &one}, *bad[] = {&x, NULL};
    cudaKernelNodeParams plus = launch_of(&add, args), wrong = launch_of(&add, bad);
    cudaMemsetParams fill = {x, 0, 0, 3, N, 1};
    cudaMemcpy3DParms copy;
    cudaHostNodeParams call = {NULL, NULL};
    cudaGraphNode_t node, none = (cudaGraphNode_t)(uintptr_t)77;
    cudaGraph_t graph;
    (void)state;
    memset(&copy, 0, sizeof copy);
    copy.extent = make_cudaExtent(4, 1, 2);
    CUDA(cudaMemset(x, 0, sizeof got));
    CUDA_IS(cudaErrorInvalidValue, cudaGraphCreate(NULL, 0));
    CUDA_IS(cudaErrorInvalidValue, cudaGraphCreate(&graph, 1));
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphAddKernelNode(&node, graph, NULL, 0, &plus));
    CUDA_IS(cudaErrorInvalidValue, cudaGraphAddKernelNode(NULL, graph, NULL, 0, &plus));
    CUDA_IS(cudaErrorInvalidValue, cudaGraphAddKernelNode(&node, graph, NULL, 1, &plus));
    CUDA_IS(cudaErrorInvalidValue, cudaGraphAddKernelNode(&node, graph, NULL, 0, NULL));
    CUDA_IS(cudaErrorInvalidValue, cudaGraphAddKernelNode(&node, graph, &none, 1, &plus));
    CUDA_IS(cudaErrorInvalidValue, cudaGraphAddKernelNode(&node, graph, &node, 1, &wrong));
    CUDA_IS(cudaErrorInvalidValue, cudaGraphAddMemsetNode(&node, graph, NULL, 0, &fill));
    fill.elementSize = 2;
    fill.value = 0x0102;
    fill.height = 2;
    CUDA_IS(cudaErrorNotSupported, cudaGraphAddMemsetNode(&node, graph, NULL, 0, &fill));
    CUDA_IS(cudaErrorNotSupported, cudaGraphAddMemcpyNode(&node, graph, NULL, 0, &copy));
    copy.extent.depth = 1;
    CUDA_IS(cudaErrorInvalidValue, cudaGraphAddMemcpyNode(&node, graph, NULL, 0, &copy));
    CUDA_IS(cudaErrorInvalidValue, cudaGraphAddHostNode(&node, graph, NULL, 0, &call));
    CUDA_IS(cudaErrorInvalidResourceHandle, cudaGraphAddKernelNode(&node, NULL, NULL, 0, &plus));
    cudaGetLastError();
    assert_int_equal(count_of(graph), 1);
    CUDA(cudaGraphAddKernelNode(&node, graph, &node, 1, &plus));
    launch_and_wait(graph, 1);
    CUDA(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    assert_int_equal(got[N - 1], 2);
    CUDA(cudaGraphDestroy(graph));
    CUDA_IS(cudaErrorInvalidResourceHandle, cudaGraphDestroy(graph));
    cudaGetLastError();
    CUDA(cudaFree(x));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_of_each_kind),
        cmocka_unit_test(dependencies_are_the_order),
        cmocka_unit_test(captured_graph_grows),
        cmocka_unit_test(launches_get_other_arguments),
        cmocka_unit_test(arguments_by_address),
        cmocka_unit_test(blocks_fill_the_device),
        cmocka_unit_test(rows_are_copied_and_filled),
        cmocka_unit_test(refusals_add_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
