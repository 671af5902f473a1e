/* SPDX-License-Identifier: MIT */
/*
 * Addresses that the process has, and cannot access: what a driver has mapped without rights, to keep the addresses of its
 * device's memory from being used for anything else.
 */
#ifndef CLSTREAM_BASE_HIDDEN_H
#define CLSTREAM_BASE_HIDDEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether all of the range is mapped without rights. Under a lock of the caller's. */
bool hidden_has(uintptr_t start, size_t bytes);

/* Whether the address is in a mapping that hidden_has has seen, which may have rights by now. Any thread, at any time. */
bool hidden_was_seen(uintptr_t address);

/* Whether the first and the last byte of the range can be read. */
bool hidden_is_readable(uintptr_t start, size_t bytes);

#endif
