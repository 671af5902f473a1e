/* SPDX-License-Identifier: MIT */
#include "base/checksum.h"

#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static uint64_t mix_bytes(uint64_t hash, const unsigned char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return mix(hash, word);
}

void checksum_add(struct checksum *sum, const void *bytes, size_t n) {
    const unsigned char *at = bytes;
    while (n) {
        if (!sum->n_rest && n >= sizeof sum->rest) {
            sum->hash = mix_bytes(sum->hash, at);
            at += sizeof sum->rest;
            n -= sizeof sum->rest;
            continue;
        }
        sum->rest[sum->n_rest++] = *at++;
        n--;
        if (sum->n_rest == sizeof sum->rest) {
            sum->hash = mix_bytes(sum->hash, sum->rest);
            sum->n_rest = 0;
        }
    }
}

uint64_t checksum_value(const struct checksum *sum) {
    unsigned char last[sizeof sum->rest] = {0};
    memcpy(last, sum->rest, sum->n_rest);
    return mix(mix_bytes(sum->hash, last), sum->n_rest);
}
