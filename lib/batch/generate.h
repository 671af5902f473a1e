/* SPDX-License-Identifier: MIT */
/*
 * OpenCL C for a region. The text names each operation by the function of cl/map.cl that single calls use too, and
 * includes that file for every set of types. It depends only on the region's structure and shape, so that equal
 * structures share a program.
 *
 * The kernel's parameters: for every input a pointer and an offset in elements, the constants, for every
 * broadcast what its index is divided by, for every output a pointer and an offset; then `ulong count`, or what reduce_part of cl/reduce.cl takes.
 */
#ifndef CLSTREAM_BATCH_GENERATE_H
#define CLSTREAM_BATCH_GENERATE_H

#include "base/text.h"
#include "batch/regions.h"

/* How the kernel goes over the elements; the fields are spec's (ops/spec.h). */
struct region_shape {
    enum shape shape;
    unsigned vector;
    unsigned batch;
    unsigned steps;
    unsigned local;
};

/* The shape for a device: `aligned` says whether all arrays start at multiples of 16 bytes. */
struct region_shape region_shape_of(const struct batch_node *nodes, const struct region *region,
                                    const struct op_call *call, bool aligned);

/* Appends the readable form to `text`. */
void generate_region(const struct batch_node *nodes, const struct region *region,
                     const struct region_shape *shape, struct text *text);

/* The names of the region's operations, as "relu+scale+add", cut to fit. */
void generate_label(const struct batch_node *nodes, const struct region *region, char *to,
                    size_t capacity);

#endif
