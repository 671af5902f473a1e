/* SPDX-License-Identifier: MIT */
/* Which stream of a pool suits a wish. */
#include "coordinator/pool.h"
#include "core/stream.h"

double pool_cost(const struct pool *pool, const cls_pool_request *request) {
    if (request->cost_ns)
        return (double)request->cost_ns;
    return request->workload == CLS_WORKLOAD_ANY ? 0 : pool->tallies[request->workload].mean;
}

/* How well a stream suits, the lower the better; compared from the first to the last. */
enum { BY_FAMILY, BY_HEALTH, BY_URGENCY, BY_LOAD, BY_TURN, MEASURES };

struct fitness {
    double by[MEASURES];
};

static bool is_fitter(const struct fitness *a, const struct fitness *b) {
    for (int i = 0; i < MEASURES; i++)
        if (a->by[i] != b->by[i])
            return a->by[i] < b->by[i];
    return false;
}

/* 0: kept for this kind of work; 1: for none yet; 2: for another. Where a priority is wanted, how far off
 * it is. */
static int family_of(const struct pool *pool, const struct pooled *pooled,
                     const cls_pool_request *wish) {
    if (wish->by_priority)
        return pooled->priority > wish->priority ? pooled->priority - wish->priority
                                                 : wish->priority - pooled->priority;
    if (pool->strategy != CLS_POOL_WORKLOAD || wish->workload == CLS_WORKLOAD_ANY)
        return 0;
    if (pooled->workload == wish->workload)
        return 0;
    return pooled->workload == CLS_WORKLOAD_ANY ? 1 : 2;
}

static struct fitness judge(const struct pool *pool, unsigned i, const cls_pool_request *wish,
                            const struct load *load) {
    const struct pooled *pooled = &pool->streams[i];
    struct fitness fitness = {{0}};
    fitness.by[BY_FAMILY] = family_of(pool, pooled, wish);
    fitness.by[BY_HEALTH] = stream_poison(pooled->stream) != NULL;
    if (pool->strategy == CLS_POOL_PRIORITY && !wish->by_priority)
        fitness.by[BY_URGENCY] = load->commands ? CLS_PRIORITY_LOW + 1 : pooled->priority;
    if (pool->strategy != CLS_POOL_ROUND_ROBIN)
        fitness.by[BY_LOAD] = load->ns;
    fitness.by[BY_TURN] = (i + pool->count - pool->turn % pool->count) % pool->count;
    return fitness;
}

static bool is_busy(const struct pool *pool, const struct load *load) {
    return load->commands >= pool->busy || (pool->busy_ns > 0 && load->ns >= pool->busy_ns);
}

struct pooled *pool_choose(struct pool *pool, const cls_pool_request *wish, bool *enough) {
    struct pooled *best = NULL;
    struct fitness fittest = {{0}};
    bool all_busy = true;
    for (unsigned i = 0; i < pool->count; i++) {
        struct pooled *pooled = &pool->streams[i];
        if (wish->exclusive ? pooled->holders : pooled->leased)
            continue;
        struct load load = pooled_load(pool, pooled);
        struct fitness fitness = judge(pool, i, wish, &load);
        all_busy = all_busy && is_busy(pool, &load);
        if (best && !is_fitter(&fitness, &fittest))
            continue;
        best = pooled;
        fittest = fitness;
    }
    int far = wish->by_priority ? 1 : 2;
    *enough = best && !all_busy && !fittest.by[BY_HEALTH] && fittest.by[BY_FAMILY] < far;
    return best;
}
