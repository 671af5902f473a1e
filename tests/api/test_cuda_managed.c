/* SPDX-License-Identifier: MIT */
/*
 * Managed memory that host and device own by turns (clstream/cuda_managed.h): which calls take it and which give it back,
 * streams that share it, host functions, resets, threads. The library is told that every device's is coarse-grained. Results
 * are compared, and so is the owner.
 */
#include "cuda_owners.h"

#include <pthread.h>

static cls_cuda_module summing = CLS_CUDA_SOURCE(
    "kernel void sum(global const int *x, global int *y) { y[get_global_id(0)] += x[get_global_id(0)]; }\n");
static cls_cuda_kernel sum = CLS_CUDA_KERNEL(&summing, "sum");

/* --- waits --- */

static void device_is_waited_for(cudaEvent_t event) {
    (void)event;
    CUDA(cudaDeviceSynchronize());
}
static void stream_is_waited_for(cudaEvent_t event) {
    (void)event;
    CUDA(cudaStreamSynchronize(stream));
}
static void stream_is_asked(cudaEvent_t event) {
    cudaError_t asked;
    (void)event;
    while ((asked = cudaStreamQuery(stream)) == cudaErrorNotReady)
        ;
    CUDA(asked);
}
static void event_is_waited_for(cudaEvent_t event) { CUDA(cudaEventSynchronize(event)); }
static void event_is_asked(cudaEvent_t event) {
    cudaError_t asked;
    while ((asked = cudaEventQuery(event)) == cudaErrorNotReady)
        ;
    CUDA(asked);
}
/* In the order of stream 0, which `stream` does not take part in. */
static void copy_waits(cudaEvent_t event) {
    int *device = device_ints(1), value = 5;
    CUDA(cudaStreamWaitEvent(0, event, 0));
    CUDA(cudaMemcpy(device, &value, sizeof value, cudaMemcpyHostToDevice));
    CUDA(cudaFree(device));
}

static void waits_give_memory_back(void **state) {
    static void (*const waits[])(cudaEvent_t event) = {device_is_waited_for, stream_is_waited_for,
                                                       stream_is_asked,      event_is_waited_for,
                                                       event_is_asked,       copy_waits};
    cudaEvent_t event;
    int by = 0;
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    assert_true(is_the_hosts(x));
    for (size_t w = 0; w < sizeof waits / sizeof *waits; w++) {
        launch_add(x, 7, stream);
        CUDA(cudaEventRecord(event, stream));
        assert_false(is_the_hosts(x));
        waits[w](event);
        expect_added(x, by += 7);
        for (int i = 0; i < N; i++)
            x[i]++;
        by++;
    }
    CUDA(cudaEventDestroy(event));
}

/* What is waited for says which memory comes back: other streams' work goes on. */
static void pending_uses_keep_memory(void **state) {
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    hold(other);
    launch_add(x, 1, stream);
    launch_add(y, 2, other);
    CUDA(cudaStreamSynchronize(stream));
    expect_pending(other);
    expect_added(x, 1);
    assert_false(is_the_hosts(y));
    sem_post(&gate);
    CUDA(cudaStreamSynchronize(other));
    expect_added(y, 2);
}

static void streams_share_memory(void **state) {
    int *z;
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    z = counted_ints();
    CUDA(cls_cuda_launch(&sum, N / BLOCK, BLOCK, 0, stream, x, y));
    hold(other);
    CUDA(cls_cuda_launch(&sum, N / BLOCK, BLOCK, 0, other, x, z));
    CUDA(cudaStreamSynchronize(stream));
    assert_false(is_the_hosts(x));
    assert_true(is_the_hosts(y));
    sem_post(&gate);
    CUDA(cudaStreamSynchronize(other));
    expect_added(x, 0);
    for (int i = 0; i < N; i++) {
        assert_int_equal(y[i], 2 * i);
        assert_int_equal(z[i], 2 * i);
    }
    CUDA(cudaFree(z));
}

/* A stream that comes to memory later waits until the device has it. */
static void second_stream_waits_for_the_hand_over(void **state) {
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    hold(stream);
    CUDA(cudaMemPrefetchAsync(x, BYTES, 0, stream));
    launch_add(x, 3, other);
    expect_pending(other);
    sem_post(&gate);
    CUDA(cudaStreamSynchronize(other));
    CUDA(cudaStreamSynchronize(stream));
    expect_added(x, 3);
}

/* The device has it again by a prefetch of the other stream. */
static void stream_waits_for_memory_that_it_handed_over(void **state) {
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    launch_add(x, 1, stream);
    CUDA(cudaMemPrefetchAsync(x, BYTES, cudaCpuDeviceId, stream));
    hold(other);
    CUDA(cudaMemPrefetchAsync(x, BYTES, 0, other));
    launch_add(x, 2, stream);
    expect_pending(stream);
    sem_post(&gate);
    CUDA(cudaStreamSynchronize(other));
    CUDA(cudaStreamSynchronize(stream));
    expect_added(x, 3);
}

static void event_stands_for_earlier_work_alone(void **state) {
    cudaEvent_t event;
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    launch_add(x, 1, stream);
    CUDA(cudaEventRecord(event, stream));
    hold(stream);
    launch_add(y, 1, stream);
    CUDA(cudaEventSynchronize(event));
    expect_added(x, 1);
    assert_false(is_the_hosts(y));
    sem_post(&gate);
    CUDA(cudaStreamSynchronize(stream));
    expect_added(y, 1);
    CUDA(cudaEventDestroy(event));
}

static void destroyed_streams_give_memory_back(void **state) {
    cudaStream_t gone;
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    CUDA(cudaStreamCreateWithFlags(&gone, cudaStreamNonBlocking));
    hold(gone);
    launch_add(x, 4, gone);
    CUDA(cudaStreamDestroy(gone));
    CUDA(cudaStreamSynchronize(stream));
    assert_false(is_the_hosts(x));
    sem_post(&gate);
    CUDA(cudaDeviceSynchronize());
    expect_added(x, 4);
}

static void memory_is_freed_in_use(void **state) {
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    hold(stream);
    launch_add(x, 4, stream);
    CUDA_IS(cudaErrorInvalidValue, cudaFree(x + 1));
    CUDA_IS(cudaErrorInvalidValue, cudaGetLastError());
    CUDA(cudaFree(x));
    x = NULL;
    sem_post(&gate);
    CUDA(cudaDeviceSynchronize());
}

/* --- the host in a stream's order --- */

static int was_the_hosts;

static void double_on_host(void *arg) {
    (void)arg;
    was_the_hosts = is_the_hosts(x);
    for (int i = 0; i < N; i++)
        x[i] *= 2;
}

static void double_in_callback(cudaStream_t on, cudaError_t status, void *arg) {
    (void)on;
    (void)status;
    double_on_host(arg);
}

static void host_functions_have_their_streams_memory(void **state) {
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    hold(stream);
    launch_add(x, 1, stream);
    CUDA(cudaLaunchHostFunc(stream, double_on_host, NULL));
    assert_true(is_the_hosts(x)); /* from the point on that the stream has yet to reach */
    sem_post(&gate);
    CUDA(cudaStreamSynchronize(stream));
    assert_true(was_the_hosts);
    was_the_hosts = 0;
    launch_add(x, 3, stream);
    CUDA(cudaStreamAddCallback(stream, double_in_callback, NULL, 0));
    CUDA(cudaStreamSynchronize(stream));
    assert_true(was_the_hosts);
    for (int i = 0; i < N; i++)
        assert_int_equal(x[i], 2 * (2 * (i + 1) + 3));
}

/* An event before the host function tells of the kernel alone, and yet the memory is there. */
static void waits_see_what_a_host_function_got(void **state) {
    cudaEvent_t event;
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    launch_add(x, 1, stream);
    CUDA(cudaEventRecord(event, stream));
    CUDA(cudaLaunchHostFunc(stream, wait_for_gate, &gate));
    CUDA(cudaEventSynchronize(event));
    assert_int_equal(cls_cuda_coarse_at(x)->owner, CLS_CUDA_HOST);
    expect_added(x, 1);
    sem_post(&gate);
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaEventDestroy(event));
}

static void host_functions_leave_other_streams_memory(void **state) {
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    launch_add(x, 1, other);
    OK(cls_stream_synchronize(other)); /* a call that gives nothing back */
    CUDA(cudaLaunchHostFunc(stream, do_nothing, NULL));
    assert_false(is_the_hosts(x));
    hold(other);
    CUDA(cls_cuda_launch(&sum, N / BLOCK, BLOCK, 0, other, x, y));
    CUDA(cudaMemPrefetchAsync(x, BYTES, 0, stream));
    CUDA(cudaLaunchHostFunc(stream, do_nothing, NULL));
    assert_false(is_the_hosts(x));
    sem_post(&gate);
    CUDA(cudaDeviceSynchronize());
    assert_true(is_the_hosts(x));
}

/* The device has it again behind the host function, and a stream that used it before waits for that. */
static void streams_use_memory_again_after_a_host_function(void **state) {
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    launch_add(x, 1, other);
    OK(cls_stream_synchronize(other));
    launch_add(x, 1, stream);
    CUDA(cudaLaunchHostFunc(stream, wait_for_gate, &gate));
    CUDA(cudaLaunchHostFunc(stream, double_on_host, NULL));
    CUDA(cudaMemPrefetchAsync(x, BYTES, 0, stream));
    launch_add(x, 3, other);
    expect_pending(other);
    sem_post(&gate);
    CUDA(cudaDeviceSynchronize());
    assert_true(is_the_hosts(x));
    for (int i = 0; i < N; i++)
        assert_int_equal(x[i], 2 * (i + 2) + 3);
}

/* --- devices and threads --- */

static void device_says_how_it_shares(void **state) {
    int concurrent = -1;
    cudaPointerAttributes attributes;
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    CUDA(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0));
    assert_int_equal(concurrent, 0);
    CUDA(cudaPointerGetAttributes(&attributes, x + 2));
    assert_int_equal(attributes.type, cudaMemoryTypeManaged);
    assert_ptr_equal(attributes.hostPointer, x + 2);
    assert_ptr_equal(attributes.devicePointer, x + 2);
}

/* Streams and memory of the old context are gone; the new one has its own. */
static void resets_forget_memory(void **state) {
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    launch_add(x, 1, stream);
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaStreamDestroy(other));
    CUDA(cudaDeviceReset());
    begin(state);
    CUDA(cudaDeviceSynchronize());
    launch_add(x, 2, stream);
    CUDA(cudaStreamSynchronize(stream));
    expect_added(x, 2);
}

/* As a worker of UnifiedMemoryStreams: small tasks by the host, the others by kernels of the thread's stream. */
struct worker {
    pthread_t thread;
    cudaStream_t stream;
    int *tasks[16];
    cudaError_t error;
};

static void *do_tasks(void *arg) {
    struct worker *worker = arg;
    for (int t = 0; t < 16 && worker->error == cudaSuccess; t++) {
        int *task = worker->tasks[t];
        worker->error = cudaStreamAttachMemAsync(worker->stream, task, 0,
                                                 t % 3 ? cudaMemAttachSingle : cudaMemAttachHost);
        if (worker->error == cudaSuccess)
            worker->error =
                t % 3 ? cls_cuda_launch(&add, N / BLOCK, BLOCK, 0, worker->stream, task, t)
                      : cudaStreamSynchronize(worker->stream);
        for (int i = 0; i < N && t % 3 == 0; i++)
            task[i] += t;
    }
    return NULL;
}

static void threads_share_the_work(void **state) {
    static struct worker workers[4];
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    for (int w = 0; w < 4; w++) {
        CUDA(cudaStreamCreate(&workers[w].stream));
        for (int t = 0; t < 16; t++)
            workers[w].tasks[t] = counted_ints();
    }
    for (int w = 0; w < 4; w++)
        assert_int_equal(pthread_create(&workers[w].thread, NULL, do_tasks, &workers[w]), 0);
    for (int w = 0; w < 4; w++)
        assert_int_equal(pthread_join(workers[w].thread, NULL), 0);
    CUDA(cudaDeviceSynchronize());
    for (int w = 0; w < 4; w++) {
        CUDA(workers[w].error);
        CUDA(cudaStreamDestroy(workers[w].stream));
        for (int t = 0; t < 16; t++) {
            expect_added(workers[w].tasks[t], t);
            CUDA(cudaFree(workers[w].tasks[t]));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(waits_give_memory_back),
        TEST(pending_uses_keep_memory),
        TEST(streams_share_memory),
        TEST(second_stream_waits_for_the_hand_over),
        TEST(stream_waits_for_memory_that_it_handed_over),
        TEST(event_stands_for_earlier_work_alone),
        TEST(destroyed_streams_give_memory_back),
        TEST(memory_is_freed_in_use),
        TEST(host_functions_have_their_streams_memory),
        TEST(waits_see_what_a_host_function_got),
        TEST(host_functions_leave_other_streams_memory),
        TEST(streams_use_memory_again_after_a_host_function),
        TEST(device_says_how_it_shares),
        TEST(resets_forget_memory),
        TEST(threads_share_the_work),
    };
    if (setenv("CLSTREAM_MANAGED", "coarse", 1))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
