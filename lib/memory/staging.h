/* SPDX-License-Identifier: MIT */
/*
 * Staged copies: where a driver's copy from or to pageable memory blocks the caller, a worker moves the data in chunks
 * through pinned memory instead. A chunk is in use until its transfer is done.
 */
#ifndef CLSTREAM_MEMORY_STAGING_H
#define CLSTREAM_MEMORY_STAGING_H

#include "stream/command.h"

struct staging_chunk;
struct context;
struct queue;

extern const struct command_type type_staged_write, type_staged_read, type_staged_write_rect,
    type_staged_read_rect;

/* A chunk of a context's, of STAGING_BYTES of pinned memory, which every context can use. */
enum { STAGING_BYTES = 4 << 20 };
cls_status staging_take(struct context *context, struct staging_chunk **out);
void staging_give(struct staging_chunk *chunk);

/* Where a worker transfers chunks. */
struct transfer_queue {
    struct context *context;
    struct queue *queue;
    bool unflushed; /* the last flush failed; the next wait flushes again */
};
void staging_flush(struct transfer_queue *on);

/* Waits for the event of a transfer from or to host memory, and releases it; returns the driver's code when the transfer
 * failed. If the driver does not tell whether the transfer is over, `*abandoned` is set, and it is abandoned together with
 * the command's references. */
cl_int transfer_finish(struct transfer_queue *on, cl_event event, const struct refs *refs,
                       void *host, bool *abandoned);

/* The same with a chunk. The caller gives it back in either case; an abandoned one is reused only when the transfer is
 * over. */
cl_int staging_finish(struct transfer_queue *on, cl_event event, const struct refs *refs,
                      struct staging_chunk *chunk);

/* Copies a rectangle in host memory. */
void staging_move(char *to, const char *from, const struct rect_3d *rect);

/* A copy that is cut to pieces of at most STAGING_BYTES: whole slices, rows of one slice, or a part of one row. */
struct cut {
    const struct rect_3d *rect;
    bool by_rows, by_slices;   /* no piece has more than one */
    size_t slice, row, column; /* of the next piece */
};

struct cut cut_begin(const struct rect_3d *rect);
bool cut_next(struct cut *cut, struct rect_3d *piece);

/* Has no piece need the driver's rectangles where those are wrong, for one side of it in a buffer. */
void cut_for(struct cut *cut, const struct context *context, const struct rect_side *side);

/* Transfer a piece between one side of it, in a buffer, and a chunk, in which it lies packed. */
cls_status staging_write(const struct transfer_queue *on, cl_mem to, const struct rect_3d *piece,
                         const struct staging_chunk *chunk, struct wait_list waits,
                         cl_event *event);
cls_status staging_read(const struct transfer_queue *on, cl_mem from, const struct rect_3d *piece,
                        const struct staging_chunk *chunk, struct wait_list waits, cl_event *event);

#endif
