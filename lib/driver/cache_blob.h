/* SPDX-License-Identifier: MIT */
/*
 * The format of a cache file: a header, the whole key and the payload, under one checksum. Packing and
 * parsing are pure functions over bytes. Fields are in the host's byte order; a file from a host of the
 * other order does not parse and counts as a miss, as it should.
 */
#ifndef CLSTREAM_DRIVER_CACHE_BLOB_H
#define CLSTREAM_DRIVER_CACHE_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cache_kind { CACHE_PROGRAM = 1, CACHE_CAPS = 2, CACHE_BLAS = 3, CACHE_BINARY = 4 };

/* Bytes that the holder of this struct does not own. */
struct cache_bytes {
    const void *bytes;
    size_t size;
};

/* The file's bytes, to be freed by the caller, or NULL without memory. */
void *cache_blob_pack(enum cache_kind kind, struct cache_bytes key, struct cache_bytes payload,
                      size_t *size);

/* True if this is a whole and unaltered file of this format and kind; sets `*key` and `*payload` to their parts of
 * `blob` then. */
bool cache_blob_open(struct cache_bytes blob, enum cache_kind kind, struct cache_bytes *key,
                     struct cache_bytes *payload);

/* The same, and it is for exactly this key. */
bool cache_blob_parse(struct cache_bytes blob, enum cache_kind kind, struct cache_bytes key,
                      struct cache_bytes *payload);

#endif
