/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "options.h"
#include "reference.h"

enum { BLOCK = 1 << 17 }; /* elements */

/* The i-th number of a sequence: Steele, Lea and Flood's SplitMix64, which has no state to
 * carry. */
static uint64_t random_at(uint64_t seed, uint64_t i) {
    uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Floats take as many random bits as their fraction has, so every value is exact in its type. */
static void fill(cls_dtype dtype, uint64_t seed, uint64_t first, size_t count, void *to) {
    const size_t size = cls_dtype_size(dtype);
    unsigned char *bytes = to;
    float *singles = to;
    double *doubles = to;

    if (dtype == CLS_F32)
        for (size_t i = 0; i < count; i++)
            singles[i] = (float)(random_at(seed, first + i) >> 40) * 0x1p-20f - 8;
    else if (dtype == CLS_F64)
        for (size_t i = 0; i < count; i++)
            doubles[i] = (double)(random_at(seed, first + i) >> 12) * 0x1p-48 - 8;
    else if (reference_is_float(dtype))
        for (size_t i = 0; i < count; i++) {
            const int bits = (int)(random_at(seed, first + i) >> 56);
            reference_put_float(dtype, to, i, bits / 16.0 - 8);
        }
    else
        for (size_t i = 0; i < count; i++) {
            const uint64_t bits = random_at(seed, first + i);
            memcpy(bytes + i * size, &bits, size);
        }
}

static bool generate(const struct gen_options *options, void *block, const struct output *output,
                     struct failure *failure) {
    const uint64_t count = output->array.count;
    for (uint64_t first = 0; first < count; first += BLOCK) {
        const size_t n = count - first < BLOCK ? (size_t)(count - first) : BLOCK;
        fill(options->dtype, options->seed, first, n, block);
        if (!output_write(output, first, n, block, failure))
            return false;
    }
    return true;
}

int command_gen(int argc, char **argv) {
    struct gen_options options;
    struct output output;
    struct failure failure = {.set = false};
    const int code = gen_options_parse(argc, argv, &options);
    if (code != OPTIONS_GO_ON)
        return code;

    const bool npy = is_npy_output(options.output, options.dtype != CLS_BF16);
    struct npy_array array = {.dtype = options.dtype, .n_dims = 1};
    array.shape[0] = array.count = options.bytes / cls_dtype_size(options.dtype);
    void *block = malloc(BLOCK * sizeof(uint64_t));
    if (!block)
        fail(&failure, "out of memory");
    else if (npy && options.dtype == CLS_BF16)
        fail(&failure, "%s: a .npy file has no bf16", options.output);
    else if (output_open(&output, options.output, &array, npy, &failure)) {
        if (generate(&options, block, &output, &failure))
            output_commit(&output, &failure);
        else
            output_abandon(&output);
    }
    free(block);
    return failure.set ? failure_print(&failure, TOOL_FAILED) : TOOL_OK;
}
