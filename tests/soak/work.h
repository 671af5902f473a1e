/* SPDX-License-Identifier: MIT */
/*
 * The work of a soak: an endless random mix of everything that a program does with streams, whose
 * results are known. One of these is for one thread.
 */
#ifndef CLSTREAM_TESTS_WORK_H
#define CLSTREAM_TESTS_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include <clstream/types.h>

struct work;

/* Makes streams, events and buffers on a context; NULL when something failed, which is said on stderr. */
struct work *work_new(cls_context context, uint64_t seed);
void work_free(struct work *work);

/* Submits `count` commands. False, with words on stderr, when a call failed. */
bool work_run(struct work *work, uint64_t count);

/* Waits for everything and compares what the device and the host functions did with what they should
 * have done. */
bool work_check(struct work *work);

#endif
