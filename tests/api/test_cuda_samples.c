/* SPDX-License-Identifier: MIT */
/*
 * CUDA's host code as programs have it, over clstream/cuda_runtime.h: a copy that the host overlaps and times, parts on
 * streams, callbacks, graphs by capture with branches and with updates, stream-ordered memory, and unified memory on
 * streams. The kernels are OpenCL C, and each result is compared with the host's.
 */
#include "cuda_calls.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { N = 1 << 16, BLOCK = 64, STREAMS = 4 };

static cls_cuda_module module = CLS_CUDA_SOURCE(
    "kernel void add(global int *x, int by) { x[get_global_id(0)] += by; }\n"
    "kernel void store_product(global int *x, global const int *factor, int times) {\n"
    "    for (int k = 0; k < times; k++) x[get_global_id(0)] = *factor * times; }\n"
    "kernel void add_vectors(global const float *a, global const float *b, global float *c, int n) {\n"
    "    int i = get_global_id(0); if (i < n) c[i] = a[i] + b[i]; }\n"
    "kernel void sum_blocks(global const int *x, global int *sums, int n, local int *shared) {\n"
    "    int i = get_global_id(0), k = get_local_id(0);\n"
    "    shared[k] = i < n ? x[i] : 0;\n"
    "    for (int s = get_local_size(0) / 2; s > 0; s /= 2) {\n"
    "        barrier(CLK_LOCAL_MEM_FENCE); if (k < s) shared[k] += shared[k + s]; }\n"
    "    if (k == 0) sums[get_group_id(0)] = shared[0]; }\n"
    "kernel void sweep(global const float *a, global const float *b, global const float *x,\n"
    "                  global float *y, int n) {\n"
    "    int i = get_global_id(0); if (i >= n) return;\n"
    "    float sum = b[i];\n"
    "    for (int j = 0; j < n; j++) if (j != i) sum -= a[i * n + j] * x[j];\n"
    "    y[i] = sum / a[i * n + i]; }\n");
static cls_cuda_kernel add = CLS_CUDA_KERNEL(&module, "add");
static cls_cuda_kernel store_product = CLS_CUDA_KERNEL(&module, "store_product");
static cls_cuda_kernel add_vectors = CLS_CUDA_KERNEL(&module, "add_vectors");
static cls_cuda_kernel sum_blocks = CLS_CUDA_KERNEL(&module, "sum_blocks");
static cls_cuda_kernel sweep = CLS_CUDA_KERNEL(&module, "sweep");

static int *pinned_ints(size_t n) {
    int *made;
    CUDA(cudaMallocHost((void **)&made, n * sizeof *made));
    return made;
}

/* The shape of asyncAPI: copies and a kernel on stream 0, between events, and a host that counts meanwhile. */
static void host_counts_meanwhile(void **state) {
    int *host = pinned_ints(N), *device = device_ints(N);
    cudaEvent_t start, stop;
    unsigned long counter = 0;
    float ms = -1;
    cudaError_t asked;
    (void)state;
    for (int i = 0; i < N; i++)
        host[i] = i;
    CUDA(cudaMemset(device, 255, N * sizeof *device));
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreate(&stop));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaEventRecord(start, 0));
    CUDA(cudaMemcpyAsync(device, host, N * sizeof *host, cudaMemcpyHostToDevice, 0));
    CUDA(cls_cuda_launch(&add, N / BLOCK, BLOCK, 0, 0, device, 26));
    CUDA(cudaMemcpyAsync(host, device, N * sizeof *host, cudaMemcpyDeviceToHost, 0));
    CUDA(cudaEventRecord(stop, 0));
    while ((asked = cudaEventQuery(stop)) == cudaErrorNotReady)
        counter++;
    CUDA(asked);
    CUDA(cudaEventElapsedTime(&ms, start, stop));
    assert_true(ms >= 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(host[i], i + 26);
    CUDA(cudaEventDestroy(start));
    CUDA(cudaEventDestroy(stop));
    CUDA(cudaFreeHost(host));
    CUDA(cudaFree(device));
    cuda_finish();
}

/* A pointer for a kernel that reads or writes `bytes` bytes from there on, declared for the race checker. */
static cls_arg declared(const void *pointer, size_t bytes, cls_access access) {
    cls_buffer buffer;
    size_t offset;
    OK(cls_pointer_get_buffer(pointer, &buffer, &offset));
    cls_arg arg = cls_arg_buffer_at(buffer, offset, bytes);
    arg.access = access;
    return arg;
}

/* The shape of simpleStreams: a kernel on each part of an array, then on one stream each with the part's copy. */
static void parts_on_streams(void **state) {
    int *host = pinned_ints(N), *device = device_ints(N), *factor = device_ints(1);
    const int five = 5, times = 3, part = N / STREAMS;
    cudaStream_t streams[STREAMS];
    cudaEvent_t stop;
    (void)state;
    CUDA(cudaMemcpy(factor, &five, sizeof five, cudaMemcpyHostToDevice));
    for (int i = 0; i < STREAMS; i++)
        CUDA(cudaStreamCreate(&streams[i]));
    CUDA(cudaEventCreateWithFlags(&stop, cudaEventBlockingSync));
    CUDA(cudaMemset(device, 0, N * sizeof *device));
    memset(host, 255, N * sizeof *host);
    for (int i = 0; i < STREAMS; i++)
        CUDA(cls_cuda_launch(&store_product, part / BLOCK, BLOCK, 0, streams[i],
                             declared(device + i * part, part * sizeof *device, CLS_ACCESS_WRITE),
                             declared(factor, sizeof *factor, CLS_ACCESS_READ), times));
    for (int i = 0; i < STREAMS; i++)
        CUDA(cudaMemcpyAsync(host + i * part, device + i * part, part * sizeof *host,
                             cudaMemcpyDeviceToHost, streams[i]));
    CUDA(cudaEventRecord(stop, 0)); /* in the legacy order: after all of them */
    CUDA(cudaEventSynchronize(stop));
    for (int i = 0; i < N; i++)
        assert_int_equal(host[i], five * times);
    for (int i = 0; i < STREAMS; i++)
        CUDA(cudaStreamDestroy(streams[i]));
    CUDA(cudaEventDestroy(stop));
    CUDA(cudaFreeHost(host));
    CUDA(cudaFree(device));
    CUDA(cudaFree(factor));
    cuda_finish();
}

/* A job of workloads_call_back. */
struct workload {
    int id;
    int *host, *device;
    cudaStream_t stream;
    cudaError_t status;
    int right;
};
static atomic_int finished;

static void check_workload(cudaStream_t stream, cudaError_t status, void *arg) {
    struct workload *work = arg;
    work->status = status;
    work->right = stream == work->stream;
    for (int i = 0; i < N / 8; i++)
        work->right &= work->host[i] == i + work->id;
    atomic_fetch_add(&finished, 1);
}

static void count_one(void *arg) { atomic_fetch_add((atomic_int *)arg, 1); }

/* The shape of simpleCallback: each stream's results are checked by its callback. */
static void workloads_call_back(void **state) {
    enum { WORKS = 8 };
    static struct workload works[WORKS];
    atomic_int called = 0;
    (void)state;
    atomic_store(&finished, 0);
    for (int w = 0; w < WORKS; w++) {
        struct workload *work = &works[w];
        work->id = w;
        work->host = pinned_ints(N / 8);
        work->device = device_ints(N / 8);
        for (int i = 0; i < N / 8; i++)
            work->host[i] = i;
        CUDA(cudaStreamCreateWithFlags(&work->stream, cudaStreamNonBlocking));
        CUDA(cudaMemcpyAsync(work->device, work->host, N / 8 * sizeof(int), cudaMemcpyHostToDevice,
                             work->stream));
        CUDA(cls_cuda_launch(&add, N / 8 / BLOCK, BLOCK, 0, work->stream, work->device, w));
        CUDA(cudaMemcpyAsync(work->host, work->device, N / 8 * sizeof(int), cudaMemcpyDeviceToHost,
                             work->stream));
        CUDA(cudaStreamAddCallback(work->stream, check_workload, work, 0));
        CUDA(cudaLaunchHostFunc(work->stream, count_one, &called));
    }
    CUDA(cudaDeviceSynchronize());
    assert_int_equal(atomic_load(&finished), WORKS);
    assert_int_equal(atomic_load(&called), WORKS);
    for (int w = 0; w < WORKS; w++) {
        assert_int_equal(works[w].status, cudaSuccess);
        assert_true(works[w].right);
        CUDA(cudaStreamDestroy(works[w].stream));
        CUDA(cudaFreeHost(works[w].host));
        CUDA(cudaFree(works[w].device));
    }
    cuda_finish();
}

/* What the host function of reduction_by_capture keeps. */
static struct {
    const int *sum;
    long long total;
    int calls;
} kept;

static void keep_sum(void *arg) {
    (void)arg;
    kept.total += *kept.sum;
    kept.calls++;
}

/* The shape of simpleCudaGraphs: a reduction with branches, captured, launched often, and as a clone. */
static void reduction_by_capture(void **state) {
    enum { BLOCKS = N / BLOCK, LAUNCHES = 3 };
    int *host = pinned_ints(N), *sum = pinned_ints(1), *x = device_ints(N);
    int *sums = device_ints(BLOCKS), *totals = device_ints(BLOCKS / BLOCK), *total = device_ints(1);
    cudaStream_t stream, side;
    cudaEvent_t fork, cleared;
    cudaGraph_t graph, clone;
    cudaGraphExec_t exec, cloned;
    cudaStreamCaptureStatus capturing;
    size_t nodes = 0;
    long long wanted = 0;
    (void)state;
    for (int i = 0; i < N; i++)
        wanted += host[i] = i % 7;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaStreamCreate(&side));
    CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CUDA(cudaEventCreateWithFlags(&cleared, cudaEventDisableTiming));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(cudaEventRecord(fork, stream));
    CUDA(cudaStreamWaitEvent(side, fork, 0));
    CUDA(cudaMemcpyAsync(x, host, N * sizeof *x, cudaMemcpyDefault, stream));
    CUDA(cudaMemsetAsync(sums, 0, BLOCKS * sizeof *sums, side));
    CUDA(cudaMemsetAsync(total, 0, sizeof *total, side));
    CUDA(cudaEventRecord(cleared, side));
    CUDA(cudaStreamWaitEvent(stream, cleared, 0));
    CUDA(cls_cuda_launch(&sum_blocks, BLOCKS, BLOCK, BLOCK * sizeof(int), stream, x, sums, N));
    CUDA(cls_cuda_launch(&sum_blocks, BLOCKS / BLOCK, BLOCK, BLOCK * sizeof(int), stream, sums,
                         totals, BLOCKS));
    CUDA(cls_cuda_launch(&sum_blocks, 1, BLOCK, BLOCK * sizeof(int), stream, totals, total,
                         BLOCKS / BLOCK));
    CUDA(cudaMemcpyAsync(sum, total, sizeof *sum, cudaMemcpyDefault, stream));
    CUDA(cudaLaunchHostFunc(stream, keep_sum, NULL));
    CUDA(cudaStreamIsCapturing(stream, &capturing));
    assert_int_equal(capturing, cudaStreamCaptureStatusActive);
    CUDA_IS(cudaErrorStreamCaptureUnsupported,
            cudaStreamAddCallback(stream, check_workload, NULL, 0));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphGetNodes(graph, NULL, &nodes));
    assert_int_equal(nodes, 8);
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphClone(&clone, graph));
    CUDA(cudaGraphInstantiateWithFlags(&cloned, clone, 0));
    CUDA(cudaGraphUpload(exec, stream));
    kept.sum = sum;
    kept.total = kept.calls = 0;
    for (int i = 0; i < LAUNCHES; i++)
        CUDA(cudaGraphLaunch(exec, stream));
    for (int i = 0; i < LAUNCHES; i++)
        CUDA(cudaGraphLaunch(cloned, stream));
    CUDA(cudaStreamSynchronize(stream));
    assert_int_equal(kept.calls, 2 * LAUNCHES);
    assert_int_equal(kept.total, 2 * LAUNCHES * wanted);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphExecDestroy(cloned));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaGraphDestroy(clone));
    CUDA(cudaEventDestroy(fork));
    CUDA(cudaEventDestroy(cleared));
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaStreamDestroy(side));
    CUDA(cudaFreeHost(host));
    CUDA(cudaFreeHost(sum));
    CUDA(cudaFree(x));
    CUDA(cudaFree(sums));
    CUDA(cudaFree(totals));
    CUDA(cudaFree(total));
    cudaGetLastError(); /* the refused callback */
    cuda_finish();
}

enum { ROWS = 128, SWEEPS = 40 };

/* A system whose diagonal outweighs its rows, so that sweeps converge. */
static void make_system(float *a, float *b) {
    for (int i = 0; i < ROWS; i++) {
        b[i] = (float)(i % 5 - 2);
        for (int j = 0; j < ROWS; j++)
            a[i * ROWS + j] = i == j ? ROWS : (float)((i + 3 * j) % 7) / 8;
    }
}

/* The largest difference between the sides of the system. */
static float residual(const float *a, const float *b, const float *x) {
    float most = 0;
    for (int i = 0; i < ROWS; i++) {
        float sum = -b[i];
        for (int j = 0; j < ROWS; j++)
            sum += a[i * ROWS + j] * x[j];
        most = fmaxf(most, fabsf(sum));
    }
    return most;
}

/* The shape of jacobiCudaGraphs: each sweep is captured, and the executable graph takes the capture over. */
static void sweeps_by_updates(void **state) {
    static float a[ROWS * ROWS], b[ROWS], x[ROWS];
    float *da, *db, *dx, *dy;
    cudaStream_t stream;
    cudaGraphExec_t exec = NULL;
    (void)state;
    make_system(a, b);
    CUDA(cudaMalloc((void **)&da, sizeof a));
    CUDA(cudaMalloc((void **)&db, sizeof b));
    CUDA(cudaMalloc((void **)&dx, sizeof x));
    CUDA(cudaMalloc((void **)&dy, sizeof x));
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMemcpyAsync(da, a, sizeof a, cudaMemcpyHostToDevice, stream));
    CUDA(cudaMemcpyAsync(db, b, sizeof b, cudaMemcpyHostToDevice, stream));
    CUDA(cudaMemsetAsync(dx, 0, sizeof x, stream));
    for (int k = 0; k < SWEEPS; k++) {
        cudaGraphExecUpdateResultInfo result;
        cudaGraph_t graph;
        float *from = k % 2 ? dy : dx, *to = k % 2 ? dx : dy;
        CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        CUDA(cls_cuda_launch(&sweep, ROWS / BLOCK, BLOCK, 0, stream, da, db, from, to, ROWS));
        CUDA(cudaStreamEndCapture(stream, &graph));
        if (!exec)
            CUDA(cudaGraphInstantiate(&exec, graph, 0));
        else {
            CUDA(cudaGraphExecUpdate(exec, graph, &result));
            assert_int_equal(result.result, cudaGraphExecUpdateSuccess);
        }
        CUDA(cudaGraphDestroy(graph));
        CUDA(cudaGraphLaunch(exec, stream));
    }
    CUDA(cudaMemcpyAsync(x, SWEEPS % 2 ? dy : dx, sizeof x, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    assert_true(residual(a, b, x) < 1e-3f);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(da));
    CUDA(cudaFree(db));
    CUDA(cudaFree(dx));
    CUDA(cudaFree(dy));
    cuda_finish();
}

static void add_once(const float *a, const float *b, float *c, int n, cudaStream_t stream) {
    float *da, *db, *dc;
    const size_t bytes = (size_t)n * sizeof(float);
    CUDA(cudaMallocAsync((void **)&da, bytes, stream));
    CUDA(cudaMallocAsync((void **)&db, bytes, stream));
    CUDA(cudaMallocAsync((void **)&dc, bytes, stream));
    CUDA(cudaMemcpyAsync(da, a, bytes, cudaMemcpyHostToDevice, stream));
    CUDA(cudaMemcpyAsync(db, b, bytes, cudaMemcpyHostToDevice, stream));
    CUDA(cls_cuda_launch(&add_vectors, (n + BLOCK - 1) / BLOCK, BLOCK, 0, stream, da, db, dc, n));
    CUDA(cudaFreeAsync(da, stream));
    CUDA(cudaFreeAsync(db, stream));
    CUDA(cudaMemcpyAsync(c, dc, bytes, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaFreeAsync(dc, stream));
    CUDA(cudaStreamSynchronize(stream));
    for (int i = 0; i < n; i++)
        assert_true(c[i] == a[i] + b[i]);
}

/* The shape of streamOrderedAllocation: once with the pool as it is, then with a threshold, which keeps the memory. */
static void stream_ordered_allocation(void **state) {
    enum { COUNT = 10007 };
    float *a = malloc(3 * COUNT * sizeof *a), *b, *c;
    uint64_t threshold = UINT64_MAX, got = 0, reserved = 0;
    cudaMemPool_t pool;
    cudaStream_t stream;
    int device;
    (void)state;
    assert_non_null(a);
    b = a + COUNT;
    c = b + COUNT;
    for (int i = 0; i < COUNT; i++) {
        a[i] = (float)i;
        b[i] = (float)(i % 13) / 4;
    }
    CUDA(cudaGetDevice(&device));
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    add_once(a, b, c, COUNT, stream);
    CUDA(cudaDeviceGetDefaultMemPool(&pool, device));
    CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got));
    assert_true(got == threshold);
    for (int k = 0; k < 20; k++)
        add_once(a, b, c, COUNT, stream);
    CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
    assert_true(reserved >= 3 * COUNT * sizeof(float));
    CUDA(cudaStreamDestroy(stream));
    free(a);
    cuda_finish();
}

/* The shape of UnifiedMemoryStreams: tasks of many sizes, small ones by the host, the others by kernels, one memory. */
static void unified_memory_on_streams(void **state) {
    enum { TASKS = 24 };
    float *memory[TASKS];
    cudaStream_t streams[STREAMS];
    cudaDeviceProp prop;
    (void)state;
    CUDA(cudaGetDeviceProperties(&prop, 0));
    if (!prop.managedMemory)
        SKIP_BECAUSE("the device shares no memory with the host");
    for (int s = 0; s < STREAMS; s++)
        CUDA(cudaStreamCreate(&streams[s]));
    for (int t = 0; t < TASKS; t++) {
        int n = 100 + 37 * t;
        CUDA(cudaMallocManaged((void **)&memory[t], 3 * 1024 * sizeof(float), cudaMemAttachGlobal));
        for (int i = 0; i < n; i++) {
            memory[t][i] = (float)(i + t);
            memory[t][1024 + i] = (float)(2 * i);
        }
        CUDA(cudaMemPrefetchAsync(memory[t], 3 * 1024 * sizeof(float), 0, streams[t % STREAMS]));
        CUDA(cudaStreamAttachMemAsync(streams[t % STREAMS], memory[t], 0,
                                      n < 300 ? cudaMemAttachHost : cudaMemAttachSingle));
        if (n < 300) {
            CUDA(cudaStreamSynchronize(streams[t % STREAMS]));
            for (int i = 0; i < n; i++)
                memory[t][2048 + i] = memory[t][i] + memory[t][1024 + i];
        } else
            CUDA(cls_cuda_launch(&add_vectors, (n + BLOCK - 1) / BLOCK, BLOCK, 0,
                                 streams[t % STREAMS], memory[t], memory[t] + 1024,
                                 memory[t] + 2048, n));
    }
    CUDA(cudaDeviceSynchronize());
    for (int t = 0; t < TASKS; t++) {
        for (int i = 0; i < 100 + 37 * t; i++)
            assert_true(memory[t][2048 + i] == (float)(3 * i + t));
        CUDA(cudaFree(memory[t]));
    }
    for (int s = 0; s < STREAMS; s++)
        CUDA(cudaStreamDestroy(streams[s]));
    cuda_finish();
}

static int force_coarse(void **state) {
    (void)state;
    return setenv("CLSTREAM_MANAGED", "coarse", 1);
}

static int leave_coarse(void **state) {
    (void)state;
    return unsetenv("CLSTREAM_MANAGED");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_counts_meanwhile),
        cmocka_unit_test(parts_on_streams),
        cmocka_unit_test(workloads_call_back),
        cmocka_unit_test(reduction_by_capture),
        cmocka_unit_test(sweeps_by_updates),
        cmocka_unit_test(stream_ordered_allocation),
        cmocka_unit_test(unified_memory_on_streams),
        cmocka_unit_test_setup_teardown(unified_memory_on_streams, force_coarse, leave_coarse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
