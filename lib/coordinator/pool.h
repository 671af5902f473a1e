/* SPDX-License-Identifier: MIT */
/*
 * Pools of streams: a pool lends streams to callers, chooses them by a strategy, and grows and shrinks with
 * need. Files: pool.c makes and destroys, pool_choose.c chooses, pool_give.c lends and takes back,
 * pool_work.c estimates the outstanding work, pool_learn.c has waits, figures and the advice on a strategy.
 */
#ifndef CLSTREAM_COORDINATOR_POOL_H
#define CLSTREAM_COORDINATOR_POOL_H

#include <pthread.h>
#include <stdbool.h>

#include <clstream/pool.h>

#include "base/handle.h"

struct context;
struct stream;

/* The commands submitted between two releases of a stream. */
struct pool_piece {
    uint64_t from, to; /* positions: after `from`, up to `to` */
    double cost;       /* ns, of all of them */
};

/* A stream's estimated work: a piece for each release so far, each beginning where the one before ends, and
 * an open one behind them. */
enum { PIECES = 32 };
struct work {
    struct pool_piece
        pieces[PIECES]; /* a ring; pieces that are done are dropped when the load is asked for */
    unsigned first, count;
    uint64_t closed;      /* where the open piece begins */
    uint64_t held_from;   /* the stream's position when its first holder got it */
    double size_at_close; /* estimated cost of all that was ever submitted, up to there */
    double expected;      /* sum of the holders' costs */
    unsigned n_expected;  /* holders that gave a cost */
};

struct pooled {
    cls_stream handle;
    struct stream *stream; /* retained */
    int priority;          /* asked for */
    unsigned holders;
    bool leased;
    cls_workload workload; /* the kind that the stream is reserved for, or CLS_WORKLOAD_ANY */
    struct work work;
};

struct durations {
    uint64_t count;
    double mean, squares; /* of the distances from the mean, summed (Welford) */
};

struct pool {
    struct object object;
    struct context *context; /* retained */
    unsigned min, max, busy;
    double busy_ns;
    double item_ns; /* assumed duration of a work-item */
    uint64_t idle_ns;
    cls_pool_clock clock;
    void *clock_arg;
    pthread_mutex_t lock; /* guards what follows; streams' locks are taken inside it */
    cls_pool_strategy strategy;
    struct pooled *streams; /* room for `max` */
    unsigned count;
    unsigned turn; /* index of the next stream, round robin */
    uint64_t grown, shrunk;
    uint64_t period_start; /* need is measured over periods of idle_ns */
    unsigned need;         /* the most streams in use at once in this period */
    unsigned surplus;      /* streams to be destroyed */
    struct durations durations[CLS_WORKLOADS];
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

/* Without the lock: counts the streams in use, and destroys those that a whole period did not need. */
void pool_shrink(struct pool *pool, uint64_t now);

/* --- outstanding work (coordinator/pool_work.c); all under the lock --- */

/* The outstanding work of a stream. */
struct load {
    uint64_t commands;
    double ns;
};
struct load pooled_load(const struct pool *pool, struct pooled *pooled);
static inline bool pooled_is_idle(const struct pool *pool, struct pooled *pooled) {
    return !pooled_load(pool, pooled).commands;
}

/* One holder more, for work of that cost (0: unknown). */
void pooled_add_holder(struct pooled *pooled, double cost);

/* One holder fewer. */
void pooled_remove_holder(const struct pool *pool, struct pooled *pooled);

/* --- choosing (coordinator/pool_choose.c); all under the lock --- */

/* The cost of a checked request: as given, or the average of its workload; 0: unknown. */
double pool_cost(const struct pool *pool, const cls_pool_request *request);

/* The best stream among those that may be lent, or NULL. `*enough` false: a new stream would be better. */
struct pooled *pool_choose(struct pool *pool, const cls_pool_request *wish, bool *enough);

#endif
