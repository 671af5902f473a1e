/* SPDX-License-Identifier: MIT */
/*
 * What the test programs use of POSIX and MinGW lacks. tests/windows/run.sh has the compiler include it before each of them.
 * Programs that start processes by fork or posix_spawn are not built for Windows.
 */
#ifndef CLSTREAM_TESTS_WINDOWS_POSIX_H
#define CLSTREAM_TESTS_WINDOWS_POSIX_H

#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <malloc.h>
#include <process.h>
#include <stdbool.h>
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

/* What is read and written in place is bytes, whatever the file was opened as. */
static inline bool bytes_at(int fd, long at) {
    return _setmode(fd, _O_BINARY) >= 0 && _lseek(fd, at, SEEK_SET) == at;
}

static inline int pread(int fd, void *to, size_t bytes, long at) {
    return bytes_at(fd, at) ? _read(fd, to, (unsigned)bytes) : -1;
}

static inline int pwrite(int fd, const void *from, size_t bytes, long at) {
    return bytes_at(fd, at) ? _write(fd, from, (unsigned)bytes) : -1;
}

#define mkdir(path, mode) _mkdir(path)
#define _SC_PAGESIZE 0
#define sysconf(what) 4096L
#define rand_r(seed) ((int)((*(seed) = *(seed)*1103515245u + 12345u) >> 16 & 0x7fff))
#define dirfd(folder) (-1)
#define readlinkat(folder, name, out, size) (-1L)
#define localtime_r(time, out) (localtime_s(out, time) ? NULL : (out))

#endif
