/* SPDX-License-Identifier: MIT */
#include "system/pages.h"

#include <errno.h>
#include <io.h>
#include <malloc.h>
#include <windows.h>

size_t pages_bytes(void) {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwPageSize;
}

/* --- addresses without memory --- */

size_t pages_reserve_unit(void) {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwAllocationGranularity;
}

/* Wine keeps a byte for each page of them. */
uint64_t pages_reserve_usual(void) {
    return sizeof(void *) < 8 ? (uint64_t)16 << 20 : (uint64_t)16 << 30;
}

void *pages_reserve(void *start, size_t bytes) {
    return VirtualAlloc(start, bytes, MEM_RESERVE, PAGE_NOACCESS);
}

void pages_unreserve(void *start, size_t bytes) {
    (void)bytes;
    VirtualFree(start, 0, MEM_RELEASE);
}

/* --- what is mapped --- */

/* What lies at the address; false: nothing does. */
static bool query(uintptr_t address, MEMORY_BASIC_INFORMATION *info) {
    return VirtualQuery((const void *)address, info, sizeof *info) != 0 && info->State != MEM_FREE;
}

static bool is_hidden(const MEMORY_BASIC_INFORMATION *info) {
    return info->State != MEM_COMMIT || info->Protect & (PAGE_NOACCESS | PAGE_GUARD);
}

bool pages_can_read(uintptr_t address) {
    char byte;
    SIZE_T got = 0;
    return ReadProcessMemory(GetCurrentProcess(), (const void *)address, &byte, 1, &got) &&
           got == 1;
}

bool pages_are_mapped(uintptr_t start, size_t bytes) {
    const uintptr_t end = start + bytes;
    MEMORY_BASIC_INFORMATION info;
    while (start < end) {
        if (!query(start, &info) || is_hidden(&info))
            return false;
        start = (uintptr_t)info.BaseAddress + info.RegionSize;
    }
    return true;
}

bool pages_visit(uintptr_t start,
                 bool (*visit)(void *arg, uintptr_t start, uintptr_t end, bool hidden), void *arg) {
    MEMORY_BASIC_INFORMATION info;
    bool go_on = true;
    while (go_on && query(start, &info)) {
        const uintptr_t first = (uintptr_t)info.BaseAddress;
        start = first + info.RegionSize;
        go_on = visit(arg, first, start, is_hidden(&info));
    }
    return true;
}

/* --- memory with a descriptor --- */

/* The contexts of a process share pages; no other process gets them, because Windows names memory by handles. */
int pages_share(size_t bytes, int *descriptor, void **pages, const char **call) {
    *call = "VirtualAlloc";
    *pages = VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    *descriptor = -1;
    return *pages ? 0 : ENOMEM;
}

int pages_open(int descriptor, int *copy, void **pages, size_t *bytes, const char **call) {
    (void)descriptor, (void)copy, (void)pages, (void)bytes;
    *call = "memory of another process by a descriptor on Windows";
    return ENOSYS;
}

void pages_unshare(int descriptor, void *pages, size_t bytes) {
    (void)descriptor, (void)bytes;
    VirtualFree(pages, 0, MEM_RELEASE);
}

int descriptor_copy(int descriptor) {
    (void)descriptor;
    errno = ENOSYS;
    return -1;
}

int descriptor_reopen(int descriptor) { return descriptor_copy(descriptor); }

int descriptor_lock(int descriptor, uint64_t number) {
    (void)descriptor, (void)number;
    return ENOSYS;
}

void descriptor_unlock(int descriptor, uint64_t number) { (void)descriptor, (void)number; }

bool descriptor_is_locked(int descriptor, uint64_t first, uint64_t last) {
    (void)descriptor, (void)first, (void)last;
    return true;
}

void descriptor_close(int descriptor) { (void)descriptor; }

void descriptor_keep_private(int descriptor) { (void)descriptor; }

bool descriptor_is_same_file(int descriptor, int other) {
    (void)descriptor, (void)other;
    return false;
}

bool descriptor_is_same(int descriptor, int other) {
    return descriptor_is_same_file(descriptor, other);
}

/* --- aligned memory --- */

void *aligned_memory(size_t alignment, size_t bytes) { return _aligned_malloc(bytes, alignment); }

void aligned_memory_free(void *memory) { _aligned_free(memory); }
