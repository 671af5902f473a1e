/* SPDX-License-Identifier: MIT */
/* A plan on a device, step by step: constants as arrays there, and one call of the library a step. */
#ifndef CLSTREAM_TOOLS_EXECUTE_H
#define CLSTREAM_TOOLS_EXECUTE_H

#include "failure.h"
#include "plan.h"

struct program {
    const struct plan *plan; /* borrowed */
    cls_context context;
    size_t capacity; /* elements of a chunk at most */
};

struct constants {
    unsigned n;
    cls_buffer arrays[PLAN_MAX_CONSTANTS];
};

/* Allocates and fills the plan's constants; done on return. */
bool constants_create(struct constants *constants, const struct program *program,
                      struct failure *failure);

void constants_destroy(struct constants *constants);

/* Device memory of the constants, in bytes. */
uint64_t constants_bytes(const struct plan *plan, size_t capacity);

/* Submits step `i` for the first `count` elements of a chunk's device buffers. */
bool program_submit_step(const struct program *program, const struct constants *constants,
                         unsigned i, const cls_buffer *buffers, size_t count, cls_stream stream,
                         struct failure *failure);

#endif
