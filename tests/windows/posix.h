/* SPDX-License-Identifier: MIT */
/*
 * What the test programs use of POSIX and MinGW lacks. tests/windows/run.sh has the compiler include it before each of them.
 * Programs that start processes by fork or posix_spawn are not built for Windows.
 */
#ifndef CLSTREAM_TESTS_WINDOWS_POSIX_H
#define CLSTREAM_TESTS_WINDOWS_POSIX_H

#include <direct.h>
#include <io.h>
#include <malloc.h>
#include <process.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void test_alarm(unsigned seconds);
#define alarm(seconds) test_alarm(seconds)

static inline int setenv(const char *name, const char *value, int replaces) {
    return !replaces && getenv(name) ? 0 : _putenv_s(name, value);
}

static inline int unsetenv(const char *name) { return _putenv_s(name, ""); }

static inline char *mkdtemp(char *pattern) {
    return _mktemp(pattern) && _mkdir(pattern) == 0 ? pattern : NULL;
}

#define mkdir(path, mode) _mkdir(path)
#define aligned_alloc(alignment, bytes) _aligned_malloc(bytes, alignment)
#define _SC_PAGESIZE 0
#define sysconf(what) 4096L
#define rand_r(seed) ((int)((*(seed) = *(seed)*1103515245u + 12345u) >> 16 & 0x7fff))
#define dirfd(folder) (-1)
#define readlinkat(folder, name, out, size) (-1L)
#define localtime_r(time, out) (localtime_s(out, time) ? NULL : (out))

#endif
