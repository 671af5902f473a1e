/* SPDX-License-Identifier: MIT */
/*
 * What VkFFT would do for a transform, written down: source text of kernels, memory with its contents, and launches. VkFFT
 * makes no call of OpenCL while it is written down (driver/fft_record.h), so a recipe is a function of the problem and
 * of the device's limits alone, and whoever has it builds and launches its kernels like any others.
 */
#ifndef CLSTREAM_DRIVER_FFT_RECIPE_H
#define CLSTREAM_DRIVER_FFT_RECIPE_H

#include "driver/device.h"

/* One direction of a transform. Dimensions are counted from the one whose neighbours are neighbours in memory. */
struct fft_problem {
    bool f64, real, inverse, normalize;
    unsigned dims;
    size_t lengths[3]; /* of the signal */
    size_t batches;
    /* From one row, plane and transform to the next, in numbers of that side. */
    size_t in[3], out[3];
};

/* Where the memory of an argument is. */
enum fft_place {
    FFT_INPUT,
    FFT_OUTPUT,
    FFT_WORK,      /* a spectrum of temporary memory, dense */
    FFT_TEMPORARY, /* temporary memory without a layout */
    FFT_TABLE,     /* memory of the recipe's own, which the first steps fill */
    FFT_PLACES
};

struct fft_memory {
    enum fft_place place;
    unsigned number; /* of a table, from 0 */
    size_t bytes;    /* of a table, or of temporary memory */
    struct fft_memory *next;
};

struct fft_kernel {
    unsigned number; /* from 0 */
    const char *text, *entry;
    struct fft_kernel *next;
};

enum { FFT_ARGS = 8, FFT_VALUE = 16, FFT_SIDES = 2 };

struct fft_argument {
    struct fft_memory *memory; /* NULL: a value */
    size_t size;               /* of the value */
    unsigned char bytes[FFT_VALUE];
};

/* Data that a table gets, or a launch, whose first argument is read and whose second is written. Of a launch of the
 * transform, the last argument may be a pair of integers of `word` bytes: where the first two arguments' memory begins,
 * counted in `units` bytes; a unit of 0 stands for an argument that begins at 0. */
struct fft_step {
    struct fft_memory *to; /* NULL: a launch */
    const void *data;
    size_t bytes;
    struct fft_kernel *kernel;
    size_t global[3], local[3];
    unsigned n_args;
    struct fft_argument args[FFT_ARGS];
    size_t word; /* 0: there is no such pair */
    size_t units[FFT_SIDES];
    bool prepares; /* before the first transform, once */
    struct fft_step *next;
};

struct fft_block;

struct fft_recipe {
    struct fft_memory places[FFT_PLACES]; /* that of FFT_TABLE is unused */
    struct fft_memory *memories;          /* tables */
    struct fft_kernel *kernels;
    struct fft_step *steps;
    unsigned n_memories, n_kernels, n_launches; /* launches of the transform */
    /* Temporary memory that begins at that byte of its buffer at which the input does in its own; FFT_PLACES: none. */
    enum fft_place beside_input;
    struct fft_block *blocks; /* private: the memory of all of it */
};

bool fft_available(void);

/* CLS_ERROR_UNSUPPORTED with the reason: there is no VkFFT, or it refuses the problem. */
cls_status fft_recipe_make(const struct device *device, const struct fft_problem *problem,
                           struct fft_recipe **out);
void fft_recipe_free(struct fft_recipe *recipe);

#endif
