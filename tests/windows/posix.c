/* SPDX-License-Identifier: MIT */
/* What tests/windows/posix.h declares: the end of a program that hangs, and memory. */
#include <malloc.h>
#include <stdatomic.h>
#include <windows.h>

void test_alarm(unsigned seconds);

static _Atomic unsigned latest;

static DWORD WINAPI ring(void *arg) {
    const unsigned serial = (unsigned)((ULONG_PTR)arg >> 16),
                   seconds = (unsigned)(ULONG_PTR)arg & 0xffff;
    Sleep(1000 * seconds);
    if (latest == serial)
        TerminateProcess(GetCurrentProcess(), 142);
    return 0;
}

void test_alarm(unsigned seconds) {
    const unsigned serial = ++latest;
    const ULONG_PTR both = (ULONG_PTR)serial << 16 | (seconds & 0xffff);
    if (seconds)
        CloseHandle(CreateThread(NULL, 0, ring, (void *)both, 0, NULL));
}

void *aligned_alloc(size_t alignment, size_t bytes);
void *aligned_alloc(size_t alignment, size_t bytes) { return _aligned_malloc(bytes, alignment); }
