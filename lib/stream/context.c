/* SPDX-License-Identifier: MIT */
#include "stream/context.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/process.h"
#include "driver/memory.h"
#include "driver/program.h"
#include "stream/engine.h"
#include "stream/exit.h"
#include "stream/hooks.h"
#include "stream/legacy.h"
#include "stream/stream.h"

static void context_finalize(struct object *object);

struct object_pool context_pool =
    OBJECT_POOL(1, sizeof(struct context), "context", context_finalize);

static void context_finalize(struct object *object) {
    struct context *context = (struct context *)(void *)object;
    hooks.context_ends(context);
    queues_free(context);
    for (unsigned i = 0; i < SAMPLERS; i++)
        if (context->samplers[i])
            sampler_release(context->device, context->samplers[i]);
    program_cache_destroy(context->programs);
    blas_forget(&context->blas);
    context_close(context->device, context->cl);
    legacy_free(context->legacy);
    pthread_mutex_destroy(&context->lock);
}

/* Acquires the name, which another thread may have made just now. */
cls_status context_gone(const struct context *context) {
    if (atomic_load_explicit(&context->closed, memory_order_relaxed))
        return error_set(CLS_ERROR_CONTEXT_DESTROYED, "the object's context was destroyed");
    return error_set(CLS_ERROR_CONTEXT_LOST, "the driver lost the context with command '%s'",
                     atomic_load_explicit(&context->lost_by, memory_order_acquire));
}

/* --- the default context --- */

static pthread_mutex_t default_lock = PTHREAD_MUTEX_INITIALIZER;
static cls_context default_handle;

cls_status context_default(cls_context *out) {
    cls_status status = process_enter();
    if (status)
        return status;
    pthread_mutex_lock(&default_lock);
    if (!default_handle)
        status = context_create(NULL, &default_handle);
    if (!status)
        *out = default_handle;
    pthread_mutex_unlock(&default_lock);
    return status;
}

bool context_is_default(cls_context handle) {
    pthread_mutex_lock(&default_lock);
    bool same = handle && handle == default_handle;
    pthread_mutex_unlock(&default_lock);
    return same;
}

cls_status context_get(cls_context handle, struct context **out) {
    if (!handle) {
        cls_status status = context_default(&handle);
        if (status)
            return status;
    }
    struct context *context = object_acquire(&context_pool, handle);
    if (!context)
        return object_invalid(&context_pool, handle);
    cls_status status = context_check(context);
    if (status)
        context_put(context);
    else
        *out = context;
    return status;
}

/* --- creation --- */

/* The default stream keeps the context alive as any stream does; the context's own hold on it ends when
 * the context is destroyed. */
static cls_status add_default_stream(struct context *context) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    config.name = "default stream";
    cls_status status = stream_new(context, &config, NULL, &context->default_stream);
    if (status)
        return status;
    context->default_stream->owner = "its context, as the default one";
    if (context->legacy)
        context->default_stream->legacy_role = LEGACY_DEFAULT;
    return CLS_SUCCESS;
}

static cls_status build(struct device *device, cl_context cl, bool has_legacy_order,
                        struct context **out) {
    const struct caps *caps;
    struct program_cache *programs;
    hooks.race.prepare();
    cls_status status = device_caps(device, &caps);
    if (!status)
        status = trust_check(device, caps);
    if (!status)
        status = exit_prepare(device, cl);
    if (!status)
        status = program_cache_create(device, cl, &programs);
    if (status)
        return status;
    struct context *context = object_create(&context_pool);
    struct legacy *legacy = has_legacy_order ? legacy_new() : NULL;
    if (!context || (has_legacy_order && !legacy) || pthread_mutex_init(&context->lock, NULL)) {
        legacy_free(legacy);
        if (context)
            object_abandon(&context->object);
        program_cache_destroy(programs);
        return object_none(&context_pool, "a context");
    }
    context->legacy = legacy;
    context->device = device;
    context->caps = caps;
    context->programs = programs;
    context->cl = cl;
    status = add_default_stream(context);
    if (status) {
        queues_free(context);
        program_cache_destroy(programs);
        legacy_free(legacy);
        pthread_mutex_destroy(&context->lock);
        object_abandon(&context->object);
        return status;
    }
    *out = context;
    return CLS_SUCCESS;
}

cls_status context_new(struct device *device, cl_context cl, bool has_legacy_order,
                       cls_context *out) {
    struct context *context;
    cls_status status = build(device, cl, has_legacy_order, &context);
    if (status)
        context_close(device, cl);
    else
        *out = object_handle(&context->object);
    return status;
}

cls_status context_create(const cls_context_config *config, cls_context *out) {
    struct device *device;
    cl_context cl;
    cls_status status = CLS_SUCCESS;
    if (engine_is_down())
        status = error_set(CLS_ERROR_SHUTDOWN, "the process is exiting");
    if (!status)
        status = device_find(config ? config->device : NULL, &device);
    if (!status)
        status = context_open(device, &cl);
    if (status)
        return status;
    return context_new(device, cl, config && config->legacy_default_stream, out);
}

/* --- what a context is --- */

struct stream *context_default_stream(struct context *context) {
    pthread_mutex_lock(&context->lock);
    struct stream *stream = context->default_stream;
    if (stream)
        object_retain(&stream->object);
    pthread_mutex_unlock(&context->lock);
    return stream;
}
