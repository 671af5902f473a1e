/* SPDX-License-Identifier: MIT */
/* Pools of streams inside. */
#ifndef CLSTREAM_COORDINATOR_POOL_H
#define CLSTREAM_COORDINATOR_POOL_H

#include <pthread.h>
#include <stdbool.h>

#include <clstream/pool.h>

#include "base/handle.h"

struct context;
struct stream;

enum { NO_WORKLOAD = -1 };

struct pooled {
    cls_stream handle;
    struct stream *stream; /* retained */
    int priority;          /* asked for */
    unsigned holders;
    bool leased;
    int workload; /* the kind that it is kept for, or NO_WORKLOAD */
};

struct tally {
    uint64_t count;
    double mean, squares; /* of the distances from the mean, summed (Welford) */
};

struct pool {
    struct object object;
    struct context *context; /* retained */
    unsigned min, max, busy;
    pthread_mutex_t lock; /* guards what follows; streams' locks are taken inside it */
    cls_pool_strategy strategy;
    struct pooled *streams; /* room for `max` */
    unsigned count;
    unsigned turn; /* the next one's place, round robin */
    uint64_t grown, shrunk;
    struct tally tallies[CLS_WORKLOADS];
};

/* Looks up a handle and takes a reference. Reports. */
cls_status pool_get(cls_pool handle, struct pool **out);
static inline void pool_put(struct pool *pool) { object_release(&pool->object); }

/* --- choosing (coordinator/pool_choose.c); all under the lock --- */

/* What a stream is wanted for. */
struct wish {
    int workload; /* NO_WORKLOAD: any */
    bool has_priority;
    int priority;
};

/* The commands that the stream has yet to complete. */
uint64_t pooled_load(const struct pooled *pooled);

/* The preferred stream among those not leased, or NULL; `*enough` false: one more would be better. */
struct pooled *pool_choose(struct pool *pool, const struct wish *wish, bool *enough);

#endif
