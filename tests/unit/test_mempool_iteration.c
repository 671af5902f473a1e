/* SPDX-License-Identifier: MIT */
/* Going through the pools that a stream has memory of, while another thread takes one of them away. */
#include "../support/test.h"

#include <stdbool.h>
#include <time.h>

#include <clstream.h>

#include "memory/magazine.h"
#include "memory/mempool.h"
#include "stream/stream.h"

enum { POOLS = 4 };

struct world {
    cls_stream stream;
    cls_mempool pools[POOLS];
    cls_buffer buffers[POOLS];
    bool seen[POOLS];
};

static unsigned index_of(const struct world *world, const struct mempool *pool) {
    unsigned i = 0;
    while (i < POOLS && object_handle(&pool->object) != world->pools[i])
        i++;
    assert_true(i < POOLS);
    return i;
}

/* The pool goes, with the stream's part of it. */
static void end_pool(const struct world *world, struct stream *stream, unsigned i) {
    assert_int_equal(cls_free_async(world->buffers[i], world->stream), CLS_SUCCESS);
    assert_int_equal(cls_stream_synchronize(world->stream), CLS_SUCCESS);
    assert_int_equal(cls_mempool_destroy(world->pools[i]), CLS_SUCCESS);
    stream_memory_waited(stream);
}

static void test_a_pool_that_goes_ends_no_walk(void **state) {
    struct world world = {.seen = {false}};
    struct stream *stream;
    (void)state;
    assert_int_equal(cls_stream_create(NULL, NULL, &world.stream), CLS_SUCCESS);
    for (unsigned i = 0; i < POOLS; i++) {
        assert_int_equal(cls_mempool_create(NULL, NULL, &world.pools[i]), CLS_SUCCESS);
        assert_int_equal(
            cls_mempool_malloc_async(world.pools[i], world.stream, 64, &world.buffers[i]),
            CLS_SUCCESS);
    }
    assert_int_equal(stream_get(world.stream, NULL, &stream), CLS_SUCCESS);
    struct mempool *pool = stream_next_pool(stream, NULL);
    assert_non_null(pool);
    const unsigned gone = index_of(&world, pool);
    end_pool(&world, stream, gone);
    world.seen[gone] = true;
    while ((pool = stream_next_pool(stream, pool)) != NULL)
        world.seen[index_of(&world, pool)] = true;
    stream_put(stream);
    for (unsigned i = 0; i < POOLS; i++) {
        assert_true(world.seen[i]);
        if (i != gone)
            assert_int_equal(cls_free_async(world.buffers[i], world.stream), CLS_SUCCESS);
        if (i != gone)
            assert_int_equal(cls_mempool_destroy(world.pools[i]), CLS_SUCCESS);
    }
    assert_int_equal(cls_stream_destroy(world.stream), CLS_SUCCESS);
}

static double cpu_s(void) {
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Who synchronizes goes through pools that may keep what they have once, not once for each. */
static void test_many_pools_cost_a_wait_one_walk(void **state) {
    enum { MANY = 2000, WAITS = 200 };
    static cls_mempool pools[MANY];
    cls_stream stream;
    cls_buffer buffer;
    (void)state;
    assert_int_equal(cls_stream_create(NULL, NULL, &stream), CLS_SUCCESS);
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(cls_mempool_create(NULL, NULL, &pools[i]), CLS_SUCCESS);
        assert_int_equal(cls_mempool_malloc_async(pools[i], stream, 64, &buffer), CLS_SUCCESS);
        assert_int_equal(cls_free_async(buffer, stream), CLS_SUCCESS);
    }
    const double before = cpu_s();
    for (unsigned i = 0; i < WAITS; i++)
        assert_int_equal(cls_stream_synchronize(stream), CLS_SUCCESS);
    assert_true(cpu_s() - before < 1);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(cls_mempool_destroy(pools[i]), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(stream), CLS_SUCCESS);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_pool_that_goes_ends_no_walk),
                                       cmocka_unit_test(test_many_pools_cost_a_wait_one_walk)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
