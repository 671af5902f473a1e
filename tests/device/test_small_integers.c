/* SPDX-License-Identifier: MIT */
/*
 * The integers of one and two bytes: every element of i8, i16 and u16, cast to other types; casts that saturate;
 * arithmetic of all pairs of i8, and products of i16 and u16; parameters, sums and batches.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/effort.h"
#include "arrays.h"

enum { ELEMENTS = 1 << 16 };

static const cls_dtype small[] = {CLS_I8, CLS_I16, CLS_U16};
enum { SMALL = sizeof small / sizeof *small };

static bool device_has(cls_dtype type) { return type != CLS_F64 || device_has_f64(); }

/* Each pair is a program for the driver's compiler: a fourth of them, and with TEST_EFFORT=long all. */
static bool is_cast(cls_dtype from, cls_dtype to) {
    return device_has(from) && device_has(to) && (effort_is_long() || (from + to) % 4 == 0);
}

/* Every element of a type of one or two bytes: the bits count. */
static void *all_elements(cls_dtype type) {
    const size_t size = cls_dtype_size(type);
    unsigned char *all = malloc(ELEMENTS * size);
    assert_non_null(all);
    for (unsigned i = 0; i < ELEMENTS; i++) {
        all[i * size] = (unsigned char)i;
        if (size == 2)
            all[i * size + 1] = (unsigned char)(i >> 8);
    }
    return all;
}

/* --- casts --- */

static void check_cast(cls_dtype from, cls_dtype to, const void *in, size_t count) {
    const cls_array a = view_make(from, 3, count, in), b = view_make(to, 1, count, NULL);
    void *expected = malloc(count * cls_dtype_size(to));
    assert_non_null(expected);
    assert_true(reference_cast(from, to, in, expected, count));
    OK(cls_cast(a, b, NULL));
    view_destroy(a);
    void *got = view_take(b);
    check_array("cast", to, got, expected, NULL, count, from, in);
    free(got);
    free(expected);
}

static void every_element_is_cast(void **state) {
    (void)state;
    for (unsigned i = 0; i < SMALL; i++) {
        void *all = all_elements(small[i]);
        for (unsigned t = 0; t < TYPES; t++)
            if (is_cast(small[i], all_types[t]))
                check_cast(small[i], all_types[t], all, ELEMENTS);
        free(all);
    }
}

/* Hard values hold the limits of all types, their neighbours, NaN and infinities. */
static void casts_saturate(void **state) {
    enum { COUNT = 3000 };
    (void)state;
    for (unsigned t = 0; t < TYPES; t++) {
        if (!device_has(all_types[t]))
            continue;
        void *values = hard_values(all_types[t], COUNT, t);
        for (unsigned i = 0; i < SMALL; i++)
            if (is_cast(all_types[t], small[i]))
                check_cast(all_types[t], small[i], values, COUNT);
        free(values);
    }
}

/* --- arithmetic --- */

static void check_binary(cls_binary_op op, cls_dtype type, const void *x, const void *y) {
    const cls_dtype out = reference_compares(op) ? CLS_U8 : type;
    const cls_array a = view_make(type, 0, ELEMENTS, x), b = view_make(type, 5, ELEMENTS, y);
    const cls_array c = view_make(out, 2, ELEMENTS, NULL);
    void *expected = malloc(ELEMENTS * cls_dtype_size(out));
    assert_non_null(expected);
    assert_true(reference_binary(op, type, x, y, expected, ELEMENTS));
    OK(cls_binary(op, a, b, c, NULL));
    view_destroy(a);
    view_destroy(b);
    void *got = view_take(c);
    check_array(cls_binary_op_name(op), out, got, expected, NULL, ELEMENTS, type, x);
    free(got);
    free(expected);
}

static void all_pairs_of_i8(void **state) {
    static const cls_binary_op ops[] = {CLS_BINARY_MUL, CLS_BINARY_DIV};
    signed char *x = malloc(ELEMENTS), *y = malloc(ELEMENTS);
    (void)state;
    assert_non_null(x);
    assert_non_null(y);
    for (unsigned i = 0; i < ELEMENTS; i++) {
        x[i] = (signed char)(i & 255);
        y[i] = (signed char)(i >> 8);
    }
    for (unsigned o = 0; o < sizeof ops / sizeof *ops; o++)
        check_binary(ops[o], CLS_I8, x, y);
    free(x);
    free(y);
}

/* As ints, into which single elements are promoted, products of u16 would overflow. */
static void two_bytes_wrap(void **state) {
    (void)state;
    for (unsigned t = 1; t < SMALL; t++) {
        void *x = all_elements(small[t]), *y = hard_values(small[t], ELEMENTS, 7);
        check_binary(CLS_BINARY_MUL, small[t], x, y);
        free(x);
        free(y);
    }
}

/* The parameter of a generic function is a double, which is truncated and saturated. */
static void parameters_saturate(void **state) {
    static const struct {
        cls_dtype type;
        double number;
        int wanted;
    } rows[] = {{CLS_I8, 300, 127},      {CLS_I8, -1e9, -128},    {CLS_I8, -2.9, -2},
                {CLS_I16, 40000, 32767}, {CLS_I16, -1e9, -32768}, {CLS_U16, 1e9, 65535},
                {CLS_U16, -5, 0}};
    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        const uint16_t zeros[4] = {0};
        const cls_array view = view_make(rows[i].type, 1, 4, zeros);
        int64_t got[4];
        OK(cls_unary_param(CLS_UNARY_ADD_SCALAR, view, view, rows[i].number, NULL));
        void *elements = view_take(view);
        assert_true(reference_cast(rows[i].type, CLS_I64, elements, got, 4));
        for (int k = 0; k < 4; k++)
            assert_int_equal(got[k], rows[i].wanted);
        free(elements);
    }
}

/* --- reductions --- */

static int64_t sum_of(cls_dtype type, const void *values, size_t count, int64_t *least,
                      int64_t *greatest) {
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t x;
        reference_cast(type, CLS_I64, (const char *)values + i * cls_dtype_size(type), &x, 1);
        sum += x;
        *least = x < *least ? x : *least;
        *greatest = x > *greatest ? x : *greatest;
    }
    return sum;
}

static int64_t reduced(cls_reduce_op op, cls_array view) {
    int64_t element[1] = {0}, wide[1];
    OK(cls_reduce(op, view, element, NULL));
    if (op == CLS_REDUCE_SUM)
        return element[0];
    reference_cast(view.dtype, CLS_I64, element, wide, 1);
    return wide[0];
}

static void check_sum(cls_dtype type, const void *values, size_t count) {
    int64_t least = INT64_MAX, greatest = INT64_MIN;
    const int64_t sum = sum_of(type, values, count, &least, &greatest);
    const cls_array view = view_make(type, 3, count, values);
    assert_int_equal(reduced(CLS_REDUCE_SUM, view), sum);
    if (effort_is_long() || type == CLS_I8) {
        assert_int_equal(reduced(CLS_REDUCE_MIN, view), least);
        assert_int_equal(reduced(CLS_REDUCE_MAX, view), greatest);
    }
    if (effort_is_long() && device_has_f64()) {
        double mean = 0;
        OK(cls_reduce(CLS_REDUCE_MEAN, view, &mean, NULL));
        assert_true(mean == (double)sum / (double)count);
    }
    view_destroy(view);
}

static void sums_are_wide(void **state) {
    enum { COUNT = 50001 };
    cls_dtype type;
    (void)state;
    for (unsigned t = 0; t < SMALL; t++) {
        void *values = hard_values(small[t], COUNT, 3);
        OK(cls_reduce_result_dtype(CLS_REDUCE_SUM, small[t], &type));
        assert_int_equal(type, CLS_I64);
        OK(cls_reduce_result_dtype(CLS_REDUCE_MEAN, small[t], &type));
        assert_int_equal(type, CLS_F64);
        check_sum(small[t], values, COUNT);
        free(values);
    }
}

/* --- batches --- */

/* x y + 5 < x of i16, where y was i8: what is between two operations wraps too. */
static void record(cls_batch batch, const int16_t *x, const int8_t *y, size_t count,
                   cls_value *less) {
    cls_value a, b, wide, product, sum;
    OK(cls_batch_upload(batch, x, CLS_I16, count, &a));
    OK(cls_batch_upload(batch, y, CLS_I8, count, &b));
    OK(cls_batch_cast(batch, b, CLS_I16, &wide));
    OK(cls_batch_binary(batch, CLS_BINARY_MUL, a, wide, &product));
    OK(cls_batch_unary_param(batch, CLS_UNARY_ADD_SCALAR, product, 5, &sum));
    OK(cls_batch_binary(batch, CLS_BINARY_LT, sum, a, less));
}

static void values_of_batches_wrap(void **state) {
    enum { COUNT = 4099 };
    int16_t *x = hard_values(CLS_I16, COUNT, 1);
    int8_t *y = hard_values(CLS_I8, COUNT, 2);
    uint8_t got[COUNT];
    cls_value less;
    cls_batch batch;
    (void)state;
    OK(cls_batch_create(NULL, NULL, &batch));
    record(batch, x, y, COUNT, &less);
    OK(cls_batch_execute(batch, NULL));
    OK(cls_batch_read(batch, less, got));
    OK(cls_batch_destroy(batch));
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(got[i], (int16_t)(uint16_t)(x[i] * y[i] + 5) < x[i]);
    free(x);
    free(y);
}

int main(void) {
    prepare_tests();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_is_cast),  cmocka_unit_test(casts_saturate),
        cmocka_unit_test(all_pairs_of_i8),        cmocka_unit_test(two_bytes_wrap),
        cmocka_unit_test(parameters_saturate),    cmocka_unit_test(sums_are_wide),
        cmocka_unit_test(values_of_batches_wrap),
    };
    return cmocka_run_group_tests_name("integers of one and two bytes", tests, NULL, NULL);
}
