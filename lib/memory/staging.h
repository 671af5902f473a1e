/* SPDX-License-Identifier: MIT */
/*
 * Staged copies: where a driver's copy from or to pageable memory blocks the caller, a worker moves the data in chunks
 * through pinned memory instead. A chunk is in use until its transfer is done.
 */
#ifndef CLSTREAM_MEMORY_STAGING_H
#define CLSTREAM_MEMORY_STAGING_H

#include "stream/command.h"

struct context;
struct staging;

extern const struct command_type type_staged_write, type_staged_read, type_staged_write_rect,
    type_staged_read_rect;

void staging_free(struct context *context, struct staging *staging);

#endif
