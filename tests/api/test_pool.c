/* SPDX-License-Identifier: MIT */
/* Pools of streams: who is given which, leases, and what is learnt. */
#include "../support/rig.h"
#include "pools.h"

#include <stdatomic.h>
#include <string.h>

static cls_pool make_pool(cls_pool_strategy strategy, unsigned min, unsigned max, unsigned busy) {
    cls_pool_config config = CLS_POOL_CONFIG_INIT;
    cls_pool pool = NULL;
    config.strategy = strategy;
    config.min_streams = min;
    config.max_streams = max;
    config.busy = busy;
    OK(cls_pool_create(rig.context, &config, &pool));
    return pool;
}

static cls_stream get(cls_pool pool) {
    cls_stream stream = NULL;
    OK(cls_pool_get(pool, &stream));
    return stream;
}

static void test_round_robin_takes_turns(void **state) {
    (void)state;
    cls_pool pool = make_pool(CLS_POOL_ROUND_ROBIN, 3, 3, 0);
    cls_stream seen[6];
    for (int i = 0; i < 6; i++)
        seen[i] = get(pool);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(seen[i], seen[i + 3]);
        assert_ptr_not_equal(seen[i], seen[(i + 1) % 3]);
    }
    assert_int_equal(info_of(pool).held, 3);
    assert_int_equal(info_of(pool).streams, 3);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_destroy(seen[0]));
    assert_non_null(strstr(cls_last_error_detail(), "belongs to a stream pool"));
    OK(cls_stream_query(seen[0]));
    OK(cls_pool_destroy(pool));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_stream_query(seen[0]));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_pool_get(pool, &seen[0]));
}

static void test_load_balanced_avoids_work(void **state) {
    (void)state;
    cls_pool pool = make_pool(CLS_POOL_LOAD_BALANCED, 3, 3, 0);
    struct gate gate;
    gate_init(&gate);
    cls_stream a = get(pool), b = get(pool), c = get(pool);
    hold(a, &gate, 3);
    hold(b, &gate, 1);
    for (int i = 0; i < 4; i++)
        assert_ptr_equal(get(pool), c);
    hold(c, &gate, 2);
    assert_ptr_equal(get(pool), b);
    let_go(&gate, 6);
    OK(cls_pool_destroy(pool));
    gate_destroy(&gate);
}

static void test_priorities(void **state) {
    (void)state;
    cls_pool pool = make_pool(CLS_POOL_PRIORITY, 2, 4, 0);
    cls_stream high = NULL, low = NULL, again = NULL;
    struct gate gate;
    cls_stream_info shown = CLS_STREAM_INFO_INIT;
    gate_init(&gate);
    OK(cls_pool_get_with_priority(pool, CLS_PRIORITY_HIGH - 5, &high));
    OK(cls_pool_get_with_priority(pool, CLS_PRIORITY_LOW, &low));
    assert_int_equal(info_of(pool).streams, 4); /* one was made for each */
    OK(cls_pool_get_with_priority(pool, CLS_PRIORITY_HIGH, &again));
    assert_ptr_equal(again, high);
    assert_ptr_equal(get(pool), high);
    hold(high, &gate, 1);
    again = get(pool); /* the most urgent one without work */
    OK(cls_stream_get_info(high, &shown));
    let_go(
        &gate,
        1); /* before what may fail on a driver: a gate that stays closed holds the tests behind it */
    int effective = rig_has_capability("priorities") ? CLS_PRIORITY_HIGH : CLS_PRIORITY_NORMAL;
    assert_int_equal(shown.priority, effective);
    assert_ptr_not_equal(again, high);
    assert_ptr_not_equal(again, low);
    OK(cls_pool_destroy(pool));
    gate_destroy(&gate);
}

static void test_workloads_are_kept_apart(void **state) {
    (void)state;
    cls_pool pool = make_pool(CLS_POOL_WORKLOAD, 2, 3, 0);
    cls_stream compute = NULL, memory = NULL, mixed = NULL, stream = NULL;
    OK(cls_pool_get_for_workload(pool, CLS_WORKLOAD_COMPUTE, &compute));
    OK(cls_pool_get_for_workload(pool, CLS_WORKLOAD_MEMORY, &memory));
    assert_ptr_not_equal(compute, memory);
    for (int i = 0; i < 3; i++) {
        OK(cls_pool_get_for_workload(pool, CLS_WORKLOAD_COMPUTE, &stream));
        assert_ptr_equal(stream, compute);
    }
    OK(cls_pool_get_for_workload(pool, CLS_WORKLOAD_MIXED, &mixed)); /* one is made for it */
    assert_ptr_not_equal(mixed, compute);
    assert_ptr_not_equal(mixed, memory);
    assert_int_equal(info_of(pool).grown, 1);
    OK(cls_pool_get_for_workload(pool, CLS_WORKLOAD_COORDINATION, &stream)); /* no more: shared */
    assert_true(stream == compute || stream == memory || stream == mixed);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_pool_get_for_workload(pool, CLS_WORKLOADS, &stream));
    OK(cls_pool_destroy(pool));
}

/* A kind that has work for more than one stream gets another one, and so does a priority. */
static void test_busy_families_grow(void **state) {
    (void)state;
    cls_pool pool = make_pool(CLS_POOL_WORKLOAD, 3, 4, 2);
    cls_stream streams[4];
    struct gate gate;
    gate_init(&gate);
    for (int i = 0; i < 4; i++) {
        OK(cls_pool_get_for_workload(pool, CLS_WORKLOAD_COMPUTE, &streams[i]));
        for (int k = 0; k < i; k++)
            assert_ptr_not_equal(streams[i], streams[k]);
        hold(streams[i], &gate, 2);
        assert_int_equal(info_of(pool).streams, i < 3 ? 3 : 4);
    }
    let_go(&gate, 8);
    OK(cls_pool_destroy(pool));
    pool = make_pool(CLS_POOL_LOAD_BALANCED, 2, 4, 2);
    OK(cls_pool_get_with_priority(pool, CLS_PRIORITY_HIGH, &streams[0]));
    hold(streams[0], &gate, 2);
    OK(cls_pool_get_with_priority(pool, CLS_PRIORITY_HIGH, &streams[1]));
    assert_ptr_not_equal(streams[1], streams[0]);
    assert_int_equal(info_of(pool).streams, 4);
    let_go(&gate, 2);
    OK(cls_pool_destroy(pool));
    gate_destroy(&gate);
}

static void test_a_leased_stream_is_given_to_nobody_else(void **state) {
    (void)state;
    cls_pool pool = make_pool(CLS_POOL_ROUND_ROBIN, 2, 2, 0);
    cls_stream alone = NULL, stream = NULL;
    OK(cls_pool_lease(pool, &alone));
    for (int i = 0; i < 4; i++) {
        stream = get(pool);
        assert_ptr_not_equal(stream, alone);
    }
    EXPECT(CLS_ERROR_LIMIT, cls_pool_lease(pool, &stream)); /* the other one is held */
    for (int i = 0; i < 4; i++)
        OK(cls_pool_release(pool, stream));
    OK(cls_pool_lease(pool, &stream));
    EXPECT(CLS_ERROR_LIMIT, cls_pool_get(pool, &alone));
    EXPECT(CLS_ERROR_LIMIT, cls_pool_wait_any(pool, 0, &alone));
    assert_int_equal(info_of(pool).leased, 2);
    OK(cls_pool_release(pool, stream));
    assert_ptr_equal(get(pool), stream);
    OK(cls_pool_destroy(pool));
}

static void test_ready_streams(void **state) {
    (void)state;
    cls_pool pool = make_pool(CLS_POOL_LOAD_BALANCED, 2, 2, 0);
    struct gate gate;
    int ready = -1;
    gate_init(&gate);
    cls_stream a = get(pool), b = get(pool), done = NULL;
    hold(a, &gate, 1);
    OK(cls_pool_has_ready(pool, &ready));
    assert_int_equal(ready, 1);
    OK(cls_pool_wait_any(pool, 0, &done));
    assert_ptr_equal(done, b);
    hold(b, &gate, 1);
    gate_await(&gate);
    gate_await(&gate);
    OK(cls_pool_has_ready(pool, &ready));
    assert_int_equal(ready, 0);
    EXPECT(CLS_ERROR_TIMEOUT, cls_pool_wait_any(pool, 1000000, &done));
    gate_open(&gate);
    OK(cls_pool_wait_any(pool, UINT64_MAX, &done));
    OK(cls_stream_query(done));
    let_go(&gate, 1);
    OK(cls_pool_destroy(pool));
    gate_destroy(&gate);
}

static void test_poisoned_streams_are_avoided(void **state) {
    (void)state;
    cls_pool pool = make_pool(CLS_POOL_ROUND_ROBIN, 2, 2, 0);
    cls_stream bad = get(pool), good = get(pool);
    OK(rig_fail(bad, "bad command", CL_OUT_OF_RESOURCES));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(bad));
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(get(pool), good);
    OK(cls_stream_reset(bad));
    assert_ptr_equal(get(pool), bad);
    OK(cls_pool_destroy(pool));
}

/* Rather one of another priority, or that is kept for another kind of work. */
static void test_poisoned_streams_are_avoided_at_any_price(void **state) {
    (void)state;
    cls_pool pool = make_pool(CLS_POOL_WORKLOAD, 1, 2, 0);
    cls_stream bad, good, stream;
    OK(cls_pool_get_for_workload(pool, CLS_WORKLOAD_MEMORY, &good));
    OK(cls_pool_get_with_priority(pool, CLS_PRIORITY_HIGH, &bad));
    OK(cls_pool_get_for_workload(pool, CLS_WORKLOAD_COMPUTE, &stream));
    assert_ptr_equal(stream, bad);
    OK(rig_fail(bad, "bad command", CL_OUT_OF_RESOURCES));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(bad));
    OK(cls_pool_get_with_priority(pool, CLS_PRIORITY_HIGH, &stream));
    assert_ptr_equal(stream, good);
    OK(cls_pool_get_for_workload(pool, CLS_WORKLOAD_COMPUTE, &stream));
    assert_ptr_equal(stream, good);
    OK(cls_pool_destroy(pool));
}

/* What is left busy is no reason to stay, because a poisoned one is idle. */
static void test_poisoned_streams_are_none_to_spare(void **state) {
    (void)state;
    cls_pool pool = make_pool(CLS_POOL_ROUND_ROBIN, 2, 3, 1);
    cls_stream bad = get(pool), good = get(pool), stream;
    struct gate gate;
    gate_init(&gate);
    OK(rig_fail(bad, "bad command", CL_OUT_OF_RESOURCES));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(bad));
    hold(good, &gate, 1);
    stream = get(pool);
    assert_true(stream != bad && stream != good);
    gate_open(&gate);
    OK(cls_stream_synchronize(good));
    OK(cls_pool_destroy(pool));
    gate_destroy(&gate);
}

/* --- learning --- */

static void record(cls_pool pool, cls_workload workload, uint64_t ns, unsigned times) {
    for (unsigned i = 0; i < times; i++)
        OK(cls_pool_record_completion(pool, workload, ns));
}

static void test_averages(void **state) {
    (void)state;
    cls_pool pool = make_pool(CLS_POOL_ROUND_ROBIN, 1, 1, 0);
    static const uint64_t durations[] = {2000, 4000, 4000, 4000, 5000, 5000, 7000, 9000};
    for (int i = 0; i < 8; i++)
        record(pool, CLS_WORKLOAD_MEMORY, durations[i], 1);
    cls_workload_figures figures = info_of(pool).workloads[CLS_WORKLOAD_MEMORY];
    assert_int_equal(figures.completions, 8);
    assert_true(figures.average_ns > 4999.9 && figures.average_ns < 5000.1);
    assert_true(figures.deviation_ns > 2138 && figures.deviation_ns < 2139);
    assert_int_equal(info_of(pool).workloads[CLS_WORKLOAD_MIXED].completions, 0);
    OK(cls_pool_destroy(pool));
}

static void expect_advice(cls_pool pool, cls_pool_strategy strategy, const char *part) {
    cls_pool_advice advice = CLS_POOL_ADVICE_INIT;
    OK(cls_pool_optimize(pool, &advice));
    if (!strstr(advice.why, part))
        fail_msg("\"%s\" without \"%s\"", advice.why, part);
    assert_int_equal(advice.after, strategy);
    assert_int_equal(info_of(pool).strategy, strategy);
}

static void test_optimize_says_why(void **state) {
    (void)state;
    cls_pool pool = make_pool(CLS_POOL_WORKLOAD, 1, 1, 0);
    record(pool, CLS_WORKLOAD_COMPUTE, 1000, 7);
    expect_advice(pool, CLS_POOL_WORKLOAD, "only 7");
    record(pool, CLS_WORKLOAD_COMPUTE, 1000, 1);
    expect_advice(pool, CLS_POOL_ROUND_ROBIN, "even enough");
    record(pool, CLS_WORKLOAD_COMPUTE, 10000, 4);
    expect_advice(pool, CLS_POOL_LOAD_BALANCED, "run empty");
    record(pool, CLS_WORKLOAD_MEMORY, 100, 8);
    expect_advice(pool, CLS_POOL_WORKLOAD, "compute takes 4000 ns");
    record(pool, CLS_WORKLOAD_COORDINATION, 10, 1);
    expect_advice(pool, CLS_POOL_PRIORITY, "coordination takes 10 ns");
    OK(cls_pool_set_strategy(pool, CLS_POOL_ROUND_ROBIN));
    assert_int_equal(info_of(pool).strategy, CLS_POOL_ROUND_ROBIN);
    OK(cls_pool_optimize(pool, NULL));
    assert_int_equal(info_of(pool).strategy, CLS_POOL_PRIORITY);
    OK(cls_pool_destroy(pool));
}

static void test_bad_bounds(void **state) {
    (void)state;
    cls_pool_config config = CLS_POOL_CONFIG_INIT;
    cls_pool pool = NULL;
    config.min_streams = 3;
    config.max_streams = 2;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_pool_create(rig.context, &config, &pool));
    config.max_streams = 0;
    config.strategy = (cls_pool_strategy)9;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_pool_create(rig.context, &config, &pool));
    assert_null(pool);
}

/* --- threads --- */

static void count_up(void *count) { atomic_fetch_add((atomic_uint *)count, 1); }

static bool borrow(void *arg, unsigned i) {
    cls_pool pool = arg;
    bool good = true;
    unsigned rounds = rig_scale(50, 5), submitted = 0;
    atomic_uint ran = 0;
    for (unsigned k = 0; k < rounds && good; k++) {
        cls_stream stream = NULL;
        cls_status status =
            (i + k) % 3 ? cls_pool_get(pool, &stream) : cls_pool_lease(pool, &stream);
        if (status == CLS_ERROR_LIMIT)
            continue;
        submitted++;
        good = !status && !cls_stream_launch_host_async(stream, count_up, &ran) &&
               !cls_stream_wait(stream, UINT64_MAX) &&
               !cls_pool_record_completion(pool, CLS_WORKLOAD_MIXED, k) &&
               !cls_pool_release(pool, stream);
    }
    return good && atomic_load(&ran) == submitted;
}

static void test_many_threads_borrow(void **state) {
    (void)state;
    cls_pool_config config = CLS_POOL_CONFIG_INIT;
    cls_pool pool = NULL;
    config.strategy = CLS_POOL_LOAD_BALANCED;
    config.min_streams = 2;
    config.max_streams = 6;
    config.busy = 1;
    config.idle_ns = 1; /* streams come and go all the time */
    OK(cls_pool_create(rig.context, &config, &pool));
    assert_int_equal(team_run(8, borrow, pool), 0);
    assert_int_equal(info_of(pool).held, 0);
    OK(cls_pool_destroy(pool));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_robin_takes_turns),
        cmocka_unit_test(test_load_balanced_avoids_work),
        cmocka_unit_test(test_priorities),
        cmocka_unit_test(test_workloads_are_kept_apart),
        cmocka_unit_test(test_busy_families_grow),
        cmocka_unit_test(test_a_leased_stream_is_given_to_nobody_else),
        cmocka_unit_test(test_ready_streams),
        cmocka_unit_test(test_poisoned_streams_are_avoided),
        cmocka_unit_test(test_poisoned_streams_are_avoided_at_any_price),
        cmocka_unit_test(test_poisoned_streams_are_none_to_spare),
        cmocka_unit_test(test_averages),
        cmocka_unit_test(test_optimize_says_why),
        cmocka_unit_test(test_bad_bounds),
        cmocka_unit_test(test_many_threads_borrow),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
