/* SPDX-License-Identifier: MIT */
/* A 64-bit checksum of bytes that come in pieces; how they are cut does not matter. Finds changes, no forgeries. */
#ifndef CLSTREAM_BASE_CHECKSUM_H
#define CLSTREAM_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* All zero is that of no bytes. */
struct checksum {
    uint64_t hash;
    unsigned char rest[8]; /* fewer than 8 bytes not yet part of the hash */
    size_t n_rest;
};

void checksum_add(struct checksum *sum, const void *bytes, size_t n);
uint64_t checksum_value(const struct checksum *sum);

#endif
