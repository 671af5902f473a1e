/* SPDX-License-Identifier: MIT */
/* The loader of OpenCL: linked as new as the headers (loader_linked.c), linked as OpenCL 1.2 with the rest looked up
 * (loader_late.c), or opened (opencl_calls.c, with CLS_OPENCL_DLOPEN). */
#ifndef CLSTREAM_DRIVER_LOADER_H
#define CLSTREAM_DRIVER_LOADER_H

#include <stddef.h>

#include "system/libraries.h"

/* The version of OpenCL whose functions the loader has: 120, 200, 210 or 300. No device has a higher one. */
unsigned loader_version(void);

/* The version of a library that was opened; NULL: of the loader that is linked. */
static inline unsigned loader_version_in(void *library) {
    static const struct {
        const char *function;
        unsigned version;
    } rows[] = {{"clCreateBufferWithProperties", 300},
                {"clCreateProgramWithIL", 210},
                {"clCreateCommandQueueWithProperties", 200}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (library_find(library, rows[i].function))
            return rows[i].version;
    return 120;
}

#endif
