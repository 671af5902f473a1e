/* SPDX-License-Identifier: MIT */
/*
 * Contexts of several devices: those of the same platform and name as the rig's. They form a ring that begins with the
 * rig's, so that a test for many devices runs where there are fewer, and on one.
 */
#ifndef CLSTREAM_TESTS_ALIKE_H
#define CLSTREAM_TESTS_ALIKE_H

#include <clstream/share.h>

#include "rig.h"

unsigned alike_count(void);

/* A context of the device so many places after the rig's. */
cls_context alike_context(unsigned place);

/* Of their memory, as alike_setup finds it. */
extern struct alike_memory {
    bool is_shared;       /* all of these devices can share memory, each with each */
    cls_share_info found; /* the weakest way (clstream/share.h) */
} alike_memory;

/* rig_setup, and looks at the memory. */
int alike_setup(void **state);

#define SKIP_UNLESS_SHARED()                                                                      \
    do {                                                                                          \
        if (!alike_memory.is_shared)                                                              \
            SKIP_BECAUSE("this device's memory cannot be shared: %s", alike_memory.found.reason); \
    } while (0)

/* A test of memory that is shared, skipped where there is none; `setup` and `teardown` then do nothing. */
struct shared_test {
    void (*run)(void **state);
};
void run_shared_test(void **state);
#define SHARED_TEST(name, setup, teardown)                                      \
    {                                                                           \
#name, run_shared_test, setup, teardown, &(struct shared_test) { name } \
    }

#endif
