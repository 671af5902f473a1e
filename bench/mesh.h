/* SPDX-License-Identifier: MIT */
/* Several devices that all work with each other: copies between each pair of them and between all pairs at once, and
 * all-reduce. */
#ifndef CLSTREAM_BENCH_MESH_H
#define CLSTREAM_BENCH_MESH_H

#include "several.h"

/* Among the first `n` of the devices. */
void mesh_copies(const struct several *several, unsigned n, size_t bytes, bool shareable);
void mesh_all_reduce(const struct several *several, unsigned n, size_t bytes, bool shareable);

#endif
