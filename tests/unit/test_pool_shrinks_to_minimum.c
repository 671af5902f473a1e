/* SPDX-License-Identifier: MIT */
/* A pool that shrinks while others lease from it and give back: it never has fewer streams than it is to have. */
#include "../support/test.h"

#include <clstream.h>

#include "coordinator/pool.h"

enum { LEAST = 2, STREAMS = 6, PERIOD_NS = 100 };

static uint64_t now_ns = 1000;

static uint64_t now(void *unused) {
    (void)unused;
    return now_ns;
}

static unsigned streams_of(cls_pool pool) {
    cls_pool_info info = CLS_POOL_INFO_INIT;
    assert_int_equal(cls_pool_get_info(pool, &info), CLS_SUCCESS);
    return info.streams;
}

/* What was needed in the period is more than there is: between two streams that go, others came and went. */
static void test_a_need_that_is_past(void **state) {
    cls_pool_config config = CLS_POOL_CONFIG_INIT;
    cls_stream streams[STREAMS];
    struct pool *pool;
    cls_pool handle;
    (void)state;
    config.min_streams = LEAST;
    config.max_streams = STREAMS;
    config.idle_ns = PERIOD_NS;
    config.clock = now;
    assert_int_equal(cls_pool_create(NULL, &config, &handle), CLS_SUCCESS);
    for (int i = 0; i < STREAMS; i++)
        assert_int_equal(cls_pool_lease(handle, &streams[i]), CLS_SUCCESS);
    for (int i = 0; i < STREAMS; i++)
        assert_int_equal(cls_pool_release(handle, streams[i]), CLS_SUCCESS);
    assert_int_equal(pool_get(handle, &pool), CLS_SUCCESS);
    pthread_mutex_lock(&pool->lock);
    pool->need = STREAMS + 1;
    pthread_mutex_unlock(&pool->lock);
    now_ns += 2 * PERIOD_NS;
    pool_shrink(pool, now_ns);
    assert_int_equal(streams_of(handle), STREAMS);
    /* A surplus that was found before the need grew. */
    pthread_mutex_lock(&pool->lock);
    pool->surplus = STREAMS - LEAST;
    pool->need = STREAMS - 1;
    pthread_mutex_unlock(&pool->lock);
    pool_shrink(pool, now_ns);
    assert_int_equal(streams_of(handle), STREAMS - 1);
    now_ns += 2 * PERIOD_NS;
    pool_shrink(pool, now_ns);
    now_ns += 2 * PERIOD_NS;
    pool_shrink(pool, now_ns);
    assert_int_equal(streams_of(handle), LEAST);
    object_release(&pool->object);
    assert_int_equal(cls_pool_destroy(handle), CLS_SUCCESS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_need_that_is_past),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
