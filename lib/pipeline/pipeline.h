/* SPDX-License-Identifier: MIT */
/* What the blocks of this layer share. They stand on the library's public interface. */
#ifndef CLSTREAM_PIPELINE_PIPELINE_H
#define CLSTREAM_PIPELINE_PIPELINE_H

#include <stdbool.h>

#include <clstream/async_coordinator.h>
#include <clstream/pipeline.h>
#include <clstream/triple_buffer.h>
#include <clstream/types.h>

/* The handles that a context's NULL ones stand for. */
cls_status pipeline_context(cls_context given, cls_context *context, cls_stream *default_stream);

/* CLS_ERROR_WRONG_CONTEXT, or what is wrong with the handle. */
cls_status pipeline_check_stream(cls_stream stream, cls_context context);

/* Later work of the stream comes behind the event's latest record, which is no failure of it where it has failed. */
cls_status pipeline_follow(cls_stream stream, cls_event event);

/* What a function of the caller's has returned: reported as `whose`, where it left no report since `before`
 * (error_count), lest an older one stand there. */
cls_status pipeline_returned(cls_status status, unsigned long before, const char *whose);

/* cls_pipeline_create, of one whose iterations complete each stage before the next one. */
cls_status pipeline_create_in_place(cls_context context, const cls_pipeline_config *config,
                                    cls_pipeline *out);

/* A slot that an operation has taken, until the ring's reset: rounds begin anew with it. */
struct held_slot {
    cls_slot slot;
    cls_op_kind kind;
    uint64_t resets; /* of the ring before it was taken */
};

/* What an upload takes its slot by, for who does so with a lock held, in two steps: the wait of a ring with
 * `host_wait`, which takes nothing and is over where there is no slot, and the rest, which never blocks. Others
 * need no wait. */
cls_status ring_await_upload(cls_triple_buffer ring);
cls_status ring_take(cls_triple_buffer ring, cls_op_kind kind, cls_stream stream,
                     struct held_slot *out);

/* For who has taken a slot and says what became of its work: that it is submitted, with which a download closes the
 * round, whichever is downloading longest; or that it was refused, so that nobody is given the slot before the
 * ring's reset. CLS_ERROR_INVALID_STATE, and nothing done, where the round is over: by a reset, as a rule. */
cls_status ring_submitted(cls_triple_buffer ring, const struct held_slot *held);
void ring_refuse(cls_triple_buffer ring, const struct held_slot *held);

/* The one slot in use, if any, goes through the stages that are left without work and is free, refused or not. */
void ring_close_only(cls_triple_buffer ring, cls_stream compute, cls_stream download);

/* CLS_ERROR_WOULD_DEADLOCK inside a host function or callback. */
cls_status pipeline_may_block(void);

#endif
