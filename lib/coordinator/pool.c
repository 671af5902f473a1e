/* SPDX-License-Identifier: MIT */
/* Pools of streams as objects: create and destroy. */
#include "coordinator/pool.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/sized.h"
#include "coordinator/internals.h"
#include "system/clocks.h"

enum { DEFAULT_MIN = 4, DEFAULT_GROWTH = 4, DEFAULT_BUSY = 16, MOST_STREAMS = 65536 };

static const uint64_t DEFAULT_IDLE_NS = 100 * CLOCK_MS;

/* The assumed duration of a work-item, alone on a compute unit. */
static const double ITEM_NS = 2;

/* --- the object --- */

void pooled_drop(struct pooled *pooled) {
    stream_destroy_owned(pooled->handle);
    stream_put(pooled->stream);
}

static void free_streams(struct pool *pool) {
    for (unsigned i = 0; i < pool->count; i++)
        pooled_drop(&pool->streams[i]);
    free(pool->streams);
}

static void pool_finalize(struct object *object) {
    struct pool *pool = (struct pool *)(void *)object;
    free_streams(pool);
    pthread_mutex_destroy(&pool->lock);
    context_put(pool->context);
}

static struct object_pool pool_pool =
    OBJECT_POOL(9, sizeof(struct pool), "stream pool", pool_finalize);

cls_status pool_get(cls_pool handle, struct pool **out) {
    struct pool *pool = object_acquire(&pool_pool, handle);
    if (!pool)
        return object_invalid(&pool_pool, handle);
    cls_status status = context_check(pool->context);
    if (status)
        pool_put(pool);
    else
        *out = pool;
    return status;
}

cls_status pool_add_stream(struct pool *pool, int priority, struct pooled **out) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    struct pooled made = {.priority = priority, .workload = CLS_WORKLOAD_ANY};
    config.priority = priority;
    cls_status status = stream_create_owned(object_handle(&pool->context->object), &config,
                                            "a stream pool", &made.handle);
    if (status)
        return status;
    status = stream_get(made.handle, NULL, &made.stream);
    if (status) {
        stream_destroy_owned(made.handle);
        return status;
    }
    pool->streams[pool->count] = made;
    *out = &pool->streams[pool->count++];
    return CLS_SUCCESS;
}

static cls_status check_config(const cls_pool_config *config) {
    if (config->strategy < CLS_POOL_ROUND_ROBIN || config->strategy > CLS_POOL_WORKLOAD)
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_pool_strategy",
                         (int)config->strategy);
    unsigned min = config->min_streams ? config->min_streams : DEFAULT_MIN;
    if (min > MOST_STREAMS || config->max_streams > MOST_STREAMS ||
        (config->max_streams && config->max_streams < min))
        return error_set(CLS_ERROR_INVALID_VALUE, "a pool of %u to %u streams", min,
                         config->max_streams);
    return CLS_SUCCESS;
}

static void configure(struct pool *pool, const struct context *context,
                      const cls_pool_config *config) {
    const unsigned units = context->device->info.compute_units;
    pool->min = config->min_streams ? config->min_streams : DEFAULT_MIN;
    pool->max = config->max_streams ? config->max_streams : DEFAULT_GROWTH * pool->min;
    pool->busy = config->busy ? config->busy : DEFAULT_BUSY;
    pool->busy_ns = (double)config->busy_ns;
    pool->item_ns = ITEM_NS / (units ? units : 1);
    pool->idle_ns = config->idle_ns ? config->idle_ns : DEFAULT_IDLE_NS;
    pool->clock = config->clock;
    pool->clock_arg = config->clock_arg;
    pool->strategy = config->strategy;
}

/* Takes over the context's reference on success. */
static cls_status build(struct context *context, const cls_pool_config *config, struct pool **out) {
    struct pool *pool = object_create(&pool_pool);
    struct pooled *made;
    if (!pool)
        return object_none(&pool_pool, "a stream pool");
    configure(pool, context, config);
    pool->streams = calloc(pool->max, sizeof *pool->streams);
    if (!pool->streams || pthread_mutex_init(&pool->lock, NULL)) {
        free(pool->streams);
        object_abandon(&pool->object);
        return error_no_memory("for a stream pool");
    }
    pool->context = context;
    cls_status status = CLS_SUCCESS;
    while (pool->count < pool->min && !status)
        status = pool_add_stream(pool, CLS_PRIORITY_NORMAL, &made);
    if (status) {
        free_streams(pool);
        pthread_mutex_destroy(&pool->lock);
        object_abandon(&pool->object);
        return status;
    }
    *out = pool;
    return CLS_SUCCESS;
}

cls_status cls_pool_create(cls_context handle, const cls_pool_config *given, cls_pool *out) {
    cls_pool_config config = CLS_POOL_CONFIG_INIT;
    struct context *context;
    struct pool *pool;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_pool_create: out is null");
    cls_status status = SIZED_IN(cls_pool_config, &config, given);
    if (!status)
        status = check_config(&config);
    if (!status)
        status = context_get(handle, &context);
    if (status)
        return status;
    status = build(context, &config, &pool);
    if (status)
        context_put(context);
    else
        *out = object_handle(&pool->object);
    return status;
}

cls_status cls_pool_destroy(cls_pool handle) {
    return object_destroy(&pool_pool, handle) ? CLS_SUCCESS : object_invalid(&pool_pool, handle);
}
