/* SPDX-License-Identifier: MIT */
/* A second translation unit with clstream/cuda_runtime.h, for test_cuda_calls: it has the first one's state. */
#include <clstream/cuda_runtime.h>

#include "cuda_other_unit.h"

cudaError_t other_unit_peek(void) { return cudaPeekAtLastError(); }

cudaError_t other_unit_fail(void) { return cudaSetDevice(-1); }

cls_stream other_unit_default_stream(void) {
    cls_stream found = NULL;
    return cls_cuda_stream(cudaStreamLegacy, &found) == cudaSuccess ? found : NULL;
}
