/* SPDX-License-Identifier: MIT */
/* Memory pools: what they keep, their limits and figures, the current one, and their end. */
#include "mempools.h"

#include <string.h>

#include <clstream/coordinator.h>

static void test_trim_and_threshold(void **state) {
    (void)state;
    struct held held;
    cls_mempool pool = pool_of(CLS_REUSE_FOLLOW_DONE);
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    hold(&held);
    cls_buffer x = take_from(pool, held.stream, MIB), y = take_from(pool, held.stream, 2 * MIB);
    cls_buffer live = take_from(pool, held.stream, 4 * MIB);
    assert_int_equal(stats_of(pool).reserved, 7 * MIB);
    OK(cls_free_async(x, held.stream));
    OK(cls_free_async(y, held.stream));
    OK(cls_mempool_trim(pool, 0)); /* the work is pending: all of it stays */
    assert_int_equal(stats_of(pool).reserved, 7 * MIB);
    let_go(&held); /* the threshold is above all: synchronizing gives nothing back */
    assert_int_equal(stats_of(pool).reserved, 7 * MIB);
    OK(cls_mempool_trim(pool, 6 * MIB));
    assert_true(stats_of(pool).reserved >= 4 * MIB && stats_of(pool).reserved <= 6 * MIB);
    OK(cls_mempool_trim(pool, 0));
    assert_int_equal(stats_of(pool).reserved, 4 * MIB);
    assert_int_equal(stats_of(pool).reserved_high, 7 * MIB);
    config.release_threshold = 0;
    OK(cls_mempool_set_config(pool, &config));
    OK(cls_free_async(live, held.stream));
    OK(cls_stream_synchronize(held.stream));
    assert_int_equal(stats_of(pool).reserved, 0);
    OK(cls_mempool_destroy(pool));
    OK(cls_stream_destroy(held.stream));
}

static cls_status by_reset(cls_stream stream) { return cls_stream_reset(stream); }

static cls_status by_coordinator(cls_stream stream) {
    cls_coordinator all;
    OK(cls_coordinator_create(NULL, &all));
    OK(cls_coordinator_add_stream(all, stream, NULL));
    OK(cls_coordinator_wait_all(all, UINT64_MAX));
    return cls_coordinator_destroy(all);
}

static cls_status by_context(cls_stream stream) {
    (void)stream;
    return cls_context_synchronize(rig.context);
}

/* By whatever call the host waits for a stream, unused memory beyond the threshold goes back. */
static void test_each_wait_of_the_host_gives_back(void **state) {
    (void)state;
    static cls_status (*const waits[])(cls_stream) = {cls_stream_synchronize, by_context,
                                                      by_coordinator, by_reset};
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        cls_stream stream = rig_stream();
        cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
        cls_mempool pool;
        config.release_threshold = 0;
        OK(cls_mempool_create(rig.context, &config, &pool));
        OK(cls_free_async(take_from(pool, stream, MIB), stream));
        OK(waits[i](stream));
        assert_int_equal(stats_of(pool).reserved, 0);
        OK(cls_mempool_destroy(pool));
        OK(cls_stream_destroy(stream));
    }
}

static void test_a_limit(void **state) {
    (void)state;
    cls_stream stream = rig_stream(), other = rig_stream();
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT, back = CLS_MEMPOOL_CONFIG_INIT;
    cls_mempool pool;
    cls_buffer buffers[4], untouched = NULL;
    config.max_bytes = 4 * MIB;
    OK(cls_mempool_create(rig.context, &config, &pool));
    OK(cls_mempool_get_config(pool, &back));
    assert_int_equal(back.max_bytes, 4 * MIB);
    for (int i = 0; i < 4; i++)
        buffers[i] = take_from(pool, stream, MIB);
    EXPECT(CLS_ERROR_OUT_OF_DEVICE_MEMORY, cls_mempool_malloc_async(pool, stream, 1, &untouched));
    assert_non_null(strstr(cls_last_error_detail(), "max_bytes"));
    assert_null(untouched);
    assert_int_equal(stats_of(pool).reserved, 4 * MIB);
    for (int i = 0; i < 2; i++)
        OK(cls_free_async(buffers[i], stream));
    OK(cls_stream_synchronize(stream));
    /* Unused memory of another size makes room, which is no error of anybody's. */
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_event_create(rig.context, NULL, NULL));
    buffers[0] = take_from(pool, other, 2 * MIB);
    assert_non_null(strstr(cls_last_error_detail(), "cls_event_create"));
    assert_int_equal(stats_of(pool).reserved, 4 * MIB);
    OK(cls_free_async(buffers[0], other));
    OK(cls_free_async(buffers[2], stream));
    OK(cls_free_async(buffers[3], stream));
    end_pool(pool);
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(other));
}

/* Sizes that come in turn, each many times: what the others have left makes room. */
static void test_small_sizes_in_turn(void **state) {
    enum { SIZES = 25, BYTES = 4 * MIB, ROOM = 16 * MIB };
    static cls_buffer buffers[BYTES / KIB];
    (void)state;
    cls_stream stream = rig_stream();
    cls_mempool pool = pool_of(CLS_REUSE_FOLLOW_DONE);
    for (unsigned i = 0; i < SIZES; i++) {
        const size_t size = ((size_t)KIB << (i / 4)) / 4 * (4 + i % 4);
        const size_t count = BYTES / size;
        for (size_t k = 0; k < count; k++)
            buffers[k] = take_from(pool, stream, size);
        for (size_t k = 0; k < count; k++)
            OK(cls_free_async(buffers[k], stream));
    }
    const cls_mempool_statistics stats = stats_of(pool);
    assert_true(stats.reserved_high <= stats.used_high + stats.used_high / 4 + ROOM);
    end_pool(pool);
    OK(cls_stream_destroy(stream));
}

static void test_the_current_pool(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_mempool standard, pool = pool_of(CLS_REUSE_FOLLOW_DONE), now;
    OK(cls_mempool_default(rig.context, &standard));
    OK(cls_context_get_mempool(rig.context, &now));
    assert_ptr_equal(now, standard);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_mempool_destroy(standard));
    OK(cls_context_set_mempool(rig.context, pool));
    cls_buffer buffer = take(stream, MIB);
    assert_int_equal(stats_of(pool).used, MIB);
    OK(cls_context_set_mempool(rig.context, NULL));
    OK(cls_context_get_mempool(rig.context, &now));
    assert_ptr_equal(now, standard);
    OK(cls_context_set_mempool(rig.context, pool));
    OK(cls_free_async(buffer, stream));
    OK(cls_mempool_destroy(pool)); /* the default takes its place */
    OK(cls_context_get_mempool(rig.context, &now));
    assert_ptr_equal(now, standard);
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_mempool_destroy(pool));
    buffer = take(stream, MIB);
    OK(cls_free_async(buffer, stream));
    OK(cls_stream_destroy(stream));
}

/* Buffers outlive their pool's handle. */
static void test_a_destroyed_pool(void **state) {
    (void)state;
    struct held held;
    cls_mempool pool = pool_of(CLS_REUSE_FOLLOW_DONE);
    cls_buffer cells, untouched = NULL;
    uint32_t seen = 0;
    hold(&held);
    cells = take_from(pool, held.stream, 64);
    cls_buffer freed = take_from(pool, held.stream, 64);
    OK(cls_free_async(freed, held.stream));
    OK(cls_mempool_destroy(pool));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_mempool_malloc_async(pool, held.stream, 64, &untouched));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_mempool_trim(pool, 0));
    OK(rig_set(held.stream, cells, 0, 77, 0));
    OK(cls_copy_d2h_async(&seen, cells, 0, 4, held.stream));
    OK(cls_free_async(cells, held.stream));
    let_go(&held);
    assert_int_equal(seen, 77);
    OK(cls_stream_destroy(held.stream));
}

static void test_a_destroyed_context(void **state) {
    (void)state;
    cls_context context;
    cls_stream stream;
    cls_mempool own, standard;
    cls_buffer x, y, z, rest[2], plain, untouched = NULL;
    OK(cls_context_create(NULL, &context));
    OK(cls_stream_create(context, NULL, &stream));
    OK(cls_mempool_create(context, NULL, &own));
    OK(cls_mempool_default(context, &standard));
    OK(cls_malloc_async(stream, MIB, &x));
    OK(cls_malloc_async(stream, MIB, &y));
    OK(cls_malloc_async(stream, MIB, &rest[0]));
    OK(cls_buffer_create(context, MIB, &plain));
    OK(cls_mempool_malloc_async(own, stream, MIB, &rest[1]));
    OK(cls_mempool_malloc_async(own, stream, 100, &z));
    OK(cls_context_destroy(context));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_malloc_async(stream, 64, &untouched));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_mempool_trim(own, 0));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_mempool_trim(standard, 0));
    OK(cls_free_async(x, stream));
    OK(cls_free_async(y, NULL)); /* there is no default stream any more */
    OK(cls_buffer_destroy(z));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_free_async(y, NULL));
    OK(cls_free_async(plain, NULL));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_buffer_destroy(plain));
    OK(cls_stream_free_all_async(stream, CLS_FREE_IN_ORDER));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_free_async(rest[0], stream));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_free_async(rest[1], stream));
    OK(cls_mempool_destroy(own));
    OK(cls_stream_destroy(stream));
}

static void test_statistics(void **state) {
    (void)state;
    cls_stream first = rig_stream(), second = rig_stream();
    cls_mempool pool = pool_of(CLS_REUSE_FOLLOW_DONE);
    cls_stream_memory memory = CLS_STREAM_MEMORY_INIT;
    cls_buffer a = take_from(pool, first, MIB), b = take_from(pool, first, 2 * MIB);
    cls_buffer c = take_from(pool, second, MIB);
    cls_mempool_statistics stats = stats_of(pool);
    assert_int_equal(stats.used, 4 * MIB);
    assert_int_equal(stats.used_high, 4 * MIB);
    assert_int_equal(stats.blocks, 3);
    assert_int_equal(stats.mallocs, 3);
    assert_int_equal(stats.fresh, 3);
    OK(cls_free_async(a, first));
    OK(cls_free_async(b, second)); /* elsewhere than it was allocated */
    OK(cls_stream_get_memory(first, &memory));
    assert_int_equal(memory.used, 0);
    assert_int_equal(memory.peak, 3 * MIB);
    assert_int_equal(memory.mallocs, 2);
    a = take_from(pool, first, MIB);
    stats = stats_of(pool);
    assert_int_equal(stats.used, 2 * MIB);
    assert_int_equal(stats.used_high, 4 * MIB);
    assert_int_equal(stats.same_stream, 1);
    assert_int_equal(stats.mallocs - stats.frees, 2);
    OK(cls_mempool_reset_peaks(pool));
    assert_int_equal(stats_of(pool).used_high, 2 * MIB);
    OK(cls_stream_get_memory(first, &memory));
    assert_int_equal(memory.peak, MIB);
    OK(cls_stream_destroy(second)); /* with memory that is still in use */
    OK(cls_context_synchronize(rig.context));
    assert_int_equal(stats_of(pool).used, 2 * MIB);
    OK(cls_free_async(a, first));
    OK(cls_free_async(c, first));
    stats = stats_of(pool);
    assert_int_equal(stats.used, 0);
    assert_int_equal(stats.mallocs, 4);
    assert_int_equal(stats.frees, 4);
    end_pool(pool);
    OK(cls_stream_destroy(first));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trim_and_threshold),
        cmocka_unit_test(test_each_wait_of_the_host_gives_back),
        cmocka_unit_test(test_a_limit),
        cmocka_unit_test(test_small_sizes_in_turn),
        cmocka_unit_test(test_the_current_pool),
        cmocka_unit_test(test_a_destroyed_pool),
        cmocka_unit_test(test_a_destroyed_context),
        cmocka_unit_test(test_statistics),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
