/* SPDX-License-Identifier: MIT */
/*
 * The parameters of CLBlast's kernels for products, as text: "KWG=16 KWI=2 ...", in any order. Of each kernel there are
 * all or none. What a device cannot run, or would read outside of its matrices with, is no text of parameters.
 */
#ifndef CLSTREAM_DRIVER_BLAS_PARAMETERS_H
#define CLSTREAM_DRIVER_BLAS_PARAMETERS_H

#include <stdbool.h>

#include <clstream/device.h>

enum { BLAS_KERNELS = 3, BLAS_MOST_PARAMETERS = 16 };

/* A kernel as CLBlast names it, and its parameters. */
struct blas_kernel {
    const char *name;
    unsigned count;
    const char *parameters[BLAS_MOST_PARAMETERS];
};

extern const struct blas_kernel blas_kernels[BLAS_KERNELS];

struct blas_parameters {
    bool given[BLAS_KERNELS];
    size_t values[BLAS_KERNELS][BLAS_MOST_PARAMETERS];
};

/* False: the text is malformed, or its parameters do not fit each other, or the device with elements of so many bytes. */
bool blas_parameters_parse(const char *text, const cls_device_info *device, size_t element,
                           struct blas_parameters *out);

#endif
