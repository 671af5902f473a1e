/* SPDX-License-Identifier: MIT */
/* Batches as objects: create and destroy, values and nodes, and the work that still uses their memory. */
#include "batch/batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "batch/internals.h"
#include "batch/plan.h"
#include "ops/random.h"

static void release_place(const struct array_place *place) {
    if (place->buffer)
        buffer_put(place->buffer);
}

static void batch_finalize(struct object *object) {
    struct batch *batch = (struct batch *)(void *)object;
    batch_replan(batch);
    for (uint32_t i = 0; i < batch->n_nodes; i++) {
        struct batch_node *node = &batch->nodes[i];
        release_place(&node->place);
        batch_forget_uploader(batch, node);
        if (node->kind == NODE_TAKE)
            object_release(&node->of.take.random->object);
    }
    free(batch->nodes);
    for (unsigned i = 0; i < batch->n_uses; i++)
        stream_put(batch->uses[i].stream);
    free(batch->uses);
    if (batch->latest.stream)
        stream_put(batch->latest.stream);
    for (unsigned i = 0; i < BATCH_STREAMS - 1; i++)
        if (batch->streams[i]) {
            cls_stream_destroy(object_handle(&batch->streams[i]->object));
            stream_put(batch->streams[i]);
        }
    context_put(batch->context);
}

struct object_pool batch_pool =
    OBJECT_POOL_LOCKED(20, sizeof(struct batch), "batch", batch_finalize);
_Static_assert(offsetof(struct batch, lock) == sizeof(struct object), "the lock lasts");

static _Atomic uint32_t last_serial;

static cls_status read_batch_config(const cls_batch_config *given, unsigned *streams) {
    cls_batch_config config = CLS_BATCH_CONFIG_INIT;
    cls_status status = SIZED_IN(cls_batch_config, &config, given);
    if (!status && config.streams > BATCH_STREAMS)
        status = error_set(CLS_ERROR_INVALID_VALUE, "a batch runs on at most %d streams, not %u",
                           BATCH_STREAMS, config.streams);
    *streams = config.streams ? config.streams : BATCH_DEFAULT_STREAMS;
    return status;
}

/* Takes over the reference to the context on success. */
static cls_status batch_new(struct context *context, unsigned streams, struct batch **out) {
    struct batch *batch = object_create(&batch_pool);
    if (!batch)
        return object_none(&batch_pool, "a batch");
    do
        batch->serial = atomic_fetch_add(&last_serial, 1) + 1;
    while (batch->serial == 0);
    batch->context = context;
    batch->max_streams = streams;
    batch->totals.size = sizeof batch->totals;
    *out = batch;
    return CLS_SUCCESS;
}

cls_status cls_batch_create(cls_context handle, const cls_batch_config *config, cls_batch *out) {
    struct context *context;
    struct batch *batch;
    unsigned streams;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_batch_create: out is null");
    cls_status status = read_batch_config(config, &streams);
    if (!status)
        status = context_get(handle, &context);
    if (status)
        return status;
    status = batch_new(context, streams, &batch);
    if (status)
        context_put(context);
    else
        *out = object_handle(&batch->object);
    return status;
}

/* Finalized without the lock: a thread that waits for the lock finds the handle stale. */
cls_status cls_batch_destroy(cls_batch handle) {
    struct batch *batch = object_acquire(&batch_pool, handle);
    if (!batch)
        return object_invalid(&batch_pool, handle);
    pthread_mutex_lock(&batch->lock);
    const bool destroyed = object_destroy(&batch_pool, handle);
    pthread_mutex_unlock(&batch->lock);
    object_release(&batch->object);
    return destroyed ? CLS_SUCCESS : object_invalid(&batch_pool, handle);
}

cls_status batch_enter(cls_batch handle, struct batch **out) {
    struct batch *batch = object_peek(&batch_pool, handle);
    if (!batch)
        return object_invalid(&batch_pool, handle);
    pthread_mutex_lock(&batch->lock);
    cls_status status = object_is(&batch->object, handle) ? context_check(batch->context)
                                                          : object_invalid(&batch_pool, handle);
    if (status)
        pthread_mutex_unlock(&batch->lock);
    else
        *out = batch;
    return status;
}

cls_status batch_leave(struct batch *batch, cls_status status) {
    pthread_mutex_unlock(&batch->lock);
    return status;
}

/* ---- values: the batch's serial above the node's number, from 1 */

cls_value batch_value(const struct batch *batch, uint32_t node) {
    return (cls_value)batch->serial << 32 | (node + 1);
}

cls_status batch_find(struct batch *batch, const char *what, const char *role, cls_value value,
                      uint32_t *node) {
    const uint32_t index = (uint32_t)value - 1;
    if (!value)
        return error_set(CLS_ERROR_INVALID_HANDLE, "%s: %s is 0, which is no value", what, role);
    if (value >> 32 != batch->serial)
        return error_set(CLS_ERROR_INVALID_HANDLE, "%s: %s is not a value of this batch", what,
                         role);
    if (index >= batch->n_nodes || batch->nodes[index].hidden)
        return error_set(CLS_ERROR_INVALID_HANDLE, "%s: %s is not a value id of this batch", what,
                         role);
    *node = index;
    return CLS_SUCCESS;
}

cls_status batch_reserve_nodes(struct batch *batch, uint32_t count) {
    if (batch->node_room - batch->n_nodes >= count)
        return CLS_SUCCESS;
    const uint32_t room = batch->node_room ? 2 * batch->node_room : 16;
    struct batch_node *nodes =
        room < UINT32_MAX / 4 ? realloc(batch->nodes, room * sizeof *nodes) : NULL;
    if (!nodes)
        return error_no_memory("to record an operation");
    batch->nodes = nodes;
    batch->node_room = room;
    return CLS_SUCCESS;
}

cls_status batch_add(struct batch *batch, const struct batch_node *node, uint32_t *index) {
    cls_status status = batch_reserve_nodes(batch, 1);
    if (status)
        return status;
    batch->nodes[batch->n_nodes] = *node;
    for (unsigned i = 0; i < node->n_inputs; i++)
        batch->nodes[node->inputs[i]].users++;
    *index = batch->n_nodes++;
    batch_replan(batch);
    return CLS_SUCCESS;
}

void batch_replan(struct batch *batch) {
    if (batch->plan)
        plan_free(batch->plan);
    batch->plan = NULL;
    batch_rebind(batch);
}

void batch_rebind(struct batch *batch) {
    if (batch->plan)
        plan_unbind(batch->plan);
    batch->overlaps_checked = false;
}

void batch_forget_uploader(struct batch *batch, struct batch_node *node) {
    if (!node->uploader)
        return;
    stream_put(node->uploader);
    node->uploader = NULL;
    batch->n_uploaders--;
}

/* ---- uses */

static bool is_done(const struct batch_use *use) {
    return atomic_load(&use->stream->retired) >= use->position;
}

cls_status batch_reserve_uses(struct batch *batch, unsigned count) {
    const unsigned room = batch->n_uses + count;
    if (room <= batch->use_room)
        return CLS_SUCCESS;
    struct batch_use *uses = realloc(batch->uses, room * sizeof *uses);
    if (!uses)
        return error_no_memory("to remember a stream");
    batch->uses = uses;
    batch->use_room = room;
    return CLS_SUCCESS;
}

void batch_note_use(struct batch *batch, struct stream *stream, uint64_t position) {
    unsigned kept = 0;
    if (batch->n_uses == 1 && batch->uses[0].stream == stream) {
        batch->uses[0].position = position;
        return;
    }
    for (unsigned i = 0; i < batch->n_uses; i++) {
        struct batch_use *use = &batch->uses[i];
        if (use->stream == stream || (is_done(use) && !race_on()))
            stream_put(use->stream);
        else
            batch->uses[kept++] = *use;
    }
    batch->n_uses = kept;
    object_retain(&stream->object);
    batch->uses[batch->n_uses++] = (struct batch_use){stream, position};
}

static bool take_if_open(struct batch_use use, struct batch_use *out) {
    if (is_done(&use))
        return false;
    object_retain(&use.stream->object);
    *out = use;
    return true;
}

/* The latest use that is not done; false: there is none. The batch's own streams count too: a failed
 * execution may still be at work there though its caller's stream is done. */
static bool take_use(struct batch *batch, struct batch_use *out) {
    bool taken = false;
    for (unsigned i = batch->n_uses; i-- > 0 && !taken;)
        taken = take_if_open(batch->uses[i], out);
    for (unsigned i = 0; i < BATCH_STREAMS - 1 && !taken; i++) {
        struct stream *own = batch->streams[i];
        taken = own && take_if_open((struct batch_use){own, stream_newest(own)}, out);
    }
    return taken;
}

/* Makes `stream` wait for own streams that have failed, since nothing else waits for their remaining work. */
static cls_status follow_failed(struct batch *batch, struct stream *stream) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < BATCH_STREAMS - 1 && !status; i++) {
        struct stream *own = batch->streams[i];
        if (own && stream_poison(own))
            status = stream_come_after(stream, own, stream_newest(own));
    }
    return status;
}

void batch_await_uses(cls_batch handle) {
    struct batch *batch;
    struct batch_use use;
    while (!batch_enter(handle, &batch)) {
        const bool waits = take_use(batch, &use);
        batch_leave(batch, CLS_SUCCESS);
        if (!waits)
            return;
        stream_await(use.stream, use.position, WAIT_FOREVER);
        stream_put(use.stream);
    }
}

cls_status batch_follow_uses(struct batch *batch, struct stream *stream) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < batch->n_uses && !status; i++) {
        const struct batch_use *use = &batch->uses[i];
        if (use->stream == stream)
            continue;
        if (!is_done(use))
            status = stream_follow(stream, use->stream, use->position);
        else if (race_on()) /* the checker orders by waits, not by what happens to be done */
            race_waits(stream, use->stream, use->position);
    }
    return status ? status : follow_failed(batch, stream);
}
