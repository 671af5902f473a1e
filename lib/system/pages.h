/* SPDX-License-Identifier: MIT */
/* Addresses and memory of the process, page by page. */
#ifndef CLSTREAM_SYSTEM_PAGES_H
#define CLSTREAM_SYSTEM_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t pages_bytes(void);

/* --- addresses without memory --- */

/* What pages_reserve's ranges begin and end at: a page, on Windows 64 KiB. */
size_t pages_reserve_unit(void);

/* How many addresses to take at once, where no more are needed. */
uint64_t pages_reserve_usual(void);

/* Addresses that nothing else gets, and that cannot be accessed: at `start`, or anywhere if that is NULL. NULL: there are
 * none. */
void *pages_reserve(void *start, size_t bytes);
void pages_unreserve(void *start, size_t bytes);

/* --- what is mapped --- */

/* Whether the byte can be read, without ending the process where it cannot. */
bool pages_can_read(uintptr_t address);

/* Whether all of the pages that the range touches are there. */
bool pages_are_mapped(uintptr_t start, size_t bytes);

/* Calls `visit` with the mappings behind `start` in turn, until it returns false. `hidden`: nothing may be done there. False
 * where the system does not tell. */
bool pages_visit(uintptr_t start,
                 bool (*visit)(void *arg, uintptr_t start, uintptr_t end, bool hidden), void *arg);

/* --- memory with a descriptor --- */

/* Of the functions below `call` is the one of the system that failed; they return its errno, or 0. */

/* New pages, all of them present, and a descriptor by which another process maps them; -1 where the system has none. */
int pages_share(size_t bytes, int *descriptor, void **pages, const char **call);

/* Maps what pages_share has made in another process; EINVAL, EACCES and EPERM: the descriptor is of something else. `copy`: a
 * descriptor of the caller's own. */
int pages_open(int descriptor, int *copy, void **pages, size_t *bytes, const char **call);

void pages_unshare(int descriptor, void *pages, size_t bytes);

/* A descriptor more, closed on exec: -1 with errno. */
int descriptor_copy(int descriptor);
void descriptor_close(int descriptor);
void descriptor_keep_private(int descriptor); /* closed on exec */

/* The file of pages_share, opened anew: what is locked by one descriptor stays locked when others of it are closed. -1 with
 * errno. */
int descriptor_reopen(int descriptor);

/* Locks of numbers in the file of a descriptor. Several descriptors may hold one; the system takes back those of a process
 * that has ended. 0, or an errno. */
int descriptor_lock(int descriptor, uint64_t number);
void descriptor_unlock(int descriptor, uint64_t number);

/* Whether any descriptor of the file holds a lock of these numbers, also where the system does not say. */
bool descriptor_is_locked(int descriptor, uint64_t first, uint64_t last);

/* Whether both name one file, by its number, or one open file. */
bool descriptor_is_same_file(int descriptor, int other);
bool descriptor_is_same(int descriptor, int other);

/* --- aligned memory --- */

void *aligned_memory(size_t alignment, size_t bytes);
void aligned_memory_free(void *memory);

#endif
