/* SPDX-License-Identifier: MIT */
/* Rows about memory that devices reach directly. */
#ifndef CLSTREAM_BENCH_DIRECT_H
#define CLSTREAM_BENCH_DIRECT_H

#include "several.h"

/* Whether the first `n` devices reach each other's memory. */
bool direct_is_there(const struct several *several, unsigned n);

/* Copies between two devices, and all-reduces of two, each against raw OpenCL on the same memory; and what shareable
 * memory costs where it is used alone. `bars`: those of two NVIDIA GPUs hold. */
void direct_copies(const struct several *several, bool bars);
void direct_all_reduces(const struct several *several, bool bars);
void direct_alone(const struct several *several, bool bars);

#endif
