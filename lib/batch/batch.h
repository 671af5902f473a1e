/* SPDX-License-Identifier: MIT */
/*
 * Batches inside. The life of one: nodes are recorded (record.c); at the first execution after that a
 * plan is made of them (plan.c), which stands until more is recorded; executions submit the plan
 * (execute.c). One lock guards all; it is held while work is submitted, never while it is waited for.
 */
#ifndef CLSTREAM_BATCH_BATCH_H
#define CLSTREAM_BATCH_BATCH_H

#include <pthread.h>

#include <clstream/batch.h>

#include "base/handle.h"
#include "batch/node.h"

struct context;
struct stream;
struct plan;

enum { BATCH_STREAMS = 8, BATCH_DEFAULT_STREAMS = 4 };

/* Submitted work that uses the batch's memory. */
struct use {
    struct stream *stream; /* retained */
    uint64_t position;
};

struct batch {
    struct object object;
    pthread_mutex_t lock;    /* of the slot: it outlives the batch, which is destroyed under it */
    struct context *context; /* retained */
    uint32_t serial;         /* in the ids of its values; never 0 */
    unsigned max_streams;

    /* guarded by the lock */
    struct node *nodes;
    uint32_t n_nodes, node_room;
    uint32_t n_uploaders; /* nodes that have one */

    struct plan *plan;     /* NULL: something was recorded since */
    bool overlaps_checked; /* of this plan, since an array was bound or stored */
    struct buffer *arena;  /* stream-ordered memory of the execution being submitted */

    /* Of the batch's own, beside the caller's; made on first need. */
    struct stream *streams[BATCH_STREAMS - 1];

    struct use *uses;
    unsigned n_uses, use_room;
    struct use latest; /* execution; stream NULL: none yet */
    bool cut_short;    /* it was not submitted to its end, and left no results */

    cls_batch_statistics totals;
};

extern struct object_pool batch_pool;

/* Looks up a handle and locks the batch, which stays until it is left; on failure nothing is held. */
cls_status batch_enter(cls_batch handle, struct batch **out);
/* Unlocks; returns `status`. */
cls_status batch_leave(struct batch *batch, cls_status status);

/* The node of a value; `what` names the call or operation, and `role` its argument. */
cls_status batch_find(struct batch *batch, const char *what, const char *role, cls_value value,
                      uint32_t *node);
cls_value batch_value(const struct batch *batch, uint32_t node);

/* CLS_ERROR_INVALID_VALUE for no dtype, CLS_ERROR_UNSUPPORTED for one that the device has not. */
cls_status batch_check_dtype(const struct batch *batch, const char *what, cls_dtype dtype);

/* Appends a node; what hangs on the plan is dropped. */
cls_status batch_add(struct batch *batch, const struct node *node, uint32_t *index);

/* Arguments of kernels are others from here on. */
void batch_rebind(struct batch *batch);

/* From here on nobody asks how the execution ended that made the node's upload. */
void batch_forget_uploader(struct batch *batch, struct node *node);

/* What changes the structure, or the alignment of arrays. */
void batch_replan(struct batch *batch);

/* Makes room for so many uses, before what uses the batch is submitted. */
cls_status batch_reserve_uses(struct batch *batch, unsigned count);

/* Forgets uses that are done, and remembers one more, for which there is room. */
void batch_note_use(struct batch *batch, struct stream *stream, uint64_t position);

/* Returns when nothing that was submitted uses the batch's memory, or its inputs' on the host, any more. */
void batch_await_uses(cls_batch handle);

/* Makes `stream` wait for everything that uses the batch's memory. */
cls_status batch_follow_uses(struct batch *batch, struct stream *stream);

#endif
