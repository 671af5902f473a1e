/* SPDX-License-Identifier: MIT */
/*
 * Ranges of addresses that nothing in the process can access, and that nothing else is given while the library lives: names
 * for bytes that lie elsewhere. They come out of large mappings without rights, which take addresses and no memory. Of the
 * ranges that were given back the oldest is given out again first.
 */
#ifndef CLSTREAM_BASE_RESERVE_H
#define CLSTREAM_BASE_RESERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clstream/status.h>

/* --- under a lock of the caller's --- */

/* A range of at least `bytes` bytes, with unused addresses behind them. It begins at a multiple of RESERVE_ALIGN.
 * CLS_ERROR_OUT_OF_MEMORY for want of memory or addresses. */
enum { RESERVE_ALIGN = 4096 };
cls_status reserve_take(size_t bytes, uintptr_t *start);

/* Makes these very addresses ones of the mappings, for good. False where the process has another use for some of them. */
bool reserve_claim(uintptr_t start, size_t bytes);

/* `bytes` as it was taken. */
void reserve_give(uintptr_t start, size_t bytes);

/* --- any thread, at any time --- */

/* Whether the address is in one of the mappings. */
bool reserve_has(uintptr_t address);

#endif
