/* SPDX-License-Identifier: MIT */
/* What the programs of this folder expect: one that does not hold is printed and counted. */
#ifndef TESTS_CPP_EXPECT_H
#define TESTS_CPP_EXPECT_H

#include <cstdio>

static int failures;

#define EXPECT(condition)                                                     \
    do                                                                        \
        if (!(condition)) {                                                   \
            std::printf("line %d does not hold: %s\n", __LINE__, #condition); \
            failures++;                                                       \
        }                                                                     \
    while (0)

#endif
