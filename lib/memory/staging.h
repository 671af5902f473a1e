/* SPDX-License-Identifier: MIT */
/*
 * Staged copies: where a driver's copy from or to pageable memory blocks the caller, a worker moves the data in chunks
 * through pinned memory instead. A chunk is in use until its transfer is done.
 */
#ifndef CLSTREAM_MEMORY_STAGING_H
#define CLSTREAM_MEMORY_STAGING_H

#include "stream/command.h"

struct chunk;
struct context;
struct queue;
struct staging;

extern const struct command_type type_staged_write, type_staged_read, type_staged_write_rect,
    type_staged_read_rect;

/* A chunk of a context's, of STAGING_BYTES of pinned memory, which every context can use. */
enum { STAGING_BYTES = 4 << 20 };
cls_status staging_take(struct context *context, struct chunk **out);
void staging_give(struct chunk *chunk);
void *staging_memory(const struct chunk *chunk);

/* Where a worker transfers chunks. */
struct transfer_queue {
    struct context *context;
    struct queue *queue;
    bool unflushed; /* the last flush failed: whoever waits tries again */
};
void staging_flush(struct transfer_queue *on);

/* Waits for the event of a transfer and releases it; the driver's code when the transfer failed. One of which nobody can
 * tell whether it is over is abandoned, with the chunk and what the command refers to: the chunk, which is given back all
 * the same, is of no use until it is over. */
cl_int staging_finish(struct transfer_queue *on, cl_event event, const struct refs *refs,
                      struct chunk *chunk);

void staging_free(struct staging *staging);

#endif
