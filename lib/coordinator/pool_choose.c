/* SPDX-License-Identifier: MIT */
/* Chooses the stream of a pool that suits a request best. */
#include "coordinator/internals.h"
#include "coordinator/pool.h"

double pool_cost(const struct pool *pool, const cls_pool_request *request) {
    if (request->cost_ns)
        return (double)request->cost_ns;
    return request->workload == CLS_WORKLOAD_ANY ? 0 : pool->durations[request->workload].mean;
}

/* The criteria for a stream, each the lower the better, compared from the first to the last. */
enum { BY_HEALTH, BY_FAMILY, BY_URGENCY, BY_LOAD, BY_TURN, MEASURES };

struct fitness {
    double by[MEASURES];
};

static bool is_fitter(const struct fitness *a, const struct fitness *b) {
    for (int i = 0; i < MEASURES; i++)
        if (a->by[i] != b->by[i])
            return a->by[i] < b->by[i];
    return false;
}

static bool is_busy(const struct pool *pool, const struct load *load) {
    return load->commands >= pool->busy || (pool->busy_ns > 0 && load->ns >= pool->busy_ns);
}

/* With streams reserved for workloads: reserved for this one and not busy; for none yet and not busy; either,
 * and busy; reserved for another. */
enum { OWN, NEW, BUSY, OTHERS, FAMILIES };

/* For a request by priority, the distance of the stream's priority. */
static int family_of(const struct pool *pool, const struct pooled *pooled,
                     const cls_pool_request *wish, const struct load *load) {
    if (wish->by_priority)
        return pooled->priority > wish->priority ? pooled->priority - wish->priority
                                                 : wish->priority - pooled->priority;
    if (pool->strategy != CLS_POOL_WORKLOAD || wish->workload == CLS_WORKLOAD_ANY)
        return OWN;
    if (pooled->workload != wish->workload && pooled->workload != CLS_WORKLOAD_ANY)
        return OTHERS;
    if (is_busy(pool, load))
        return BUSY;
    return pooled->workload == wish->workload ? OWN : NEW;
}

static struct fitness judge(const struct pool *pool, unsigned i, const cls_pool_request *wish,
                            const struct load *load) {
    const struct pooled *pooled = &pool->streams[i];
    struct fitness fitness = {{0}};
    fitness.by[BY_FAMILY] = family_of(pool, pooled, wish, load);
    fitness.by[BY_HEALTH] = stream_poison(pooled->stream) != NULL;
    if (pool->strategy == CLS_POOL_PRIORITY && !wish->by_priority)
        fitness.by[BY_URGENCY] = load->commands ? CLS_PRIORITY_LOW + 1 : pooled->priority;
    if (pool->strategy != CLS_POOL_ROUND_ROBIN)
        fitness.by[BY_LOAD] = load->ns;
    fitness.by[BY_TURN] = (i + pool->count - pool->turn % pool->count) % pool->count;
    return fitness;
}

struct pooled *pool_choose(struct pool *pool, const cls_pool_request *wish, bool *enough) {
    struct pooled *best = NULL;
    struct fitness fittest = {{0}};
    bool at_ease[FAMILIES] = {false}; /* some stream of the family is healthy and not busy */
    for (unsigned i = 0; i < pool->count; i++) {
        struct pooled *pooled = &pool->streams[i];
        if (wish->exclusive ? pooled->holders : pooled->leased)
            continue;
        struct load load = pooled_load(pool, pooled);
        struct fitness fitness = judge(pool, i, wish, &load);
        if (!fitness.by[BY_HEALTH] && !is_busy(pool, &load))
            at_ease[(int)fitness.by[BY_FAMILY]] = true;
        if (best && !is_fitter(&fitness, &fittest))
            continue;
        best = pooled;
        fittest = fitness;
    }
    int far = wish->by_priority ? 1 : BUSY;
    int family = (int)fittest.by[BY_FAMILY];
    *enough = best && !fittest.by[BY_HEALTH] && family < far && at_ease[family];
    return best;
}
