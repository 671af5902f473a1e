/* SPDX-License-Identifier: MIT */
/*
 * Staged copies: where a driver blocks in a pageable copy, a worker moves it in chunks through pinned
 * memory instead. A chunk is busy until the transfer that uses it is done.
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
