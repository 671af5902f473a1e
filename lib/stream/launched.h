/* SPDX-License-Identifier: MIT */
/*
 * What a stream keeps of the kernels that it launched last, so that launching one again sets only the arguments that
 * changed. command/kernel_slots.h has the functions; this is their place in struct stream.
 */
#ifndef CLSTREAM_STREAM_LAUNCHED_H
#define CLSTREAM_STREAM_LAUNCHED_H

#include <stddef.h>

#include <clstream/kernel.h>

#include "base/cache_line.h"
#include "driver/device.h"

struct kernel;

enum { KERNEL_SLOTS = 4, CACHED_ARGS = 8 };

/* What an argument was last set to: some drivers take 50 ns to be told the same again. */
struct arg_cache {
    cls_arg_kind kind;
    size_t size; /* 0: not known; of a buffer's, that of a cl_mem */
    union {
        struct { /* a handle comes back some day: where it has 32 bits, after 8,191 others */
            cls_buffer handle;
            cl_mem memory;
        } buffer;
        unsigned char bytes[16];
    } u;
};

struct kernel_slot {
    const void *handle;
    struct kernel *kernel; /* retained; NULL: free */
    cl_kernel instance;
    unsigned n_cached; /* of those that follow; none where somebody else has set them */
    struct arg_cache cached[CACHED_ARGS];
};

struct kernel_slots {
    _Alignas(CACHE_LINE) struct kernel_slot slot[KERNEL_SLOTS];
    unsigned next; /* to be given up */
};

#endif
