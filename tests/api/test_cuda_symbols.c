/* SPDX-License-Identifier: MIT */
/*
 * The symbols of clstream/cuda_runtime.h: their first values, copies, kernels that read and write them, captures, wrong
 * sizes and directions, a reset, threads that name one at the same time, devices.
 */
#include "cuda_calls.h"

#include <pthread.h>
#include <string.h>

enum { TAPS = 4, N = 64, THREADS = 8 };

__constant__ float taps[TAPS] = {1, 2, 3, 4};
static __device__ int counter = 5;
__device__ int zeroed[N];

static cls_cuda_module module = CLS_CUDA_SOURCE(
    "kernel void filter(global float *x, constant float *taps, global int *counter) {\n"
    "    size_t i = get_global_id(0);\n"
    "    x[i] = taps[i % 4];\n"
    "    if (i == 0) *counter += 2; }\n");
static cls_cuda_kernel filter = CLS_CUDA_KERNEL(&module, "filter");

static int read_counter(void) {
    int value = -1;
    CUDA(cudaMemcpyFromSymbol(&value, counter, sizeof value, 0, cudaMemcpyDeviceToHost));
    return value;
}

static void run_filter(float *x, cudaStream_t stream) {
    CUDA(cls_cuda_launch(&filter, 1, N, 0, stream, x, cls_cuda_symbol(taps),
                         cls_cuda_symbol(counter)));
}

static void first_value_is_the_variables(void **state) {
    int zeros[N];
    (void)state;
    assert_int_equal(read_counter(), 5);
    memset(zeros, 1, sizeof zeros);
    CUDA(cudaMemcpyFromSymbol(zeros, zeroed, sizeof zeros, 0, cudaMemcpyDefault));
    for (int i = 0; i < N; i++)
        assert_int_equal(zeros[i], 0);
}

static void kernels_read_and_write_them(void **state) {
    float *x, got[N];
    int before = read_counter();
    (void)state;
    CUDA(cudaMalloc((void **)&x, sizeof got));
    run_filter(x, 0);
    CUDA(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        assert_true(got[i] == (float)(i % TAPS + 1));
    assert_int_equal(read_counter(), before + 2);
    assert_int_equal(counter, 5); /* the host's own */
    CUDA(cudaFree(x));
}

static void copies_have_offsets_and_directions(void **state) {
    const int first = 11, third = 33;
    int *device, *pinned, got[3];
    cudaStream_t stream;
    (void)state;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaMalloc((void **)&device, sizeof got));
    CUDA(cudaMallocHost((void **)&pinned, sizeof got));
    CUDA(cudaMemcpyToSymbol(zeroed, &first, sizeof first, 0, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpyToSymbolAsync(zeroed, &third, sizeof third, 2 * sizeof third, cudaMemcpyDefault,
                                 stream));
    CUDA(
        cudaMemcpyFromSymbolAsync(device, zeroed, sizeof got, 0, cudaMemcpyDeviceToDevice, stream));
    CUDA(cudaMemcpyFromSymbolAsync(pinned, zeroed, sizeof got, 0, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaMemcpyAsync(got, device, sizeof got, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    assert_int_equal(got[0], 11);
    assert_int_equal(got[1], 0);
    assert_int_equal(got[2], 33);
    assert_memory_equal(pinned, got, sizeof got);
    CUDA(cudaMemcpyToSymbol(zeroed, device, sizeof *device, 4 * sizeof *device,
                            cudaMemcpyDeviceToDevice));
    CUDA(cudaMemcpyFromSymbol(got, zeroed, sizeof *got, 4 * sizeof *got, cudaMemcpyDeviceToHost));
    assert_int_equal(got[0], 11);
    CUDA(cudaFree(device));
    CUDA(cudaFreeHost(pinned));
    CUDA(cudaStreamDestroy(stream));
}

static void address_is_device_memory(void **state) {
    cudaPointerAttributes attributes;
    int *start, *again, got[N];
    size_t bytes = 0;
    (void)state;
    CUDA(cudaGetSymbolAddress((void **)&start, zeroed));
    CUDA(cudaGetSymbolAddress((void **)&again, zeroed));
    CUDA(cudaGetSymbolSize(&bytes, zeroed));
    assert_ptr_equal(start, again);
    assert_int_equal(bytes, sizeof zeroed);
    CUDA(cudaPointerGetAttributes(&attributes, start + 1));
    assert_int_equal(attributes.type, cudaMemoryTypeDevice);
    CUDA(cudaMemset(start, 0x11, sizeof zeroed));
    CUDA(cudaMemcpyFromSymbol(got, zeroed, sizeof got, 0, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        assert_int_equal(got[i], 0x11111111);
}

static void bad_calls_are_refused(void **state) {
    float values[TAPS + 1] = {0}, *x;
    size_t bytes;
    (void)state;
    CUDA(cudaGetSymbolSize(&bytes, taps));
    CUDA(cudaMalloc((void **)&x, N * sizeof *x));
    CUDA_IS(cudaErrorInvalidSymbol, cudaGetSymbolSize(&bytes, taps[0]));
    CUDA_IS(cudaErrorInvalidSymbol,
            cudaMemcpyToSymbol(taps[0], values, 4, 0, cudaMemcpyHostToDevice));
    CUDA_IS(cudaErrorInvalidSymbol, cudaGetLastError());
    CUDA_IS(cudaErrorInvalidSymbol, cls_cuda_symbol_size(&bytes, NULL, 4));
    CUDA_IS(cudaErrorInvalidValue,
            cudaMemcpyToSymbol(taps, values, sizeof values, 0, cudaMemcpyHostToDevice));
    CUDA_IS(cudaErrorInvalidValue,
            cudaMemcpyToSymbol(taps, values, 4, sizeof taps, cudaMemcpyHostToDevice));
    CUDA_IS(cudaErrorInvalidValue,
            cudaMemcpyFromSymbol(values, taps, 4, SIZE_MAX, cudaMemcpyDeviceToHost));
    CUDA_IS(cudaErrorInvalidMemcpyDirection,
            cudaMemcpyToSymbol(taps, values, 4, 0, cudaMemcpyDeviceToHost));
    CUDA_IS(cudaErrorInvalidMemcpyDirection,
            cudaMemcpyFromSymbol(values, taps, 4, 0, cudaMemcpyHostToDevice));
    CUDA_IS(cudaErrorInvalidMemcpyDirection,
            cudaMemcpyFromSymbol(values, taps, 4, 0, (cudaMemcpyKind)9));
    CUDA_IS(cudaErrorInvalidValue,
            cudaMemcpyToSymbol(taps, values, 4, 0, cudaMemcpyDeviceToDevice));
    CUDA_IS(cudaErrorInvalidValue, cudaMemcpyToSymbol(taps, NULL, 4, 0, cudaMemcpyHostToDevice));
    CUDA_IS(cudaErrorInvalidValue, cudaGetSymbolAddress(NULL, taps));
    CUDA_IS(cudaErrorInvalidValue, cudaGetSymbolSize(NULL, taps));
    CUDA_IS(cudaErrorInvalidDevicePointer,
            cls_cuda_launch(&filter, 1, N, 0, 0, x, cls_cuda_symbol(taps[0]),
                            cls_cuda_symbol(counter)));
    CUDA(cudaFree(x));
    cudaGetLastError();
}

static void captures_hold_them(void **state) {
    float *x, *host, got[N];
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int before = read_counter();
    (void)state;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaMalloc((void **)&x, sizeof got));
    CUDA(cudaMallocHost((void **)&host, sizeof taps));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CUDA(cudaMemcpyToSymbolAsync(taps, host, sizeof taps, 0, cudaMemcpyHostToDevice, stream));
    run_filter(x, stream);
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int round = 1; round < 4; round++) {
        for (int i = 0; i < TAPS; i++)
            host[i] = (float)(10 * round + i);
        CUDA(cudaGraphLaunch(exec, stream));
        CUDA(cudaMemcpyAsync(got, x, sizeof got, cudaMemcpyDeviceToHost, stream));
        CUDA(cudaStreamSynchronize(stream));
        for (int i = 0; i < N; i++)
            assert_true(got[i] == (float)(10 * round + i % TAPS));
    }
    assert_int_equal(read_counter(), before + 6);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaFree(x));
    CUDA(cudaFreeHost(host));
    CUDA(cudaStreamDestroy(stream));
}

static void reset_begins_anew(void **state) {
    const int seven = 7;
    (void)state;
    CUDA(cudaMemcpyToSymbol(counter, &seven, sizeof seven, 0, cudaMemcpyHostToDevice));
    assert_int_equal(read_counter(), 7);
    CUDA(cudaDeviceReset());
    assert_int_equal(read_counter(), 5);
    CUDA(cudaDeviceReset());
}

static void *name_it(void *address) {
    CUDA(cudaGetSymbolAddress((void **)address, zeroed));
    return NULL;
}

static void threads_get_one_memory(void **state) {
    pthread_t threads[THREADS];
    void *addresses[THREADS];
    (void)state;
    CUDA(cudaDeviceReset());
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, name_it, &addresses[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 1; i < THREADS; i++)
        assert_ptr_equal(addresses[0], addresses[i]);
}

static void name_in_host_function(void *error) {
    size_t bytes;
    *(cudaError_t *)error = cudaGetSymbolSize(&bytes, counter);
    cudaGetLastError();
}

static void first_use_waits(void **state) {
    cudaError_t error = cudaSuccess;
    (void)state;
    CUDA(cudaDeviceReset());
    CUDA(cudaLaunchHostFunc(0, name_in_host_function, &error));
    CUDA(cudaDeviceSynchronize());
    assert_int_equal(error, cudaErrorNotPermitted);
    assert_int_equal(read_counter(), 5);
    CUDA(cudaLaunchHostFunc(0, name_in_host_function, &error));
    CUDA(cudaDeviceSynchronize());
    assert_int_equal(error, cudaSuccess);
}

static void devices_have_their_own(void **state) {
    const int nine = 9;
    int count;
    (void)state;
    CUDA(cudaGetDeviceCount(&count));
    if (count < 2)
        SKIP_BECAUSE("there is one device");
    CUDA(cudaMemcpyToSymbol(counter, &nine, sizeof nine, 0, cudaMemcpyHostToDevice));
    CUDA(cudaSetDevice(1));
    assert_int_equal(read_counter(), 5);
    CUDA(cudaSetDevice(0));
    assert_int_equal(read_counter(), 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_value_is_the_variables),
        cmocka_unit_test(kernels_read_and_write_them),
        cmocka_unit_test(copies_have_offsets_and_directions),
        cmocka_unit_test(address_is_device_memory),
        cmocka_unit_test(bad_calls_are_refused),
        cmocka_unit_test(captures_hold_them),
        cmocka_unit_test(reset_begins_anew),
        cmocka_unit_test(threads_get_one_memory),
        cmocka_unit_test(first_use_waits),
        cmocka_unit_test(devices_have_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
