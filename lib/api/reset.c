/* SPDX-License-Identifier: MIT */
/*
 * Reset: once all work of a poisoned stream has retired, its failure is forgotten and later work runs again, after what it
 * was to wait for. Waits of the stream itself outlive the failure. An order by way of a third stream ends if that stream has
 * failed; as stream-ordered memory relies on such orders, later work also waits for whoever uses the stream's memory.
 */
#include "api/reset.h"

#include <stdlib.h>

#include "base/error.h"
#include "check/race.h"
#include "memory/buffer.h"
#include "memory/mempool.h"
#include "stream/context.h"
#include "stream/failure.h"
#include "stream/follow.h"
#include "stream/handover.h"
#include "stream/wait.h"

static bool is_allocated_for(const struct object *object, uint64_t stream_id) {
    if (object->pool != &buffer_pool)
        return false;
    const struct buffer *buffer = (const struct buffer *)(const void *)object;
    return buffer->block && atomic_load(&buffer->home) == stream_id;
}

/* Whether memory of the stream is used, since it was allocated there or from before. */
static bool uses_memory_of(const struct refs *refs, const void *host, const void *stream_id) {
    (void)host;
    for (unsigned i = 0; i < refs->count; i++)
        if (is_allocated_for(refs->here[i], *(const uint64_t *)stream_id))
            return true;
    for (unsigned i = 0; i < refs->more_count; i++)
        if (is_allocated_for(refs->more[i], *(const uint64_t *)stream_id))
            return true;
    return false;
}

/* Makes later work wait for other streams' work that uses memory of this stream. */
static cls_status wait_for_users(struct stream *stream) {
    cls_status status = CLS_SUCCESS;
    if (!atomic_load(&stream->magazines))
        return CLS_SUCCESS;
    for (struct stream *other = stream_next(NULL); other; other = stream_next(other)) {
        const uint64_t position =
            status || other == stream ? 0 : stream_last_use(other, uses_memory_of, &stream->id);
        if (position)
            status = stream_come_after(stream, other, position);
    }
    return status;
}

/* New queues, where a failure may have killed the stream's; a queue of the user's stays. */
static cls_status replace_queues(struct stream *stream) {
    struct queue *before = stream->queue, *queue = before, *companion = stream->companion;
    cls_status status = CLS_SUCCESS;
    if (!stream->hurt)
        return CLS_SUCCESS;
    if (!before->adopted)
        status = queue_create_own(stream->context, &before->traits, &queue);
    if (status)
        return status;
    stream->queue = queue;
    stream->companion = NULL;
    if (queue != before)
        handover_leave_queue(stream, before);
    if (companion)
        handover_leave_queue(stream, companion);
    stream->hurt = false;
    return CLS_SUCCESS;
}

static void drop_waits_that_end(struct deps *waits) {
    for (unsigned i = waits->count; i-- > 0;)
        if (!dep_outlives(&deps_items(waits)[i]))
            deps_remove(waits, i);
}

/* Under the lock, with all work retired. */
static cls_status forget_failure(struct stream *stream) {
    struct failure *failure = atomic_load(&stream->failures);
    if (!failure || atomic_load(&failure->last) != UINT64_MAX)
        return CLS_SUCCESS;
    struct failure *spare = calloc(1, sizeof *spare);
    if (!spare)
        return error_no_memory("to reset a stream");
    cls_status status = replace_queues(stream);
    if (status) {
        free(spare);
        return status;
    }
    stream->spare = spare;
    drop_waits_that_end(&stream->waits);
    order_cache_forget(&stream->order_cache);
    atomic_store(&failure->last, stream->submitted);
    return CLS_SUCCESS;
}

cls_status stream_reset(struct stream *stream) {
    cls_status status = check_may_block();
    for (bool behind_users = false; !status;) {
        pthread_mutex_lock(&stream->lock);
        const uint64_t position = stream->submitted;
        const bool drained = atomic_load(&stream->retired) == position;
        const bool ready = drained && (behind_users || !stream_poison(stream));
        if (ready)
            status = forget_failure(stream);
        pthread_mutex_unlock(&stream->lock);
        if (ready) {
            if (race_on())
                race_observed(stream, position);
            stream_memory_waited(stream);
            return status;
        }
        if (drained)
            status = wait_for_users(stream);
        else
            stream_await(stream, position, WAIT_FOREVER);
        behind_users = behind_users || drained;
    }
    return status;
}
