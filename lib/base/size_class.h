/* SPDX-License-Identifier: MIT */
/*
 * Size classes: one for each count of units up to 8, then 8 for each doubling, so that rounding up to
 * one costs at most an eighth. A unit is the alignment of every slot.
 */
#ifndef CLSTREAM_BASE_SIZE_CLASS_H
#define CLSTREAM_BASE_SIZE_CLASS_H

#include <stddef.h>

enum { SIZE_CLASS_STEPS = 8, SIZE_CLASS_STEP_BITS = 3, SIZE_CLASSES = 256 };

/* The class of a size above 0; SIZE_CLASSES or more for one that is too large for any. */
static inline unsigned size_class_of(size_t bytes, unsigned unit_shift) {
    size_t last = (bytes - 1) >> unit_shift;
    if (last < SIZE_CLASS_STEPS)
        return (unsigned)last;
    unsigned doubling = 63u - (unsigned)__builtin_clzll(last) - SIZE_CLASS_STEP_BITS;
    return SIZE_CLASS_STEPS * (doubling + 1) + ((last >> doubling) & (SIZE_CLASS_STEPS - 1));
}

/* The size of a class in bytes: the largest that belongs to it. */
static inline size_t size_class_bytes(unsigned size_class, unsigned unit_shift) {
    if (size_class < SIZE_CLASS_STEPS)
        return (size_t)(size_class + 1) << unit_shift;
    unsigned doubling = size_class / SIZE_CLASS_STEPS - 1, step = size_class % SIZE_CLASS_STEPS;
    return (size_t)(SIZE_CLASS_STEPS + step + 1) << (doubling + unit_shift);
}

#endif
