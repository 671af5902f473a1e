/* SPDX-License-Identifier: MIT */
/*
 * Managed memory that host and device own by turns (clstream/cuda_managed.h): attachments, prefetches, copies, graphs, refused
 * calls, the library's own calls. The library is told that every device's is coarse-grained. Results are compared, and so is
 * the owner.
 */
#include "../support/trust.h"
#include "cuda_owners.h"

static cls_cuda_module parts = CLS_CUDA_SOURCE(
    "typedef struct { int by; global int *at; } part;\n"
    "kernel void add_part(global int *x, part p) { x[get_global_id(0)] += p.by; }\n");
static cls_cuda_kernel add_part = CLS_CUDA_KERNEL(&parts, "add_part");

static void attachments_have_checks(void **state) {
    int *device, *none = NULL, on_stack = 0;
    cudaGraph_t graph;
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    device = device_ints(N);
    CUDA_IS(cudaErrorInvalidValue, cudaStreamAttachMemAsync(stream, x, 0, 0));
    CUDA_IS(cudaErrorInvalidValue, cudaStreamAttachMemAsync(stream, x, 0, 3));
    CUDA_IS(cudaErrorInvalidValue, cudaStreamAttachMemAsync(stream, x, 4, cudaMemAttachGlobal));
    CUDA_IS(cudaErrorInvalidValue,
            cudaStreamAttachMemAsync(stream, device, 0, cudaMemAttachGlobal));
    CUDA_IS(cudaErrorInvalidValue,
            cudaStreamAttachMemAsync(stream, &on_stack, 0, cudaMemAttachGlobal));
    CUDA_IS(cudaErrorInvalidValue, cudaStreamAttachMemAsync(0, x, 0, cudaMemAttachSingle));
    CUDA_IS(cudaErrorInvalidValue,
            cudaStreamAttachMemAsync(cudaStreamLegacy, x, 0, cudaMemAttachSingle));
    CUDA(cudaStreamAttachMemAsync(cudaStreamPerThread, x, BYTES, cudaMemAttachSingle));
    CUDA(cudaStreamAttachMemAsync(0, x, BYTES, cudaMemAttachGlobal));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA_IS(cudaErrorStreamCaptureUnsupported,
            cudaStreamAttachMemAsync(stream, x, 0, cudaMemAttachHost));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphDestroy(graph));
    CUDA_IS(cudaErrorInvalidValue, cudaMallocManaged((void **)&none, BYTES, cudaMemAttachSingle));
    CUDA(cudaFree(device));
    cudaGetLastError();
}

/* In the stream's order, after all that uses the memory; kernels are refused from the call on, copies run on the host. */
static void attached_to_the_host(void **state) {
    int *device;
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    device = device_ints(N);
    launch_add(x, 1, other);
    OK(cls_stream_synchronize(other));
    hold(other);
    launch_add(x, 4, other);
    CUDA(cudaStreamAttachMemAsync(stream, x, 0, cudaMemAttachHost));
    CUDA(cudaStreamSynchronize(cudaStreamPerThread)); /* another wait returns */
    expect_pending(stream);
    sem_post(&gate);
    CUDA(cudaStreamSynchronize(stream));
    expect_added(x, 5);
    CUDA_IS(cudaErrorIllegalState, cls_cuda_launch(&add, N / BLOCK, BLOCK, 0, stream, x, 1));
    CUDA(cudaMemcpyAsync(device, x, BYTES, cudaMemcpyDefault, stream));
    assert_true(is_the_hosts(x));
    launch_add(device, 1, stream);
    CUDA(cudaMemcpyAsync(x, device, BYTES, cudaMemcpyDefault, stream));
    CUDA(cudaMemPrefetchAsync(x, BYTES, 0, stream));
    CUDA(cudaStreamSynchronize(stream));
    expect_added(x, 6);
    CUDA(cudaStreamAttachMemAsync(stream, x, 0, cudaMemAttachSingle));
    launch_add(x, 1, stream);
    CUDA(cudaStreamSynchronize(stream));
    expect_added(x, 7);
    CUDA(cudaFree(y));
    CUDA(cudaMallocManaged((void **)&y, BYTES, cudaMemAttachHost));
    for (int i = 0; i < N; i++)
        y[i] = i;
    CUDA_IS(cudaErrorIllegalState, cls_cuda_launch(&add, N / BLOCK, BLOCK, 0, stream, y, 1));
    CUDA(cudaStreamAttachMemAsync(stream, y, 0, cudaMemAttachGlobal));
    launch_add(y, 1, other);
    CUDA(cudaStreamSynchronize(other));
    expect_added(y, 1);
    CUDA(cudaFree(device));
    cudaGetLastError();
}

static void prefetches_hand_over(void **state) {
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    CUDA(cudaMemPrefetchAsync(x, BYTES, 0, stream));
    assert_false(is_the_hosts(x));
    launch_add(x, 2, other);
    CUDA(cudaMemPrefetchAsync(x, BYTES, cudaCpuDeviceId, stream));
    assert_true(is_the_hosts(x)); /* from a point on behind the other stream's work too */
    CUDA(cudaStreamSynchronize(stream));
    expect_added(x, 2);
    CUDA(cudaMemPrefetchAsync(x, BYTES, cudaCpuDeviceId, stream));
    expect_added(x, 2);
    CUDA(cudaMemPrefetchAsync(x + 8, BYTES / 2, 0, stream));
    CUDA(cudaStreamSynchronize(stream));
    expect_added(x, 2);
}

/* --- copies and graphs --- */

static void copies_and_fills_take_memory(void **state) {
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    CUDA(cudaMemsetAsync(y, 0, BYTES, stream));
    assert_false(is_the_hosts(y));
    CUDA(cudaMemcpyAsync(y, x, BYTES, cudaMemcpyDefault, stream));
    assert_false(is_the_hosts(x));
    CUDA(cudaMemset2DAsync(x, 16, 0, 4, N / 4, stream));
    CUDA(cudaMemcpy2DAsync(x, 16, y, 16, 8, N / 4, cudaMemcpyDeviceToDevice, stream));
    CUDA(cudaStreamSynchronize(stream));
    expect_added(x, 0);
    expect_added(y, 0);
    CUDA(cudaMemcpy(x, y, BYTES, cudaMemcpyHostToHost));
    expect_added(x, 0);
}

static void captured_memory_is_taken_by_launches(void **state) {
    int *untouched;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    untouched = counted_ints();
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(cudaMemcpyAsync(y, x, BYTES, cudaMemcpyDefault, stream));
    launch_add(y, 1, stream);
    CUDA(cudaLaunchHostFunc(stream, wait_for_gate, &gate));
    CUDA(cudaStreamEndCapture(stream, &graph));
    assert_true(is_the_hosts(x) && is_the_hosts(y));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++)
            x[i] = i + 10 * round;
        CUDA(cudaGraphLaunch(exec, stream));
        assert_true(!is_the_hosts(x) && !is_the_hosts(y) && is_the_hosts(untouched));
        CUDA(cudaStreamSynchronize(other));
        assert_false(is_the_hosts(y));
        sem_post(&gate);
        CUDA(cudaStreamSynchronize(stream));
        expect_added(x, 10 * round);
        expect_added(y, 10 * round + 1);
    }
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaFree(untouched));
}

/* Memory that another stream is about to have. */
/* It is refused, and ends the capture. */
static void captured_prefetch_takes_no_memory(void **state) {
    cudaGraph_t graph = NULL;
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    launch_add(x, 1, stream);
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    assert_int_equal(cudaMemPrefetchAsync(x, BYTES, cudaCpuDeviceId, stream),
                     cudaErrorNotSupported);
    assert_int_not_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    cudaGetLastError();
    CUDA(cudaDeviceSynchronize());
    expect_added(x, 1);
}

static void captures_wait_for_nothing(void **state) {
    cudaGraph_t graph;
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    hold(other);
    launch_add(x, 1, other);
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launch_add(x, 1, stream);
    CUDA(cudaStreamEndCapture(stream, &graph));
    assert_false(is_the_hosts(x));
    sem_post(&gate);
    CUDA(cudaStreamSynchronize(other));
    expect_added(x, 1);
    CUDA(cudaGraphDestroy(graph));
}

static void nodes_use_memory(void **state) {
    int one = 1, two = 2;
    void *args[] = {&x, &one}, *changed[] = {&y, &two};
    cudaKernelNodeParams kernel = {&add, {N / BLOCK, 1, 1}, {BLOCK, 1, 1}, 0, args, NULL};
    cudaMemsetParams fill = {NULL, 0, 0x01020304, 4, N, 1};
    cudaGraphNode_t filled, added;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    fill.dst = x;
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphAddMemsetNode(&filled, graph, NULL, 0, &fill));
    CUDA(cudaGraphAddKernelNode(&added, graph, &filled, 1, &kernel));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    expect_added(x, 0);
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    for (int i = 0; i < N; i++)
        assert_int_equal(x[i], 0x01020305);
    kernel.kernelParams = changed;
    CUDA(cudaGraphExecKernelNodeSetParams(exec, added, &kernel));
    expect_added(y, 0);
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    expect_added(y, 2);
    assert_int_equal(x[0], 0x01020304);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
}

/* --- refused calls, other calls --- */

static void refused_launches_give_memory_back(void **state) {
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    CUDA_IS(cudaErrorInvalidValue, cls_cuda_launch(&add, N / BLOCK, BLOCK, 0, stream, x));
    expect_added(x, 0);
    CUDA_IS(cudaErrorInvalidValue, cudaMemcpyAsync(x, x + 1, 8, cudaMemcpyDefault, stream));
    expect_added(x, 0);
    cudaGetLastError();
}

struct part {
    int by;
    int *at;
};

static cudaError_t launch_part(int *ints, const struct part *part) {
    return cls_cuda_launch(&add_part, N / BLOCK, BLOCK, 0, stream, ints,
                           cls_arg_value(part, sizeof *part));
}

static void addresses_in_values_are_refused(void **state) {
    struct part part = {3, NULL};
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    trust_need(NULL, "structure_arguments");
    part.at = x + 5;
    CUDA_IS(cudaErrorNotSupported, launch_part(y, &part));
    expect_detail("address of managed memory");
    expect_added(y, 0);
    part.at = y + 5;
    CUDA(launch_part(y, &part));
    CUDA(cudaStreamSynchronize(stream));
    expect_added(y, 3);
    cudaGetLastError();
}

static void library_calls_are_enclosed(void **state) {
    const int nine = 9;
    size_t offset;
    cls_buffer buffer;
    cls_arg arg;
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    arg = cls_arg_pointer(x + 1);
    OK(cls_pointer_get_buffer(x, &buffer, &offset));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_fill_async(buffer, 0, BYTES, &nine, 4, stream));
    OK(cls_cuda_managed_begin(stream, &arg, 1));
    CUDA(cudaStreamSynchronize(other));
    CUDA(cudaLaunchHostFunc(stream, do_nothing, NULL));
    assert_false(is_the_hosts(x)); /* though nothing is pending */
    OK(cls_cuda_managed_end(stream, &arg, 1, cls_fill_async(buffer, 0, BYTES, &nine, 4, stream)));
    assert_false(is_the_hosts(x));
    CUDA(cudaStreamSynchronize(stream));
    assert_true(is_the_hosts(x));
    assert_int_equal(x[N - 1], 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(attachments_have_checks),
        TEST(attached_to_the_host),
        TEST(prefetches_hand_over),
        TEST(copies_and_fills_take_memory),
        TEST(captured_memory_is_taken_by_launches),
        TEST(captured_prefetch_takes_no_memory),
        TEST(captures_wait_for_nothing),
        TEST(nodes_use_memory),
        TEST(refused_launches_give_memory_back),
        TEST(addresses_in_values_are_refused),
        TEST(library_calls_are_enclosed),
    };
    if (setenv("CLSTREAM_MANAGED", "coarse", 1))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
