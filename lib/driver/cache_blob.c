/* SPDX-License-Identifier: MIT */
#include "driver/cache_blob.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FORMAT = 1 };

static const char magic[8] = "CLSBLOB";

/* The checksum covers every byte behind itself: the rest of the header, the key and the payload. */
struct header {
    char magic[8];
    uint64_t checksum[2];
    uint32_t format;
    uint32_t kind;
    uint64_t key_size;
    uint64_t payload_size;
};

enum { UNCOVERED = offsetof(struct header, format) };

_Static_assert(sizeof(struct header) == 48, "no padding: all bytes are checked");

static void checksum(const void *blob, size_t size, uint64_t out[2]) {
    XXH128_hash_t hash = XXH3_128bits((const char *)blob + UNCOVERED, size - UNCOVERED);
    out[0] = hash.low64;
    out[1] = hash.high64;
}

void *cache_blob_pack(enum cache_kind kind, struct cache_bytes key, struct cache_bytes payload,
                      size_t *size) {
    struct header header = {"", {0, 0}, FORMAT, (uint32_t)kind, key.size, payload.size};
    memcpy(header.magic, magic, sizeof magic);
    if (key.size > SIZE_MAX / 4 || payload.size > SIZE_MAX / 4)
        return NULL;
    size_t total = sizeof header + key.size + payload.size;
    char *blob = malloc(total);
    if (!blob)
        return NULL;
    memcpy(blob, &header, sizeof header);
    memcpy(blob + sizeof header, key.bytes, key.size);
    memcpy(blob + sizeof header + key.size, payload.bytes, payload.size);
    checksum(blob, total, header.checksum);
    memcpy(blob, &header, sizeof header);
    *size = total;
    return blob;
}

/* The sizes are compared one after the other with what is left, so that no sum can overflow. */
static bool header_fits(const struct header *header, size_t size, enum cache_kind kind) {
    return !memcmp(header->magic, magic, sizeof magic) && header->format == FORMAT &&
           header->kind == (uint32_t)kind && header->key_size <= size - sizeof *header &&
           header->payload_size == size - sizeof *header - header->key_size;
}

bool cache_blob_open(struct cache_bytes blob, enum cache_kind kind, struct cache_bytes *key,
                     struct cache_bytes *payload) {
    struct header header;
    const char *bytes = blob.bytes;
    if (blob.size < sizeof header)
        return false;
    memcpy(&header, bytes, sizeof header);
    if (!header_fits(&header, blob.size, kind))
        return false;
    uint64_t sum[2];
    checksum(bytes, blob.size, sum);
    if (memcmp(sum, header.checksum, sizeof sum) != 0)
        return false;
    *key = (struct cache_bytes){bytes + sizeof header, (size_t)header.key_size};
    payload->bytes = bytes + sizeof header + key->size;
    payload->size = (size_t)header.payload_size;
    return true;
}

bool cache_blob_parse(struct cache_bytes blob, enum cache_kind kind, struct cache_bytes key,
                      struct cache_bytes *payload) {
    struct cache_bytes own, found;
    if (!cache_blob_open(blob, kind, &own, &found) || own.size != key.size ||
        memcmp(own.bytes, key.bytes, key.size) != 0)
        return false;
    *payload = found;
    return true;
}
