/* SPDX-License-Identifier: MIT */
/**
 * @file clstream.h
 * CUDA-style streams on any OpenCL device. Includes every public header but
 * clstream/opencl.h, the only one that names cl_* types.
 */
#ifndef CLSTREAM_H
#define CLSTREAM_H

#include <clstream/async_coordinator.h>
#include <clstream/batch.h>
#include <clstream/binary.h>
#include <clstream/blas.h>
#include <clstream/buffer.h>
#include <clstream/cast.h>
#include <clstream/check.h>
#include <clstream/context.h>
#include <clstream/coordinator.h>
#include <clstream/device.h>
#include <clstream/device_group.h>
#include <clstream/event.h>
#include <clstream/host.h>
#include <clstream/kernel.h>
#include <clstream/managed.h>
#include <clstream/managed_context.h>
#include <clstream/mempool.h>
#include <clstream/pipeline.h>
#include <clstream/pool.h>
#include <clstream/prefetcher.h>
#include <clstream/profiler.h>
#include <clstream/reduce.h>
#include <clstream/status.h>
#include <clstream/stream.h>
#include <clstream/task.h>
#include <clstream/timeline.h>
#include <clstream/triple_buffer.h>
#include <clstream/typed.h>
#include <clstream/types.h>
#include <clstream/unary.h>
#include <clstream/version.h>
#include <clstream/where.h>

#endif
