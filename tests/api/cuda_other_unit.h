/* SPDX-License-Identifier: MIT */
#ifndef CLSTREAM_TESTS_CUDA_OTHER_UNIT_H
#define CLSTREAM_TESTS_CUDA_OTHER_UNIT_H

#include <clstream/cuda_runtime.h>

cudaError_t other_unit_peek(void);
cudaError_t other_unit_fail(void);
cls_stream other_unit_default_stream(void);

#endif
