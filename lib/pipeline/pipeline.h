/* SPDX-License-Identifier: MIT */
/*
 * What the files of lib/pipeline share. Beside this and the public interface they use what
 * pipeline/internals.h lists.
 */
#ifndef CLSTREAM_PIPELINE_PIPELINE_H
#define CLSTREAM_PIPELINE_PIPELINE_H

#include <stdbool.h>

#include <clstream/async_coordinator.h>
#include <clstream/event.h>
#include <clstream/pipeline.h>
#include <clstream/triple_buffer.h>
#include <clstream/types.h>

/* Replaces a NULL context by the default one; also returns its default stream. */
cls_status pipeline_context(cls_context given, cls_context *context, cls_stream *default_stream);

/* Checks the handle of a stream; CLS_ERROR_WRONG_CONTEXT where it is of another context. */
cls_status pipeline_check_stream(cls_stream stream, cls_context context);

/* The same of a stream of the user's, on which the block `owner`, in words, is about to order work: a captured one is
 * refused, and its capture is invalid. */
cls_status pipeline_check_users_stream(cls_stream stream, cls_context context, const char *owner);

/* cls_event_create for an event that belongs to a block: `owner` says in words which. NULL `config`: the defaults. */
cls_status pipeline_event(cls_context context, const cls_event_config *config, const char *owner,
                          cls_event *out);

/* Returns what a function of the caller's returned. Reports a failure as `whose`, unless the function has
 * reported one since `before` (error_count), so that no older detail is taken for it. */
cls_status pipeline_returned(cls_status status, unsigned long before, const char *whose);

/* As cls_pipeline_create, but each stage is completed before the next one is submitted. */
cls_status pipeline_create_in_place(cls_context context, const cls_pipeline_config *config,
                                    cls_pipeline *out);

struct ring;

/* A slot that an operation has taken. A reset of the ring waits for the operation's end and makes it invalid, as rounds
 * begin anew. */
struct held_slot {
    struct ring *ring; /* retained until the operation ends */
    cls_slot slot;
    cls_op_kind kind;
    uint64_t resets; /* of the ring, when the slot was taken */
};

/* Taking a slot for an operation, in two steps, because the caller holds a lock during the second. For
 * uploads only, ring_await_upload waits on the host for a slot, unless the ring has `async_reuse`; it takes none.
 * ring_take never blocks. */
cls_status ring_await_upload(cls_triple_buffer ring);
cls_status ring_take(cls_triple_buffer ring, cls_op_kind kind, cls_stream stream,
                     struct held_slot *out);

/* After ring_take, the outcome of the operation: its work was submitted, which for a download also closes the round and,
 * on success, ends the operation; or it was refused, so that the slot is unusable until the ring's reset, which ends it.
 * Once the round is over, mostly by a reset, both change nothing of the slot, and ring_submitted returns
 * CLS_ERROR_INVALID_STATE. */
cls_status ring_submitted(const struct held_slot *held);
void ring_refuse(const struct held_slot *held);

/* For a ring with at most one slot in use: passes that slot through its remaining stages without work, so
 * that it is free again, even if it was refused. */
void ring_close_only(cls_triple_buffer ring, cls_stream compute, cls_stream download);

/* CLS_ERROR_WOULD_DEADLOCK inside a host function or callback. */
cls_status pipeline_may_block(void);

#endif
