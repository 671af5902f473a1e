/* SPDX-License-Identifier: MIT */
/* The made-up libcuda.so.1 (libcuda.c), and its controls for a test in the same process, found by dlsym. */
#ifndef CLSTREAM_TESTS_LIBCUDA_H
#define CLSTREAM_TESTS_LIBCUDA_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Of its second device; those behind it, which play parts of that one, have their number for a last character. */
#define LIBCUDA_UUID "a made-up device"

enum { LIBCUDA_WHOLE = 1, LIBCUDA_DEVICES = 10 };

#define LIBCUDA_CONTROLS "libcuda_controls"

struct libcuda_controls {
    void (*arm)(unsigned nth, int code); /* the `nth` call from now on; 0: none */
    bool (*failed)(void);                /* it has, since then */
    int (*live)(void);                   /* memory that was made or imported, and not released */
};

static inline void libcuda_uuid(int device, unsigned char uuid[16]) {
    memcpy(uuid, device < LIBCUDA_WHOLE ? "another device.." : LIBCUDA_UUID, 16);
    if (device > LIBCUDA_WHOLE)
        uuid[15] = (unsigned char)('0' + device);
}

/* The device whose memory the descriptor is of; 0: it is not of memory that was made here. */
static inline int libcuda_owner(int fd) {
    char path[64], target[64] = "";
    int device = 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const bool is = readlink(path, target, sizeof target - 1) > 0 &&
                    sscanf(target, "/memfd:made-up memory of device %d", &device) == 1;
    return is ? device : 0;
}

#endif
