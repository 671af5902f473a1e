/* SPDX-License-Identifier: MIT */
/* Integers of 1, 2, 4 or 8 bytes as wide ones, in either byte order. */
#ifndef CLSTREAM_TOOLS_LOW_BYTES_H
#define CLSTREAM_TOOLS_LOW_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Where the low bytes of a wide integer are in it. */
static inline size_t low_bytes_at(size_t size) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, sizeof first);
    return first ? 0 : sizeof(uint64_t) - size;
}

static inline uint64_t low_bytes_read(const void *from, size_t size) {
    uint64_t wide = 0;
    memcpy((unsigned char *)&wide + low_bytes_at(size), from, size);
    return wide;
}

static inline void low_bytes_write(void *to, size_t size, uint64_t wide) {
    memcpy(to, (const unsigned char *)&wide + low_bytes_at(size), size);
}

#endif
