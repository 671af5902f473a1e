/* SPDX-License-Identifier: MIT */
/*
 * The calls of clstream/cuda_runtime.h: errors by number, sticky ones, bad arguments of each call, the legacy order of
 * stream 0, streams of threads, pitched and pageable copies, arguments of launches, pools, captures.
 */
#include "../support/trust.h"
#include "cuda_calls.h"

#include "cuda_other_unit.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char text[] =
    "kernel void store(global int *x, int value) { x[get_global_id(0)] = value; }\n"
    "kernel void nothing(void) { }\n"
    "kernel void place(global int *x, int width, int height) {\n"
    "    x[(get_global_id(2) * height + get_global_id(1)) * width + get_global_id(0)] =\n"
    "        get_group_id(0) + 10 * get_group_id(1) + 100 * get_group_id(2); }\n"
    "typedef struct { int a; float b; } pair;\n"
    "kernel void values(global long *out, char a, uchar b, short c, ushort d, int e, uint f,\n"
    "                   long g, ulong h, float i, pair p) {\n"
    "    out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e; out[5] = f; out[6] = g;\n"
    "    out[7] = h; out[8] = 4 * i; out[9] = p.a; out[10] = 4 * p.b; }\n";
static cls_cuda_module module = CLS_CUDA_SOURCE(text);
static cls_cuda_kernel store = CLS_CUDA_KERNEL(&module, "store");
static cls_cuda_kernel nothing = CLS_CUDA_KERNEL(&module, "nothing");
static cls_cuda_kernel place = CLS_CUDA_KERNEL(&module, "place");
static cls_cuda_kernel values = CLS_CUDA_KERNEL(&module, "values");

/* --- errors --- */

static void statuses_are_errors(void **state) {
    (void)state;
    for (int s = CLS_ERROR_FORKED; s <= CLS_NOT_READY; s++) {
        cudaError_t error = cls_cuda_error((cls_status)s);
        assert_true((error == cudaSuccess) == (s == CLS_SUCCESS));
        assert_memory_equal(cudaGetErrorName(error), "cuda", 4);
        assert_string_not_equal(cudaGetErrorString(error), "unrecognized error code");
        if (s != CLS_ERROR_TIMEOUT && s != CLS_ERROR_DRIVER)
            assert_int_not_equal(error, cudaErrorUnknown);
    }
    assert_int_equal(cudaErrorInvalidValue, 1);
    assert_int_equal(cudaErrorMemoryAllocation, 2);
    assert_int_equal(cudaErrorInvalidDevicePointer, 17);
    assert_int_equal(cudaErrorInvalidResourceHandle, 400);
    assert_int_equal(cudaErrorNotReady, 600);
    assert_int_equal(cudaErrorLaunchFailure, 719);
    assert_string_equal(cudaGetErrorName(cudaErrorNotSupported), "cudaErrorNotSupported");
    assert_string_equal(cudaGetErrorName((cudaError_t)12345), "unrecognized error code");
}

static void last_error_is_kept_once(void **state) {
    int device = -1;
    (void)state;
    CUDA(cudaGetLastError());
    CUDA_IS(cudaErrorInvalidDevice, cudaSetDevice(1000));
    CUDA(cudaGetDevice(&device));
    assert_int_equal(device, 0);
    CUDA_IS(cudaErrorInvalidDevice, cudaPeekAtLastError());
    CUDA_IS(cudaErrorInvalidDevice, other_unit_peek());
    CUDA_IS(cudaErrorInvalidDevice, cudaGetLastError());
    CUDA(cudaGetLastError());
    CUDA_IS(cudaErrorInvalidDevice, other_unit_fail());
    CUDA_IS(cudaErrorInvalidDevice, cudaGetLastError());
}

static void bad_arguments_are_refused(void **state) {
    char host[64], *device, *none = NULL;
    cudaStream_t stream, gone;
    cudaEvent_t event, untimed;
    cudaDeviceProp prop;
    float ms;
    int value;
    size_t pitch;
    (void)state;
    CUDA(cudaMalloc((void **)&device, 64));
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaStreamCreate(&gone));
    CUDA(cudaStreamDestroy(gone));
    CUDA(cudaEventCreate(&event));
    CUDA(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    CUDA_IS(cudaErrorInvalidValue, cudaGetDeviceCount(NULL));
    CUDA_IS(cudaErrorInvalidValue, cudaGetDevice(NULL));
    CUDA_IS(cudaErrorInvalidDevice, cudaGetDeviceProperties(&prop, -1));
    CUDA_IS(cudaErrorInvalidValue, cudaGetDeviceProperties(NULL, 0));
    CUDA_IS(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, (cudaDeviceAttr)999, 0));
    CUDA_IS(cudaErrorInvalidValue, cudaMalloc(NULL, 64));
    CUDA_IS(cudaErrorMemoryAllocation, cudaMalloc((void **)&none, SIZE_MAX / 2));
    CUDA_IS(cudaErrorMemoryAllocation,
            cudaMallocPitch((void **)&none, &pitch, SIZE_MAX / 2, SIZE_MAX / 2));
    assert_null(none);
    CUDA_IS(cudaErrorInvalidValue, cudaFree(device + 1));
    CUDA_IS(cudaErrorInvalidDevicePointer, cudaFree(host));
    CUDA_IS(cudaErrorInvalidValue, cudaFreeHost(host));
    CUDA_IS(cudaErrorInvalidValue, cudaHostAlloc((void **)&none, 64, 8));
    CUDA_IS(cudaErrorInvalidValue, cudaMemcpy(device, NULL, 64, cudaMemcpyDefault));
    CUDA_IS(cudaErrorInvalidValue, cudaMemcpy(device, host, 65, cudaMemcpyHostToDevice));
    CUDA_IS(cudaErrorInvalidValue, cudaMemcpy(device, host, 64, cudaMemcpyDeviceToHost));
    CUDA_IS(cudaErrorInvalidValue, cudaMemcpy(host, device, 64, cudaMemcpyHostToHost));
    CUDA_IS(cudaErrorInvalidMemcpyDirection, cudaMemcpy(device, host, 64, (cudaMemcpyKind)9));
    CUDA_IS(cudaErrorInvalidPitchValue,
            cudaMemcpy2D(device, 4, host, 8, 8, 2, cudaMemcpyHostToDevice));
    CUDA_IS(cudaErrorInvalidPitchValue, cudaMemset2D(device, 4, 0, 8, 2));
    CUDA_IS(cudaErrorInvalidDevicePointer, cudaMemset(host, 0, 64));
    CUDA_IS(cudaErrorInvalidDevice, cudaMemcpyPeer(device, 77, device, 0, 8));
    CUDA_IS(cudaErrorInvalidValue, cudaMemPrefetchAsync(device, 64, 0, stream));
    CUDA_IS(cudaErrorInvalidValue, cudaMemAdvise(device, 64, cudaMemAdviseSetReadMostly, 0));
    CUDA_IS(cudaErrorInvalidValue, cudaStreamCreate(NULL));
    CUDA_IS(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&gone, 2));
    CUDA_IS(cudaErrorInvalidResourceHandle, cudaStreamDestroy(NULL));
    CUDA_IS(cudaErrorInvalidResourceHandle, cudaStreamDestroy(cudaStreamPerThread));
    CUDA_IS(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(gone));
    CUDA_IS(cudaErrorInvalidResourceHandle, cudaMemsetAsync(device, 0, 64, gone));
    CUDA_IS(cudaErrorInvalidValue, cudaStreamWaitEvent(stream, event, 2));
    CUDA_IS(cudaErrorInvalidValue, cudaStreamAddCallback(stream, NULL, NULL, 0));
    CUDA_IS(cudaErrorInvalidValue, cudaLaunchHostFunc(stream, NULL, NULL));
    CUDA_IS(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, cudaEventInterprocess));
    CUDA_IS(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, 8));
    CUDA_IS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, event, untimed));
    CUDA_IS(cudaErrorInvalidResourceHandle, cudaEventRecord(NULL, stream));
    CUDA_IS(cudaErrorPeerAccessUnsupported, cudaDeviceEnablePeerAccess(0, 0));
    CUDA_IS(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(0));
    CUDA_IS(cudaErrorInvalidValue, cudaSetDeviceFlags(0x80));
    CUDA_IS(cudaErrorInvalidResourceHandle, cudaGraphLaunch(NULL, stream));
    CUDA_IS(cudaErrorInvalidResourceHandle, cudaGraphDestroy(NULL));
    CUDA(cudaFree(device));
    CUDA_IS(cudaErrorInvalidDevicePointer, cudaFree(device));
    CUDA(cudaFree(NULL));
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaEventDestroy(event));
    CUDA(cudaEventDestroy(untimed));
    CUDA_IS(cudaErrorInvalidResourceHandle, cudaEventDestroy(untimed));
    cudaGetLastError();
    cuda_finish();
}

static void fail_here(void *arg) { cls_host_function_fail(arg); }

static void failed_command_is_sticky(void **state) {
    int *x = device_ints(64), got = 0;
    cudaStream_t stream;
    (void)state;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaLaunchHostFunc(stream, fail_here, (void *)"on purpose"));
    CUDA_IS(cudaErrorLaunchFailure, cudaStreamSynchronize(stream));
    assert_non_null(strstr(cls_last_error_detail(), "on purpose"));
    CUDA_IS(cudaErrorLaunchFailure, cudaMalloc((void **)&x, 64));
    CUDA_IS(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    CUDA_IS(cudaErrorLaunchFailure, cudaGetLastError());
    CUDA_IS(cudaErrorLaunchFailure, cudaGetLastError());
    CUDA_IS(cudaErrorLaunchFailure, cls_cuda_launch(&nothing, 1, 1, 0, 0));
    CUDA(cudaDeviceReset());
    CUDA(cudaGetLastError());
    CUDA_IS(cudaErrorDeviceUninitialized, cudaStreamSynchronize(stream));
    CUDA(cudaStreamDestroy(stream));
    cudaGetLastError();
    x = device_ints(64);
    CUDA(cls_cuda_launch(&store, 1, 64, 0, 0, x, 7));
    CUDA(cudaMemcpy(&got, x + 63, sizeof got, cudaMemcpyDeviceToHost));
    assert_int_equal(got, 7);
    CUDA(cudaFree(x));
    cuda_finish();
}

/* --- streams --- */

static void wait_for(void *arg) { sem_wait(arg); }

static void stream_0_has_the_legacy_order(void **state) {
    int *x = device_ints(64), *y = device_ints(64);
    cudaStream_t blocking, apart;
    cls_stream default_stream;
    sem_t gate;
    int got = -1, priority = 5, least, greatest;
    unsigned flags = 5;
    (void)state;
    assert_int_equal(sem_init(&gate, 0, 0), 0);
    CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    assert_true(least == 1 && greatest == -1);
    CUDA(cudaStreamCreate(&blocking));
    CUDA(cudaStreamCreateWithPriority(&apart, cudaStreamNonBlocking, greatest));
    CUDA(cudaStreamGetPriority(apart, &priority));
    CUDA(cudaStreamGetFlags(apart, &flags));
    assert_true(priority == -1 && flags == cudaStreamNonBlocking);
    CUDA(cudaMemset(y, 0, 64 * sizeof *y));
    CUDA(cudaLaunchHostFunc(blocking, wait_for, &gate));
    CUDA(cls_cuda_launch(&store, 1, 64, 0, 0, x, 9));
    CUDA_IS(cudaErrorNotReady, cudaStreamQuery(0));
    CUDA(cudaPeekAtLastError());
    CUDA_IS(cudaErrorNotReady, cudaStreamQuery(cudaStreamLegacy));
    CUDA(cudaMemcpyAsync(&got, y, sizeof got, cudaMemcpyDeviceToHost, apart)); /* pageable: waits */
    assert_int_equal(got, 0);
    assert_int_equal(sem_post(&gate), 0);
    CUDA(cudaMemcpyAsync(&got, x, sizeof got, cudaMemcpyDeviceToHost, blocking));
    assert_int_equal(got, 9);
    CUDA(cls_cuda_stream(0, &default_stream));
    assert_ptr_equal(other_unit_default_stream(), default_stream);
    CUDA(cudaStreamDestroy(blocking));
    CUDA(cudaStreamDestroy(apart));
    CUDA(cudaFree(x));
    CUDA(cudaFree(y));
    cuda_finish();
    sem_destroy(&gate);
}

/* What a thread found. */
struct seen {
    cls_stream own, again;
    cudaError_t kept;
    int value;
    int *x;
};

static void *use_own_stream(void *arg) {
    struct seen *seen = arg;
    seen->kept = cudaPeekAtLastError();
    if (cls_cuda_stream(cudaStreamPerThread, &seen->own) != cudaSuccess ||
        cls_cuda_stream(cudaStreamPerThread, &seen->again) != cudaSuccess)
        return NULL;
    if (cls_cuda_launch(&store, 1, 64, 0, cudaStreamPerThread, seen->x, 21) == cudaSuccess)
        cudaMemcpyAsync(&seen->value, seen->x, sizeof(int), cudaMemcpyDeviceToHost,
                        cudaStreamPerThread);
    return NULL;
}

static void threads_have_streams_and_errors(void **state) {
    struct seen seen[2] = {{0}, {0}};
    cls_stream mine;
    (void)state;
    CUDA_IS(cudaErrorInvalidDevice, cudaSetDevice(-1));
    CUDA(cls_cuda_stream(cudaStreamPerThread, &mine));
    for (int t = 0; t < 2; t++) {
        pthread_t thread;
        seen[t].x = device_ints(64);
        assert_int_equal(pthread_create(&thread, NULL, use_own_stream, &seen[t]), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(seen[t].kept, cudaSuccess);
        assert_int_equal(seen[t].value, 21);
        assert_ptr_equal(seen[t].own, seen[t].again);
        assert_ptr_not_equal(seen[t].own, mine);
        EXPECT(CLS_ERROR_INVALID_HANDLE, cls_stream_query(seen[t].own)); /* the thread has ended */
        CUDA(cudaFree(seen[t].x));
    }
    CUDA(cudaStreamSynchronize(cudaStreamPerThread));
    CUDA_IS(cudaErrorInvalidDevice, cudaGetLastError());
    cuda_finish();
}

/* --- memory --- */

static void pitched_copies(void **state) {
    enum { WIDTH = 37, HEIGHT = 11 };
    unsigned char in[HEIGHT][WIDTH + 3], out[HEIGHT][WIDTH + 5], *device;
    size_t pitch;
    (void)state;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            in[y][x] = (unsigned char)(y * 16 + x);
    memset(out, 0xee, sizeof out);
    CUDA(cudaMallocPitch((void **)&device, &pitch, WIDTH, HEIGHT));
    assert_true(pitch >= WIDTH);
    CUDA(cudaMemset2D(device, pitch, 3, WIDTH, HEIGHT));
    CUDA(cudaMemcpy2D(device, pitch, in, sizeof in[0], WIDTH, HEIGHT - 1, cudaMemcpyHostToDevice));
    CUDA(cudaMemset2DAsync(device + 1, pitch, 5, 2, 2, 0));
    CUDA(cudaMemcpy2DAsync(out, sizeof out[0], device, pitch, WIDTH, HEIGHT, cudaMemcpyDefault, 0));
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH + 5; x++)
            assert_int_equal(out[y][x], x >= WIDTH                    ? 0xee
                                        : y < 2 && (x == 1 || x == 2) ? 5
                                        : y < HEIGHT - 1              ? in[y][x]
                                                                      : 3);
    CUDA(cudaFree(device));
    cuda_finish();
}

/* Memory that is not pinned may change as soon as the call has returned. */
static void pageable_copies_are_done(void **state) {
    enum { BYTES = 1 << 20 };
    char *host = malloc(BYTES), *device;
    cudaStream_t stream;
    (void)state;
    assert_non_null(host);
    CUDA(cudaMalloc((void **)&device, BYTES));
    CUDA(cudaStreamCreate(&stream));
    for (int k = 0; k < 20; k++) {
        memset(host, k, BYTES);
        CUDA(cudaMemcpyAsync(device, host, BYTES, cudaMemcpyHostToDevice, stream));
        memset(host, 99, BYTES);
        CUDA(cudaMemcpyAsync(host, device, BYTES, cudaMemcpyDeviceToHost, stream));
        assert_true(host[0] == k && host[BYTES - 1] == k);
    }
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(device));
    free(host);
    cuda_finish();
}

static void pointers_tell_their_memory(void **state) {
    cudaPointerAttributes told;
    size_t free_before, free_after, total;
    int on_stack, *device, *pinned, *mapped = NULL;
    static _Alignas(4096) int asked[2048];
    cudaDeviceProp prop;
    cudaError_t error;
    (void)state;
    CUDA(cudaGetDeviceProperties(&prop, 0));
    CUDA(cudaMemGetInfo(&free_before, &total));
    assert_true(total == prop.totalGlobalMem && free_before <= total);
    device = device_ints(1 << 18);
    CUDA(cudaMemGetInfo(&free_after, &total));
    assert_true(free_before - free_after == sizeof(int) << 18);
    CUDA(cudaPointerGetAttributes(&told, device + 3));
    assert_true(told.type == cudaMemoryTypeDevice && told.device == 0);
    assert_true(told.devicePointer == device + 3 && !told.hostPointer);
    CUDA(cudaPointerGetAttributes(&told, &on_stack));
    assert_true(told.type == cudaMemoryTypeUnregistered && told.device == cudaInvalidDeviceId);
    CUDA(cudaHostAlloc((void **)&pinned, 64 * sizeof(int), cudaHostAllocMapped));
    CUDA(cudaPointerGetAttributes(&told, pinned));
    assert_true(told.type == cudaMemoryTypeHost && told.hostPointer == pinned);
    error = cudaHostGetDevicePointer((void **)&mapped, pinned, 0);
    assert_int_equal(error, prop.canMapHostMemory ? cudaSuccess : cudaErrorNotSupported);
    if (mapped) {
        CUDA(cls_cuda_launch(&store, 1, 64, 0, 0, mapped, 33));
        CUDA(cudaDeviceSynchronize());
        assert_int_equal(pinned[63], 33);
    }
    CUDA(cudaFreeHost(pinned));
    error = cudaHostRegister(asked, sizeof asked, cudaHostRegisterDefault);
    if (error == cudaSuccess) {
        CUDA(cudaPointerGetAttributes(&told, asked));
        assert_int_equal(told.type, cudaMemoryTypeHost);
        CUDA(cudaHostUnregister(asked));
    } else
        assert_int_equal(error, cudaErrorNotSupported);
    CUDA(cudaFree(device));
    CUDA(cudaMemGetInfo(&free_after, &total));
    assert_true(free_after == free_before);
    cudaGetLastError();
    cuda_finish();
}

static void copies_between_devices(void **state) {
    int count, can = 1, five = 5, got = 0, *x, *y;
    (void)state;
    CUDA(cudaGetDeviceCount(&count));
    if (count < 2)
        SKIP_BECAUSE("there is one device");
    CUDA(cudaDeviceCanAccessPeer(&can, 0, 1));
    assert_int_equal(can, 0);
    x = device_ints(64);
    CUDA(cudaSetDevice(1));
    y = device_ints(64);
    CUDA(cls_cuda_launch(&store, 1, 64, 0, 0, y, 77));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpyPeer(x, 0, y, 1, 64 * sizeof *x));
    CUDA(cudaMemcpy(&got, x + 63, sizeof got, cudaMemcpyDeviceToHost)); /* of the other device */
    assert_int_equal(got, 77);
    CUDA(cudaMemcpy(x, &five, sizeof five, cudaMemcpyDefault));
    CUDA(cudaMemcpyPeerAsync(y, 1, x, 0, sizeof *x, 0));
    CUDA(cudaMemcpy(&got, y, sizeof got, cudaMemcpyDeviceToHost));
    assert_int_equal(got, 5);
    CUDA(cudaFree(x));
    CUDA(cudaFree(y));
    CUDA(cudaSetDevice(0));
    cuda_finish();
}

/* --- launches --- */

static void grids_of_three_dimensions(void **state) {
    enum { X = 8, Y = 6, Z = 4 };
    int got[Z][Y][X], *x = device_ints(X * Y * Z);
    const dim3 grid = {X / 4, Y / 3, Z / 2}, block = {4, 3, 2};
    (void)state;
    CUDA(cls_cuda_launch(&place, grid, block, 0, 0, x, X, Y));
    CUDA(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    for (int k = 0; k < Z; k++)
        for (int j = 0; j < Y; j++)
            for (int i = 0; i < X; i++)
                assert_int_equal(got[k][j][i], i / 4 + 10 * (j / 3) + 100 * (k / 2));
    CUDA(cudaFree(x));
    cuda_finish();
}

static void values_of_all_types(void **state) {
    struct {
        int a;
        float b;
    } pair = {-9, 0.25f};
    const char a = -1;
    const unsigned char b = 200;
    const short c = -300;
    const unsigned short d = 60000;
    int64_t got[11], *out;
    const int64_t wanted[11] = {
        -1, 200, -300, 60000, -70000, 3000000000, -5000000000000, 6000000000000000, 6, -9, 1};
    (void)state;
    trust_need(NULL, "structure_arguments");
    CUDA(cudaMalloc((void **)&out, sizeof got));
    CUDA(cls_cuda_launch(&values, 1, 1, 0, 0, out, a, b, c, d, -70000, 3000000000u,
                         (int64_t)-5000000000000, (uint64_t)6000000000000000, 1.5f,
                         cls_arg_value(&pair, sizeof pair)));
    CUDA(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 11; i++)
        assert_true(got[i] == wanted[i]);
    CUDA(cudaFree(out));
    cuda_finish();
}

static void bad_launches_are_refused(void **state) {
    static cls_cuda_module wrong = CLS_CUDA_SOURCE("kernel void k(global int *x) { x[0] = y; }");
    static cls_cuda_module absent = CLS_CUDA_FILE("no/such/file.cl");
    static cls_cuda_kernel unknown = CLS_CUDA_KERNEL(&module, "unknown");
    static cls_cuda_kernel wrong_kernel = CLS_CUDA_KERNEL(&wrong, "k");
    static cls_cuda_kernel absent_kernel = CLS_CUDA_KERNEL(&absent, "k");
    int *x = device_ints(64), on_stack = 0;
    cudaDeviceProp prop;
    (void)state;
    CUDA(cudaGetDeviceProperties(&prop, 0));
    CUDA_IS(cudaErrorInvalidConfiguration, cls_cuda_launch(&store, 0, 64, 0, 0, x, 1));
    CUDA_IS(cudaErrorInvalidConfiguration, cls_cuda_launch(&store, 1, 0, 0, 0, x, 1));
    CUDA_IS(cudaErrorInvalidConfiguration,
            cls_cuda_launch(&store, 1, prop.maxThreadsPerBlock + 1, 0, 0, x, 1));
    CUDA_IS(cudaErrorInvalidConfiguration, cudaGetLastError());
    CUDA_IS(cudaErrorInvalidValue, cls_cuda_launch(&store, 1, 64, 0, 0, x));
    CUDA_IS(cudaErrorInvalidValue, cls_cuda_launch(&store, 1, 64, 4, 0, x, 1));
    CUDA_IS(cudaErrorInvalidDevicePointer, cls_cuda_launch(&store, 1, 64, 0, 0, &on_stack, 1));
    CUDA_IS(cudaErrorInvalidDeviceFunction, cls_cuda_launch(&unknown, 1, 1, 0, 0, x));
    CUDA_IS(cudaErrorInvalidKernelImage, cls_cuda_launch(&wrong_kernel, 1, 1, 0, 0, x));
    assert_true(cls_last_error_detail()[0] != 0);
    CUDA_IS(cudaErrorFileNotFound, cls_cuda_launch(&absent_kernel, 1, 1, 0, 0, x));
    CUDA(cls_cuda_launch(&nothing, 1, 1, 0, 0));
    CUDA(cudaFree(x));
    cudaGetLastError();
    cuda_finish();
}

static void kernels_come_from_files(void **state) {
    char path[] = "cuda_calls_XXXXXX";
    int fd = mkstemp(path), got = 0, *x = device_ints(64);
    cls_cuda_module of_file = CLS_CUDA_FILE(path);
    cls_cuda_kernel kernel = CLS_CUDA_KERNEL(&of_file, "store");
    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    assert_int_equal(close(fd), 0);
    CUDA(cls_cuda_launch(&kernel, 2, 32, 0, 0, x, 12));
    assert_int_equal(unlink(path), 0);
    CUDA(cudaMemcpy(&got, x + 40, sizeof got, cudaMemcpyDeviceToHost));
    assert_int_equal(got, 12);
    CUDA(cudaFree(x));
    cuda_finish();
    cls_cuda_release_module(&of_file);
    cls_cuda_release_kernel(&kernel);
}

/* --- pools and captures --- */

static void pools_have_limits(void **state) {
    cudaMemPoolProps props;
    cudaMemPool_t pool, current;
    uint64_t used = 0;
    int on = 1;
    char *memory, *refused;
    (void)state;
    memset(&props, 0, sizeof props);
    CUDA_IS(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, &props));
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.maxSize = 1 << 20;
    CUDA(cudaMemPoolCreate(&pool, &props));
    CUDA(cudaMallocFromPoolAsync((void **)&memory, 1 << 18, pool, 0));
    CUDA_IS(cudaErrorMemoryAllocation,
            cudaMallocFromPoolAsync((void **)&refused, 1 << 24, pool, 0));
    CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    assert_true(used >= 1 << 18);
    CUDA_IS(cudaErrorInvalidValue,
            cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &on));
    on = 0;
    CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &on));
    assert_int_equal(on, 1);
    CUDA(cudaFreeAsync(memory, 0));
    used = 0;
    CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &used));
    CUDA(cudaDeviceSetMemPool(0, pool));
    CUDA(cudaDeviceGetMemPool(&current, 0));
    assert_ptr_equal(current, pool);
    CUDA(cudaStreamSynchronize(0));
    CUDA(cudaMemPoolTrimTo(pool, 0));
    CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &used));
    assert_true(used == 0);
    CUDA(cudaMemPoolDestroy(pool));
    cudaGetLastError();
    cuda_finish();
}

static void captures_are_checked(void **state) {
    int *x = device_ints(64);
    cudaStream_t stream;
    cudaGraph_t graph, other = NULL;
    cudaGraphExec_t exec;
    cudaGraphExecUpdateResultInfo result;
    cudaStreamCaptureStatus status;
    (void)state;
    CUDA(cudaStreamCreate(&stream));
    CUDA_IS(cudaErrorStreamCaptureUnsupported,
            cudaStreamBeginCapture(0, cudaStreamCaptureModeRelaxed));
    CUDA_IS(cudaErrorIllegalState, cudaStreamEndCapture(stream, &graph));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CUDA(cls_cuda_launch(&store, 1, 64, 0, stream, x, 1));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CUDA(cudaMemsetAsync(x, 0, 64, stream));
    CUDA(cudaMemsetAsync(x, 1, 64, stream));
    CUDA(cudaStreamEndCapture(stream, &other));
    CUDA_IS(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, other, &result));
    assert_int_equal(result.result, cudaGraphExecUpdateErrorTopologyChanged);
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaGraphDestroy(other));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CUDA_IS(cudaErrorIllegalState, cudaStreamSynchronize(stream));
    CUDA(cudaStreamIsCapturing(stream, &status));
    assert_int_equal(status, cudaStreamCaptureStatusInvalidated);
    CUDA_IS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &other));
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(x));
    cudaGetLastError();
    cuda_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses_are_errors),
        cmocka_unit_test(last_error_is_kept_once),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(stream_0_has_the_legacy_order),
        cmocka_unit_test(threads_have_streams_and_errors),
        cmocka_unit_test(pitched_copies),
        cmocka_unit_test(pageable_copies_are_done),
        cmocka_unit_test(pointers_tell_their_memory),
        cmocka_unit_test(copies_between_devices),
        cmocka_unit_test(grids_of_three_dimensions),
        cmocka_unit_test(values_of_all_types),
        cmocka_unit_test(bad_launches_are_refused),
        cmocka_unit_test(kernels_come_from_files),
        cmocka_unit_test(pools_have_limits),
        cmocka_unit_test(captures_are_checked),
        cmocka_unit_test(failed_command_is_sticky),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
