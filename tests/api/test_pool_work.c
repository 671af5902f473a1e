/* SPDX-License-Identifier: MIT */
/* Pools of streams: what counts as outstanding work, and how the pool grows and shrinks with it. */
#include "../support/rig.h"
#include "pools.h"

#include <clstream/device.h>

static uint64_t fake_now;
static uint64_t fake_clock(void *arg) {
    assert_ptr_equal(arg, &fake_now);
    return fake_now;
}

/* Load balanced, on a clock of the test's. */
static cls_pool make_pool(unsigned min, unsigned max, unsigned busy) {
    cls_pool_config config = CLS_POOL_CONFIG_INIT;
    cls_pool pool = NULL;
    config.strategy = CLS_POOL_LOAD_BALANCED;
    config.min_streams = min;
    config.max_streams = max;
    config.busy = busy;
    config.idle_ns = 1000;
    config.clock = fake_clock;
    config.clock_arg = &fake_now;
    fake_now = 5000;
    OK(cls_pool_create(rig.context, &config, &pool));
    return pool;
}

static cls_stream get_for(cls_pool pool, uint64_t cost_ns) {
    cls_pool_request request = CLS_POOL_REQUEST_INIT;
    cls_stream stream = NULL;
    request.cost_ns = cost_ns;
    OK(cls_pool_get_with(pool, &request, &stream));
    return stream;
}

static uint64_t outstanding(cls_pool pool, cls_stream stream) {
    uint64_t ns = 0;
    OK(cls_pool_get_outstanding(pool, stream, &ns));
    return ns;
}

/* --- outstanding work --- */

static void test_costs_outweigh_the_number_of_commands(void **state) {
    (void)state;
    cls_pool pool = make_pool(2, 2, 0);
    struct gate gate;
    gate_init(&gate);
    cls_stream dear = get_for(pool, 10000000);
    hold(dear, &gate, 1);
    OK(cls_pool_release(pool, dear));
    cls_stream cheap = get_for(pool, 1000000);
    assert_ptr_not_equal(cheap, dear);
    hold(cheap, &gate, 5);
    OK(cls_pool_release(pool, cheap));
    assert_int_equal(outstanding(pool, dear), 10000000);
    assert_int_equal(outstanding(pool, cheap), 1000000);
    for (int i = 1; i < 9; i++) { /* up to 9 ms, the cheap one has less */
        assert_ptr_equal(get_for(pool, 1000000), cheap);
        hold(cheap, &gate, 1);
        OK(cls_pool_release(pool, cheap));
    }
    assert_ptr_equal(get_for(pool, 5000000), cheap);
    assert_ptr_equal(get_for(pool, 1), dear);
    let_go(&gate, 14);
    OK(cls_pool_destroy(pool));
    gate_destroy(&gate);
}

/* The longest stream's share of jobs given out behind a gate, every fourth of which is long, with a heavy
 * tail. */
static uint64_t longest_stream(cls_pool pool, uint64_t *total, uint64_t *longest_job) {
    enum { STREAMS = 4, JOBS = 64 };
    cls_stream streams[STREAMS], stream;
    uint64_t sums[STREAMS] = {0}, most = 0;
    struct gate gate;
    gate_init(&gate);
    for (int i = 0; i < STREAMS; i++) {
        streams[i] = get_for(pool, 0);
        hold(streams[i], &gate, 1);
        OK(cls_pool_release(pool, streams[i]));
    }
    *total = *longest_job = 0;
    for (uint64_t i = 0; i < JOBS; i++) {
        uint64_t cost = i % 4 ? 100000 : 100000 * 128 / (1 + i * 7 % 16);
        stream = get_for(pool, cost);
        OK(cls_stream_launch_host_async(stream, rig_do_nothing, NULL));
        OK(cls_pool_release(pool, stream));
        for (int s = 0; s < STREAMS; s++)
            sums[s] += streams[s] == stream ? cost : 0;
        *total += cost;
        *longest_job = cost > *longest_job ? cost : *longest_job;
    }
    for (int s = 0; s < STREAMS; s++)
        most = sums[s] > most ? sums[s] : most;
    let_go(&gate, STREAMS);
    gate_destroy(&gate);
    return most;
}

static void test_uneven_jobs_are_spread_evenly(void **state) {
    (void)state;
    uint64_t total, longest_job;
    cls_pool pool = make_pool(4, 4, 0);
    uint64_t balanced = longest_stream(pool, &total, &longest_job);
    OK(cls_pool_set_strategy(pool, CLS_POOL_ROUND_ROBIN));
    uint64_t in_turn = longest_stream(pool, &total, &longest_job);
    assert_true(balanced <= total / 4 + longest_job);
    assert_true(10 * in_turn >= 13 * balanced);
    OK(cls_pool_destroy(pool));
}

static void test_a_cost_counts_from_the_get_until_the_commands_are_done(void **state) {
    (void)state;
    cls_pool pool = make_pool(1, 1, 0);
    struct gate gate;
    gate_init(&gate);
    cls_stream stream = get_for(pool, 8000);
    assert_int_equal(outstanding(pool, stream), 8000); /* nothing is submitted yet */
    hold(stream, &gate, 4);
    assert_int_equal(outstanding(pool, stream), 8000);
    gate_await(&gate);
    gate_open(&gate);
    gate_await(&gate); /* the second one runs: the first is done */
    assert_int_equal(outstanding(pool, stream), 6000);
    OK(cls_pool_release(pool, stream));
    assert_int_equal(outstanding(pool, stream), 6000);
    gate_open(&gate);
    gate_await(&gate);
    assert_int_equal(outstanding(pool, stream), 4000);
    let_go(&gate, 2);
    assert_int_equal(outstanding(pool, stream), 0);
    OK(cls_pool_release(pool, get_for(pool, 9000))); /* nothing was submitted for it */
    assert_int_equal(outstanding(pool, stream), 0);
    OK(cls_pool_destroy(pool));
    gate_destroy(&gate);
}

static void test_nothing_costs_nothing_behind_work(void **state) {
    (void)state;
    cls_pool pool = make_pool(1, 1, 0);
    struct gate gate;
    gate_init(&gate);
    cls_stream stream = get_for(pool, 1000);
    hold(stream, &gate, 1);
    OK(cls_pool_release(pool, stream));
    OK(cls_pool_release(pool, get_for(pool, 9000))); /* nothing was submitted for it */
    assert_int_equal(outstanding(pool, stream), 1000);
    assert_ptr_equal(get_for(pool, 0), stream);
    assert_ptr_equal(get_for(pool, 9000), stream);
    OK(cls_pool_release(pool, stream)); /* one of two, by neither of whom anything was submitted */
    OK(cls_pool_release(pool, stream));
    assert_int_equal(outstanding(pool, stream), 1000);
    let_go(&gate, 1);
    OK(cls_pool_destroy(pool));
    gate_destroy(&gate);
}

static void test_costs_of_several_holders_add_up(void **state) {
    (void)state;
    enum { HOLDERS = 50 }; /* more than the pieces that are told apart */
    cls_pool pool = make_pool(1, 1, 0);
    struct gate gate;
    gate_init(&gate);
    cls_stream stream = NULL;
    for (uint64_t i = 1; i <= HOLDERS; i++)
        stream = get_for(pool, 1000);
    assert_int_equal(outstanding(pool, stream), 1000 * HOLDERS);
    for (uint64_t i = 1; i <= HOLDERS; i++) {
        hold(stream, &gate, 1);
        OK(cls_pool_release(pool, stream));
        uint64_t ns = outstanding(pool, stream);
        if (ns < 1000 * HOLDERS - 1 || ns > 1000 * HOLDERS)
            fail_msg("%llu ns after %llu releases", (unsigned long long)ns, (unsigned long long)i);
    }
    let_go(&gate, HOLDERS);
    assert_int_equal(outstanding(pool, stream), 0);
    OK(cls_pool_destroy(pool));
    gate_destroy(&gate);
}

static void test_recorded_averages_count_where_no_cost_is_given(void **state) {
    (void)state;
    cls_pool pool = make_pool(2, 2, 0);
    struct gate gate;
    cls_pool_request request = CLS_POOL_REQUEST_INIT;
    cls_stream a = NULL, b = NULL;
    gate_init(&gate);
    OK(cls_pool_record_completion(pool, CLS_WORKLOAD_COMPUTE, 4000000));
    OK(cls_pool_record_completion(pool, CLS_WORKLOAD_COMPUTE, 6000000));
    OK(cls_pool_get_for_workload(pool, CLS_WORKLOAD_COMPUTE, &a));
    assert_int_equal(outstanding(pool, a), 5000000);
    hold(a, &gate, 1);
    OK(cls_pool_release(pool, a));
    OK(cls_pool_get_for_workload(pool, CLS_WORKLOAD_MEMORY, &b)); /* nothing is recorded of it */
    assert_ptr_not_equal(a, b);
    assert_int_equal(outstanding(pool, b), 0);
    request.workload = CLS_WORKLOAD_COMPUTE;
    request.cost_ns = 7000;
    OK(cls_pool_get_with(pool, &request, &b)); /* what the caller says goes first */
    assert_int_equal(outstanding(pool, b), 7000);
    let_go(&gate, 1);
    OK(cls_pool_destroy(pool));
    gate_destroy(&gate);
}

static uint32_t compute_units(void) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    size_t device;
    OK(cls_context_get_device(rig.context, &device));
    OK(cls_device_get_info(device, &info));
    return info.compute_units;
}

static void assert_near(uint64_t ns, uint64_t expected) {
    assert_true(ns >= expected - 1 && ns <= expected + 1);
}

static void test_sizes_count_where_nothing_is_known(void **state) {
    (void)state;
    enum { BYTES = 1 << 20, ITEMS = 1 << 16 };
    const cls_launch shape = cls_launch_2d(ITEMS / 4, 4);
    const uint32_t zero = 0;
    cls_pool pool = make_pool(2, 2, 0);
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    struct gate gate;
    gate_init(&gate);
    cls_stream a = get_for(pool, 0), b = get_for(pool, 0);
    cls_buffer filled = rig_cells(BYTES / 4), stepped = rig_cells(1);
    const cls_arg args[] = {cls_arg_buffer(stepped), cls_arg_u32(0), cls_arg_u32(0), cls_arg_u32(0),
                            cls_arg_u32(1)};
    hold(a, &gate, 1);
    OK(cls_fill_async(filled, 0, BYTES, &zero, sizeof zero, a));
    assert_int_equal(outstanding(pool, a), 2 * 2000 + BYTES / 10);
    const uint64_t expected = 4000 + (uint64_t)ITEMS * 2 / compute_units();
    hold(b, &gate, 1);
    OK(cls_kernel_launch_async(rig.step, &shape, args, 5, b));
    OK(cls_stream_get_counters(b, &counters));
    assert_int_equal(counters.work_items, ITEMS);
    assert_near(outstanding(pool, b), expected);
    OK(cls_pool_release(pool, b)); /* stays the same */
    assert_near(outstanding(pool, b), expected);
    let_go(&gate, 2);
    assert_int_equal(outstanding(pool, a) + outstanding(pool, b), 0);
    OK(cls_buffer_destroy(filled));
    OK(cls_buffer_destroy(stepped));
    OK(cls_pool_destroy(pool));
    gate_destroy(&gate);
}

static void test_no_other_streams_have_outstanding_work(void **state) {
    (void)state;
    cls_pool pool = make_pool(1, 1, 0);
    cls_stream stranger = rig_stream();
    uint64_t ns = 77;
    EXPECT(CLS_ERROR_NOT_FOUND, cls_pool_get_outstanding(pool, stranger, &ns));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_pool_get_outstanding(pool, get_for(pool, 0), NULL));
    assert_int_equal(ns, 77);
    OK(cls_stream_destroy(stranger));
    OK(cls_pool_destroy(pool));
}

static void test_requests_combine(void **state) {
    (void)state;
    cls_pool pool = make_pool(1, 3, 0);
    cls_pool_request request = CLS_POOL_REQUEST_INIT;
    cls_stream urgent = NULL, stream = NULL;
    request.by_priority = 1;
    request.priority = CLS_PRIORITY_HIGH;
    request.exclusive = 1;
    request.cost_ns = 500;
    OK(cls_pool_get_with(pool, &request, &urgent));
    assert_int_equal(info_of(pool).streams, 2);
    assert_int_equal(info_of(pool).leased, 1);
    assert_int_equal(outstanding(pool, urgent), 500);
    OK(cls_pool_get_with(pool, NULL, &stream));
    assert_ptr_not_equal(stream, urgent);
    request.size--;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_pool_get_with(pool, &request, &stream));
    request = (cls_pool_request)CLS_POOL_REQUEST_INIT;
    request.workload = CLS_WORKLOADS;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_pool_get_with(pool, &request, &stream));
    OK(cls_pool_destroy(pool));
}

/* --- growing and shrinking --- */

static void test_it_grows_under_load_up_to_its_bound(void **state) {
    (void)state;
    cls_pool pool = make_pool(1, 3, 2);
    cls_stream streams[4];
    struct gate gate;
    gate_init(&gate);
    for (int i = 0; i < 4; i++) {
        streams[i] = get_for(pool, 0);
        hold(streams[i], &gate, 2);
    }
    cls_pool_info info = info_of(pool);
    assert_int_equal(info.streams, 3); /* and no more */
    assert_int_equal(info.grown, 2);
    assert_ptr_not_equal(streams[0], streams[1]);
    assert_ptr_not_equal(streams[1], streams[2]);
    let_go(&gate, 8);
    OK(cls_pool_destroy(pool));
    gate_destroy(&gate);
}

static void test_work_in_nanoseconds_makes_a_stream_busy(void **state) {
    (void)state;
    cls_pool_config config = CLS_POOL_CONFIG_INIT;
    cls_pool pool = NULL;
    config.min_streams = 1;
    config.busy_ns = 1000;
    OK(cls_pool_create(rig.context, &config, &pool));
    get_for(pool, 999);
    assert_int_equal(info_of(pool).streams, 1);
    get_for(pool, 1);
    assert_int_equal(info_of(pool).streams, 1);
    get_for(pool, 1); /* the first one has 1,000 ns */
    assert_int_equal(info_of(pool).streams, 2);
    OK(cls_pool_destroy(pool));
}

/* A pool of 1 to 4 streams that has grown to 4, with nobody holding any. */
static cls_pool grown_pool(cls_stream *streams) {
    cls_pool pool = make_pool(1, 4, 1);
    struct gate gate;
    gate_init(&gate);
    for (int i = 0; i < 4; i++) {
        streams[i] = get_for(pool, 0);
        hold(streams[i], &gate, 1);
    }
    assert_int_equal(info_of(pool).streams, 4);
    let_go(&gate, 4);
    for (int i = 0; i < 4; i++)
        OK(cls_pool_release(pool, streams[i]));
    gate_destroy(&gate);
    return pool;
}

static void test_it_shrinks_to_its_need_at_the_end_of_a_period(void **state) {
    (void)state;
    cls_stream streams[4], stream;
    cls_pool pool = grown_pool(streams);
    assert_int_equal(info_of(pool).streams, 4); /* nothing goes at once */
    fake_now += 999;
    stream = get_for(pool, 0);
    OK(cls_pool_release(pool, stream));
    assert_int_equal(info_of(pool).streams, 4);
    fake_now += 1; /* in this period all four were needed */
    OK(cls_pool_optimize(pool, NULL));
    assert_int_equal(info_of(pool).streams, 4);
    cls_stream a = get_for(pool, 0), b = get_for(pool, 0); /* in the next one two */
    assert_ptr_not_equal(a, b);
    OK(cls_pool_release(pool, a));
    fake_now += 999;
    OK(cls_pool_optimize(pool, NULL));
    assert_int_equal(info_of(pool).streams, 4);
    fake_now += 1;
    OK(cls_pool_optimize(pool, NULL));
    assert_int_equal(info_of(pool).streams, 2);
    assert_int_equal(info_of(pool).shrunk, 2);
    OK(cls_stream_query(b)); /* it is held */
    OK(cls_pool_release(pool, b));
    fake_now += 1000;
    OK(cls_pool_optimize(pool, NULL));
    assert_int_equal(info_of(pool).streams, 1); /* one was held when the period began */
    fake_now += 1000000;
    OK(cls_pool_optimize(pool, NULL));
    assert_int_equal(info_of(pool).streams, 1); /* never below its least number */
    assert_int_equal(info_of(pool).shrunk, 3);
    OK(cls_pool_destroy(pool));
}

static void test_streams_with_work_are_kept(void **state) {
    (void)state;
    cls_stream streams[4];
    cls_pool pool = grown_pool(streams);
    struct gate gate;
    gate_init(&gate);
    fake_now += 1000;
    OK(cls_pool_optimize(pool, NULL)); /* the next period needs none */
    fake_now += 999;
    hold(streams[1], &gate, 1);
    hold(streams[3], &gate, 1);
    fake_now += 1;
    OK(cls_pool_optimize(pool, NULL));
    assert_int_equal(info_of(pool).streams, 2);
    EXPECT(CLS_NOT_READY, cls_stream_query(streams[1]));
    EXPECT(CLS_NOT_READY, cls_stream_query(streams[3]));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_stream_query(streams[0]));
    let_go(&gate, 2);
    OK(cls_pool_destroy(pool));
    gate_destroy(&gate);
}

static void test_taking_turns_does_not_keep_streams_that_are_not_needed(void **state) {
    (void)state;
    cls_stream streams[4], stream = NULL;
    cls_pool pool = grown_pool(streams);
    OK(cls_pool_set_strategy(pool, CLS_POOL_ROUND_ROBIN));
    for (int i = 0; i < 30; i++) { /* every stream is used again and again, one at a time */
        fake_now += 100;
        OK(cls_pool_get(pool, &stream));
        OK(cls_pool_release(pool, stream));
    }
    assert_int_equal(info_of(pool).streams, 1);
    OK(cls_pool_destroy(pool));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_costs_outweigh_the_number_of_commands),
        cmocka_unit_test(test_uneven_jobs_are_spread_evenly),
        cmocka_unit_test(test_a_cost_counts_from_the_get_until_the_commands_are_done),
        cmocka_unit_test(test_nothing_costs_nothing_behind_work),
        cmocka_unit_test(test_costs_of_several_holders_add_up),
        cmocka_unit_test(test_recorded_averages_count_where_no_cost_is_given),
        cmocka_unit_test(test_sizes_count_where_nothing_is_known),
        cmocka_unit_test(test_no_other_streams_have_outstanding_work),
        cmocka_unit_test(test_requests_combine),
        cmocka_unit_test(test_it_grows_under_load_up_to_its_bound),
        cmocka_unit_test(test_work_in_nanoseconds_makes_a_stream_busy),
        cmocka_unit_test(test_it_shrinks_to_its_need_at_the_end_of_a_period),
        cmocka_unit_test(test_streams_with_work_are_kept),
        cmocka_unit_test(test_taking_turns_does_not_keep_streams_that_are_not_needed),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
