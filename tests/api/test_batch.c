/* SPDX-License-Identifier: MIT */
/*
 * Batches: what moves and what runs, values and their ids, binding, results, order among streams,
 * failure. What the operations compute is tested in tests/device.
 */
#include "../support/rig.h"

#include <stdlib.h>
#include <string.h>

#include <clstream/batch.h>
#include <clstream/mempool.h>

enum { COUNT = 1000, BIG = 100000 };

static float ramp[BIG];

static int setup(void **state) {
    for (int i = 0; i < BIG; i++)
        ramp[i] = (float)(i % 1000 - 500);
    return rig_setup(state);
}

static float relu(float x) { return x > 0 ? x : 0; }

static cls_batch make_batch(void) {
    cls_batch batch;
    OK(cls_batch_create(rig.context, NULL, &batch));
    return batch;
}

static cls_value upload(cls_batch batch, const float *data, size_t count) {
    cls_value value = 0;
    OK(cls_batch_upload(batch, data, CLS_F32, count, &value));
    return value;
}

static cls_value scaled(cls_batch batch, cls_value in, double factor) {
    cls_value value = 0;
    OK(cls_batch_scale(batch, in, factor, &value));
    return value;
}

static cls_value sum_of(cls_batch batch, cls_value in) {
    cls_value value = 0;
    OK(cls_batch_reduce(batch, CLS_REDUCE_SUM, in, &value));
    return value;
}

static cls_buffer buffer_of(const float *data, size_t count) {
    cls_buffer buffer;
    OK(cls_buffer_from_host(rig.context, data, count * sizeof *data, &buffer));
    return buffer;
}

static cls_batch_statistics statistics_of(cls_batch batch) {
    cls_batch_statistics statistics = CLS_BATCH_STATISTICS_INIT;
    OK(cls_batch_get_statistics(batch, &statistics));
    return statistics;
}

static cls_stream_counters counters_of(cls_stream stream) {
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    OK(cls_stream_get_counters(stream, &counters));
    return counters;
}

static void expect_scaled(cls_batch batch, cls_value value, double factor) {
    float *out = malloc(COUNT * sizeof *out);
    assert_non_null(out);
    OK(cls_batch_read(batch, value, out));
    for (int i = 0; i < COUNT; i++)
        if (out[i] != (float)factor * ramp[i])
            fail_msg("element %d is %g, not %g", i, (double)out[i], factor * (double)ramp[i]);
    free(out);
}

/* ---- data moves once */

static void test_a_chain_is_two_transfers_and_one_kernel(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer bias = buffer_of(ramp, COUNT);
    cls_batch batch = make_batch();
    cls_value x = upload(batch, ramp, COUNT), other, y;
    float out[COUNT];
    OK(cls_batch_array(batch, cls_array_of(bias, CLS_F32, COUNT), &other));
    OK(cls_batch_relu(batch, x, &y));
    OK(cls_batch_scale(batch, y, 2, &y));
    OK(cls_batch_add(batch, y, other, &y));
    OK(cls_batch_execute_async(batch, stream));
    OK(cls_batch_read_async(batch, y, out, stream));
    OK(cls_stream_synchronize(stream));
    for (int i = 0; i < COUNT; i++)
        assert_true(out[i] == relu(ramp[i]) * 2 + ramp[i]);
    const cls_stream_counters driver = counters_of(stream);
    assert_int_equal(driver.commands[CLS_COMMAND_COPY_H2D], 1);
    assert_int_equal(driver.commands[CLS_COMMAND_COPY_D2H], 1);
    assert_int_equal(driver.commands[CLS_COMMAND_KERNEL], 1);
    const cls_batch_statistics facts = statistics_of(batch);
    assert_int_equal(facts.uploads + facts.downloads, 2);
    assert_int_equal(facts.kernels, 1);
    assert_int_equal(facts.bytes_to_device, sizeof out);
    assert_int_equal(facts.bytes_to_host, sizeof out);
    assert_int_equal(facts.operations, 3);
    assert_int_equal(facts.regions, 1);
    assert_int_equal(facts.arena_bytes, 0);
    OK(cls_batch_destroy(batch));
    OK(cls_buffer_destroy(bias));
    OK(cls_stream_destroy(stream));
}

static void test_inputs_are_uploaded_once_after_each_bind(void **state) {
    (void)state;
    cls_batch batch = make_batch();
    cls_value x = upload(batch, ramp, COUNT), y = scaled(batch, x, 3);
    for (int i = 0; i < 3; i++)
        OK(cls_batch_execute(batch, NULL));
    expect_scaled(batch, y, 3);
    assert_int_equal(statistics_of(batch).uploads, 1);
    float *twice = malloc(COUNT * sizeof *twice);
    assert_non_null(twice);
    for (int i = 0; i < COUNT; i++)
        twice[i] = 2 * ramp[i];
    OK(cls_batch_bind_upload(batch, x, twice));
    OK(cls_batch_execute(batch, NULL));
    free(twice);
    expect_scaled(batch, y, 6);
    const cls_batch_statistics facts = statistics_of(batch);
    assert_int_equal(facts.uploads, 2);
    assert_int_equal(facts.executions, 4);
    assert_int_equal(facts.kernels, 4);
    OK(cls_batch_destroy(batch));
}

static void test_other_arrays_and_constants_are_bound(void **state) {
    (void)state;
    cls_batch batch = make_batch();
    cls_buffer one = buffer_of(ramp, COUNT + 1), two = buffer_of(ramp, COUNT);
    cls_value x, factor, y;
    float number = 2;
    OK(cls_batch_array(batch, cls_array_of(two, CLS_F32, COUNT), &x));
    OK(cls_batch_scalar(batch, CLS_F32, &number, &factor));
    OK(cls_batch_mul(batch, x, factor, &y));
    OK(cls_batch_execute(batch, NULL));
    expect_scaled(batch, y, 2);
    number = 5;
    OK(cls_batch_bind_scalar(batch, factor, &number));
    OK(cls_batch_execute(batch, NULL));
    expect_scaled(batch, y, 5);
    /* one element on: at no multiple of 16 bytes */
    OK(cls_copy_h2d(one, sizeof(float), ramp, COUNT * sizeof(float), NULL));
    OK(cls_batch_bind_array(batch, x, cls_array_at(one, CLS_F32, 1, COUNT)));
    OK(cls_buffer_destroy(one));
    OK(cls_buffer_destroy(two));
    OK(cls_batch_execute(batch, NULL));
    expect_scaled(batch, y, 5);
    EXPECT(CLS_ERROR_INVALID_STATE, cls_batch_bind_upload(batch, x, ramp));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_batch_bind_scalar(batch, y, &number));
    OK(cls_batch_destroy(batch));
}

/* ---- values */

static void expect_detail(const char *part) {
    if (!strstr(cls_last_error_detail(), part))
        fail_msg("\"%s\" does not name \"%s\"", cls_last_error_detail(), part);
}

static void test_ids_of_other_batches_are_refused_by_name(void **state) {
    (void)state;
    cls_batch batch = make_batch(), other = make_batch();
    cls_value mine = upload(batch, ramp, COUNT), theirs = upload(other, ramp, COUNT), y = 77;
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_batch_add(batch, mine, theirs, &y));
    expect_detail("add: b is not a value of this batch");
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_batch_relu(batch, 0, &y));
    expect_detail("relu: in is no value");
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_batch_relu(batch, mine + 1, &y));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_batch_read(batch, theirs, &y));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_batch_keep(batch, theirs));
    OK(cls_batch_destroy(other));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_batch_relu(other, theirs, &y));
    assert_int_equal(y, 77);
    OK(cls_batch_destroy(batch));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_batch_destroy(batch));
}

/* The parameter of an operation is a node without an id. */
static void test_no_id_was_given_out_for_a_parameter(void **state) {
    (void)state;
    cls_batch batch = make_batch();
    cls_value x = upload(batch, ramp, COUNT), y = scaled(batch, x, 2), z;
    assert_true(y > x + 1);
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_batch_relu(batch, x + 1, &z));
    OK(cls_batch_destroy(batch));
}

static void test_bad_operations_are_refused_when_recorded(void **state) {
    (void)state;
    cls_batch batch = make_batch();
    const int32_t number = 3;
    cls_value x = upload(batch, ramp, COUNT), few = upload(batch, ramp, 10), whole, y = 5;
    OK(cls_batch_scalar(batch, CLS_I32, &number, &whole));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_batch_add(batch, x, few, &y));
    expect_detail("add: arrays of 1000 and 10 elements");
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_batch_add(batch, x, whole, &y));
    expect_detail("add: b is i32, not f32");
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_batch_unary(batch, CLS_UNARY_TANH, whole, &y));
    expect_detail("tanh has no form for i32");
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_batch_where(batch, x, x, x, &y));
    expect_detail("where: a condition is");
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_batch_dot(batch, x, whole, &y));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_unary(batch, (cls_unary_op)99, x, &y));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_relu(batch, x, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_cast(batch, x, (cls_dtype)99, &y));
    expect_detail("cast: 99 is no cls_dtype");
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_upload(batch, NULL, CLS_F32, 1, &y));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_batch_upload(batch, ramp, CLS_F32, SIZE_MAX / 2, &y));
    cls_value none = upload(batch, NULL, 0);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_reduce(batch, CLS_REDUCE_MAX, none, &y));
    expect_detail("max of no elements");
    if (!rig_has_capability("fp64")) {
        EXPECT(CLS_ERROR_UNSUPPORTED, cls_batch_cast(batch, x, CLS_F64, &y));
        expect_detail("cast");
    }
    assert_int_equal(y, 5);
    assert_int_equal(statistics_of(batch).operations, 0);
    OK(cls_batch_destroy(batch));
}

static void test_scalars_go_with_any_count(void **state) {
    (void)state;
    cls_batch batch = make_batch();
    const float two = 2;
    cls_value x = upload(batch, ramp, COUNT), constant, total, y, z;
    cls_value_info info = CLS_VALUE_INFO_INIT;
    OK(cls_batch_scalar(batch, CLS_F32, &two, &constant));
    total = sum_of(batch, x); /* of -500 .. 499: -500 */
    OK(cls_batch_add(batch, total, constant, &total));
    OK(cls_batch_get_value(batch, total, &info));
    assert_true(info.is_scalar && info.count == 1 && info.dtype == CLS_F32 && info.is_result);
    OK(cls_batch_mul(batch, total, x, &y));
    OK(cls_batch_get_value(batch, y, &info));
    assert_true(!info.is_scalar && info.count == COUNT);
    OK(cls_batch_get_value(batch, total, &info));
    assert_false(info.is_result);
    z = sum_of(batch, y);
    OK(cls_batch_keep(batch, y));
    OK(cls_batch_execute(batch, NULL));
    expect_scaled(batch, y, -498);
    float sum;
    OK(cls_batch_read(batch, z, &sum));
    assert_true(sum == 249000);
    const cls_batch_statistics facts = statistics_of(batch);
    assert_int_equal(facts.regions, 3);
    assert_true(facts.arena_bytes > 0);
    assert_int_equal(facts.arena_bytes, facts.arena_least_bytes);
    OK(cls_batch_destroy(batch));
}

static void test_no_elements(void **state) {
    (void)state;
    cls_batch batch = make_batch();
    cls_value none = upload(batch, NULL, 0), y = scaled(batch, none, 2), total = sum_of(batch, y);
    float sum = 7;
    OK(cls_batch_keep(batch, y));
    OK(cls_batch_execute(batch, NULL));
    OK(cls_batch_read(batch, y, NULL));
    OK(cls_batch_read(batch, total, &sum));
    assert_true(sum == 0);
    OK(cls_batch_destroy(batch));
    batch = make_batch();
    OK(cls_batch_execute(batch, NULL)); /* nothing recorded at all */
    OK(cls_batch_destroy(batch));
}

/* Between regions: what it reads is written before, and what reads it comes after. */
static void test_matrix_products_stand_between_regions(void **state) {
    (void)state;
    enum { ROWS = 3, INNER = 4, COLUMNS = 5 };
    cls_batch batch = make_batch();
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    cls_value a = upload(batch, ramp, ROWS * INNER), b = upload(batch, ramp, INNER * COLUMNS), c;
    cls_value few = upload(batch, ramp, 5);
    float out[ROWS * COLUMNS];
    if (!cls_blas_available()) {
        EXPECT(CLS_ERROR_UNSUPPORTED, cls_batch_gemm(batch, a, b, 3, 5, 4, NULL, &c));
        OK(cls_batch_destroy(batch));
        SKIP_BECAUSE("this build has no CLBlast");
    }
    config.transpose_b = 1;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_batch_gemm(batch, a, few, 3, 5, 4, NULL, &c));
    expect_detail("gemm: arrays of 12 and 5 elements");
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_gemm(batch, a, b, 3, 5, 0, NULL, &c));
    config.beta = 1;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_gemm(batch, a, b, 3, 5, 4, &config, &c));
    config.beta = 0;
    config.alpha = 2;
    OK(cls_batch_gemm(batch, scaled(batch, a, 0.5), b, ROWS, COLUMNS, INNER, &config, &c));
    OK(cls_batch_unary_param(batch, CLS_UNARY_ADD_SCALAR, c, 1, &c));
    OK(cls_batch_execute(batch, NULL));
    OK(cls_batch_read(batch, c, out));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            float sum = 0;
            for (int k = 0; k < INNER; k++)
                sum += ramp[i * INNER + k] * ramp[j * INNER + k];
            assert_true(out[i * COLUMNS + j] == sum + 1); /* small integers: exact */
        }
    const cls_batch_statistics facts = statistics_of(batch);
    assert_int_equal(facts.regions, 3);
    assert_true(facts.arena_bytes > 0);
    assert_int_equal(facts.arena_bytes, facts.arena_least_bytes);
    OK(cls_batch_destroy(batch));
}

/* ---- results */

static void test_only_results_of_an_execution_can_be_read(void **state) {
    (void)state;
    cls_batch batch = make_batch();
    cls_value x = upload(batch, ramp, COUNT), y = scaled(batch, x, 2), z = scaled(batch, y, 2);
    float out[COUNT];
    EXPECT(CLS_ERROR_INVALID_STATE, cls_batch_read(batch, z, out));
    expect_detail("scale was not executed");
    OK(cls_batch_execute(batch, NULL));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_batch_read(batch, x, out));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_batch_read(batch, y, out));
    expect_detail("scale is no result");
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_read(batch, z, NULL));
    expect_scaled(batch, z, 4);
    OK(cls_batch_keep(batch, y));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_batch_read(batch, y, out));
    OK(cls_batch_execute(batch, NULL));
    expect_scaled(batch, y, 2);
    expect_scaled(batch, z, 4);
    EXPECT(CLS_ERROR_INVALID_STATE, cls_batch_keep(batch, x));
    OK(cls_batch_destroy(batch));
}

static void test_recording_goes_on_after_an_execution(void **state) {
    (void)state;
    cls_batch batch = make_batch();
    cls_value x = upload(batch, ramp, COUNT), y = scaled(batch, x, 2);
    OK(cls_batch_execute(batch, NULL));
    cls_value z = scaled(batch, y, 4);
    OK(cls_batch_execute(batch, NULL));
    expect_scaled(batch, z, 8);
    assert_int_equal(statistics_of(batch).uploads, 1);
    OK(cls_batch_destroy(batch));
}

static void test_results_are_stored_in_arrays(void **state) {
    (void)state;
    cls_batch batch = make_batch();
    cls_buffer buffer = buffer_of(ramp, 2 * COUNT);
    cls_value x = upload(batch, ramp, COUNT), y = scaled(batch, x, 2), z = scaled(batch, y, 2);
    float out[2 * COUNT];
    OK(cls_batch_store(batch, y, cls_array_at(buffer, CLS_F32, COUNT, COUNT)));
    OK(cls_batch_store(batch, z, cls_array_of(buffer, CLS_F32, COUNT)));
    OK(cls_batch_execute(batch, NULL));
    OK(cls_buffer_to_host(buffer, out, sizeof out));
    for (int i = 0; i < COUNT; i++)
        assert_true(out[i] == 4 * ramp[i] && out[COUNT + i] == 2 * ramp[i]);
    expect_scaled(batch, y, 2);
    EXPECT(CLS_ERROR_TYPE_MISMATCH,
           cls_batch_store(batch, y, cls_array_of(buffer, CLS_I32, COUNT)));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_batch_store(batch, y, cls_array_of(buffer, CLS_F32, 10)));
    EXPECT(CLS_ERROR_INVALID_STATE,
           cls_batch_store(batch, x, cls_array_of(buffer, CLS_F32, COUNT)));
    OK(cls_batch_destroy(batch));
    OK(cls_buffer_destroy(buffer));
}

static void test_in_place_only_where_nobody_else_reads(void **state) {
    (void)state;
    cls_buffer buffer = buffer_of(ramp, 2 * COUNT);
    const cls_array array = cls_array_of(buffer, CLS_F32, COUNT);
    cls_batch batch = make_batch();
    cls_value x, y, z, total;
    float out[COUNT];
    OK(cls_batch_array(batch, array, &x));
    y = scaled(batch, x, 2);
    OK(cls_batch_store(batch, y, array));
    for (int i = 0; i < 2; i++)
        OK(cls_batch_execute(batch, NULL));
    OK(cls_buffer_to_host(buffer, out, sizeof out));
    for (int i = 0; i < COUNT; i++)
        assert_true(out[i] == 4 * ramp[i]);
    OK(cls_batch_store(batch, y, cls_array_at(buffer, CLS_F32, 1, COUNT)));
    EXPECT(CLS_ERROR_OVERLAP, cls_batch_execute(batch, NULL));
    expect_detail("scale");
    OK(cls_batch_store(batch, y, array));
    total = sum_of(batch, y); /* in the same kernel */
    OK(cls_batch_execute(batch, NULL));
    OK(cls_batch_add(batch, x, total, &z)); /* in a later one */
    EXPECT(CLS_ERROR_OVERLAP, cls_batch_execute(batch, NULL));
    OK(cls_batch_store(batch, y, cls_array_at(buffer, CLS_F32, COUNT, COUNT)));
    OK(cls_batch_execute(batch, NULL));
    OK(cls_batch_destroy(batch));
    OK(cls_buffer_destroy(buffer));
}

static void test_the_generated_source_can_be_read(void **state) {
    (void)state;
    cls_batch batch = make_batch();
    cls_value x = upload(batch, ramp, COUNT), y;
    char text[8192], part[16];
    size_t length = 0, again = 0;
    OK(cls_batch_relu(batch, x, &y));
    scaled(batch, y, 2);
    OK(cls_batch_get_source(batch, 0, text, sizeof text, &length));
    assert_int_equal(strlen(text), length);
    assert_non_null(strstr(text, "kernel void fused("));
    assert_non_null(strstr(text, "op_relu_"));
    assert_non_null(strstr(text, "op_scale_"));
    OK(cls_batch_get_source(batch, 0, part, sizeof part, &again));
    assert_int_equal(again, length);
    assert_memory_equal(part, text, sizeof part - 1);
    assert_int_equal(part[sizeof part - 1], 0);
    OK(cls_batch_get_source(batch, 0, NULL, 0, &again));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_batch_get_source(batch, 1, text, sizeof text, NULL));
    OK(cls_batch_destroy(batch));
}

/* ---- streams */

static void test_independent_regions_run_on_several_streams(void **state) {
    (void)state;
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

/* ---- failure */

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

static void test_contexts_do_not_mix(void **state) {
    (void)state;
    cls_context context;
    cls_stream stream;
    cls_buffer buffer;
    cls_batch batch = make_batch(), orphan;
    cls_value x = upload(batch, ramp, COUNT), y = scaled(batch, x, 2), z;
    OK(cls_context_create(NULL, &context));
    OK(cls_stream_create(context, NULL, &stream));
    OK(cls_buffer_create(context, COUNT * 4, &buffer));
    OK(cls_batch_create(context, NULL, &orphan));
    const cls_array array = cls_array_of(buffer, CLS_F32, COUNT);
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_batch_array(batch, array, &z));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_batch_store(batch, y, array));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_batch_execute_async(batch, stream));
    OK(cls_batch_execute(batch, NULL));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_batch_read_async(batch, y, ramp, stream));
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(buffer));
    OK(cls_context_destroy(context));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_batch_upload(orphan, ramp, CLS_F32, COUNT, &x));
    OK(cls_batch_destroy(orphan));
    OK(cls_batch_destroy(batch));
}

/* ---- threads */

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

static void test_bad_options_are_refused(void **state) {
    (void)state;
    cls_batch_config config = CLS_BATCH_CONFIG_INIT;
    cls_batch batch = NULL;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_create(rig.context, NULL, NULL));
    config.streams = 9;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_create(rig.context, &config, &batch));
    config.size = 1;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_create(rig.context, &config, &batch));
    assert_null(batch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_chain_is_two_transfers_and_one_kernel),
        cmocka_unit_test(test_inputs_are_uploaded_once_after_each_bind),
        cmocka_unit_test(test_other_arrays_and_constants_are_bound),
        cmocka_unit_test(test_ids_of_other_batches_are_refused_by_name),
        cmocka_unit_test(test_no_id_was_given_out_for_a_parameter),
        cmocka_unit_test(test_bad_operations_are_refused_when_recorded),
        cmocka_unit_test(test_scalars_go_with_any_count),
        cmocka_unit_test(test_no_elements),
        cmocka_unit_test(test_matrix_products_stand_between_regions),
        cmocka_unit_test(test_only_results_of_an_execution_can_be_read),
        cmocka_unit_test(test_recording_goes_on_after_an_execution),
        cmocka_unit_test(test_results_are_stored_in_arrays),
        cmocka_unit_test(test_in_place_only_where_nobody_else_reads),
        cmocka_unit_test(test_the_generated_source_can_be_read),
        cmocka_unit_test(test_independent_regions_run_on_several_streams),
        cmocka_unit_test(test_executions_keep_their_order_on_any_streams),
        cmocka_unit_test(test_the_arena_may_lie_elsewhere_each_time),
        cmocka_unit_test(test_an_array_stays_for_what_was_submitted_with_it),
        cmocka_unit_test(test_a_batch_destroyed_at_work_completes),
        cmocka_unit_test(test_a_failed_stream_refuses_and_the_batch_goes_on_elsewhere),
        cmocka_unit_test(test_blocking_calls_inside_host_functions_are_refused),
        cmocka_unit_test(test_contexts_do_not_mix),
        cmocka_unit_test(test_several_threads_share_a_batch),
        cmocka_unit_test(test_bad_options_are_refused),
    };
    return cmocka_run_group_tests_name("batch", tests, setup, rig_teardown);
}
