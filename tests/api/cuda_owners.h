/* SPDX-License-Identifier: MIT */
/* Two arrays of managed memory and two streams, and who owns the memory, for the programs that test clstream/cuda_managed.h. */
#ifndef CLSTREAM_TESTS_CUDA_OWNERS_H
#define CLSTREAM_TESTS_CUDA_OWNERS_H

#include "cuda_calls.h"

#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

enum { N = 1024, BYTES = N * sizeof(int), BLOCK = 64 };

static cls_cuda_module adding =
    CLS_CUDA_SOURCE("kernel void add(global int *x, int by) { x[get_global_id(0)] += by; }\n");
static cls_cuda_kernel add = CLS_CUDA_KERNEL(&adding, "add");

static cudaStream_t stream, other;
static int *x, *y; /* each int is its number; NULL if the device shares no memory */
static sem_t gate;

static inline int has_managed(void) {
    int managed = 0;
    CUDA(cudaDeviceGetAttribute(&managed, cudaDevAttrManagedMemory, 0));
    return managed;
}

#define SKIP_WITHOUT_SHARED_MEMORY() \
    if (!has_managed())              \
    SKIP_BECAUSE("the device shares no memory with the host")

/* Managed memory in which each int is its number. */
static inline int *counted_ints(void) {
    int *made = NULL;
    CUDA(cudaMallocManaged((void **)&made, BYTES, cudaMemAttachGlobal));
    for (int i = 0; i < N; i++)
        made[i] = i;
    return made;
}

static inline int begin(void **state) {
    (void)state;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    if (has_managed()) {
        x = counted_ints();
        y = counted_ints();
    }
    return sem_init(&gate, 0, 0);
}

/* Opens the gate once more than any test holds streams, so that one that fails ends too. */
static inline int end(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++)
        sem_post(&gate);
    cuda_finish();
    CUDA(cudaFree(x));
    CUDA(cudaFree(y));
    x = y = NULL;
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaStreamDestroy(other));
    return sem_destroy(&gate);
}

/* Whether the host owns memory: then the library refuses a command that uses it, even for 0 bytes. */
static inline int is_the_hosts(const void *pointer) {
    const char zero = 0;
    cls_buffer buffer;
    cls_stream unused;
    OK(cls_pointer_get_buffer(pointer, &buffer, NULL));
    CUDA(cls_cuda_stream(cudaStreamPerThread, &unused));
    return cls_fill_async(buffer, 0, 0, &zero, 1, unused) == CLS_ERROR_INVALID_STATE;
}

/* It is the host's, and each int is its number plus `by`. */
static inline void expect_added(const int *ints, int by) {
    assert_true(is_the_hosts(ints));
    for (int i = 0; i < N; i++)
        assert_int_equal(ints[i], i + by);
}

static inline void launch_add(int *ints, int by, cudaStream_t on) {
    CUDA(cls_cuda_launch(&add, N / BLOCK, BLOCK, 0, on, ints, by));
}

static inline void wait_for_gate(void *arg) { sem_wait(arg); }

/* Keeps later work of a stream from beginning until the gate is opened. */
static inline void hold(cudaStream_t held) {
    cudaStream_t holder;
    cudaEvent_t event;
    CUDA(cudaStreamCreateWithFlags(&holder, cudaStreamNonBlocking));
    CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CUDA(cudaLaunchHostFunc(holder, wait_for_gate, &gate));
    CUDA(cudaEventRecord(event, holder));
    CUDA(cudaStreamWaitEvent(held, event, 0));
    CUDA(cudaEventDestroy(event));
    CUDA(cudaStreamDestroy(holder));
}

/* Work of a stream does not end by itself, though it is given time. */
static inline void expect_pending(cudaStream_t on) {
    const struct timespec ms = {0, 1000000};
    for (int i = 0; i < 20; i++) {
        CUDA_IS(cudaErrorNotReady, cudaStreamQuery(on));
        nanosleep(&ms, NULL);
    }
}

static inline void do_nothing(void *arg) { (void)arg; }

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

#endif
