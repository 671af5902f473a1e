/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_profiler_api.h
 * cudaProfilerStart and cudaProfilerStop by the name of CUDA's header: clstream/cuda_runtime.h.
 */
#ifndef CLSTREAM_CUDA_PROFILER_API_H
#define CLSTREAM_CUDA_PROFILER_API_H

#include <clstream/cuda_runtime.h>

CLS_BEGIN_DECLS
CLS_END_DECLS

#endif
