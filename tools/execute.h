/* SPDX-License-Identifier: MIT */
/* A plan on a device: its constants as arrays there, and its steps submitted to a stream. */
#ifndef CLSTREAM_TOOLS_EXECUTE_H
#define CLSTREAM_TOOLS_EXECUTE_H

#include "failure.h"
#include "plan.h"

struct program {
    const struct plan *plan; /* borrowed */
    cls_context context;
    size_t capacity; /* elements of a chunk at most */
    unsigned n_constants;
    cls_buffer constants[PLAN_MAX_CONSTANTS];
};

/* Allocates and fills the constants; done on return. */
bool program_create(struct program *program, cls_context context, const struct plan *plan,
                    size_t capacity, struct failure *failure);

void program_destroy(struct program *program);

/* Submits step `i` for the first `count` elements of a chunk's device buffers. */
bool program_submit_step(const struct program *program, unsigned i, const cls_buffer *buffers,
                         size_t count, cls_stream stream, struct failure *failure);

/* Submits all steps. */
bool program_submit(const struct program *program, const cls_buffer *buffers, size_t count,
                    cls_stream stream, struct failure *failure);

/* Device memory in bytes: the constants, and one chunk's buffers. */
uint64_t program_constant_bytes(const struct plan *plan, size_t capacity);
uint64_t program_chunk_bytes(const struct plan *plan, size_t capacity);

#endif
