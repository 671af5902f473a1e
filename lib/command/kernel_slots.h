/* SPDX-License-Identifier: MIT */
/*
 * The slots of a stream for the kernels that it launched last. Each slot has a cl_kernel instance of its own, whose
 * arguments are set under the stream's lock, so that launching the kernel again takes neither a reference nor an
 * instance. All functions are called under the stream's lock.
 */
#ifndef CLSTREAM_COMMAND_KERNEL_SLOTS_H
#define CLSTREAM_COMMAND_KERNEL_SLOTS_H

#include <stdbool.h>

#include <clstream/kernel.h>

#include "base/cache_line.h"
#include "driver/cl.h"
#include "stream/launched.h"

struct buffer;
struct stream;
struct kernel;
struct command;

/* Finds or makes the slot of a kernel; it is valid until the next call. Reports an invalid handle, and a kernel of
 * another context than the stream's. */
cls_status kernel_slots_get(struct stream *stream, cls_kernel handle, struct kernel_slot **out);

/* The same for a caller that keeps the kernel alive and sets all its arguments itself. */
cls_status kernel_slots_of(struct stream *stream, struct kernel *kernel, struct kernel_slot **out);

/* Whether argument `i` of the slot's instance is set to this value already. For a buffer this compares the handle, and
 * kernel_slot_has compares the memory. */
bool kernel_slot_knows(const struct kernel_slot *slot, unsigned i, const cls_arg *arg);
static inline bool kernel_slot_has(const struct kernel_slot *slot, unsigned i, cl_mem memory) {
    return slot->cached[i].u.buffer.memory == memory;
}

/* Sets argument `i`, for memory or a sampler to the driver's `object`, and notes the value. */
cls_status kernel_slot_tell(struct kernel_slot *slot, unsigned i, const cls_arg *arg, void *object);

/* Sets a pointed argument to byte `offset` of a buffer, or to NULL without one, and notes what kernel_slot_tell would. */
cls_status kernel_slot_point(struct kernel_slot *slot, unsigned i, const cls_arg *arg,
                             struct buffer *buffer, size_t offset);

/* Moves the slot's kernel and instance into a launch that borrowed them, and frees the slot: for launches that are not
 * handed to the driver at once. CLS_ERROR_OUT_OF_MEMORY changes nothing. */
cls_status kernel_slot_give(struct kernel_slot *slot, struct command *launch);

/* Frees all slots. Commands in flight keep the kernels that they may use. */
void kernel_slots_clear(struct stream *stream);

#endif
