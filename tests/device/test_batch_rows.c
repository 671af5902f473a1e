/* SPDX-License-Identifier: MIT */
/*
 * Operations on rows and columns in batches: the bits are those of the single calls, whose numerics have tests of their own,
 * and of plain C where the numbers are whole; fusion, binding, capture and refusals.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/effort.h"
#include "arrays.h"

struct extent {
    size_t rows, columns;
};

/* One element, rows and columns shorter and longer than a vector, several runs of a CPU, and nothing. */
static const struct extent extents[] = {{1, 1},    {1, 40},   {40, 1},   {3, 17},
                                        {67, 130}, {1500, 3}, {2, 9001}, {300, 64},
                                        {700, 7},  {0, 5},    {5, 0}};
enum { EXTENTS = sizeof extents / sizeof *extents, MOST = 20000 };

static cls_batch begin_batch(void) {
    cls_batch batch;
    OK(cls_batch_create(NULL, NULL, &batch));
    return batch;
}

static cls_value array_of(cls_batch batch, cls_array array) {
    cls_value value;
    OK(cls_batch_array(batch, array, &value));
    return value;
}

static cls_value upload_of(cls_batch batch, const float *data, size_t count) {
    cls_value value;
    OK(cls_batch_upload(batch, data, CLS_F32, count, &value));
    return value;
}

static cls_batch_statistics facts_of(cls_batch batch) {
    cls_batch_statistics facts = CLS_BATCH_STATISTICS_INIT;
    OK(cls_batch_get_statistics(batch, &facts));
    return facts;
}

static cls_matrix matrix_of(cls_array array, struct extent of) {
    return cls_matrix_at(array.buffer, array.dtype, array.offset, of.rows, of.columns);
}

/* Compares a value of an executed batch with what a single call left in the view, and destroys that. */
static void expect_bits(cls_batch batch, cls_value value, cls_array wanted, const char *what,
                        struct extent of) {
    const size_t bytes = wanted.count * cls_dtype_size(wanted.dtype);
    cls_value_info info = CLS_VALUE_INFO_INIT;
    unsigned char *got = malloc(bytes + 1), *expected;
    assert_non_null(got);
    OK(cls_batch_get_value(batch, value, &info));
    assert_int_equal(info.count, wanted.count);
    assert_int_equal(info.dtype, wanted.dtype);
    assert_true(!info.is_scalar && info.is_result);
    OK(cls_batch_read(batch, value, got));
    expected = view_take(wanted);
    if (memcmp(got, expected, bytes) != 0)
        fail_msg("%s of %s, %zu x %zu", what, cls_dtype_name(wanted.dtype), of.rows, of.columns);
    free(expected);
    free(got);
}

/* --- broadcasts --- */

/* Rows and columns read the same matrix: one kernel. */
static void broadcast_case(cls_binary_op op, cls_dtype type, struct extent of) {
    const size_t count = of.rows * of.columns;
    void *values = hard_values(type, MOST, 3);
    const cls_array in = view_make(type, 1, count, values),
                    row = view_make(type, 2, of.columns, (char *)values + 8 * sizeof(double)),
                    column = view_make(type, 0, of.rows, (char *)values + 16 * sizeof(double)),
                    by_row = view_make(type, 3, count, NULL),
                    by_column = view_make(type, 0, count, NULL);
    cls_batch batch = begin_batch();
    cls_value x = array_of(batch, in), y[2];
    OK(cls_batch_binary_rows(batch, op, x, array_of(batch, row), &y[0]));
    OK(cls_batch_binary_columns(batch, op, x, array_of(batch, column), &y[1]));
    OK(cls_batch_execute(batch, NULL));
    assert_int_equal(facts_of(batch).regions, 1);
    assert_int_equal(facts_of(batch).kernels_per_run, count != 0);
    OK(cls_binary_rows(op, matrix_of(in, of), cls_vector_from(row), matrix_of(by_row, of), NULL));
    OK(cls_binary_columns(op, matrix_of(in, of), cls_vector_from(column), matrix_of(by_column, of),
                          NULL));
    expect_bits(batch, y[0], by_row, "rows", of);
    expect_bits(batch, y[1], by_column, "columns", of);
    OK(cls_batch_destroy(batch));
    view_destroy(in);
    view_destroy(row);
    view_destroy(column);
    free(values);
}

/* Each type costs the driver's compiler seconds. */
static bool is_tested(cls_dtype type) {
    return (effort_is_long() || type == CLS_F32) && (type != CLS_F64 || device_has_f64());
}

static void broadcasts_have_the_bits_of_single_calls(void **state) {
    (void)state;
    for (unsigned t = 0; t < TYPES; t++)
        for (unsigned i = 0; i < EXTENTS && is_tested(all_types[t]); i++)
            broadcast_case(CLS_BINARY_SUB, all_types[t], extents[i]);
}

enum { ROWS = 37, COLUMNS = 29, COUNT = ROWS * COLUMNS };

static struct { float in[COUNT], row[COLUMNS], column[ROWS], other[COLUMNS], out[COUNT]; } host;

static void fill_host(void) {
    for (int i = 0; i < COUNT; i++)
        host.in[i] = (float)(i * 7 % 61 - 30);
    for (int i = 0; i < COLUMNS; i++) {
        host.row[i] = (float)(i - 9);
        host.other[i] = (float)(100 - i);
    }
    for (int i = 0; i < ROWS; i++)
        host.column[i] = (float)(5 * i % 11);
}

/* relu(2 in + row) - column */
static float layer(int i, const float *row) {
    const float y = 2 * host.in[i] + row[i % COLUMNS];
    return (y > 0 ? y : 0) - host.column[i / COLUMNS];
}

static cls_value record_layer(cls_batch batch, cls_value *row) {
    cls_value y = upload_of(batch, host.in, COUNT);
    *row = upload_of(batch, host.row, COLUMNS);
    OK(cls_batch_scale(batch, y, 2, &y));
    OK(cls_batch_binary_rows(batch, CLS_BINARY_ADD, y, *row, &y));
    OK(cls_batch_relu(batch, y, &y));
    OK(cls_batch_binary_columns(batch, CLS_BINARY_SUB, y, upload_of(batch, host.column, ROWS), &y));
    return y;
}

static void expect_layer(cls_batch batch, cls_value y, const float *row) {
    OK(cls_batch_read(batch, y, host.out));
    for (int i = 0; i < COUNT; i++)
        assert_true(host.out[i] == layer(i, row));
}

static void a_chain_with_broadcasts_is_one_kernel(void **state) {
    cls_batch batch = begin_batch();
    cls_value row, y = record_layer(batch, &row);
    (void)state;
    OK(cls_batch_execute(batch, NULL));
    assert_int_equal(facts_of(batch).kernels_per_run, 1);
    expect_layer(batch, y, host.row);
    OK(cls_batch_bind_upload(batch, row, host.other));
    OK(cls_batch_execute(batch, NULL));
    expect_layer(batch, y, host.other);
    OK(cls_batch_destroy(batch));
}

static void a_broadcast_is_fused_with_a_reduction(void **state) {
    cls_batch batch = begin_batch();
    cls_value row, y = record_layer(batch, &row), total;
    float sum, wanted = 0;
    (void)state;
    OK(cls_batch_reduce(batch, CLS_REDUCE_SUM, y, &total));
    OK(cls_batch_execute(batch, NULL));
    assert_int_equal(facts_of(batch).regions, 1);
    OK(cls_batch_read(batch, total, &sum));
    for (int i = 0; i < COUNT; i++)
        wanted += layer(i, host.row);
    assert_true(sum == wanted);
    OK(cls_batch_destroy(batch));
}

static void a_broadcast_comparison_is_of_u8(void **state) {
    cls_batch batch = begin_batch();
    cls_value x = upload_of(batch, host.in, COUNT), y;
    uint8_t below[COUNT];
    (void)state;
    OK(cls_batch_binary_columns(batch, CLS_BINARY_LT, x, upload_of(batch, host.column, ROWS), &y));
    OK(cls_batch_execute(batch, NULL));
    OK(cls_batch_read(batch, y, below));
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(below[i], host.in[i] < host.column[i / COLUMNS]);
    OK(cls_batch_destroy(batch));
}

/* Its producer is in an earlier region, also where the counts would allow one kernel. */
static void a_vector_is_in_memory_before_it_is_broadcast(void **state) {
    cls_batch batch = begin_batch();
    cls_value x = upload_of(batch, host.row, COLUMNS), negative, y, z;
    (void)state;
    OK(cls_batch_unary(batch, CLS_UNARY_NEG, x, &negative));
    OK(cls_batch_binary_rows(batch, CLS_BINARY_ADD, upload_of(batch, host.in, COUNT), negative,
                             &y));
    OK(cls_batch_binary_columns(batch, CLS_BINARY_MUL, negative, negative, &z));
    OK(cls_batch_execute(batch, NULL));
    assert_int_equal(facts_of(batch).regions, 3);
    OK(cls_batch_read(batch, y, host.out));
    for (int i = 0; i < COUNT; i++)
        assert_true(host.out[i] == host.in[i] - host.row[i % COLUMNS]);
    OK(cls_batch_read(batch, z, host.out));
    for (int i = 0; i < COLUMNS; i++)
        assert_true(host.out[i] == host.row[i] * host.row[i]);
    OK(cls_batch_destroy(batch));
}

/* Also read element by element, in the same kernel. */
static void one_array_may_be_matrix_and_vector(void **state) {
    cls_batch batch = begin_batch();
    cls_value x = upload_of(batch, host.in, COUNT), y;
    (void)state;
    OK(cls_batch_binary_rows(batch, CLS_BINARY_MUL, x, x, &y));
    OK(cls_batch_binary_columns(batch, CLS_BINARY_ADD, y, x, &y));
    OK(cls_batch_execute(batch, NULL));
    assert_int_equal(facts_of(batch).kernels_per_run, 1);
    OK(cls_batch_read(batch, y, host.out));
    for (int i = 0; i < COUNT; i++)
        assert_true(host.out[i] == host.in[i] * host.in[i] + host.in[i]);
    OK(cls_batch_destroy(batch));
}

/* --- calls on rows --- */

enum { CALLS = 6 };

/* The single calls, by the numbers that the recorded ones below have. */
static void call_singly(int which, struct extent of, cls_array in, cls_array gain, cls_array shift,
                        cls_array out) {
    const cls_matrix x = matrix_of(in, of), y = matrix_of(out, of);
    const cls_vector g = cls_vector_from(gain), s = cls_vector_from(shift);
    switch (which) {
    case 0:
        OK(cls_softmax(x, y, NULL));
        break;
    case 1:
        OK(cls_log_softmax(x, y, NULL));
        break;
    case 2:
        OK(cls_layer_norm(x, g, s, 0.125, y, NULL));
        break;
    case 3:
        OK(cls_rms_norm(x, g, 0.125, y, NULL));
        break;
    case 4:
        OK(cls_reduce_rows(CLS_REDUCE_SUM, x, cls_vector_from(out), NULL));
        break;
    default:
        OK(cls_reduce_columns(CLS_REDUCE_SUM, x, cls_vector_from(out), NULL));
    }
}

static size_t count_of_result(int which, struct extent of) {
    return which == 4 ? of.rows : which == 5 ? of.columns : of.rows * of.columns;
}

static void rows_case(cls_dtype type, struct extent of) {
    static const char *const names[CALLS] = {"softmax",  "log_softmax", "layer_norm",
                                             "rms_norm", "reduce_rows", "reduce_columns"};
    const size_t count = of.rows * of.columns;
    cls_dtype sums;
    void *values = hard_values(type, MOST, 5);
    OK(cls_reduce_result_dtype(CLS_REDUCE_SUM, type, &sums));
    tame(type, values, MOST, 50);
    const cls_array in = view_make(type, 0, count, values),
                    gain = view_make(type, 0, of.columns, (char *)values + 64),
                    shift = view_make(type, 0, of.columns, (char *)values + 128);
    cls_batch batch = begin_batch();
    cls_value x = array_of(batch, in), g = array_of(batch, gain), s = array_of(batch, shift);
    cls_value y[CALLS];
    OK(cls_batch_softmax(batch, x, of.columns, &y[0]));
    OK(cls_batch_log_softmax(batch, x, of.columns, &y[1]));
    OK(cls_batch_layer_norm(batch, x, of.columns, g, s, 0.125, &y[2]));
    OK(cls_batch_rms_norm(batch, x, of.columns, g, 0.125, &y[3]));
    OK(cls_batch_reduce_rows(batch, CLS_REDUCE_SUM, x, of.columns, &y[4]));
    OK(cls_batch_reduce_columns(batch, CLS_REDUCE_SUM, x, of.columns, &y[5]));
    OK(cls_batch_execute(batch, NULL));
    for (int i = 0; i < CALLS; i++) {
        const cls_array out = view_make(i < 4 ? type : sums, 0, count_of_result(i, of), NULL);
        call_singly(i, of, in, gain, shift, out);
        expect_bits(batch, y[i], out, names[i], of);
    }
    OK(cls_batch_destroy(batch));
    view_destroy(in);
    view_destroy(gain);
    view_destroy(shift);
    free(values);
}

static void calls_on_rows_have_the_bits_of_single_calls(void **state) {
    (void)state;
    for (unsigned t = 0; t < TYPES; t++)
        for (unsigned i = 0; i < EXTENTS && is_float(all_types[t]); i++)
            if (is_tested(all_types[t]) && (extents[i].columns || !extents[i].rows))
                rows_case(all_types[t], extents[i]);
}

static void reductions_of_lines_have_the_types_of_single_calls(void **state) {
    cls_batch batch = begin_batch();
    cls_value x = upload_of(batch, host.in, COUNT), y;
    int64_t at[COLUMNS];
    (void)state;
    OK(cls_batch_reduce_columns(batch, CLS_REDUCE_ARGMAX, x, COLUMNS, &y));
    OK(cls_batch_execute(batch, NULL));
    OK(cls_batch_read(batch, y, at));
    for (int j = 0; j < COLUMNS; j++) {
        int best = 0;
        for (int i = 1; i < ROWS; i++)
            best = host.in[i * COLUMNS + j] > host.in[best * COLUMNS + j] ? i : best;
        assert_int_equal(at[j], best);
    }
    OK(cls_batch_destroy(batch));
}

/* in - the mean of its row, between kernels of its own: the centred matrix, its sums, and their largest. */
static cls_value record_centred(cls_batch batch, cls_value x, cls_value *largest) {
    cls_value mean, y, sums;
    OK(cls_batch_scale(batch, x, 4, &x));
    OK(cls_batch_reduce_rows(batch, CLS_REDUCE_MAX, x, COLUMNS, &mean));
    OK(cls_batch_unary_param(batch, CLS_UNARY_ADD_SCALAR, mean, 1, &mean));
    OK(cls_batch_binary_columns(batch, CLS_BINARY_SUB, x, mean, &y));
    OK(cls_batch_reduce_columns(batch, CLS_REDUCE_SUM, y, COLUMNS, &sums));
    OK(cls_batch_reduce(batch, CLS_REDUCE_MAX, sums, largest));
    OK(cls_batch_keep(batch, y));
    return y;
}

static void expect_centred(const float *got, float largest, float factor) {
    float sums[COLUMNS] = {0}, most = -INFINITY;
    for (int i = 0; i < ROWS; i++) {
        float top = -INFINITY;
        for (int j = 0; j < COLUMNS; j++)
            top = fmaxf(top, factor * host.in[i * COLUMNS + j]);
        for (int j = 0; j < COLUMNS; j++) {
            const float wanted = factor * host.in[i * COLUMNS + j] - (top + 1);
            assert_true(got[i * COLUMNS + j] == wanted);
            sums[j] += wanted;
        }
    }
    for (int j = 0; j < COLUMNS; j++)
        most = fmaxf(most, sums[j]);
    assert_true(largest == most);
}

static void calls_on_rows_stand_between_regions(void **state) {
    cls_batch batch = begin_batch();
    cls_value largest, y = record_centred(batch, upload_of(batch, host.in, COUNT), &largest);
    float most;
    (void)state;
    for (int times = 0; times < 2; times++) {
        OK(cls_batch_execute(batch, NULL));
        OK(cls_batch_read(batch, y, host.out));
        OK(cls_batch_read(batch, largest, &most));
        expect_centred(host.out, most, 4);
    }
    assert_int_equal(facts_of(batch).regions, 6);
    OK(cls_batch_destroy(batch));
}

static void a_batch_with_rows_is_captured(void **state) {
    cls_buffer in, out;
    cls_batch batch = begin_batch();
    cls_stream stream;
    cls_graph graph;
    cls_graph_exec exec;
    cls_value largest, y;
    float scaled[COUNT], both[COUNT + 1];
    (void)state;
    OK(cls_buffer_create(NULL, sizeof host.in, &in));
    OK(cls_buffer_create(NULL, sizeof both, &out));
    OK(cls_stream_create(NULL, NULL, &stream));
    y = record_centred(batch, array_of(batch, cls_array_of(in, CLS_F32, COUNT)), &largest);
    OK(cls_batch_store(batch, y, cls_array_of(out, CLS_F32, COUNT)));
    OK(cls_batch_store(batch, largest, cls_array_at(out, CLS_F32, COUNT, 1)));
    OK(cls_stream_begin_capture(stream, NULL));
    OK(cls_batch_execute_async(batch, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    OK(cls_batch_destroy(batch));
    for (int factor = 1; factor < 3; factor++) {
        for (int i = 0; i < COUNT; i++)
            scaled[i] = (float)factor * host.in[i];
        OK(cls_copy_h2d_async(in, 0, scaled, sizeof scaled, stream));
        OK(cls_graph_launch_async(exec, stream));
        OK(cls_stream_synchronize(stream));
        OK(cls_buffer_to_host(out, both, sizeof both));
        expect_centred(both, both[COUNT], 4 * (float)factor);
    }
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(in));
    OK(cls_buffer_destroy(out));
}

/* --- refusals --- */

static void shapes_that_do_not_fit_are_refused(void **state) {
    cls_batch batch = begin_batch();
    cls_value x = upload_of(batch, host.in, COUNT), row = upload_of(batch, host.row, COLUMNS);
    cls_value none = upload_of(batch, host.row, 0), six = upload_of(batch, host.row, 6), one, y = 0;
    (void)state;
    OK(cls_batch_scalar(batch, CLS_F32, host.row, &one));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_batch_binary_rows(batch, CLS_BINARY_ADD, x, six, &y));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_batch_binary_columns(batch, CLS_BINARY_ADD, x, six, &y));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_batch_binary_rows(batch, CLS_BINARY_ADD, x, none, &y));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_batch_binary_rows(batch, CLS_BINARY_ADD, x, one, &y));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_batch_binary_rows(batch, CLS_BINARY_ADD, one, row, &y));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_batch_reduce_rows(batch, CLS_REDUCE_SUM, x, 0, &y));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_batch_reduce_columns(batch, CLS_REDUCE_SUM, x, 6, &y));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_batch_softmax(batch, x, COUNT + 1, &y));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_batch_softmax(batch, one, 1, &y));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_batch_rms_norm(batch, x, COLUMNS, six, 0, &y));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_batch_layer_norm(batch, x, COLUMNS, row, six, 0, &y));
    assert_int_equal(y, 0);
    OK(cls_batch_destroy(batch));
}

static void operations_that_do_not_exist_are_refused(void **state) {
    cls_batch batch = begin_batch();
    cls_value x = upload_of(batch, host.in, COUNT), none = upload_of(batch, host.in, 0);
    cls_value row = upload_of(batch, host.row, COLUMNS), whole, y = 0;
    (void)state;
    OK(cls_batch_cast(batch, row, CLS_I32, &whole));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_binary_rows(batch, (cls_binary_op)999, x, row, &y));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_reduce_rows(batch, (cls_reduce_op)999, x, 1, &y));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_reduce_rows(batch, CLS_REDUCE_MAX, none, 0, &y));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_reduce_columns(batch, CLS_REDUCE_MIN, none, 3, &y));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_rms_norm(batch, x, COLUMNS, row, -1, &y));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_rms_norm(batch, x, COLUMNS, row, (double)NAN, &y));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_softmax(batch, x, COLUMNS, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_batch_binary_rows(batch, CLS_BINARY_ADD, x, whole, &y));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_batch_softmax(batch, whole, COLUMNS, &y));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_batch_layer_norm(batch, x, COLUMNS, row, whole, 0, &y));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_batch_layer_norm(batch, x, COLUMNS, row, 0, 0, &y));
    assert_int_equal(y, 0);
    OK(cls_batch_destroy(batch));
}

/* A call that reads an array cannot leave its result there; a fused operation can. */
static void results_may_overlap_what_fused_operations_read_along(void **state) {
    cls_batch batch = begin_batch();
    cls_buffer both;
    cls_value x, y;
    (void)state;
    OK(cls_buffer_from_host(NULL, host.in, sizeof host.in, &both));
    x = array_of(batch, cls_array_of(both, CLS_F32, COUNT));
    OK(cls_batch_binary_rows(batch, CLS_BINARY_ADD, x, upload_of(batch, host.row, COLUMNS), &y));
    OK(cls_batch_store(batch, y, cls_array_of(both, CLS_F32, COUNT)));
    OK(cls_batch_execute(batch, NULL));
    OK(cls_buffer_to_host(both, host.out, sizeof host.out));
    for (int i = 0; i < COUNT; i++)
        assert_true(host.out[i] == host.in[i] + host.row[i % COLUMNS]);
    OK(cls_batch_softmax(batch, x, COLUMNS, &y));
    OK(cls_batch_store(batch, y, cls_array_of(both, CLS_F32, COUNT)));
    EXPECT(CLS_ERROR_OVERLAP, cls_batch_execute(batch, NULL));
    OK(cls_batch_destroy(batch));
    OK(cls_buffer_destroy(both));
}

#define TEST(name) cmocka_unit_test(name)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(broadcasts_have_the_bits_of_single_calls),
        TEST(a_broadcast_comparison_is_of_u8),
        TEST(a_chain_with_broadcasts_is_one_kernel),
        TEST(a_broadcast_is_fused_with_a_reduction),
        TEST(a_vector_is_in_memory_before_it_is_broadcast),
        TEST(one_array_may_be_matrix_and_vector),
        TEST(calls_on_rows_have_the_bits_of_single_calls),
        TEST(reductions_of_lines_have_the_types_of_single_calls),
        TEST(calls_on_rows_stand_between_regions),
        TEST(a_batch_with_rows_is_captured),
        TEST(shapes_that_do_not_fit_are_refused),
        TEST(operations_that_do_not_exist_are_refused),
        TEST(results_may_overlap_what_fused_operations_read_along),
    };
    prepare_tests();
    fill_host();
    return cmocka_run_group_tests_name("batch_rows", tests, NULL, NULL);
}
