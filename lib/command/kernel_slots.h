/* SPDX-License-Identifier: MIT */
/*
 * The kernels that a stream launched last, each with an instance of its own whose arguments are set under
 * the stream's lock: launching one again takes neither a reference nor an instance. All functions are
 * called under the stream's lock.
 */
#ifndef CLSTREAM_COMMAND_KERNEL_SLOTS_H
#define CLSTREAM_COMMAND_KERNEL_SLOTS_H

#include <stdbool.h>

#include <clstream/kernel.h>

#include "base/cache_line.h"
#include "driver/cl.h"
#include "stream/launched.h"

struct stream;
struct kernel;
struct command;

/* The slot of a kernel, found or made; valid until the next call. Reports a handle that is none, and a
 * kernel of another context than the stream's. */
cls_status kernel_slots_get(struct stream *stream, cls_kernel handle, struct kernel_slot **out);

/* The same for a kernel that the caller keeps alive and sets the arguments of by itself. */
cls_status kernel_slots_of(struct stream *stream, struct kernel *kernel, struct kernel_slot **out);

/* Whether an argument of the slot's instance is set to this already; of a buffer, to its handle, and with
 * kernel_slot_has to its memory. */
bool kernel_slot_knows(const struct kernel_slot *slot, unsigned i, const cls_arg *arg);
static inline bool kernel_slot_has(const struct kernel_slot *slot, unsigned i, cl_mem memory) {
    return slot->cached[i].u.buffer.memory == memory;
}

/* Sets it, for a buffer to `memory`. */
cls_status kernel_slot_tell(struct kernel_slot *slot, unsigned i, const cls_arg *arg,
                            cl_mem memory);

/* A launch that borrows from a slot comes to own what it uses, and the slot is free: for launches that are
 * not handed over at once. CLS_ERROR_OUT_OF_MEMORY changes nothing. */
cls_status kernel_slot_give(struct kernel_slot *slot, struct command *launch);

/* Frees all slots. A kernel that commands in flight may use stays with them. */
void kernel_slots_clear(struct stream *stream);

#endif
