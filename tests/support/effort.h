/* SPDX-License-Identifier: MIT */
/*
 * How much a test goes through. The suite is to end soon, so where inputs are many or the driver's compiler has
 * much to do, a part of them is run; with TEST_EFFORT=long in the environment, as in make check-long, all are.
 */
#ifndef CLSTREAM_TESTS_EFFORT_H
#define CLSTREAM_TESTS_EFFORT_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool effort_is_long(void) {
    const char *effort = getenv("TEST_EFFORT");
    return effort && !strcmp(effort, "long");
}

#endif
