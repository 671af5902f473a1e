/* SPDX-License-Identifier: MIT */
/*
 * Batches: recorded operations that are fused into few kernels and executed together. Operations are recorded
 * as nodes (record.c, inputs.c). The first execution after that makes a plan (plan.c), which is used until
 * more is recorded; executions submit it (execute.c), and results are read (read.c). One lock guards a batch;
 * it is held while work is submitted, never while it is waited for.
 */
#ifndef CLSTREAM_BATCH_BATCH_H
#define CLSTREAM_BATCH_BATCH_H

#include <pthread.h>

#include <clstream/batch.h>

#include "base/handle.h"
#include "batch/node.h"

struct context;
struct stream;
struct batch_plan;

enum { BATCH_STREAMS = 8, BATCH_DEFAULT_STREAMS = 4 };

/* Submitted work that uses the batch's memory. */
struct batch_use {
    struct stream *stream; /* retained */
    uint64_t position;
};

struct batch {
    struct object object;
    pthread_mutex_t lock;    /* the slot's: it outlives the batch, which is destroyed under it */
    struct context *context; /* retained */
    uint32_t serial;         /* the upper half of its values' ids; never 0 */
    unsigned max_streams;

    /* guarded by the lock */
    struct batch_node *nodes;
    uint32_t n_nodes, node_room;
    uint32_t n_uploaders; /* nodes with an uploader */

    struct batch_plan *plan; /* NULL: something was recorded since */
    bool overlaps_checked;   /* for this plan and the arrays bound now */
    struct buffer *arena;    /* stream-ordered memory of the execution being submitted */

    /* Used beside the caller's stream; made on first need. */
    struct stream *streams[BATCH_STREAMS - 1];

    struct batch_use *uses;
    unsigned n_uses, use_room;
    struct batch_use latest; /* the latest execution; stream NULL: none yet */
    bool cut_short; /* the latest execution was not submitted completely, and left no results */

    cls_batch_statistics totals;
};

extern struct object_pool batch_pool;

/* Looks up a handle and locks the batch, which exists until batch_leave. */
cls_status batch_enter(cls_batch handle, struct batch **out);
/* Unlocks; returns `status`. */
cls_status batch_leave(struct batch *batch, cls_status status);

/* The node of a value; `what` names the call or operation, and `role` its argument. */
cls_status batch_find(struct batch *batch, const char *what, const char *role, cls_value value,
                      uint32_t *node);
cls_value batch_value(const struct batch *batch, uint32_t node);

/* CLS_ERROR_INVALID_VALUE for no dtype, CLS_ERROR_UNSUPPORTED for one that the device has not. */
cls_status batch_check_dtype(const struct batch *batch, const char *what, cls_dtype dtype);

/* Makes room for so many nodes, at most 16. */
cls_status batch_reserve_nodes(struct batch *batch, uint32_t count);

/* Appends a node; drops the plan. */
cls_status batch_add(struct batch *batch, const struct batch_node *node, uint32_t *index);

/* Arguments of kernels have changed: drops the plan's bindings. */
void batch_rebind(struct batch *batch);

/* Forgets which execution made the node's upload. */
void batch_forget_uploader(struct batch *batch, struct batch_node *node);

/* The structure, or the alignment of arrays, has changed: drops the plan. */
void batch_replan(struct batch *batch);

/* Makes room for so many uses; before the work that they stand for is submitted. */
cls_status batch_reserve_uses(struct batch *batch, unsigned count);

/* Adds a use, for which there is room, and removes those that are done. */
void batch_note_use(struct batch *batch, struct stream *stream, uint64_t position);

/* Waits until no submitted work uses the batch's memory, or the host memory of its inputs. */
void batch_await_uses(cls_batch handle);

/* Makes `stream` wait for everything that uses the batch's memory. */
cls_status batch_follow_uses(struct batch *batch, struct stream *stream);

#endif
