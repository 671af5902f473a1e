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

/* Commands that were submitted while somebody held the stream, or between. */
struct piece {
    uint64_t from, to; /* positions: after `from`, up to `to` */
    double cost;       /* ns, of all of them */
};

/* A stream's work as a pool sees it: pieces that are closed by a release, each beginning where the one
 * before ends, and the open one behind them. */
enum { PIECES = 32 };
struct work {
    struct piece pieces[PIECES]; /* a ring; those that are done are dropped when it is looked at */
    unsigned first, count;
    uint64_t closed;      /* where the open piece begins */
    uint64_t held_from;   /* the stream's position when its first holder came */
    double size_at_close; /* of all that was ever submitted, up to there */
    double expected;      /* costs of those who hold the stream */
    unsigned n_expected;  /* of the holders, those with a cost */
};

struct pooled {
    cls_stream handle;
    struct stream *stream; /* retained */
    int priority;          /* asked for */
    unsigned holders;
    bool leased;
    cls_workload workload; /* the kind that it is kept for, or CLS_WORKLOAD_ANY */
    struct work work;
};

struct tally {
    uint64_t count;
    double mean, squares; /* of the distances from the mean, summed (Welford) */
};

struct pool {
    struct object object;
    struct context *context; /* retained */
    unsigned min, max, busy;
    double busy_ns;
    double item_ns; /* guessed of a work-item */
    uint64_t idle_ns;
    cls_pool_clock clock;
    void *clock_arg;
    pthread_mutex_t lock; /* guards what follows; streams' locks are taken inside it */
    cls_pool_strategy strategy;
    struct pooled *streams; /* room for `max` */
    unsigned count;
    unsigned turn; /* the next one's place, round robin */
    uint64_t grown, shrunk;
    uint64_t period_start; /* of shrinking */
    unsigned need;         /* the most streams in use at once in this period */
    unsigned surplus;      /* streams to be destroyed */
    struct tally tallies[CLS_WORKLOADS];
};

/* Looks up a handle and takes a reference. Reports. */
cls_status pool_get(cls_pool handle, struct pool **out);
static inline void pool_put(struct pool *pool) { object_release(&pool->object); }

/* The streams (coordinator/pool.c). Under the lock, or before anybody else knows of the pool. */
cls_status pool_add_stream(struct pool *pool, int priority, struct pooled **out);

/* Destroys a stream that was taken out; without the lock. */
void pooled_drop(struct pooled *pooled);

/* The time on the pool's clock, which may be the user's: without the lock. */
uint64_t pool_now(const struct pool *pool);

/* Notes how many streams are in use, and destroys what is more than needed. Without the lock. */
void pool_shrink(struct pool *pool, uint64_t now);

/* --- outstanding work (coordinator/pool_work.c); all under the lock --- */

/* What a stream has yet to do. */
struct load {
    uint64_t commands;
    double ns;
};
struct load pooled_load(const struct pool *pool, struct pooled *pooled);
static inline bool pooled_is_idle(const struct pool *pool, struct pooled *pooled) {
    return !pooled_load(pool, pooled).commands;
}

/* Somebody holds the stream, for work of that cost (0: not known). */
void pooled_hold(struct pooled *pooled, double cost);

/* One holder fewer. */
void pooled_release(const struct pool *pool, struct pooled *pooled);

/* --- choosing (coordinator/pool_choose.c); all under the lock --- */

/* What a stream is wanted for: a request that is checked. */
double pool_cost(const struct pool *pool, const cls_pool_request *request);

/* The preferred stream among those that may be given, or NULL; `*enough` false: one more would be better. */
struct pooled *pool_choose(struct pool *pool, const cls_pool_request *wish, bool *enough);

#endif
