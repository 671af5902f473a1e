/* SPDX-License-Identifier: MIT */
/*
 * A chunk on the device: all of the plan as one batch, which makes one kernel of it, from buffer 0 to the
 * buffer of the result. Verification runs the same plan step by step instead (execute.h).
 */
#ifndef CLSTREAM_TOOLS_CHUNK_H
#define CLSTREAM_TOOLS_CHUNK_H

#include <clstream/batch.h>

#include "execute.h"

/* Begin with {0}. */
struct chunk {
    cls_batch batch; /* recorded for the buffers and the count; NULL: not yet */
    size_t count;
};

/* The device buffer that holds the result: 0 where its elements are as large as the input's, else 1. */
unsigned chunk_result(const struct plan *plan);

/* Submits the plan for the first `count` elements of a chunk's device buffers, the same in every call.
 * Recorded again only for another count. */
bool chunk_submit(struct chunk *chunk, const struct program *program, const cls_buffer *buffers,
                  size_t count, cls_stream stream, struct failure *failure);

/* Returns at once; submitted work completes. */
void chunk_destroy(struct chunk *chunk);

/* Device memory of one chunk, in bytes. */
uint64_t chunk_bytes(const struct plan *plan, size_t capacity);

#endif
