/* SPDX-License-Identifier: MIT */
#include "raw_fft.h"

#include "config.h"

#include <stdlib.h>

#ifdef HAVE_VKFFT

#define VKFFT_BACKEND 3
#include <vkFFT.h>

struct raw_fft {
    VkFFTApplication app;
    cl_context context;
    cl_device_id device;
    cl_command_queue queue;
    cl_mem in, out;
};

struct raw_fft *raw_fft_open(cl_context context, cl_device_id device, cl_command_queue queue,
                             size_t length, size_t batches, cl_mem in, cl_mem out) {
    struct raw_fft *fft = calloc(1, sizeof *fft);
    if (!fft)
        return NULL;
    fft->context = context;
    fft->device = device;
    fft->queue = queue;
    fft->in = in;
    fft->out = out;
    VkFFTConfiguration config = {.FFTdim = 1,
                                 .size = {length},
                                 .device = &fft->device,
                                 .context = &fft->context,
                                 .numberBatches = batches,
                                 .isInputFormatted = 1,
                                 .inputBufferStride = {length, length * batches, length * batches},
                                 .makeForwardPlanOnly = 1};
    if (!initializeVkFFT(&fft->app, config))
        return fft;
    free(fft);
    return NULL;
}

void raw_fft_close(struct raw_fft *fft) {
    deleteVkFFT(&fft->app);
    free(fft);
}

int raw_fft_run(struct raw_fft *fft, unsigned times) {
    VkFFTLaunchParams params = {
        .commandQueue = &fft->queue, .buffer = &fft->out, .inputBuffer = &fft->in};
    for (unsigned i = 0; i < times; i++)
        if (VkFFTAppend(&fft->app, -1, &params))
            return 0;
    return clFinish(fft->queue) == CL_SUCCESS;
}

#else

struct raw_fft *raw_fft_open(cl_context context, cl_device_id device, cl_command_queue queue,
                             size_t length, size_t batches, cl_mem in, cl_mem out) {
    (void)context;
    (void)device;
    (void)queue;
    (void)length;
    (void)batches;
    (void)in;
    (void)out;
    return NULL;
}

void raw_fft_close(struct raw_fft *fft) { (void)fft; }

int raw_fft_run(struct raw_fft *fft, unsigned times) {
    (void)fft;
    (void)times;
    return 0;
}

#endif
