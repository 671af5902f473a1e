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
struct device;
struct staging;

extern const struct command_type type_staged_write, type_staged_read, type_staged_write_rect,
    type_staged_read_rect;

/* A chunk of a context's, of STAGING_BYTES of pinned memory, which every context can use. */
enum { STAGING_BYTES = 4 << 20 };
cls_status staging_take(struct context *context, struct chunk **out);
void staging_give(struct context *context, struct chunk *chunk);
void *staging_memory(const struct chunk *chunk);

/* Waits for the event of a transfer on `queue`; the driver's code when it failed. A flush that has failed is tried again. */
cl_int staging_await(const struct device *device, cl_command_queue queue, bool *unflushed,
                     cl_event event);

void staging_free(struct context *context, struct staging *staging);

#endif
