/* SPDX-License-Identifier: MIT */
/* VkFFT called by hand on a queue of raw OpenCL, with its own options. */
#ifndef CLSTREAM_BENCH_RAW_FFT_H
#define CLSTREAM_BENCH_RAW_FFT_H

#include <stddef.h>

#include <clstream/opencl.h>

struct raw_fft;

/* Forward transforms of complex f32 from one memory to the other; NULL: VkFFT makes none, or is not there. */
struct raw_fft *raw_fft_open(cl_context context, cl_device_id device, cl_command_queue queue,
                             size_t length, size_t batches, cl_mem in, cl_mem out);
void raw_fft_close(struct raw_fft *fft);

/* Enqueues so many, and waits. False: a call failed. */
int raw_fft_run(struct raw_fft *fft, unsigned times);

#endif
