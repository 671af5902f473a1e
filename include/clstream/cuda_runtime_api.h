/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_runtime_api.h
 * CUDA's runtime by another of its names: clstream/cuda_runtime.h.
 */
#ifndef CLSTREAM_CUDA_RUNTIME_API_H
#define CLSTREAM_CUDA_RUNTIME_API_H

#include <clstream/cuda_runtime.h>

CLS_BEGIN_DECLS
CLS_END_DECLS

#endif
