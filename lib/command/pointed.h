/* SPDX-License-Identifier: MIT */
/*
 * Memory as an argument by its address, which may lie anywhere in a buffer: a cl_mem is whole, or a sub-buffer at a multiple of
 * the base alignment. Some drivers take no cl_mem any more for an argument of a cl_kernel that was given an address. So a
 * parameter that was given one is pointed from then on: all instances of the kernel are given addresses there. That is kept
 * with the kernel, since instances change hands, and is set before the first instance is given one: whoever takes that
 * instance sees it.
 */
#ifndef CLSTREAM_COMMAND_POINTED_H
#define CLSTREAM_COMMAND_POINTED_H

#include "base/rare.h"
#include "command/kernel.h"

struct buffer;

enum { POINTED_BITS = 64 }; /* the last one stands for all parameters from there on */

static inline bool kernel_is_pointed(const struct kernel *kernel, unsigned i) {
    if (!RARELY(atomic_load_explicit(&kernel->has_pointed, memory_order_acquire)))
        return false;
    const unsigned bit = i < POINTED_BITS ? i : POINTED_BITS - 1;
    return atomic_load_explicit(&kernel->pointed, memory_order_relaxed) >> bit & 1;
}

/* Whether parameters of the kernel may be given addresses. */
bool kernel_may_point(const struct kernel *kernel);

/* Has parameter `i` be pointed from now on. */
void kernel_point(struct kernel *kernel, unsigned i);

/* Sets a pointed parameter to byte `offset` of a buffer that the caller keeps. CLS_ERROR_UNSUPPORTED without one: NVIDIA's driver
 * takes a null pointer after an address, and keeps the address. */
cls_status kernel_set_pointed(const struct kernel *kernel, cl_kernel instance, unsigned i,
                              struct buffer *buffer, size_t offset);

#endif
