/* SPDX-License-Identifier: MIT */
/*
 * What a cache file holds: a header, the whole key and the payload, under one checksum. Packing and
 * parsing are pure functions over bytes. Fields are in the host's byte order: a file from a host of
 * the other order does not parse, which is as well.
 */
#ifndef CLSTREAM_DRIVER_CACHE_BLOB_H
#define CLSTREAM_DRIVER_CACHE_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cache_kind { CACHE_PROGRAM = 1, CACHE_CAPS = 2 };

/* Bytes that somebody else owns. */
struct cache_bytes {
    const void *bytes;
    size_t size;
};

/* The file's bytes, to be freed by the caller, or NULL without memory. */
void *cache_blob_pack(enum cache_kind kind, struct cache_bytes key, struct cache_bytes payload,
                      size_t *size);

/* Is this a file of this kind for exactly this key, of this format, whole and unaltered? Then
 * `*payload` is set to its part of `blob`. */
bool cache_blob_parse(struct cache_bytes blob, enum cache_kind kind, struct cache_bytes key,
                      struct cache_bytes *payload);

#endif
