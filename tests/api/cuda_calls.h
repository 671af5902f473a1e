/* SPDX-License-Identifier: MIT */
/* Checks of errors of clstream/cuda_runtime.h, and memory, for the programs that test it. */
#ifndef CLSTREAM_TESTS_CUDA_CALLS_H
#define CLSTREAM_TESTS_CUDA_CALLS_H

#include "../support/test.h"

#include <clstream/cuda_runtime.h>

#define CUDA(call) expect_error(cudaSuccess, (call), #call, __FILE__, __LINE__)
#define CUDA_IS(error, call) expect_error((error), (call), #call, __FILE__, __LINE__)

/* Fails the running test with the call, both errors and the detail. */
static inline void expect_error(cudaError_t wanted, cudaError_t got, const char *call,
                                const char *file, int line) {
    if (got == wanted)
        return;
    print_error("%s\n    is %s, not %s; the detail: %s\n", call, cudaGetErrorName(got),
                cudaGetErrorName(wanted), cls_last_error_detail());
    _fail(file, line);
}

/* Waits for the device, whose last error there must not be. */
static inline void cuda_finish(void) {
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaGetLastError());
}

static inline int *device_ints(size_t n) {
    int *made;
    CUDA(cudaMalloc((void **)&made, n * sizeof *made));
    return made;
}

#endif
