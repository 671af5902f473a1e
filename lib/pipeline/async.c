/* SPDX-License-Identifier: MIT */
/* Async coordinators as objects: create, destroy, poll, wait and reset. */
#include "pipeline/async.h"

#include <stddef.h>

#include <clstream/context.h>
#include <clstream/stream.h>

#include "base/error.h"
#include "base/process.h"
#include "base/sized.h"
#include "pipeline/internals.h"
#include "pipeline/pipeline.h"

enum { REPORTS = 65536 };

static void async_finalize(struct object *object) {
    struct async *async = (struct async *)(void *)object;
    async_free(async);
    for (int kind = 0; kind < KINDS; kind++)
        if (async->lanes[kind].stream) {
            stream_destroy_owned(async->lanes[kind].handle);
            stream_put(async->lanes[kind].stream);
        }
}

static struct object_pool async_pool =
    OBJECT_POOL_LOCKED(17, sizeof(struct async), "async coordinator", async_finalize);
_Static_assert(offsetof(struct async, lock) == sizeof(struct object), "the lock lasts");

cls_status async_get(cls_async_coordinator handle, struct async **out) {
    struct async *async = object_acquire(&async_pool, handle);
    if (!async)
        return object_invalid(&async_pool, handle);
    cls_status status = context_check(async->lanes[0].stream->context);
    if (status)
        object_release(&async->object);
    else
        *out = async;
    return status;
}

cls_status async_enter(cls_async_coordinator handle, struct async **out) {
    struct async *async = object_peek(&async_pool, handle);
    if (!async)
        return object_invalid(&async_pool, handle);
    pthread_mutex_lock(&async->lock);
    cls_status status = object_is(&async->object, handle)
                            ? context_check(async->lanes[0].stream->context)
                            : object_invalid(&async_pool, handle);
    if (status)
        pthread_mutex_unlock(&async->lock);
    else
        *out = async;
    return status;
}

static cls_status async_put(struct async *async, cls_status status) {
    object_release(&async->object);
    return status;
}

static cls_status open_lane(cls_context context, const cls_stream_config *config,
                            struct lane *lane) {
    cls_status status = stream_create_owned(context, config, "an async coordinator", &lane->handle);
    return status ? status : stream_get(lane->handle, NULL, &lane->stream);
}

static cls_status open_streams(struct async *async) {
    static const char *const names[KINDS] = {"upload", "compute", "download"};
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream ignored;
    cls_status status = pipeline_context(async->context, &async->context, &ignored);
    for (int kind = 0; kind < KINDS && !status; kind++) {
        config.name = names[kind];
        status = open_lane(async->context, &config, &async->lanes[kind]);
    }
    return status;
}

cls_status cls_async_coordinator_create(cls_context context,
                                        const cls_async_coordinator_config *given,
                                        cls_async_coordinator *out) {
    cls_async_coordinator_config config = CLS_ASYNC_COORDINATOR_CONFIG_INIT;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_async_coordinator_create: out is null");
    cls_status status = SIZED_IN(cls_async_coordinator_config, &config, given);
    if (!status)
        status = process_enter();
    if (status)
        return status;
    struct async *async = object_create(&async_pool);
    if (!async)
        return object_none(&async_pool, "an async coordinator");
    async->context = context;
    async->reports.limit = config.reports ? config.reports : REPORTS;
    status = open_streams(async);
    if (status)
        return async_put(async, status);
    *out = object_handle(&async->object);
    return CLS_SUCCESS;
}

cls_status cls_async_coordinator_destroy(cls_async_coordinator handle) {
    struct async *async = object_acquire(&async_pool, handle);
    if (!async)
        return object_invalid(&async_pool, handle);
    pthread_mutex_lock(&async->lock);
    const bool destroyed = object_destroy(&async_pool, handle);
    pthread_mutex_unlock(&async->lock);
    return async_put(async, destroyed ? CLS_SUCCESS : object_invalid(&async_pool, handle));
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
    *out = async->lanes[kind].handle;
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
    while (n < capacity && async_take_report(async, &completions[n]))
        n++;
    pthread_mutex_unlock(&async->lock);
    *count = n;
    return async_put(async, CLS_SUCCESS);
}

/* The end of an operation; `*forgotten`: it is done and succeeded. */
static cls_status find_op(struct async *async, cls_op id, struct end *end, bool *forgotten) {
    cls_status status = CLS_SUCCESS;
    pthread_mutex_lock(&async->lock);
    if (!id || id > async->issued)
        status = error_set(CLS_ERROR_INVALID_VALUE, "operation %llu was never issued",
                           (unsigned long long)id);
    else
        *forgotten = !async_find(async, id, end);
    pthread_mutex_unlock(&async->lock);
    return status;
}

cls_status cls_async_coordinator_wait(cls_async_coordinator handle, cls_op id,
                                      uint64_t timeout_ns) {
    struct async *async;
    struct end end;
    bool forgotten = false;
    const uint64_t deadline = deadline_after(timeout_ns);
    cls_status status = pipeline_may_block();
    if (!status)
        status = async_get(handle, &async);
    if (status)
        return status;
    status = find_op(async, id, &end, &forgotten);
    if (!status && !forgotten) {
        struct stream *stream = async->lanes[end.kind].stream;
        status = stream_wait(stream, end.position, deadline);
        if (status == CLS_ERROR_TIMEOUT)
            status = explain_timeout(stream);
        else
            stream_memory_waited(stream);
    }
    return async_put(async, status);
}

static cls_status for_all_streams(struct async *async, cls_status (*call)(cls_stream)) {
    cls_status first = CLS_SUCCESS;
    for (int kind = 0; kind < KINDS; kind++) {
        const cls_status status = call(async->lanes[kind].handle);
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
    async_forget_failed(async);
    pthread_mutex_unlock(&async->lock);
    return async_put(async, for_all_streams(async, cls_stream_reset));
}
