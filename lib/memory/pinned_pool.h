/* SPDX-License-Identifier: MIT */
/*
 * Pinned host memory that a context keeps. The driver maps and unmaps each piece, which takes tens of microseconds and more,
 * so what was given back is kept for the next call of its size class (base/size_class.h). At most PINNED_KEPT bytes are
 * kept; those that were given back longest ago go first. Whoever gives memory back has waited for the commands that use it,
 * so that any work may have it next. cls_host_alloc and staged copies take their memory here.
 *
 * The context's lock guards what is kept; the driver is called without it.
 */
#ifndef CLSTREAM_MEMORY_PINNED_POOL_H
#define CLSTREAM_MEMORY_PINNED_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include <clstream/status.h>

struct context;
struct pinned;

/* The header of cls_host_alloc states it. */
enum { PINNED_KEPT = 256 << 20 };

/* Takes `bytes` of pinned memory, aligned to a page, with undefined contents. */
cls_status pinned_take(struct context *context, size_t bytes, struct pinned *out);

/* Gives it back, to be kept if it fits and the context lives; no command uses it. */
void pinned_give(struct context *context, const struct pinned *pinned);

/* Gives it back to the driver at once. */
void pinned_drop(struct context *context, const struct pinned *pinned);

/* Gives memory to the driver until no more than `keep` bytes are kept. False: none was given. */
bool pinned_trim(struct context *context, size_t keep);

/* Frees all that is kept: the context ends. */
void pinned_pool_end(struct context *context);

#endif
