/* SPDX-License-Identifier: MIT */
/*
 * Where a buffer's pointer may be: the address that kernels see, if the process has no other use for it. A device may
 * compute in the memory of this process, as a CPU's driver does: the address is the memory itself then. Another device's
 * addresses must name nothing in the process: its driver has mapped them without rights, or nothing is there and the library
 * does so itself.
 */
#ifndef CLSTREAM_MEMORY_POINTER_PLACE_H
#define CLSTREAM_MEMORY_POINTER_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clstream/status.h>

struct buffer;

struct pointer_place {
    uintptr_t address; /* that kernels see; 0: not known */
    bool is_hosts;     /* it is memory of this process */
};

/* Asks the device, at most once a buffer, and once a context whose memory its addresses are. Without a lock. */
cls_status pointer_place_find(struct buffer *buffer, struct pointer_place *out);

/* Whether `bytes` bytes from there on are names of this buffer's memory and of nothing else. Under the lock of
 * memory/pointers.c. */
bool pointer_place_is_free(const struct pointer_place *place, size_t bytes);

/* Whether a pointer that is in no buffer is known to be in addresses that only a driver uses. */
bool pointer_place_is_drivers(const void *pointer);

#endif
