/* SPDX-License-Identifier: MIT */
/*
 * How long the tests wait for what never comes: each program says how long where it runs as fast as it can,
 * and TEST_PATIENCE in the environment how many times that where it does not (valgrind).
 */
#ifndef CLSTREAM_TESTS_PATIENCE_H
#define CLSTREAM_TESTS_PATIENCE_H

#include <stdlib.h>
#include <unistd.h>

static inline unsigned patience(unsigned seconds) {
    const char *text = getenv("TEST_PATIENCE");
    const int times = text ? atoi(text) : 1;
    return times > 1 ? seconds * (unsigned)times : seconds;
}

/* Ends the process after `seconds`, hung or not; 0 calls it off. */
static inline void watchdog(unsigned seconds) { alarm(patience(seconds)); }

#endif
