/* SPDX-License-Identifier: MIT */
/* Batches: order among streams, failure, host functions and threads. */
#include "batches.h"

#include <pthread.h>
#include <time.h>

#include <clstream/host.h>
#include <clstream/mempool.h>

static void test_independent_regions_run_on_several_streams(void **state) {
    (void)state;
    rig_need("rounding"); /* of sums */
    cls_batch batch = make_batch();
    cls_value sums[3], total;
    float sum, one = 0;
    for (int i = 0; i < BIG; i++)
        one += ramp[i]; /* integers: exact */
    for (int i = 0; i < 3; i++)
        sums[i] = sum_of(batch, scaled(batch, upload(batch, ramp, BIG), i + 1));
    OK(cls_batch_add(batch, sums[0], sums[1], &total));
    OK(cls_batch_add(batch, total, sums[2], &total));
    for (int i = 0; i < 3; i++) {
        OK(cls_batch_execute(batch, NULL));
        OK(cls_batch_read(batch, total, &sum));
        assert_true(sum == 6 * one);
    }
    const cls_batch_statistics facts = statistics_of(batch);
    assert_int_equal(facts.streams, 3);
    assert_int_equal(facts.regions, 4);
    OK(cls_batch_destroy(batch));

    cls_batch_config config = CLS_BATCH_CONFIG_INIT;
    config.streams = 1;
    OK(cls_batch_create(rig.context, &config, &batch));
    for (int i = 0; i < 3; i++)
        sum_of(batch, upload(batch, ramp, BIG));
    OK(cls_batch_execute(batch, NULL));
    assert_int_equal(statistics_of(batch).streams, 1);
    OK(cls_batch_destroy(batch));
}

/* The gate holds the first stream; what depends on it waits, and takes nothing away meanwhile. */
static void test_executions_keep_their_order_on_any_streams(void **state) {
    (void)state;
    cls_stream first = rig_stream(), second = rig_stream(), third = rig_stream();
    cls_batch batch = make_batch();
    cls_value x = upload(batch, ramp, COUNT), y = scaled(batch, x, 2);
    static float doubled[COUNT], before[COUNT], after[COUNT];
    struct gate gate;
    gate_init(&gate);
    for (int i = 0; i < COUNT; i++)
        doubled[i] = 2 * ramp[i];
    OK(cls_stream_launch_host_async(first, gate_hold, &gate));
    OK(cls_batch_execute_async(batch, first));
    OK(cls_batch_read_async(batch, y, before, second));
    OK(cls_batch_bind_upload(batch, x, doubled));
    OK(cls_batch_execute_async(batch, third));
    OK(cls_batch_read_async(batch, y, after, third));
    gate_await(&gate);
    EXPECT(CLS_NOT_READY, cls_stream_query(third));
    gate_open(&gate);
    OK(cls_stream_synchronize(second));
    OK(cls_stream_synchronize(third));
    for (int i = 0; i < COUNT; i++)
        assert_true(before[i] == 2 * ramp[i] && after[i] == 4 * ramp[i]);
    gate_destroy(&gate);
    OK(cls_batch_destroy(batch));
    OK(cls_stream_destroy(first));
    OK(cls_stream_destroy(second));
    OK(cls_stream_destroy(third));
}

/* The first execution's arena is free again, and somebody else's, when the second one is submitted. */
static void test_the_arena_may_lie_elsewhere_each_time(void **state) {
    (void)state;
    rig_need("rounding"); /* of sums */
    cls_stream stream = rig_stream();
    cls_batch batch = make_batch();
    cls_value total = sum_of(batch, scaled(batch, upload(batch, ramp, BIG), 2));
    const uint32_t pattern = 0x5a5a5a5a;
    uint32_t *seen;
    cls_buffer held;
    float first, second;
    OK(cls_batch_execute_async(batch, stream));
    OK(cls_batch_read(batch, total, &first));
    const size_t bytes = statistics_of(batch).arena_bytes;
    assert_true(bytes >= sizeof pattern);
    OK(cls_malloc_async(stream, bytes, &held));
    OK(cls_fill_async(held, 0, bytes, &pattern, sizeof pattern, stream));
    OK(cls_batch_execute_async(batch, stream));
    OK(cls_batch_read(batch, total, &second));
    assert_true(first == second);
    seen = malloc(bytes);
    assert_non_null(seen);
    OK(cls_copy_d2h(seen, held, 0, bytes, stream));
    for (size_t i = 0; i < bytes / sizeof pattern; i++)
        assert_int_equal(seen[i], pattern);
    free(seen);
    OK(cls_free_async(held, stream));
    OK(cls_batch_destroy(batch));
    OK(cls_stream_destroy(stream));
}

static void test_an_array_stays_for_what_was_submitted_with_it(void **state) {
    (void)state;
    enum { OTHERS = 8 };
    cls_stream stream = rig_stream();
    cls_batch batch = make_batch();
    cls_buffer array = buffer_of(ramp, COUNT), others[OTHERS];
    cls_value x, y;
    static float out[COUNT], zeros[COUNT];
    struct gate gate;
    gate_init(&gate);
    OK(cls_batch_array(batch, cls_array_of(array, CLS_F32, COUNT), &x));
    y = scaled(batch, x, 2);
    OK(cls_batch_prepare(batch));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_batch_execute_async(batch, stream));
    OK(cls_batch_read_async(batch, y, out, stream));
    gate_await(&gate);
    for (int i = 0; i < OTHERS; i++) {
        others[i] = buffer_of(zeros, COUNT);
        OK(cls_batch_bind_array(batch, x, cls_array_of(others[i], CLS_F32, COUNT)));
        if (i == 0)
            OK(cls_buffer_destroy(array));
    }
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    for (int i = 0; i < COUNT; i++)
        assert_true(out[i] == 2 * ramp[i]);
    gate_destroy(&gate);
    OK(cls_batch_destroy(batch));
    for (int i = 0; i < OTHERS; i++)
        OK(cls_buffer_destroy(others[i]));
    OK(cls_stream_destroy(stream));
}

static void test_a_batch_destroyed_at_work_completes(void **state) {
    (void)state;
    rig_need("rounding"); /* of sums */
    cls_stream stream = rig_stream();
    cls_batch batch = make_batch();
    cls_value x = upload(batch, ramp, BIG), y = scaled(batch, x, 2), total = sum_of(batch, y);
    static float out[BIG];
    struct gate gate;
    float sum;
    gate_init(&gate);
    OK(cls_batch_keep(batch, y));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_batch_execute_async(batch, stream));
    OK(cls_batch_read_async(batch, y, out, stream));
    OK(cls_batch_read_async(batch, total, &sum, stream));
    OK(cls_batch_destroy(batch));
    gate_await(&gate);
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    for (int i = 0; i < BIG; i++)
        assert_true(out[i] == 2 * ramp[i]);
    gate_destroy(&gate);
    OK(cls_stream_destroy(stream));
}

static void test_a_failed_stream_refuses_and_the_batch_goes_on_elsewhere(void **state) {
    (void)state;
    cls_stream stream = rig_stream(), other = rig_stream();
    cls_batch batch = make_batch();
    cls_value x = upload(batch, ramp, COUNT), y = scaled(batch, x, 2);
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(rig_fail(stream, "the broken step", -5));
    OK(cls_batch_execute_async(batch, stream)); /* its upload is never made */
    gate_await(&gate);
    gate_open(&gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_batch_execute_async(batch, stream));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_batch_execute(batch, stream));
    expect_detail("the broken step");
    OK(cls_batch_execute(batch, other));
    expect_scaled(batch, y, 2);
    OK(cls_stream_reset(stream));
    OK(cls_batch_execute(batch, stream));
    expect_scaled(batch, y, 2);
    gate_destroy(&gate);
    OK(cls_batch_destroy(batch));
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(other));
}

static void test_a_failed_execution_has_no_results(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_batch batch = make_batch();
    cls_value x = upload(batch, ramp, COUNT), y = scaled(batch, x, 2);
    float out[COUNT];
    struct gate gate;
    gate_init(&gate);
    OK(cls_batch_execute(batch, stream));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(rig_fail(stream, "the broken step", -5));
    OK(cls_batch_bind_upload(batch, x, ramp + 1));
    OK(cls_batch_execute_async(batch, stream));
    gate_await(&gate);
    gate_open(&gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    OK(cls_stream_reset(stream));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_batch_read(batch, y, out));
    expect_detail("the broken step");
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_batch_read_async(batch, y, out, stream));
    OK(cls_stream_synchronize(stream));
    OK(cls_batch_bind_upload(batch, x, ramp));
    OK(cls_batch_execute(batch, stream));
    expect_scaled(batch, y, 2);
    gate_destroy(&gate);
    OK(cls_batch_destroy(batch));
    OK(cls_stream_destroy(stream));
}

/* What was submitted of it runs; but what the results would be is nowhere. */
static void test_an_execution_cut_short_has_no_results(void **state) {
    (void)state;
    rig_need("rounding"); /* of sums */
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    config.fifo_limit = 4;
    cls_stream stream;
    cls_batch batch = make_batch();
    cls_value x = upload(batch, ramp, COUNT), first = sum_of(batch, x), y = x;
    float out[COUNT];
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_create(rig.context, &config, &stream));
    for (int i = 0; i < 4; i++)
        OK(cls_batch_binary(batch, CLS_BINARY_SUB, y, sum_of(batch, y), &y));
    OK(cls_batch_execute(batch, stream));
    OK(cls_batch_read(batch, y, out));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    gate_await(&gate);
    OK(cls_batch_bind_upload(batch, x, ramp + 1));
    EXPECT(CLS_ERROR_LIMIT, cls_batch_execute_async(batch, stream));
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_batch_read(batch, first, out));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_batch_read(batch, y, out));
    OK(cls_batch_bind_upload(batch, x, ramp));
    OK(cls_batch_execute(batch, stream));
    OK(cls_batch_read(batch, y, out));
    OK(cls_batch_read(batch, first, out));
    gate_destroy(&gate);
    OK(cls_batch_destroy(batch));
    OK(cls_stream_destroy(stream));
}

/* Though not even its end was submitted, which joins its streams. The gate is one of the three commands. */
static void test_the_next_execution_follows_one_cut_short(void **state) {
    enum { A_WHILE = 200000000 };
    (void)state;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    config.fifo_limit = 3;
    cls_stream stream, other = rig_stream();
    cls_batch batch = make_batch();
    cls_value x[2] = {upload(batch, ramp, BIG - 1), upload(batch, ramp, BIG - 1)};
    cls_value y[2] = {scaled(batch, x[0], 2), scaled(batch, x[1], 2)};
    float *out = malloc(BIG * sizeof *out);
    assert_non_null(out);
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_create(rig.context, &config, &stream));
    OK(cls_batch_execute(batch, other));
    assert_int_equal(statistics_of(batch).streams, 2);
    for (int i = 0; i < 2; i++)
        OK(cls_batch_bind_upload(batch, x[i], ramp));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    gate_await(&gate);
    EXPECT(CLS_ERROR_LIMIT, cls_batch_execute_async(batch, stream));
    for (int i = 0; i < 2; i++)
        OK(cls_batch_bind_upload(batch, x[i], ramp + 1));
    OK(cls_batch_execute_async(batch, other));
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(other, A_WHILE));
    gate_open(&gate);
    OK(cls_context_synchronize(rig.context));
    for (int i = 0; i < 2; i++) {
        OK(cls_batch_read(batch, y[i], out));
        for (int k = 0; k < BIG - 1; k++)
            assert_true(out[k] == 2 * ramp[k + 1]);
    }
    free(out);
    gate_destroy(&gate);
    OK(cls_batch_destroy(batch));
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(other));
}

static sleeper caller;

static void *open_later(void *arg) {
    await_sleeper(&caller);
    gate_open(arg);
    return NULL;
}

/* The upload and the kernel are submitted, the read is refused: the input is still the call's. */
static void test_a_refused_host_call_leaves_nothing_behind(void **state) {
    (void)state;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    config.fifo_limit = 2;
    cls_stream stream;
    pthread_t opener;
    float out[COUNT];
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_create(rig.context, &config, &stream));
    OK(cls_host_unary(CLS_UNARY_RELU, CLS_F32, ramp, out, COUNT, stream));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    gate_await(&gate);
    assert_int_equal(pthread_create(&opener, NULL, open_later, &gate), 0);
    sleeper_here(&caller);
    EXPECT(CLS_ERROR_LIMIT, cls_host_unary(CLS_UNARY_RELU, CLS_F32, ramp, out, COUNT, stream));
    expect_detail("fifo_limit");
    OK(cls_stream_query(stream));
    assert_int_equal(pthread_join(opener, NULL), 0);
    gate_destroy(&gate);
    OK(cls_stream_destroy(stream));
}

/* Host memory is the caller's again once an execution has succeeded, whatever becomes of the next. */
static void test_a_failure_makes_no_upload_again_that_was_made(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_batch batch = make_batch();
    float first[COUNT], second[COUNT];
    memcpy(first, ramp, sizeof first);
    memcpy(second, ramp, sizeof second);
    cls_value x = upload(batch, first, COUNT), y = scaled(batch, x, 2), w, z;
    struct gate gate;
    gate_init(&gate);
    OK(cls_batch_execute(batch, stream));
    memset(first, 0, sizeof first);
    w = upload(batch, second, COUNT), z = scaled(batch, w, 3);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(rig_fail(stream, "the broken step", -5));
    OK(cls_batch_execute_async(batch, stream)); /* its upload is never made */
    gate_await(&gate);
    gate_open(&gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    OK(cls_stream_reset(stream));
    OK(cls_batch_execute(batch, stream));
    memset(second, 0, sizeof second);
    expect_scaled(batch, y, 2);
    expect_scaled(batch, z, 3);
    OK(cls_batch_execute(batch, stream));
    expect_scaled(batch, y, 2);
    expect_scaled(batch, z, 3);
    assert_int_equal(statistics_of(batch).uploads, 3);
    gate_destroy(&gate);
    OK(cls_batch_destroy(batch));
    OK(cls_stream_destroy(stream));
}

struct inside {
    cls_batch batch;
    cls_value value;
    cls_status blocking, reading, submitting;
    float out[COUNT];
};

static void execute_inside(void *arg) {
    struct inside *inside = arg;
    inside->blocking = cls_batch_execute(inside->batch, NULL);
    inside->reading = cls_batch_read(inside->batch, inside->value, inside->out);
    inside->submitting = cls_batch_execute_async(inside->batch, NULL);
}

static void test_blocking_calls_inside_host_functions_are_refused(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    struct inside inside = {.batch = make_batch()};
    cls_value x = upload(inside.batch, ramp, COUNT);
    inside.value = scaled(inside.batch, x, 2);
    OK(cls_batch_execute(inside.batch, stream));
    OK(cls_stream_launch_host_async(stream, execute_inside, &inside));
    OK(cls_stream_synchronize(stream));
    EXPECT(CLS_ERROR_WOULD_DEADLOCK, inside.blocking);
    EXPECT(CLS_ERROR_WOULD_DEADLOCK, inside.reading);
    OK(inside.submitting);
    expect_scaled(inside.batch, inside.value, 2);
    OK(cls_batch_destroy(inside.batch));
    OK(cls_stream_destroy(stream));
}

struct shared {
    cls_batch batch;
    cls_value value;
    cls_stream streams[4];
};

static bool execute_and_read(void *arg, unsigned i) {
    const struct shared *shared = arg;
    float out[COUNT];
    for (int round = 0; round < 20; round++) {
        if (cls_batch_execute_async(shared->batch, shared->streams[i]) ||
            cls_batch_read_async(shared->batch, shared->value, out, shared->streams[i]) ||
            cls_stream_synchronize(shared->streams[i]))
            return false;
        for (int k = 0; k < COUNT; k++)
            if (out[k] != 2 * ramp[k])
                return false;
    }
    return true;
}

static void test_several_threads_share_a_batch(void **state) {
    (void)state;
    struct shared shared = {.batch = make_batch()};
    if (rig_platform_is("Oclgrind"))
        SKIP_BECAUSE("Oclgrind aborts with several host threads");
    shared.value = scaled(shared.batch, upload(shared.batch, ramp, COUNT), 2);
    for (int i = 0; i < 4; i++)
        shared.streams[i] = rig_stream();
    assert_int_equal(team_run(4, execute_and_read, &shared), 0);
    for (int i = 0; i < 4; i++)
        OK(cls_stream_destroy(shared.streams[i]));
    assert_int_equal(statistics_of(shared.batch).uploads, 1);
    OK(cls_batch_destroy(shared.batch));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_independent_regions_run_on_several_streams),
        cmocka_unit_test(test_executions_keep_their_order_on_any_streams),
        cmocka_unit_test(test_the_arena_may_lie_elsewhere_each_time),
        cmocka_unit_test(test_an_array_stays_for_what_was_submitted_with_it),
        cmocka_unit_test(test_a_batch_destroyed_at_work_completes),
        cmocka_unit_test(test_a_failed_stream_refuses_and_the_batch_goes_on_elsewhere),
        cmocka_unit_test(test_the_next_execution_follows_one_cut_short),
        cmocka_unit_test(test_a_refused_host_call_leaves_nothing_behind),
        cmocka_unit_test(test_an_execution_cut_short_has_no_results),
        cmocka_unit_test(test_a_failed_execution_has_no_results),
        cmocka_unit_test(test_a_failure_makes_no_upload_again_that_was_made),
        cmocka_unit_test(test_blocking_calls_inside_host_functions_are_refused),
        cmocka_unit_test(test_several_threads_share_a_batch),
    };
    return cmocka_run_group_tests_name("batch streams", tests, setup, rig_teardown);
}
