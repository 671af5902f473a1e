/* SPDX-License-Identifier: MIT */
/* Batches: values and their ids, shapes and types, and what is refused. */
#include "batches.h"

#include <clstream/mempool.h>

static void test_ids_of_other_batches_are_refused_by_name(void **state) {
    (void)state;
    cls_batch batch = make_batch(), other = make_batch();
    cls_value mine = upload(batch, ramp, COUNT), theirs = upload(other, ramp, COUNT), y = 77;
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_batch_add(batch, mine, theirs, &y));
    expect_detail("add: b is not a value of this batch");
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_batch_relu(batch, 0, &y));
    expect_detail("relu: in is 0, which is no value");
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
    expect_detail("tanh does not support i32");
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
    rig_need("rounding"); /* of sums */
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
    rig_need("rounding"); /* of sums */
    cls_batch batch = make_batch();
    cls_value none = upload(batch, NULL, 0), y = scaled(batch, none, 2), total = sum_of(batch, y);
    float sum = 7;
    OK(cls_batch_keep(batch, y));
    OK(cls_batch_execute(batch, NULL));
    OK(cls_batch_read(batch, y, NULL));
    OK(cls_batch_read(batch, total, &sum));
    assert_true(sum == 0);
    const cls_batch_statistics facts = statistics_of(batch);
    assert_int_equal(facts.kernels_per_run, facts.kernels);
    OK(cls_batch_destroy(batch));
    batch = make_batch();
    OK(cls_batch_execute(batch, NULL)); /* nothing recorded at all */
    OK(cls_batch_destroy(batch));
}

/* Also one of matrices that have elements: nothing is launched for a result without any. The sum of no products is 0. */
static void test_matrix_products_of_no_elements(void **state) {
    (void)state;
    static const size_t shapes[][3] = {{0, 3, 4}, {2, 0, 4}, {2, 3, 4}, {2, 3, 0}, {0, 3, 0}};
    for (int i = 0; i < 5; i++) {
        const size_t rows = shapes[i][0], columns = shapes[i][1], inner = shapes[i][2];
        cls_batch batch = make_batch();
        cls_value a = upload(batch, ramp, rows * inner), b = upload(batch, ramp, inner * columns);
        cls_value c;
        float out[6] = {1, 1, 1, 1, 1, 1};
        OK(cls_batch_gemm(batch, a, scaled(batch, b, 1), rows, columns, inner, NULL, &c));
        OK(cls_batch_execute(batch, NULL));
        OK(cls_batch_read(batch, c, out));
        for (size_t j = 0; j < rows * columns && !inner; j++)
            assert_true(out[j] == 0);
        const cls_batch_statistics facts = statistics_of(batch);
        assert_int_equal(facts.kernels, (rows * columns != 0) + (inner * columns != 0));
        assert_int_equal(facts.kernels_per_run, facts.kernels);
        OK(cls_batch_destroy(batch));
    }
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
    config.transpose_b = 1;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_batch_gemm(batch, a, few, 3, 5, 4, NULL, &c));
    expect_detail("gemm: arrays of 12 and 5 elements");
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_batch_gemm(batch, a, b, 3, 5, 0, NULL, &c));
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

/* The batch keeps the buffers: the caller's handles may be gone. */
static void test_arrays_outlive_their_handles(void **state) {
    enum { SIDE = 8 };
    (void)state;
    cls_batch batch = make_batch();
    cls_buffer from = buffer_of(ramp, SIDE * SIDE), to = buffer_of(ramp, SIDE * SIDE);
    cls_value x, y, z = 0;
    float out[SIDE * SIDE], expected = 0;
    OK(cls_batch_array(batch, cls_array_of(from, CLS_F32, SIDE * SIDE), &x));
    y = scaled(batch, x, 2);
    OK(cls_batch_store(batch, y, cls_array_of(to, CLS_F32, SIDE * SIDE)));
    OK(cls_batch_gemm(batch, x, y, SIDE, SIDE, SIDE, NULL, &z));
    OK(cls_buffer_destroy(from));
    OK(cls_buffer_destroy(to));
    OK(cls_batch_execute(batch, NULL));
    OK(cls_batch_read(batch, y, out));
    for (int i = 0; i < SIDE * SIDE; i++)
        assert_true(out[i] == 2 * ramp[i]);
    for (int i = 0; i < SIDE; i++)
        expected += ramp[i] * 2 * ramp[SIDE * i];
    if (z) {
        OK(cls_batch_read(batch, z, out));
        assert_true(out[0] == expected);
    }
    OK(cls_batch_destroy(batch));
}

/* Unlike a destroyed buffer, freed memory may be somebody else's by now. */
static void test_freed_memory_is_refused(void **state) {
    (void)state;
    const size_t bytes = COUNT * sizeof *ramp;
    cls_batch batch = make_batch();
    cls_stream stream = rig_stream();
    cls_buffer from, to, next;
    cls_value x, y;
    float out[COUNT];
    OK(cls_malloc_async(stream, bytes, &from));
    OK(cls_malloc_async(stream, bytes, &to));
    OK(cls_copy_h2d(from, 0, ramp, bytes, stream));
    OK(cls_batch_array(batch, cls_array_of(from, CLS_F32, COUNT), &x));
    y = scaled(batch, x, 2);
    OK(cls_batch_store(batch, y, cls_array_of(to, CLS_F32, COUNT)));
    OK(cls_batch_execute(batch, stream));

    OK(cls_free_async(to, stream));
    OK(cls_malloc_async(stream, bytes, &next));
    OK(cls_copy_h2d(next, 0, ramp, bytes, stream));
    assert_int_equal(cls_batch_execute(batch, stream), CLS_ERROR_INVALID_HANDLE);
    assert_int_equal(cls_batch_read(batch, y, out), CLS_ERROR_INVALID_HANDLE);
    OK(cls_copy_d2h(out, next, 0, bytes, stream));
    assert_memory_equal(out, ramp, bytes);
    OK(cls_batch_store(batch, y, cls_array_of(next, CLS_F32, COUNT)));
    OK(cls_buffer_destroy(next)); /* the batch keeps it */
    OK(cls_batch_execute(batch, stream));
    expect_scaled(batch, y, 2);

    OK(cls_free_async(from, stream));
    assert_int_equal(cls_batch_execute(batch, stream), CLS_ERROR_INVALID_HANDLE);
    OK(cls_malloc_async(stream, bytes, &next));
    OK(cls_copy_h2d(next, 0, ramp, bytes, stream));
    OK(cls_batch_bind_array(batch, x, cls_array_of(next, CLS_F32, COUNT)));
    OK(cls_buffer_destroy(next));
    OK(cls_batch_execute(batch, stream));
    expect_scaled(batch, y, 2);
    OK(cls_batch_destroy(batch));
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
        cmocka_unit_test(test_ids_of_other_batches_are_refused_by_name),
        cmocka_unit_test(test_no_id_was_given_out_for_a_parameter),
        cmocka_unit_test(test_bad_operations_are_refused_when_recorded),
        cmocka_unit_test(test_scalars_go_with_any_count),
        cmocka_unit_test(test_no_elements),
        cmocka_unit_test(test_matrix_products_of_no_elements),
        cmocka_unit_test(test_matrix_products_stand_between_regions),
        cmocka_unit_test(test_arrays_outlive_their_handles),
        cmocka_unit_test(test_freed_memory_is_refused),
        cmocka_unit_test(test_contexts_do_not_mix),
        cmocka_unit_test(test_bad_options_are_refused),
    };
    return cmocka_run_group_tests_name("batch values", tests, setup, rig_teardown);
}
