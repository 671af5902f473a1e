/* SPDX-License-Identifier: MIT */
/* What the tests of calls from many threads share. */
#ifndef CLSTREAM_TESTS_THREADS_H
#define CLSTREAM_TESTS_THREADS_H

#include "../support/rig.h"

enum { THREADS = 8 };

/* On a thread of a team: a failure there is told and ends the member, not the test. */
#define CHECK(condition)                                                                     \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            print_error("line %d: %s: %s\n", __LINE__, #condition, cls_last_error_detail()); \
            return false;                                                                    \
        }                                                                                    \
    } while (0)

#define SKIP_ON_SINGLE_THREADED_DRIVERS() \
    if (rig_runs_inline())                \
    SKIP_BECAUSE("this driver is for single-threaded use")

#endif
