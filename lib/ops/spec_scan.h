/* SPDX-License-Identifier: MIT */
/* The kernels of scans: cl/scan.cl and those that share its look back. */
#ifndef CLSTREAM_OPS_SPEC_SCAN_H
#define CLSTREAM_OPS_SPEC_SCAN_H

#include <clstream/scan.h>

#include "ops/spec.h"

/* What begins segments, and the bytes of a key. */
enum scan_heads {
    HEADS_NONE,
    HEADS_FLAGS,
    HEADS_EVERY,
    HEADS_KEYS_1,
    HEADS_KEYS_2,
    HEADS_KEYS_4,
    HEADS_KEYS_8,
    SCAN_HEADS
};

struct scan_kind {
    cls_scan_op op;
    cls_dtype in, out;
    enum scan_heads heads;
};

/* Those of keys of a type. */
enum scan_heads scan_heads_of_keys(cls_dtype dtype);

/* The bytes of a part. */
size_t spec_scan_part(const struct scan_kind *kind);

/* Of lean kernels an item has 72 registers, so that a multiprocessor of NVIDIA's holds more groups with their tiles. */
#define LEAN_OPTIONS " -cl-nv-maxrregcount=72"

/* `batch` vectors of a work-item make its part of a tile. */
cls_status spec_of_scan(const struct scan_kind *kind, enum shape shape, bool lean,
                        const struct spec **spec);

/* Sets the words of its buffer to 0. */
cls_status spec_of_clear(const struct spec **spec);

#endif
