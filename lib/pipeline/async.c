/* SPDX-License-Identifier: MIT */
/* The life of an async coordinator, and waiting for its operations. */
#include "pipeline/async.h"

#include <clstream/context.h>
#include <clstream/event.h>
#include <clstream/stream.h>

#include "base/error.h"
#include "pipeline/pipeline.h"

enum { REPORTS = 65536 };

static void async_finalize(struct object *object) {
    struct async *async = (struct async *)(void *)object;
    async_free(async);
    for (int kind = 0; kind < KINDS; kind++)
        if (async->streams[kind])
            cls_stream_destroy(async->streams[kind]);
    pthread_mutex_destroy(&async->lock);
}

static struct object_pool async_pool =
    OBJECT_POOL(17, sizeof(struct async), "async coordinator", async_finalize);

cls_status async_get(cls_async_coordinator handle, struct async **out) {
    struct async *async = object_acquire(&async_pool, handle);
    if (!async)
        return object_invalid(&async_pool, handle);
    cls_status status = pipeline_check_stream(async->streams[0], async->context);
    if (status)
        object_release(&async->object);
    else
        *out = async;
    return status;
}

static cls_status async_put(struct async *async, cls_status status) {
    object_release(&async->object);
    return status;
}

static cls_status open_streams(struct async *async) {
    static const char *const names[KINDS] = {"upload", "compute", "download"};
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream ignored;
    cls_status status = pipeline_context(async->context, &async->context, &ignored);
    for (int kind = 0; kind < KINDS && !status; kind++) {
        config.name = names[kind];
        status = cls_stream_create(async->context, &config, &async->streams[kind]);
    }
    return status;
}

cls_status cls_async_coordinator_create(cls_context context,
                                        const cls_async_coordinator_config *config,
                                        cls_async_coordinator *out) {
    if (!out || (config && config->size != sizeof *config))
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_async_coordinator_create: out is null or "
                                                  "config of a wrong size");
    struct async *async = object_create(&async_pool);
    if (!async || pthread_mutex_init(&async->lock, NULL)) {
        if (async)
            object_abandon(&async->object);
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for an async coordinator");
    }
    async->context = context;
    async->reports.limit = config && config->reports ? config->reports : REPORTS;
    cls_status status = open_streams(async);
    if (status)
        return async_put(async, status);
    *out = object_handle(&async->object);
    return CLS_SUCCESS;
}

cls_status cls_async_coordinator_destroy(cls_async_coordinator handle) {
    return object_destroy(&async_pool, handle) ? CLS_SUCCESS : object_invalid(&async_pool, handle);
}

cls_status cls_async_coordinator_get_stream(cls_async_coordinator handle, cls_op_kind kind,
                                            cls_stream *out) {
    struct async *async;
    if (!out || (int)kind < 0 || (int)kind >= KINDS)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "cls_async_coordinator_get_stream: out is null or no such kind");
    cls_status status = async_get(handle, &async);
    if (status)
        return status;
    *out = async->streams[kind];
    return async_put(async, CLS_SUCCESS);
}

/* --- done --- */

cls_status cls_async_coordinator_poll(cls_async_coordinator handle, cls_completion *completions,
                                      size_t capacity, size_t *count) {
    struct async *async;
    size_t n = 0;
    if (!completions || !count)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_async_coordinator_poll: a null pointer");
    cls_status status = async_get(handle, &async);
    if (status)
        return status;
    pthread_mutex_lock(&async->lock);
    async_progress(async);
    struct reports *reports = &async->reports;
    for (; n < capacity && reports->count; n++, reports->count--) {
        completions[n] = reports->ring[reports->first];
        reports->first = (reports->first + 1) % reports->capacity;
    }
    pthread_mutex_unlock(&async->lock);
    *count = n;
    return async_put(async, CLS_SUCCESS);
}

/* The operation stays, and its event is not recorded for another one, while it is pinned. */
static cls_status pin(struct async *async, cls_op id, struct op **out) {
    cls_status status = CLS_SUCCESS;
    *out = NULL;
    pthread_mutex_lock(&async->lock);
    if (!id || id > async->issued)
        status = error_set(CLS_ERROR_INVALID_VALUE, "operation %llu was never issued",
                           (unsigned long long)id);
    else
        *out = async_find(async, id);
    if (*out)
        (*out)->pins++;
    pthread_mutex_unlock(&async->lock);
    return status;
}

static void unpin(struct async *async, struct op *op) {
    pthread_mutex_lock(&async->lock);
    if (--op->pins == 0 && op->done && !op->status)
        async_forget(async, op);
    pthread_mutex_unlock(&async->lock);
}

cls_status cls_async_coordinator_wait(cls_async_coordinator handle, cls_op id) {
    struct async *async;
    struct op *op;
    cls_status status = pipeline_may_block();
    if (!status)
        status = async_get(handle, &async);
    if (status)
        return status;
    status = pin(async, id, &op);
    if (op) {
        status = cls_event_synchronize(op->event);
        unpin(async, op);
    }
    return async_put(async, status);
}

static cls_status for_all_streams(struct async *async, cls_status (*call)(cls_stream)) {
    cls_status first = CLS_SUCCESS;
    for (int kind = 0; kind < KINDS; kind++) {
        const cls_status status = call(async->streams[kind]);
        first = first ? first : status;
    }
    return first;
}

cls_status cls_async_coordinator_synchronize_all(cls_async_coordinator handle) {
    struct async *async;
    cls_status status = pipeline_may_block();
    if (!status)
        status = async_get(handle, &async);
    return status ? status : async_put(async, for_all_streams(async, cls_stream_synchronize));
}

/* A failed one that somebody still waits for is forgotten by the next reset. */
static void forget_failed(struct async *async) {
    struct op *op, *next;
    HASH_ITER(hh, async->by_id, op, next)
    if (op->done && !op->pins)
        async_forget(async, op);
}

cls_status cls_async_coordinator_reset(cls_async_coordinator handle) {
    struct async *async;
    cls_status status = pipeline_may_block();
    if (!status)
        status = async_get(handle, &async);
    if (status)
        return status;
    for_all_streams(async, cls_stream_synchronize);
    pthread_mutex_lock(&async->lock);
    async_progress(async);
    forget_failed(async);
    pthread_mutex_unlock(&async->lock);
    return async_put(async, for_all_streams(async, cls_stream_reset));
}
