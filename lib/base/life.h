/* SPDX-License-Identifier: MIT */
/* Under CLSTREAM_CHECK=leak: when and where an object was made. */
#ifndef CLSTREAM_BASE_LIFE_H
#define CLSTREAM_BASE_LIFE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/rare.h"
#include "base/text.h"

enum { LIFE_FRAMES = 16 };

struct object_life {
    uint64_t number;  /* of the object in the order of creation, from 1 */
    bool librarys;    /* made by the library for itself: another object destroys it */
    const char *call; /* by which the program made it; NULL: the one of its type */
    int n_frames;
    void
        *frames[LIFE_FRAMES]; /* of the call stack, innermost first; none where it cannot be read */
};

/* Reads CLSTREAM_CHECK, once. */
void life_prepare(void);

extern _Atomic bool lives_are_kept; /* set before the first object is made, never afterwards */

static inline bool keeps_lives(void) {
    return RARELY(atomic_load_explicit(&lives_are_kept, memory_order_relaxed));
}

/* The life of an object that is made now; NULL without memory. */
struct object_life *life_begin(void) COLD;

/* Appends where the program made the call, as "PROGRAM(+OFFSET)", or nothing if that is not known. */
void life_append_place(const struct object_life *life, struct text *text);

#endif
