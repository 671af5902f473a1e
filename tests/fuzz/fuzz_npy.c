/* SPDX-License-Identifier: MIT */
/* Headers of .npy files: whatever the bytes, the answer keeps npy.h's promises. */
#include <string.h>

#include "fuzz.h"
#include "tools/npy.h"

static bool same(const struct npy_array *a, const struct npy_array *b) {
    return a->dtype == b->dtype && a->n_dims == b->n_dims && a->count == b->count &&
           !memcmp(a->shape, b->shape, a->n_dims * sizeof *a->shape);
}

/* A header that is understood is written so that it is understood again. */
static void check_round_trip(const struct npy_array *array) {
    unsigned char bytes[NPY_MAX_WRITTEN];
    char reason[NPY_REASON];
    struct npy_array again;
    size_t needed;
    const size_t size = npy_write(array, bytes, sizeof bytes);
    REQUIRE(size > 0 && size % 64 == 0);
    REQUIRE(npy_parse(bytes, size, &again, &needed, reason) == NPY_OK);
    REQUIRE(same(array, &again) && again.header_bytes == size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char reason[NPY_REASON];
    struct npy_array array;
    size_t needed = 0;
    memset(reason, 'x', sizeof reason);
    switch (npy_parse(data, size, &array, &needed, reason)) {
    case NPY_OK:
        REQUIRE(array.header_bytes <= size && array.n_dims <= NPY_MAX_DIMS);
        REQUIRE(array.count <= INT64_MAX / cls_dtype_size(array.dtype));
        check_round_trip(&array);
        break;
    case NPY_MORE:
        REQUIRE(needed > size && needed <= NPY_MAX_HEADER);
        break;
    case NPY_BAD:
        REQUIRE(memchr(reason, '\0', sizeof reason) && reason[0]);
        break;
    }
    return 0;
}
