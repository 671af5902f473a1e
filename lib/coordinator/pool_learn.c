/* SPDX-License-Identifier: MIT */
/* Waits for a pool's streams, its figures, and the strategy that recorded durations suggest. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/sized.h"
#include "coordinator/internals.h"
#include "coordinator/pool.h"

/* --- ready streams --- */

cls_status cls_pool_has_ready(cls_pool handle, int *ready) {
    struct pool *pool;
    if (!ready)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_pool_has_ready: ready is null");
    cls_status status = pool_get(handle, &pool);
    if (status)
        return status;
    bool found = false;
    pthread_mutex_lock(&pool->lock);
    for (unsigned i = 0; i < pool->count && !found; i++)
        found = !pool->streams[i].leased && pooled_is_idle(pool, &pool->streams[i]);
    pthread_mutex_unlock(&pool->lock);
    *ready = found;
    pool_put(pool);
    return CLS_SUCCESS;
}

/* The streams to wait for, with the positions of their newest work. */
struct waiting {
    struct stream **streams; /* retained */
    cls_stream *handles;
    uint64_t *positions;
    size_t count;
    size_t start;
};

static void waiting_free(struct waiting *waiting) {
    for (size_t i = 0; i < waiting->count; i++)
        stream_put(waiting->streams[i]);
    free(waiting->streams);
    free(waiting->handles);
    free(waiting->positions);
}

/* Under the lock. */
static void collect(struct pool *pool, struct waiting *waiting) {
    for (unsigned i = 0; i < pool->count; i++) {
        struct stream *stream = pool->streams[i].stream;
        if (pool->streams[i].leased)
            continue;
        object_retain(&stream->object);
        waiting->streams[waiting->count] = stream;
        waiting->handles[waiting->count] = pool->streams[i].handle;
        waiting->positions[waiting->count++] = stream_newest(stream);
    }
    waiting->start = waiting->count ? pool->turn % waiting->count : 0;
}

static cls_status wait_any(struct pool *pool, uint64_t deadline, cls_stream *out) {
    size_t which;
    struct waiting waiting = {.streams = calloc(pool->max, sizeof *waiting.streams),
                              .handles = calloc(pool->max, sizeof *waiting.handles),
                              .positions = calloc(pool->max, sizeof *waiting.positions)};
    cls_status status = CLS_SUCCESS;
    if (!waiting.streams || !waiting.handles || !waiting.positions)
        status = error_no_memory("to wait for a pool");
    if (!status) {
        pthread_mutex_lock(&pool->lock);
        collect(pool, &waiting);
        pthread_mutex_unlock(&pool->lock);
        if (!waiting.count)
            status = error_set(CLS_ERROR_LIMIT, "all streams of the pool are leased");
    }
    if (!status)
        status = stream_wait_any(waiting.streams, waiting.positions, waiting.count, waiting.start,
                                 deadline, &which);
    if (status == CLS_ERROR_TIMEOUT)
        status = explain_timeout_all(waiting.streams, waiting.count);
    if (!status)
        *out = waiting.handles[which];
    waiting_free(&waiting);
    return status;
}

cls_status cls_pool_wait_any(cls_pool handle, uint64_t timeout_ns, cls_stream *out) {
    struct pool *pool;
    uint64_t deadline = deadline_after(timeout_ns);
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_pool_wait_any: out is null");
    cls_status status = pool_get(handle, &pool);
    if (status)
        return status;
    status = check_may_block();
    if (!status)
        status = wait_any(pool, deadline, out);
    pool_put(pool);
    return status;
}

/* --- figures --- */

static double variance(const struct durations *recorded) {
    return recorded->count > 1 ? recorded->squares / (double)(recorded->count - 1) : 0;
}

/* Square root by Newton's method: the library does not link libm. */
static double root(double x) {
    double guess = x > 1 ? x : 1;
    for (int i = 0; i < 64 && x > 0; i++)
        guess = (guess + x / guess) / 2;
    return x > 0 ? guess : 0;
}

cls_status cls_pool_record_completion(cls_pool handle, cls_workload workload,
                                      uint64_t duration_ns) {
    struct pool *pool;
    if (workload < CLS_WORKLOAD_COMPUTE || workload >= CLS_WORKLOADS)
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_workload", (int)workload);
    cls_status status = pool_get(handle, &pool);
    if (status)
        return status;
    pthread_mutex_lock(&pool->lock);
    struct durations *recorded = &pool->durations[workload];
    double distance = (double)duration_ns - recorded->mean;
    recorded->count++;
    recorded->mean += distance / (double)recorded->count;
    recorded->squares += distance * ((double)duration_ns - recorded->mean);
    pthread_mutex_unlock(&pool->lock);
    pool_put(pool);
    return CLS_SUCCESS;
}

cls_status cls_pool_get_info(cls_pool handle, cls_pool_info *info) {
    struct pool *pool;
    cls_status status = SIZED_CHECK(cls_pool_info, info);
    if (!status)
        status = pool_get(handle, &pool);
    if (status)
        return status;
    cls_pool_info got = CLS_POOL_INFO_INIT;
    pthread_mutex_lock(&pool->lock);
    got.strategy = pool->strategy;
    got.streams = pool->count;
    got.min_streams = pool->min;
    got.max_streams = pool->max;
    got.grown = pool->grown;
    got.shrunk = pool->shrunk;
    for (unsigned i = 0; i < pool->count; i++) {
        got.held += pool->streams[i].holders != 0;
        got.leased += pool->streams[i].leased;
    }
    for (int i = 0; i < CLS_WORKLOADS; i++)
        got.workloads[i] = (cls_workload_figures){pool->durations[i].count, pool->durations[i].mean,
                                                  root(variance(&pool->durations[i]))};
    pthread_mutex_unlock(&pool->lock);
    SIZED_OUT(cls_pool_info, info, &got);
    pool_put(pool);
    return CLS_SUCCESS;
}

/* --- strategies --- */

enum { ENOUGH_RECORDS = 8 };

/* Coordination is short below this part of the average of other work; kinds differ from this factor on;
 * durations scatter when their deviation is above this part of their average. */
static const double SHORT_PART = 0.25, DIFFERENCE = 2, SCATTER = 0.5;

static const char *const workload_names[CLS_WORKLOADS] = {"compute", "memory", "mixed",
                                                          "coordination"};

struct figures {
    uint64_t count;
    cls_workload shortest,
        longest; /* by average; coordination left aside; CLS_WORKLOAD_ANY: none */
    struct durations whole;
};

/* Merges two sets of durations (Chan, Golub and LeVeque). */
static void merge(struct durations *whole, const struct durations *part) {
    double n = (double)whole->count, m = (double)part->count, gap = part->mean - whole->mean;
    if (!part->count)
        return;
    whole->count += part->count;
    whole->mean += gap * m / (n + m);
    whole->squares += part->squares + gap * gap * n * m / (n + m);
}

static struct figures sum_up(const struct pool *pool) {
    struct figures figures = {0, CLS_WORKLOAD_ANY, CLS_WORKLOAD_ANY, {0, 0, 0}};
    const struct durations *durations = pool->durations;
    for (int i = 0; i < CLS_WORKLOADS; i++) {
        figures.count += durations[i].count;
        if (!durations[i].count || i == CLS_WORKLOAD_COORDINATION)
            continue;
        merge(&figures.whole, &durations[i]);
        if (figures.shortest == CLS_WORKLOAD_ANY ||
            durations[i].mean < durations[figures.shortest].mean)
            figures.shortest = (cls_workload)i;
        if (figures.longest == CLS_WORKLOAD_ANY ||
            durations[i].mean > durations[figures.longest].mean)
            figures.longest = (cls_workload)i;
    }
    if (!figures.whole.count)
        figures.whole = durations[CLS_WORKLOAD_COORDINATION];
    return figures;
}

/* Under the lock: the strategy that the figures suggest, and a sentence on why. */
static cls_pool_strategy advise(const struct pool *pool, char *why, size_t room) {
    const struct figures f = sum_up(pool);
    const struct durations *steps = &pool->durations[CLS_WORKLOAD_COORDINATION];
    double scatter = f.whole.mean > 0 ? root(variance(&f.whole)) / f.whole.mean : 0;
    if (f.count < ENOUGH_RECORDS) {
        snprintf(why, room, "only %llu completions are recorded, of %d that it takes",
                 (unsigned long long)f.count, ENOUGH_RECORDS);
        return pool->strategy;
    }
    if (steps->count && f.longest != CLS_WORKLOAD_ANY && steps->mean < SHORT_PART * f.whole.mean) {
        snprintf(why, room,
                 "coordination takes %.0f ns on average, other work %.0f ns: it should not queue "
                 "behind that",
                 steps->mean, f.whole.mean);
        return CLS_POOL_PRIORITY;
    }
    if (f.longest != f.shortest &&
        pool->durations[f.longest].mean >= DIFFERENCE * pool->durations[f.shortest].mean) {
        snprintf(why, room,
                 "%s takes %.0f ns on average, %s %.0f ns: the short should not queue "
                 "behind the long",
                 workload_names[f.longest], pool->durations[f.longest].mean,
                 workload_names[f.shortest], pool->durations[f.shortest].mean);
        return CLS_POOL_WORKLOAD;
    }
    bool uneven = scatter > SCATTER;
    snprintf(why, room, "durations scatter by %.0f%% around %.0f ns: %s", 100 * scatter,
             f.whole.mean,
             uneven ? "streams run empty at different times" : "taking turns is even enough");
    return uneven ? CLS_POOL_LOAD_BALANCED : CLS_POOL_ROUND_ROBIN;
}

cls_status cls_pool_optimize(cls_pool handle, cls_pool_advice *advice) {
    struct pool *pool;
    cls_pool_advice made = CLS_POOL_ADVICE_INIT;
    cls_status status = advice ? SIZED_CHECK(cls_pool_advice, advice) : CLS_SUCCESS;
    if (!status)
        status = pool_get(handle, &pool);
    if (status)
        return status;
    const uint64_t now = pool_now(pool);
    pthread_mutex_lock(&pool->lock);
    made.before = pool->strategy;
    made.after = pool->strategy = advise(pool, made.why, sizeof made.why);
    pthread_mutex_unlock(&pool->lock);
    pool_shrink(pool, now);
    if (advice)
        SIZED_OUT(cls_pool_advice, advice, &made);
    pool_put(pool);
    return CLS_SUCCESS;
}

cls_status cls_pool_set_strategy(cls_pool handle, cls_pool_strategy strategy) {
    struct pool *pool;
    if (strategy < CLS_POOL_ROUND_ROBIN || strategy > CLS_POOL_WORKLOAD)
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_pool_strategy", (int)strategy);
    cls_status status = pool_get(handle, &pool);
    if (status)
        return status;
    pthread_mutex_lock(&pool->lock);
    pool->strategy = strategy;
    pthread_mutex_unlock(&pool->lock);
    pool_put(pool);
    return CLS_SUCCESS;
}
