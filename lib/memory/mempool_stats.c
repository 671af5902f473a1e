/* SPDX-License-Identifier: MIT */
/*
 * Statistics of pools and streams. Each magazine counts for itself under its stream's lock; it adds to the pool's
 * counter of used bytes when its own figure exceeds what it added before, and when statistics are read.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/sized.h"
#include "memory/magazine.h"

void pool_count(struct mempool *pool, uint64_t more) {
    uint64_t now = atomic_fetch_add(&pool->counted, more) + more;
    uint64_t high = atomic_load(&pool->counted_high);
    while (now > high && !atomic_compare_exchange_weak(&pool->counted_high, &high, now))
        continue;
}

void pool_credit(struct mempool *pool, uint64_t stream_id, size_t bytes) {
    pthread_mutex_lock(&pool->lock);
    struct magazine *magazine = pool->last;
    while (magazine && magazine->stream->id != stream_id)
        magazine = magazine->older;
    if (magazine)
        atomic_fetch_add(&magazine->credited, bytes);
    else
        atomic_fetch_sub(&pool->counted, bytes);
    pthread_mutex_unlock(&pool->lock);
}

/* Brings the pool's counter up to date with one magazine; under its stream's lock. */
static void recount(struct magazine *magazine) {
    uint64_t used = magazine_used(magazine);
    atomic_fetch_add(&magazine->pool->counted, used - magazine->counted);
    magazine->counted = used;
}

static void add_tally(cls_mempool_statistics *stats, const struct tally *tally) {
    for (unsigned i = 0; i < SOURCES; i++)
        stats->mallocs += tally->mallocs[i];
    stats->frees += tally->frees;
    stats->fresh += tally->mallocs[SOURCE_FRESH];
    stats->same_stream += tally->mallocs[SOURCE_SAME_STREAM];
    stats->followed += tally->mallocs[SOURCE_FOLLOWED];
    stats->done += tally->mallocs[SOURCE_DONE];
    stats->inserted += tally->mallocs[SOURCE_INSERTED];
}

/* The streams that have a magazine of a pool, retained: none of them leaves it meanwhile. */
struct pool_visit {
    struct stream **streams;
    unsigned n;
};

static cls_status visit_begin(struct pool_visit *visit, struct mempool *pool) {
    pthread_mutex_lock(&pool->lock);
    unsigned room = pool->n_magazines;
    pthread_mutex_unlock(&pool->lock);
    visit->streams = malloc((room + 1) * sizeof(struct stream *));
    if (!visit->streams)
        return error_no_memory("for a list of streams");
    visit->n = pool_streams(pool, SIZE_CLASSES, visit->streams, room);
    pool_await_leaving(pool);
    return CLS_SUCCESS;
}

static void visit_end(struct pool_visit *visit) {
    for (unsigned i = 0; i < visit->n; i++)
        stream_put(visit->streams[i]);
    free(visit->streams);
}

/* Each magazine, under its stream's lock. */
static void visit_all(const struct pool_visit *visit, const struct mempool *pool,
                      void (*fn)(struct magazine *magazine, void *arg), void *arg) {
    for (unsigned i = 0; i < visit->n; i++) {
        struct stream *stream = visit->streams[i];
        pthread_mutex_lock(&stream->lock);
        struct magazine *magazine = magazine_find(stream, pool);
        if (magazine)
            fn(magazine, arg);
        pthread_mutex_unlock(&stream->lock);
    }
}

static void add_magazine(struct magazine *magazine, void *stats) {
    recount(magazine);
    add_tally(stats, &magazine->tally);
}

static void read_pool(struct mempool *pool, cls_mempool_statistics *stats) {
    stats->used = atomic_load(&pool->counted);
    stats->used_high = atomic_load(&pool->counted_high);
    pthread_mutex_lock(&pool->lock);
    add_tally(stats, &pool->tally);
    stats->reserved = atomic_load(&pool->reserved) - pool->asked;
    stats->reserved_high = pool->reserved_high;
    stats->blocks = pool->n_blocks;
    pthread_mutex_unlock(&pool->lock);
}

cls_status cls_mempool_get_statistics(cls_mempool handle, cls_mempool_statistics *stats) {
    struct mempool *pool;
    cls_mempool_statistics now = CLS_MEMPOOL_STATISTICS_INIT;
    cls_status status = SIZED_CHECK(cls_mempool_statistics, stats);
    if (!status)
        status = mempool_get(handle, &pool);
    if (status)
        return status;
    struct pool_visit visit;
    status = visit_begin(&visit, pool);
    if (!status) {
        visit_all(&visit, pool, add_magazine, &now);
        read_pool(pool, &now);
        visit_end(&visit);
        SIZED_OUT(cls_mempool_statistics, stats, &now);
    }
    mempool_put(pool);
    return status;
}

static void reset_peak(struct magazine *magazine, void *unused) {
    (void)unused;
    recount(magazine);
    magazine->peak = magazine->counted;
}

cls_status cls_mempool_reset_peaks(cls_mempool handle) {
    struct mempool *pool;
    cls_status status = mempool_get(handle, &pool);
    if (status)
        return status;
    struct pool_visit visit;
    status = visit_begin(&visit, pool);
    if (!status) {
        visit_all(&visit, pool, reset_peak, NULL);
        visit_end(&visit);
    }
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->counted_high, atomic_load(&pool->counted));
    pool->reserved_high = atomic_load(&pool->reserved) - pool->asked;
    pthread_mutex_unlock(&pool->lock);
    mempool_put(pool);
    return status;
}
