/* SPDX-License-Identifier: MIT */
/* The functions of clstream/context.h. */
#include "stream/context.h"

#include "base/error.h"
#include "base/sized.h"
#include "check/race.h"
#include "command/named_kernels.h"
#include "memory/mempool.h"
#include "memory/pinned_pool.h"
#include "stream/engine.h"
#include "stream/failure.h"
#include "stream/hooks.h"
#include "stream/submit.h"
#include "stream/wait.h"

cls_status cls_context_default(cls_context *out) {
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_context_default: out is null");
    return context_default(out);
}

/* The handle is not given to the user where this fails. */
static cls_status share_pool(cls_context handle) {
    struct context *context;
    cls_status status = context_get(handle, &context);
    if (!status) {
        status = context_share_default_mempool(context);
        context_put(context);
    }
    if (status)
        cls_context_destroy(handle);
    return status;
}

cls_status cls_context_create(const cls_context_config *given, cls_context *out) {
    cls_context context;
    cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_context_create: out is null");
    cls_status status = SIZED_IN(cls_context_config, &config, given);
    if (!status)
        status = context_create(&config, &context);
    if (!status && config.shareable_pool)
        status = share_pool(context);
    if (!status)
        *out = context;
    return status;
}

/* Removes the kernel names, closes the default stream and wakes the engine: no further call may ask for the work. */
static void close_streams(struct context *context) {
    pthread_mutex_lock(&context->lock);
    struct stream *stream = context->default_stream;
    context->default_stream = NULL;
    pthread_mutex_unlock(&context->lock);
    named_kernels_clear(context);
    atomic_store(&stream->destroyed, true);
    hooks.capture.leave(stream);
    stream_drop_waits(stream);
    object_retain(&stream->object);
    stream_close(stream);
    stream_put(stream);
    engine_kick();
}

cls_status cls_context_destroy(cls_context handle) {
    struct context *context = object_acquire(&context_pool, handle);
    if (!context)
        return object_invalid(&context_pool, handle);
    cls_status status = CLS_SUCCESS;
    if (context_is_default(handle))
        status = error_set(CLS_ERROR_INVALID_VALUE, "the default context cannot be destroyed");
    else if (object_destroy(&context_pool, handle)) {
        atomic_store(&context->closed, true);
        context_close_mempools(context);
        pinned_trim(context, 0);
        close_streams(context);
    } else
        status = object_invalid(&context_pool, handle);
    context_put(context);
    return status;
}

cls_status cls_context_default_stream(cls_context handle, cls_stream *out) {
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_context_default_stream: out is null");
    struct context *context;
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    struct stream *stream = context_default_stream(context);
    if (stream) {
        *out = object_handle(&stream->object);
        object_release(&stream->object);
    } else {
        status = context_check(context);
    }
    context_put(context);
    return status;
}

cls_status cls_context_get_device(cls_context handle, size_t *index) {
    if (!index)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_context_get_device: index is null");
    struct context *context;
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    *index = context->device->index;
    context_put(context);
    return CLS_SUCCESS;
}

/* Waits for one stream, of a captured one for the work before its capture; keeps the first error and its message. */
static cls_status synchronize_one(struct stream *stream, cls_status so_far) {
    uint64_t position;
    cls_status status =
        stream_mark_to_wait(stream, MARK_TO_ASK | MARK_BESIDE, &position, WAIT_FOREVER);
    if (status == CLS_NOT_READY)
        status = CLS_SUCCESS;
    if (!status) {
        stream_await(stream, position, WAIT_FOREVER);
        if (race_on())
            race_observed(stream, position);
    }
    const struct failure *failure = stream_poison(stream);
    if (!failure && !status)
        failure = stream_failure_at(stream, position);
    stream_memory_waited(stream);
    if (so_far || atomic_load(&stream->destroyed))
        return so_far;
    return failure ? failure_report(stream, failure) : status;
}

cls_status cls_context_synchronize(cls_context handle) {
    struct context *context;
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    status = check_may_block();
    bool may = !status;
    for (struct stream *stream = may ? stream_next(NULL) : NULL; stream;
         stream = stream_next(stream))
        if (stream->context == context)
            status = synchronize_one(stream, status);
    if (may && race_on())
        race_observed_context(context);
    context_put(context);
    return status;
}
