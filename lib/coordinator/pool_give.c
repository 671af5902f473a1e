/* SPDX-License-Identifier: MIT */
/* Lends the streams of a pool, takes them back, and destroys those that are not needed. */
#include "base/error.h"
#include "base/sized.h"
#include "coordinator/internals.h"
#include "coordinator/pool.h"
#include "system/clocks.h"

/* --- need --- */

uint64_t pool_now(const struct pool *pool) {
    return pool->clock ? pool->clock(pool->clock_arg) : clock_now_ns();
}

static bool in_use(const struct pool *pool, struct pooled *pooled) {
    return pooled->holders || !pooled_is_idle(pool, pooled);
}

static unsigned to_keep(const struct pool *pool) {
    return pool->need > pool->min ? pool->need : pool->min;
}

/* Under the lock: measures the need; at the end of a period sets the surplus. */
static void note_need(struct pool *pool, uint64_t now) {
    unsigned used = 0;
    if (pool->count <= pool->min) {
        pool->period_start = now;
        pool->need = 0;
        return;
    }
    for (unsigned i = 0; i < pool->count; i++)
        used += in_use(pool, &pool->streams[i]);
    if (used > pool->need)
        pool->need = used;
    /* Threads read the clock before they lock, so `now` may lie before the period's start. */
    if (now < pool->period_start || now - pool->period_start < pool->idle_ns ||
        pool->idle_ns == UINT64_MAX)
        return;
    const unsigned keep = to_keep(pool);
    pool->surplus = pool->count > keep ? pool->count - keep : 0;
    pool->period_start = now;
    pool->need = used;
}

/* Under the lock: moves one surplus stream out of the pool into `gone`. The need may have grown meanwhile. */
static bool take_surplus(struct pool *pool, struct pooled *gone) {
    const unsigned keep = to_keep(pool);
    for (unsigned i = pool->count; i-- > 0 && pool->surplus && pool->count > keep;) {
        struct pooled *pooled = &pool->streams[i];
        if (in_use(pool, pooled))
            continue;
        *gone = *pooled;
        *pooled = pool->streams[--pool->count];
        pool->surplus--;
        pool->shrunk++;
        return true;
    }
    pool->surplus = 0;
    return false;
}

void pool_shrink(struct pool *pool, uint64_t now) {
    struct pooled gone;
    pthread_mutex_lock(&pool->lock);
    note_need(pool, now);
    while (pool->surplus && take_surplus(pool, &gone)) {
        pthread_mutex_unlock(&pool->lock);
        pooled_drop(&gone);
        pthread_mutex_lock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
}

/* --- lending --- */

/* Under the lock. A new stream begins a new period. */
static cls_status grow(struct pool *pool, int priority, uint64_t now, struct pooled **made) {
    cls_status status = pool_add_stream(pool, priority, made);
    if (status)
        return status;
    pool->grown++;
    pool->period_start = now;
    return CLS_SUCCESS;
}

/* Under the lock. A new stream that cannot be made is no error as long as there is another. */
static cls_status choose(struct pool *pool, const cls_pool_request *wish, uint64_t now,
                         struct pooled **out) {
    bool enough;
    struct pooled *chosen = pool_choose(pool, wish, &enough);
    if (!enough && pool->count < pool->max) {
        int priority = wish->by_priority ? wish->priority : CLS_PRIORITY_NORMAL;
        cls_status status = grow(pool, priority, now, &chosen);
        if (status && !chosen)
            return status;
    }
    if (!chosen)
        return error_set(CLS_ERROR_LIMIT, "all %u streams of the pool are %s", pool->count,
                         wish->exclusive ? "held" : "leased");
    *out = chosen;
    return CLS_SUCCESS;
}

/* Under the lock. */
static void lend(struct pool *pool, const cls_pool_request *wish, struct pooled *chosen) {
    if (chosen->workload == CLS_WORKLOAD_ANY)
        chosen->workload = wish->workload;
    pool->turn = (unsigned)(chosen - pool->streams) + 1;
    pooled_add_holder(chosen, pool_cost(pool, wish));
    chosen->leased = wish->exclusive;
}

static cls_status check_request(const cls_pool_request *request) {
    if (request->workload < CLS_WORKLOAD_ANY || request->workload >= CLS_WORKLOADS)
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_workload", (int)request->workload);
    return CLS_SUCCESS;
}

cls_status cls_pool_get_with(cls_pool handle, const cls_pool_request *request, cls_stream *out) {
    cls_pool_request wish = CLS_POOL_REQUEST_INIT;
    struct pool *pool;
    struct pooled *chosen;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "the place for the pool's stream is null");
    cls_status status = SIZED_IN(cls_pool_request, &wish, request);
    if (!status)
        status = check_request(&wish);
    if (!status)
        status = pool_get(handle, &pool);
    if (status)
        return status;
    wish.priority = priority_clamp(wish.priority);
    const uint64_t now = pool_now(pool);
    pthread_mutex_lock(&pool->lock);
    status = choose(pool, &wish, now, &chosen);
    if (!status) {
        lend(pool, &wish, chosen);
        *out = chosen->handle;
    }
    pthread_mutex_unlock(&pool->lock);
    pool_shrink(pool, now);
    pool_put(pool);
    return status;
}

cls_status cls_pool_get(cls_pool pool, cls_stream *out) {
    return cls_pool_get_with(pool, NULL, out);
}

cls_status cls_pool_get_for_workload(cls_pool pool, cls_workload workload, cls_stream *out) {
    cls_pool_request request = CLS_POOL_REQUEST_INIT;
    request.workload = workload;
    if (workload == CLS_WORKLOAD_ANY)
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_workload", (int)workload);
    return cls_pool_get_with(pool, &request, out);
}

cls_status cls_pool_get_with_priority(cls_pool pool, int priority, cls_stream *out) {
    cls_pool_request request = CLS_POOL_REQUEST_INIT;
    request.by_priority = 1;
    request.priority = priority;
    return cls_pool_get_with(pool, &request, out);
}

cls_status cls_pool_lease(cls_pool pool, cls_stream *out) {
    cls_pool_request request = CLS_POOL_REQUEST_INIT;
    request.exclusive = 1;
    return cls_pool_get_with(pool, &request, out);
}

/* --- taking back --- */

/* Under the lock: the pool's entry for the stream, or why there is none. */
static cls_status find(struct pool *pool, cls_stream handle, struct pooled **out) {
    struct stream *stream;
    for (unsigned i = 0; i < pool->count; i++)
        if (pool->streams[i].handle == handle) {
            *out = &pool->streams[i];
            return CLS_SUCCESS;
        }
    cls_status status = stream_get(handle, pool->context, &stream);
    if (status)
        return status;
    stream_put(stream);
    return error_set(CLS_ERROR_NOT_FOUND, "the stream is not of this pool");
}

cls_status cls_pool_release(cls_pool handle, cls_stream stream) {
    struct pool *pool;
    struct pooled *pooled;
    cls_status status = pool_get(handle, &pool);
    if (status)
        return status;
    const uint64_t now = pool_now(pool);
    pthread_mutex_lock(&pool->lock);
    status = find(pool, stream, &pooled);
    if (!status && !pooled->holders)
        status = error_set(CLS_ERROR_NOT_FOUND, "the stream is not held");
    if (!status)
        pooled_remove_holder(pool, pooled);
    pthread_mutex_unlock(&pool->lock);
    pool_shrink(pool, now);
    pool_put(pool);
    return status;
}

cls_status cls_pool_get_outstanding(cls_pool handle, cls_stream stream, uint64_t *ns) {
    struct pool *pool;
    struct pooled *pooled;
    struct load load = {0, 0};
    if (!ns)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_pool_get_outstanding: ns is null");
    cls_status status = pool_get(handle, &pool);
    if (status)
        return status;
    pthread_mutex_lock(&pool->lock);
    status = find(pool, stream, &pooled);
    if (!status)
        load = pooled_load(pool, pooled);
    pthread_mutex_unlock(&pool->lock);
    if (!status)
        *ns = load.ns < 1.8e19 ? (uint64_t)load.ns : UINT64_MAX;
    pool_put(pool);
    return status;
}
