/* SPDX-License-Identifier: MIT */
/*
 * The memory behind shareable buffers (clstream/share.h): one memory, and a cl_mem of it in each cl_context that has
 * asked, the same one for all handles of that context, or a sub-buffer of it. buffer_is_same_memory (buffer.h) compares
 * handles of any contexts.
 */
#ifndef CLSTREAM_MEMORY_SHARE_H
#define CLSTREAM_MEMORY_SHARE_H

#include "driver/shareable.h"

struct buffer;
struct context;
struct share;

/* Reports CLS_ERROR_UNSUPPORTED where the context's device has no memory that can be shared. */
cls_status share_check(struct context *context);

/* New memory, shared with nobody yet. The caller's reference goes with share_put; each buffer has one of its own. */
cls_status share_new(struct context *context, size_t bytes, struct share **out);
void share_put(struct share *share);

/* The whole memory as a cl_mem of the context, borrowed: it stays as long as the memory. */
cls_status share_import(struct share *share, struct context *context, cl_mem *out);

/* A buffer of `bytes` bytes of the memory from `origin` on. */
cls_status share_new_buffer(struct share *share, struct context *context, size_t origin,
                            size_t bytes, struct buffer **out);

/* Called for the last reference to a buffer that was opened from a slot of a pool. */
void share_leave_slot(struct buffer *slot);

/* Whether a command of `context` can use a buffer of another one. Then gives the cl_mem to use, borrowed, and where the
 * buffer begins in it. */
bool share_reach(const struct buffer *buffer, struct context *context, cl_mem *out, size_t *origin);

#endif
