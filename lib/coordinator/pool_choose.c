/* SPDX-License-Identifier: MIT */
/* Which stream of a pool suits a wish. */
#include "coordinator/pool.h"
#include "core/stream.h"

uint64_t pooled_load(const struct pooled *pooled) {
    struct stream *stream = pooled->stream;
    stream_poll(stream);
    pthread_mutex_lock(&stream->lock);
    uint64_t load = stream->submitted - atomic_load(&stream->retired);
    pthread_mutex_unlock(&stream->lock);
    return load;
}

/* How well a stream suits, the lower the better; compared from the first to the last. */
enum { BY_FAMILY, BY_HEALTH, BY_URGENCY, BY_LOAD, BY_TURN, MEASURES };

struct fitness {
    uint64_t by[MEASURES];
};

static bool is_fitter(const struct fitness *a, const struct fitness *b) {
    for (int i = 0; i < MEASURES; i++)
        if (a->by[i] != b->by[i])
            return a->by[i] < b->by[i];
    return false;
}

/* 0: kept for this kind of work; 1: for none yet; 2: for another. */
static uint64_t family_of(const struct pool *pool, const struct pooled *pooled,
                          const struct wish *wish) {
    if (wish->has_priority)
        return (uint64_t)(pooled->priority > wish->priority ? pooled->priority - wish->priority
                                                            : wish->priority - pooled->priority);
    if (pool->strategy != CLS_POOL_WORKLOAD || wish->workload == NO_WORKLOAD)
        return 0;
    if (pooled->workload == wish->workload)
        return 0;
    return pooled->workload == NO_WORKLOAD ? 1 : 2;
}

static struct fitness judge(const struct pool *pool, unsigned i, const struct wish *wish,
                            uint64_t load) {
    const struct pooled *pooled = &pool->streams[i];
    struct fitness fitness = {{0}};
    fitness.by[BY_FAMILY] = family_of(pool, pooled, wish);
    fitness.by[BY_HEALTH] = stream_poison(pooled->stream) != NULL;
    if (pool->strategy == CLS_POOL_PRIORITY && !wish->has_priority)
        fitness.by[BY_URGENCY] =
            load ? UINT64_MAX : (uint64_t)(pooled->priority - CLS_PRIORITY_HIGH);
    if (pool->strategy != CLS_POOL_ROUND_ROBIN)
        fitness.by[BY_LOAD] = load;
    fitness.by[BY_TURN] = (i + pool->count - pool->turn % pool->count) % pool->count;
    return fitness;
}

struct pooled *pool_choose(struct pool *pool, const struct wish *wish, bool *enough) {
    struct pooled *best = NULL;
    struct fitness fittest = {{0}};
    bool all_busy = true;
    for (unsigned i = 0; i < pool->count; i++) {
        if (pool->streams[i].leased)
            continue;
        uint64_t load = pooled_load(&pool->streams[i]);
        struct fitness fitness = judge(pool, i, wish, load);
        all_busy = all_busy && load >= pool->busy;
        if (best && !is_fitter(&fitness, &fittest))
            continue;
        best = &pool->streams[i];
        fittest = fitness;
    }
    uint64_t far = wish->has_priority ? 1 : 2;
    *enough = best && !all_busy && fittest.by[BY_FAMILY] < far;
    return best;
}
