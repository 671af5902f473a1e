/* SPDX-License-Identifier: MIT */
/* What the fuzz targets have in common: the entry that libFuzzer calls, and checks that end the run. */
#ifndef CLSTREAM_TESTS_FUZZ_H
#define CLSTREAM_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition) \
    ((condition) ? (void)0 : (fprintf(stderr, "not so: %s\n", #condition), abort()))

#endif
