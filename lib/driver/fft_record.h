/* SPDX-License-Identifier: MIT */
/*
 * Stand-ins for the functions that VkFFT calls, by which it writes down a recipe in place of using a device. They
 * belong to the recording of the calling thread.
 *
 * VkFFT frees little of what it has when it fails, and does not check every allocation. So the memory that it
 * allocates belongs to the recording and ends with it, and an allocation that fails leaves VkFFT by a jump.
 */
#ifndef CLSTREAM_DRIVER_FFT_RECORD_H
#define CLSTREAM_DRIVER_FFT_RECORD_H

#include <setjmp.h>

#include "driver/fft_recipe.h"

/* A block of memory of a recording or a recipe; what was asked for is behind it. */
struct fft_block {
    struct fft_block *next;
    _Alignas(16) unsigned char bytes[];
};

struct fft_recording {
    const struct device *device;
    cl_uint vendor;
    struct fft_recipe *recipe;
    struct fft_step **last_step;
    struct fft_step launch;   /* with the arguments that are set by now */
    struct fft_block *blocks; /* what VkFFT has allocated */
    bool prepares;            /* the transform has not begun */
    jmp_buf no_memory;
};

/* Where the memory of every place begins while a transform is written down, in bytes: a launch's pair of integers has it
 * divided by its unit. */
#define FFT_MARK ((uint64_t)1 << 27)

/* Begins and ends a recording of this thread. */
void fft_record_begin(struct fft_recording *recording);
void fft_record_end(struct fft_recording *recording);

/* A cl_mem that stands for memory. */
cl_mem fft_record_memory(struct fft_memory *memory);
struct fft_memory *fft_recorded_memory(cl_mem memory);

void *fft_record_malloc(size_t bytes);
void *fft_record_calloc(size_t count, size_t bytes);
void fft_record_free(void *memory);

cl_int fft_record_device_info(cl_device_id device, cl_device_info what, size_t room, void *value,
                              size_t *size);
cl_mem fft_record_buffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host,
                         cl_int *code);
cl_int fft_record_write(cl_command_queue queue, cl_mem to, cl_bool blocking, size_t offset,
                        size_t bytes, const void *data, cl_uint n_waits, const cl_event *waits,
                        cl_event *event);
cl_command_queue fft_record_queue(cl_context context, cl_device_id device,
                                  cl_command_queue_properties properties, cl_int *code);
cl_program fft_record_source(cl_context context, cl_uint count, const char **texts,
                             const size_t *lengths, cl_int *code);
cl_kernel fft_record_kernel(cl_program program, const char *entry, cl_int *code);
cl_int fft_record_argument(cl_kernel kernel, cl_uint i, size_t size, const void *value);
cl_int fft_record_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                         const size_t *offset, const size_t *global, const size_t *local,
                         cl_uint n_waits, const cl_event *waits, cl_event *event);
cl_int fft_record_nothing(void);

#endif
