/* SPDX-License-Identifier: MIT */
/*
 * Headers of NumPy's .npy files: format versions 1.0, 2.0 and 3.0, little-endian, C order, and the
 * library's six element types. Both directions work on memory only; nothing here opens a file.
 */
#ifndef CLSTREAM_TOOLS_NPY_H
#define CLSTREAM_TOOLS_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clstream/types.h>

enum {
    NPY_MAX_DIMS = 64,        /* NumPy's, since 2.0 */
    NPY_MAGIC = 6,            /* bytes that every file begins with */
    NPY_PREFIX = 12,          /* this many bytes always suffice to learn a header's size */
    NPY_MAX_HEADER = 1 << 20, /* a header that claims more is refused, not allocated */
    NPY_MAX_WRITTEN = 2048,   /* what npy_write needs at most */
    NPY_REASON = 160
};

struct npy_array {
    cls_dtype dtype;
    unsigned n_dims;              /* 0: a single element */
    uint64_t shape[NPY_MAX_DIMS]; /* the first n_dims are set */
    uint64_t count;               /* elements: the shape's product; count times size fits int64_t */
    size_t header_bytes;          /* where the data start */
};

enum npy_result {
    NPY_OK = 0,
    NPY_MORE, /* `*needed` bytes of the file's start are needed */
    NPY_BAD   /* `reason` says what is wrong, as a phrase without a full stop */
};

/* Whether the first NPY_MAGIC bytes of a file are those of a .npy file. */
bool npy_is_magic(const void *bytes);

/*
 * Parses the header in the first `size` bytes of a file. Reads only bytes[0 .. size). `*array` is
 * written on NPY_OK only, `*needed` on NPY_MORE only (it is above `size`, at most NPY_MAX_HEADER),
 * `reason` on NPY_BAD only.
 */
enum npy_result npy_parse(const void *bytes, size_t size, struct npy_array *array, size_t *needed,
                          char reason[NPY_REASON]);

/*
 * Writes a version 1.0 header for `array` (its header_bytes is not read), padded so that the
 * data start at a multiple of 64 bytes. Returns its size, 0 when `capacity` is too small.
 */
size_t npy_write(const struct npy_array *array, void *bytes, size_t capacity);

#endif
