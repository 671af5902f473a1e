/* SPDX-License-Identifier: MIT */
/**
 * @file clstream.h
 * CUDA-style streams on any OpenCL device. Includes every public header except clstream/opencl.h,
 * the only one that names cl_* types.
 *
 * Most programs need the first group only.
 */
#ifndef CLSTREAM_H
#define CLSTREAM_H

/* The essentials: devices, contexts, streams, events, buffers, kernels. */
#include <clstream/buffer.h>  /* device memory, pinned host memory, copies, fills */
#include <clstream/context.h> /* a device with its default stream; NULL is the default context */
#include <clstream/device.h>  /* the OpenCL devices of this machine */
#include <clstream/event.h>   /* points in a stream's work, to wait for and to time */
#include <clstream/kernel.h>  /* OpenCL C: build, get a kernel, launch it on a stream */
#include <clstream/status.h>  /* status codes, and the detail of the last error */
#include <clstream/stream.h>  /* streams, host functions, callbacks */
#include <clstream/types.h>   /* handles, element types, array views */
#include <clstream/version.h> /* versions of the headers and of the library */

/* More memory. */
#include <clstream/address.h> /* addresses of buffers, for kernels that follow them */
#include <clstream/image.h>   /* images and samplers */
#include <clstream/managed.h> /* unified memory: one allocation for host and device */
#include <clstream/mempool.h> /* stream-ordered malloc and free, and pools of memory */
#include <clstream/pointer.h> /* device memory by pointers, copies whose direction is found */
#include <clstream/share.h>   /* one memory in several contexts */

/* Operations on arrays and matrices, instead of one's own kernels. */
#include <clstream/batch.h>     /* record a chain of operations, run it as few kernels */
#include <clstream/binary.h>    /* add, mul, min, comparisons, ... of two arrays */
#include <clstream/blas.h>      /* matrix products, through CLBlast */
#include <clstream/bounds.h>    /* binary search of many values */
#include <clstream/cast.h>      /* conversions; the common rules of all operations */
#include <clstream/fft.h>       /* Fourier transforms, through VkFFT */
#include <clstream/histogram.h> /* counts in bins, even or between edges */
#include <clstream/host.h>      /* single operations on host memory */
#include <clstream/indices.h>   /* rows and elements by number: select, gather, scatter */
#include <clstream/matrices.h>  /* a vector for each row or column, casts, transposition */
#include <clstream/optimizer.h> /* SGD and AdamW on lists of arrays, clipping by norm */
#include <clstream/random.h>    /* uniform, normal, integers, dropout: Philox */
#include <clstream/reduce.h>    /* sum, min, max, mean, argmax, any, dot, ... */
#include <clstream/rows.h>      /* softmax, cross entropy, layer_norm, ... along rows */
#include <clstream/scan.h>      /* prefix sums, whole or in segments */
#include <clstream/select.h>    /* compact, unique, runs, reduction by key */
#include <clstream/sort.h>      /* sorts, top k, the n-th element */
#include <clstream/sparse.h>    /* products of sparse matrices: CSR */
#include <clstream/strided.h>   /* parts of arrays, permuted dimensions, broadcast */
#include <clstream/unary.h>     /* exp, relu, scale, ... of one array */
#include <clstream/where.h>     /* selection by a condition */
/* All of these under typed names: cls_add_f32, ... The build makes this header; a source tree has none. */
#ifndef __has_include
#include <clstream/typed.h>
#elif __has_include(<clstream/typed.h>)
#include <clstream/typed.h>
#endif

/* Order between many streams. */
#include <clstream/coordinator.h> /* a set of streams with declared dependencies */
#include <clstream/graph.h>       /* capture what streams do, launch it again */
#include <clstream/pool.h>        /* a pool of streams, for load balancing */
#include <clstream/task.h>        /* task graphs on the streams of a coordinator */
#include <clstream/timeline.h>    /* counters to signal and wait for, also before the signal */

/* Overlapping upload, compute and download. */
#include <clstream/async_coordinator.h> /* three ready-made streams and numbered operations */
#include <clstream/device_group.h>      /* several devices: copies, scatter, gather, all-reduce */
#include <clstream/managed_context.h>   /* a context with an async coordinator of its own */
#include <clstream/pipeline.h>          /* named stages and buffers, iterations overlapped */
#include <clstream/prefetcher.h>        /* loader threads that upload batches ahead */
#include <clstream/triple_buffer.h>     /* a ring of buffers: upload, process, download */

/* Tools. */
#include <clstream/check.h>    /* the race checker */
#include <clstream/profiler.h> /* profiles, timelines and reports */

#endif
