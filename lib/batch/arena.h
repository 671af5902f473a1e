/* SPDX-License-Identifier: MIT */
/*
 * The arena: one block of memory for all intermediate values of an execution of a batch, or of a launch of a graph.
 * Values that are never alive together may share bytes. Pure functions.
 */
#ifndef CLSTREAM_BATCH_ARENA_H
#define CLSTREAM_BATCH_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include <clstream/status.h>

enum { ARENA_ALIGNMENT = 256 };

/* A value is written in step `first`, and read last in step `last`. */
struct arena_value {
    size_t bytes; /* rounded up to ARENA_ALIGNMENT by the caller */
    size_t offset;
    unsigned first;
    unsigned last;
};

/* The most bytes that are alive in one step. */
size_t arena_least(const struct arena_value *values, unsigned n_values, unsigned n_steps);

/* Fills in the offsets and the size of the arena. `apart(a, b)`: whether two values must not share bytes. For
 * chains, where a value conflicts with the one before it and the one after it only, the size is `least`. */
cls_status arena_place(struct arena_value *values, unsigned n_values, size_t least,
                       bool (*apart)(const void *context, unsigned a, unsigned b),
                       const void *context, size_t *bytes);

#endif
