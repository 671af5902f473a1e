/* SPDX-License-Identifier: MIT */
/* The made-up libcuda.so.1 (libcuda.c), and its controls for a test in the same process, found by dlsym. */
#ifndef CLSTREAM_TESTS_LIBCUDA_H
#define CLSTREAM_TESTS_LIBCUDA_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Of its second device. */
#define LIBCUDA_UUID "a made-up device"

#define LIBCUDA_CONTROLS "libcuda_controls"

struct libcuda_controls {
    void (*arm)(unsigned nth, int code); /* the `nth` call from now on; 0: none */
    bool (*failed)(void);                /* it has, since then */
    int (*live)(void);                   /* memory that was made or imported, and not released */
};

/* Whether the descriptor is of memory that it made. */
static inline bool libcuda_made(int fd) {
    char path[64], target[64] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return readlink(path, target, sizeof target - 1) > 0 && strstr(target, "made-up device memory");
}

#endif
