/* SPDX-License-Identifier: MIT */
/* Batches: what moves and what runs, binding, and results. */
#include "batches.h"

static float relu(float x) { return x > 0 ? x : 0; }

static cls_stream_counters counters_of(cls_stream stream) {
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    OK(cls_stream_get_counters(stream, &counters));
    return counters;
}

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
    OK(cls_batch_execute(batch, NULL));
    assert_int_equal(statistics_of(batch).storage_bytes, 2 * COUNT * sizeof *ramp);
    OK(cls_batch_store(batch, z, cls_array_of(buffer, CLS_F32, COUNT)));
    assert_int_equal(statistics_of(batch).storage_bytes, COUNT * sizeof *ramp);
    OK(cls_batch_store(batch, y, cls_array_at(buffer, CLS_F32, COUNT, COUNT)));
    OK(cls_batch_store(batch, z, cls_array_of(buffer, CLS_F32, COUNT)));
    OK(cls_batch_execute(batch, NULL));
    OK(cls_buffer_to_host(buffer, out, sizeof out));
    for (int i = 0; i < COUNT; i++)
        assert_true(out[i] == 4 * ramp[i] && out[COUNT + i] == 2 * ramp[i]);
    expect_scaled(batch, y, 2);
    /* Elsewhere from the next execution on. */
    OK(cls_batch_store(batch, y, cls_array_of(buffer, CLS_F32, COUNT)));
    OK(cls_batch_store(batch, z, cls_array_at(buffer, CLS_F32, COUNT, COUNT)));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_batch_read(batch, y, out));
    OK(cls_batch_execute(batch, NULL));
    expect_scaled(batch, y, 2);
    expect_scaled(batch, z, 4);
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
    rig_need("rounding"); /* of sums */
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

static void test_an_empty_result_overlaps_nothing(void **state) {
    (void)state;
    cls_buffer buffer = buffer_of(ramp, COUNT);
    cls_batch batch = make_batch();
    cls_value x, none, y;
    OK(cls_batch_array(batch, cls_array_of(buffer, CLS_F32, COUNT), &x));
    OK(cls_batch_upload(batch, NULL, CLS_F32, 0, &none));
    y = scaled(batch, none, 2);
    OK(cls_batch_store(batch, y, cls_array_at(buffer, CLS_F32, 5, 0)));
    y = scaled(batch, x, 2);
    OK(cls_batch_execute(batch, NULL));
    expect_scaled(batch, y, 2);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_chain_is_two_transfers_and_one_kernel),
        cmocka_unit_test(test_inputs_are_uploaded_once_after_each_bind),
        cmocka_unit_test(test_other_arrays_and_constants_are_bound),
        cmocka_unit_test(test_only_results_of_an_execution_can_be_read),
        cmocka_unit_test(test_recording_goes_on_after_an_execution),
        cmocka_unit_test(test_results_are_stored_in_arrays),
        cmocka_unit_test(test_in_place_only_where_nobody_else_reads),
        cmocka_unit_test(test_an_empty_result_overlaps_nothing),
        cmocka_unit_test(test_the_generated_source_can_be_read),
    };
    return cmocka_run_group_tests_name("batch", tests, setup, rig_teardown);
}
