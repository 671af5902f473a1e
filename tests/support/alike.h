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

/* Whether all of these devices can share memory, each with each, and the weakest way that was found (clstream/share.h). */
bool alike_share_memory(cls_share_info *info);

#endif
