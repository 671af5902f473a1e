/* SPDX-License-Identifier: MIT */
/* What the tests of stream-ordered memory share. */
#ifndef CLSTREAM_TESTS_MEMPOOLS_H
#define CLSTREAM_TESTS_MEMPOOLS_H

#include "../support/rig.h"

#include <clstream/mempool.h>

enum { KIB = 1 << 10, MIB = 1 << 20 };

/* A stream that a host function holds: what is submitted behind it stays pending until `let_go`. */
struct held {
    cls_stream stream;
    struct gate gate;
};

static inline void hold(struct held *held) {
    gate_init(&held->gate);
    held->stream = rig_stream();
    OK(cls_stream_launch_host_async(held->stream, gate_hold, &held->gate));
    gate_await(&held->gate);
}

static inline void let_go(struct held *held) {
    gate_open(&held->gate);
    OK(cls_stream_synchronize(held->stream));
    gate_destroy(&held->gate);
}

static inline cls_buffer take(cls_stream stream, size_t bytes) {
    cls_buffer buffer = NULL;
    OK(cls_malloc_async(stream, bytes, &buffer));
    return buffer;
}

static inline cls_buffer take_from(cls_mempool pool, cls_stream stream, size_t bytes) {
    cls_buffer buffer = NULL;
    OK(cls_mempool_malloc_async(pool, stream, bytes, &buffer));
    return buffer;
}

static inline cls_mempool pool_of(cls_reuse reuse) {
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    cls_mempool pool = NULL;
    config.reuse = reuse;
    OK(cls_mempool_create(rig.context, &config, &pool));
    return pool;
}

static inline cls_mempool_statistics stats_of(cls_mempool pool) {
    cls_mempool_statistics stats = CLS_MEMPOOL_STATISTICS_INIT;
    OK(cls_mempool_get_statistics(pool, &stats));
    return stats;
}

/* The driver's handle: two buffers of one pool are the same memory if and only if these are equal. */
static inline cl_mem memory_of(cls_buffer buffer) {
    cl_mem memory = NULL;
    OK(cls_buffer_get_cl(buffer, &memory));
    return memory;
}

/* Lets `later` come after what is on `earlier` so far. */
static inline void put_behind(cls_stream later, cls_stream earlier) {
    cls_event event = rig_event();
    OK(cls_event_record(event, earlier));
    OK(cls_stream_wait_event(later, event));
    OK(cls_event_destroy(event));
}

/* Ends a pool that nothing is allocated from any more, after seeing that all its memory goes back. */
static inline void end_pool(cls_mempool pool) {
    OK(cls_context_synchronize(rig.context));
    OK(cls_mempool_trim(pool, 0));
    assert_int_equal(stats_of(pool).used, 0);
    assert_int_equal(stats_of(pool).reserved, 0);
    OK(cls_mempool_destroy(pool));
}

/* A pool, a stream that is held, and one that is not. */
struct scene {
    cls_mempool pool;
    struct held held;
    cls_stream other;
};

static inline void scene_open(struct scene *scene, cls_reuse reuse) {
    scene->pool = pool_of(reuse);
    scene->other = rig_stream();
    hold(&scene->held);
}

static inline void scene_close(struct scene *scene) {
    end_pool(scene->pool);
    OK(cls_stream_destroy(scene->held.stream));
    OK(cls_stream_destroy(scene->other));
}

/* Memory that a stream has written and freed. */
static inline cl_mem use_and_free(cls_mempool pool, cls_stream stream) {
    cls_buffer buffer = take_from(pool, stream, 4 * KIB);
    cl_mem memory = memory_of(buffer);
    OK(rig_set(stream, buffer, 0, 1, 0));
    OK(cls_free_async(buffer, stream));
    return memory;
}

/* What the stream is given next is that memory, or is not. */
static inline cls_buffer take_again(cls_mempool pool, cls_stream stream, cl_mem memory) {
    cls_buffer buffer = take_from(pool, stream, 4 * KIB);
    assert_ptr_equal(memory_of(buffer), memory);
    return buffer;
}

static inline cls_buffer take_another(cls_mempool pool, cls_stream stream, cl_mem memory) {
    cls_buffer buffer = take_from(pool, stream, 4 * KIB);
    assert_ptr_not_equal(memory_of(buffer), memory);
    return buffer;
}

/* A buffer that a stream allocated and the held one writes. */
static inline cls_buffer take_to_work(const struct scene *scene, cls_stream maker) {
    cls_buffer buffer = take_from(scene->pool, maker, 4 * KIB);
    OK(rig_set(scene->held.stream, buffer, 0, 1, 0));
    return buffer;
}

/* The other stream is given the memory once the held one is done, and not before. */
static inline void expect_given_when_done(struct scene *scene, cl_mem memory) {
    cls_buffer before = take_another(scene->pool, scene->other, memory);
    let_go(&scene->held);
    cls_buffer after = take_again(scene->pool, scene->other, memory);
    OK(cls_free_async(before, scene->other));
    OK(cls_free_async(after, scene->other));
}

#endif
