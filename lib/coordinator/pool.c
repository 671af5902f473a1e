/* SPDX-License-Identifier: MIT */
/* The streams of a pool: made, given out, taken back. */
#include "coordinator/pool.h"

#include <stdlib.h>

#include "base/error.h"
#include "core/context.h"
#include "core/stream.h"

enum { DEFAULT_MIN = 4, DEFAULT_GROWTH = 4, DEFAULT_BUSY = 16, MOST_STREAMS = 65536 };

/* --- the object --- */

static void drop_stream(struct pooled *pooled) {
    cls_stream_destroy(pooled->handle);
    stream_put(pooled->stream);
}

static void free_streams(struct pool *pool) {
    for (unsigned i = 0; i < pool->count; i++)
        drop_stream(&pool->streams[i]);
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

/* Under the lock, or before anybody else knows of the pool. */
static cls_status add_stream(struct pool *pool, int priority, struct pooled **out) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    struct pooled made = {.priority = priority, .workload = NO_WORKLOAD};
    config.priority = priority;
    cls_status status =
        cls_stream_create(object_handle(&pool->context->object), &config, &made.handle);
    if (status)
        return status;
    status = stream_get(made.handle, NULL, &made.stream);
    if (status) {
        cls_stream_destroy(made.handle);
        return status;
    }
    pool->streams[pool->count] = made;
    *out = &pool->streams[pool->count++];
    return CLS_SUCCESS;
}

static cls_status check_config(const cls_pool_config *config) {
    if (config->size != sizeof *config)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_pool_config.size is %zu, not %zu",
                         config->size, sizeof *config);
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

/* Takes over the context's reference on success. */
static cls_status build(struct context *context, const cls_pool_config *config, struct pool **out) {
    struct pool *pool = object_create(&pool_pool);
    struct pooled *made;
    if (!pool)
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for a stream pool");
    pool->min = config->min_streams ? config->min_streams : DEFAULT_MIN;
    pool->max = config->max_streams ? config->max_streams : DEFAULT_GROWTH * pool->min;
    pool->busy = config->busy ? config->busy : DEFAULT_BUSY;
    pool->strategy = config->strategy;
    pool->streams = calloc(pool->max, sizeof *pool->streams);
    if (!pool->streams || pthread_mutex_init(&pool->lock, NULL)) {
        free(pool->streams);
        object_abandon(&pool->object);
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for a stream pool");
    }
    pool->context = context;
    cls_status status = CLS_SUCCESS;
    while (pool->count < pool->min && !status)
        status = add_stream(pool, CLS_PRIORITY_NORMAL, &made);
    if (status) {
        free_streams(pool);
        pthread_mutex_destroy(&pool->lock);
        object_abandon(&pool->object);
        return status;
    }
    *out = pool;
    return CLS_SUCCESS;
}

cls_status cls_pool_create(cls_context handle, const cls_pool_config *config, cls_pool *out) {
    static const cls_pool_config defaults = CLS_POOL_CONFIG_INIT;
    struct context *context;
    struct pool *pool;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_pool_create: out is null");
    if (!config)
        config = &defaults;
    cls_status status = check_config(config);
    if (!status)
        status = context_get(handle, &context);
    if (status)
        return status;
    status = build(context, config, &pool);
    if (status)
        context_put(context);
    else
        *out = object_handle(&pool->object);
    return status;
}

cls_status cls_pool_destroy(cls_pool handle) {
    return object_destroy(&pool_pool, handle) ? CLS_SUCCESS : object_invalid(&pool_pool, handle);
}

/* --- giving out --- */

static cls_status all_taken(const struct pool *pool, const char *how) {
    return error_set(CLS_ERROR_LIMIT, "all %u streams of the pool are %s", pool->count, how);
}

/* Under the lock. A stream that cannot be made is no fault as long as there is another. */
static cls_status give(struct pool *pool, const struct wish *wish, struct pooled **out) {
    bool enough;
    struct pooled *chosen = pool_choose(pool, wish, &enough), *made;
    if (!enough && pool->count < pool->max) {
        cls_status status =
            add_stream(pool, wish->has_priority ? wish->priority : CLS_PRIORITY_NORMAL, &made);
        if (!status) {
            pool->grown++;
            chosen = made;
        } else if (!chosen) {
            return status;
        }
    }
    if (!chosen)
        return all_taken(pool, "leased");
    if (wish->workload != NO_WORKLOAD && chosen->workload == NO_WORKLOAD)
        chosen->workload = wish->workload;
    pool->turn = (unsigned)(chosen - pool->streams) + 1;
    *out = chosen;
    return CLS_SUCCESS;
}

static cls_status give_shared(cls_pool handle, const struct wish *wish, cls_stream *out) {
    struct pool *pool;
    struct pooled *chosen;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "a null place for a pool's stream");
    cls_status status = pool_get(handle, &pool);
    if (status)
        return status;
    pthread_mutex_lock(&pool->lock);
    status = give(pool, wish, &chosen);
    if (!status) {
        chosen->holders++;
        *out = chosen->handle;
    }
    pthread_mutex_unlock(&pool->lock);
    pool_put(pool);
    return status;
}

cls_status cls_pool_get(cls_pool pool, cls_stream *out) {
    return give_shared(pool, &(struct wish){NO_WORKLOAD, false, 0}, out);
}

static cls_status check_workload(cls_workload workload) {
    if (workload >= CLS_WORKLOAD_COMPUTE && workload < CLS_WORKLOADS)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_workload", (int)workload);
}

cls_status cls_pool_get_for_workload(cls_pool pool, cls_workload workload, cls_stream *out) {
    cls_status status = check_workload(workload);
    return status ? status : give_shared(pool, &(struct wish){(int)workload, false, 0}, out);
}

cls_status cls_pool_get_with_priority(cls_pool pool, int priority, cls_stream *out) {
    if (priority < CLS_PRIORITY_HIGH)
        priority = CLS_PRIORITY_HIGH;
    if (priority > CLS_PRIORITY_LOW)
        priority = CLS_PRIORITY_LOW;
    return give_shared(pool, &(struct wish){NO_WORKLOAD, true, priority}, out);
}

/* Under the lock: the least loaded stream that nobody holds, made if need be. */
static cls_status give_alone(struct pool *pool, struct pooled **out) {
    struct pooled *best = NULL;
    uint64_t least = 0;
    for (unsigned i = 0; i < pool->count; i++) {
        struct pooled *pooled = &pool->streams[i];
        uint64_t load = pooled->holders ? 0 : pooled_load(pooled);
        if (pooled->holders || stream_poison(pooled->stream) || (best && load >= least))
            continue;
        best = pooled;
        least = load;
    }
    *out = best;
    if (best)
        return CLS_SUCCESS;
    if (pool->count == pool->max)
        return all_taken(pool, "held");
    cls_status status = add_stream(pool, CLS_PRIORITY_NORMAL, out);
    pool->grown += !status;
    return status;
}

cls_status cls_pool_lease(cls_pool handle, cls_stream *out) {
    struct pool *pool;
    struct pooled *chosen;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_pool_lease: out is null");
    cls_status status = pool_get(handle, &pool);
    if (status)
        return status;
    pthread_mutex_lock(&pool->lock);
    status = give_alone(pool, &chosen);
    if (!status) {
        chosen->holders = 1;
        chosen->leased = true;
        *out = chosen->handle;
    }
    pthread_mutex_unlock(&pool->lock);
    pool_put(pool);
    return status;
}

/* --- taking back --- */

/* Under the lock: takes a stream that nobody needs out of the pool, into `gone`. */
static bool shrink(struct pool *pool, struct pooled *pooled, struct pooled *gone) {
    if (pool->count <= pool->min || pooled->holders || pooled_load(pooled))
        return false;
    *gone = *pooled;
    *pooled = pool->streams[--pool->count];
    pool->shrunk++;
    return true;
}

static cls_status release(struct pool *pool, cls_stream stream, struct pooled *gone, bool *shrunk) {
    for (unsigned i = 0; i < pool->count; i++) {
        struct pooled *pooled = &pool->streams[i];
        if (pooled->handle != stream || !pooled->holders)
            continue;
        if (--pooled->holders == 0)
            pooled->leased = false;
        *shrunk = shrink(pool, pooled, gone);
        return CLS_SUCCESS;
    }
    return error_set(CLS_ERROR_NOT_FOUND, "the stream is not held, or not of this pool");
}

cls_status cls_pool_release(cls_pool handle, cls_stream stream) {
    struct pool *pool;
    struct stream *found;
    struct pooled gone;
    bool shrunk = false;
    cls_status status = pool_get(handle, &pool);
    if (status)
        return status;
    status = stream_get(stream, pool->context, &found);
    if (!status) {
        stream_put(found);
        pthread_mutex_lock(&pool->lock);
        status = release(pool, stream, &gone, &shrunk);
        pthread_mutex_unlock(&pool->lock);
    }
    if (shrunk)
        drop_stream(&gone);
    pool_put(pool);
    return status;
}
