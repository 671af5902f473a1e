/* SPDX-License-Identifier: MIT */
/* What the calls of operations refuse, leave alone, and find by name. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "last_op.h"

static const float ramp[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

static void check_f32(cls_array view, const float *expected) {
    float *got = view_take(view);
    check_array("result", CLS_F32, got, expected, NULL, view.count, CLS_F32, NULL);
    free(got);
}

static void unequal_counts_are_refused(void **state) {
    (void)state;
    cls_array a = view_make(CLS_F32, 0, 16, ramp), b = view_make(CLS_F32, 0, 15, ramp);
    cls_array mask = view_make(CLS_U8, 0, 15, NULL);
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_cast(a, b, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_unary(CLS_UNARY_RELU, a, b, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_unary_param(CLS_UNARY_SCALE, a, b, 2, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_binary(CLS_BINARY_ADD, a, a, b, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_binary(CLS_BINARY_ADD, a, b, a, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_where(mask, a, a, a, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH,
           cls_dot_async(a, b, cls_array_at(b.buffer, CLS_F32, 20, 1), NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_reduce_async(CLS_REDUCE_SUM, a, b, NULL));
    view_destroy(mask);
    view_destroy(b);
    check_f32(a, ramp);
}

static void types_that_do_not_go_together_are_refused(void **state) {
    (void)state;
    cls_array f = view_make(CLS_F32, 0, 4, ramp), i = view_make(CLS_I32, 0, 4, NULL);
    cls_array u = view_make(CLS_U32, 0, 4, NULL), mask = view_make(CLS_U8, 0, 4, NULL);
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_unary(CLS_UNARY_RELU, f, i, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_unary(CLS_UNARY_EXP, i, i, NULL));
    assert_non_null(strstr(cls_last_error_detail(), "exp"));
    assert_non_null(strstr(cls_last_error_detail(), "i32"));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_unary_param(CLS_UNARY_ELU, i, i, 1, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_binary(CLS_BINARY_POW, i, i, i, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_binary(CLS_BINARY_ADD, f, i, f, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_binary(CLS_BINARY_LT, f, f, f, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_where(f, f, f, i, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_where(u, f, f, i, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_where(mask, f, i, u, NULL));
    cls_array bad = f;
    bad.dtype = (cls_dtype)77;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_unary(CLS_UNARY_RELU, bad, f, NULL));
    view_destroy(i);
    view_destroy(u);
    view_destroy(mask);
    check_f32(f, ramp);
}

static void unknown_operations_are_refused(void **state) {
    (void)state;
    float result = 7;
    cls_array a = view_make(CLS_F32, 0, 4, ramp);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_unary((cls_unary_op)0, a, a, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_unary((cls_unary_op)1000, a, a, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_unary_param((cls_unary_param_op)-1, a, a, 1, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_binary((cls_binary_op)1000, a, a, a, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_reduce((cls_reduce_op)1000, a, &result, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_reduce(CLS_REDUCE_SUM, a, NULL, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_dot(a, a, NULL, NULL));
    assert_true(result == 7);
    check_f32(a, ramp);
}

static void bad_handles_and_ranges_are_refused(void **state) {
    (void)state;
    cls_array a = view_make(CLS_F32, 0, 16, ramp), none = a, outside = a, huge = a;
    none.buffer = NULL;
    outside.offset = 1000;
    huge.offset = SIZE_MAX / 2;
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_unary(CLS_UNARY_RELU, none, a, NULL));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_unary(CLS_UNARY_RELU, a, a, (cls_stream)(void *)ramp));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_unary(CLS_UNARY_RELU, outside, a, NULL));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_cast(a, huge, NULL));
    check_f32(a, ramp);
}

static void partial_overlap_is_refused(void **state) {
    (void)state;
    const float doubled[16] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
    cls_array all = view_make(CLS_F32, 0, 16, ramp);
    const cls_array low = cls_array_at(all.buffer, CLS_F32, 0, 8);
    const cls_array shifted = cls_array_at(all.buffer, CLS_F32, 1, 8);
    const cls_array high = cls_array_at(all.buffer, CLS_F32, 8, 8);
    const cls_array bytes = cls_array_at(all.buffer, CLS_U8, 0, 8);
    EXPECT(CLS_ERROR_OVERLAP, cls_unary(CLS_UNARY_NEG, low, shifted, NULL));
    EXPECT(CLS_ERROR_OVERLAP, cls_binary(CLS_BINARY_ADD, high, low, shifted, NULL));
    EXPECT(CLS_ERROR_OVERLAP, cls_cast(low, bytes, NULL));
    EXPECT(CLS_ERROR_OVERLAP, cls_where(bytes, high, low, low, NULL));
    EXPECT(CLS_ERROR_OVERLAP,
           cls_reduce_async(CLS_REDUCE_SUM, low, cls_array_at(all.buffer, CLS_F32, 3, 1), NULL));
    /* Halves side by side, inputs that overlap each other, and the same bytes are all right. */
    OK(cls_unary(CLS_UNARY_COPY, low, high, NULL));
    OK(cls_unary(CLS_UNARY_COPY, all, all, NULL));
    float sum = 0;
    OK(cls_dot(low, shifted, &sum, NULL));
    OK(cls_copy_h2d(all.buffer, 0, ramp, sizeof ramp, NULL));
    OK(cls_binary(CLS_BINARY_ADD, all, all, all, NULL));
    check_f32(all, doubled);
}

static void no_elements_is_no_work(void **state) {
    (void)state;
    cls_array all = view_make(CLS_F32, 0, 16, ramp);
    const cls_array none = cls_array_at(all.buffer, CLS_F32, 3, 0);
    cls_stream_counters before = CLS_STREAM_COUNTERS_INIT, after = CLS_STREAM_COUNTERS_INIT;
    OK(cls_stream_get_counters(NULL, &before));
    OK(cls_cast(none, none, NULL));
    OK(cls_unary(CLS_UNARY_EXP, none, none, NULL));
    OK(cls_binary_async(CLS_BINARY_ADD, none, none, none, NULL));
    OK(cls_unary_param_async(CLS_UNARY_ELU, none, none, 1, NULL));
    OK(cls_unary_named("relu", none, none, NULL));
    OK(cls_stream_get_counters(NULL, &after));
    assert_int_equal(before.submitted, after.submitted);
    check_f32(all, ramp);
}

/* Not even with bytes on either side of where they are not. */
static void no_elements_overlap_nothing(void **state) {
    (void)state;
    cls_array all = view_make(CLS_F32, 0, 16, ramp);
    const cls_array none = cls_array_at(all.buffer, CLS_I32, 3, 0);
    OK(cls_reduce_async(CLS_REDUCE_SUM, none, cls_array_at(all.buffer, CLS_I64, 1, 1), NULL));
    float expected[16];
    memcpy(expected, ramp, sizeof expected);
    expected[2] = expected[3] = 0;
    check_f32(all, expected);
}

static void f64_needs_the_device_to_have_it(void **state) {
    (void)state;
    if (device_has_f64())
        SKIP_BECAUSE("the device has f64");
    cls_array f32 = view_make(CLS_F32, 0, 4, ramp), f64 = view_make(CLS_F64, 0, 4, NULL);
    cls_array mask = view_make(CLS_U8, 0, 4, NULL), ints = view_make(CLS_I32, 0, 4, NULL);
    double result = 0;
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_cast(f32, f64, NULL));
    assert_non_null(strstr(cls_last_error_detail(), "f64"));
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_unary(CLS_UNARY_RELU, f64, f64, NULL));
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_where(mask, f64, f64, f64, NULL));
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_reduce(CLS_REDUCE_SUM, f64, &result, NULL));
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_reduce(CLS_REDUCE_MEAN, ints, &result, NULL));
    view_destroy(f32);
    view_destroy(f64);
    view_destroy(mask);
    view_destroy(ints);
}

/* ---- by name */

static const char *const kernels =
    "kernel void halve(global const float *in, ulong in_offset, global float *out,\n"
    "                  ulong out_offset, ulong count) {\n"
    "    size_t i = get_global_id(0);\n"
    "    if (i < count) out[out_offset + i] = in[in_offset + i] / 2;\n"
    "}\n"
    "kernel void lift(global const float *in, ulong in_offset, global float *out,\n"
    "                 ulong out_offset, ulong count, float param) {\n"
    "    size_t i = get_global_id(0);\n"
    "    if (i < count) out[out_offset + i] = in[in_offset + i] + param;\n"
    "}\n"
    "kernel void narrow(global const float *in, ulong in_offset, global uchar *out,\n"
    "                   ulong out_offset, ulong count) {\n"
    "    size_t i = get_global_id(0);\n"
    "    if (i < count) out[out_offset + i] = (uchar)(in[in_offset + i] + 100);\n"
    "}\n"
    "kernel void swapped(global const uchar *c, ulong c_offset, global const float *t,\n"
    "                    ulong t_offset, global const float *f, ulong f_offset,\n"
    "                    global float *out, ulong out_offset, ulong count) {\n"
    "    size_t i = get_global_id(0);\n"
    "    if (i < count) out[out_offset + i] =\n"
    "        c[c_offset + i] ? f[f_offset + i] : t[t_offset + i];\n"
    "}\n";

static cls_kernel register_kernel(cls_program program, const char *kernel, const char *name) {
    cls_kernel made = NULL;
    OK(cls_kernel_create(program, kernel, &made));
    OK(cls_kernel_register(made, name));
    return made;
}

static void names_of_the_library(void **state) {
    (void)state;
    const uint8_t bytes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const float tripled[16] = {0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36, 39, 42, 45};
    cls_array in = view_make(CLS_F32, 0, 16, ramp), out = view_make(CLS_F32, 1, 16, NULL);
    cls_array mask = view_make(CLS_U8, 0, 16, bytes);
    EXPECT(CLS_ERROR_NOT_FOUND, cls_unary_named("no such thing", in, out, NULL));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_unary_named("elu", in, out, NULL));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_cast_named("relu", in, out, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_unary_named(NULL, in, out, NULL));
    OK(cls_cast_named("cast", mask, out, NULL));
    OK(cls_unary_param_named_async("scale", out, out, 3, NULL));
    OK(cls_where_named_async("where", mask, out, in, out, NULL));
    OK(cls_unary_named("relu", out, out, NULL));
    view_destroy(in);
    view_destroy(mask);
    check_f32(out, tripled);
}

static void registered_kernels_come_first(void **state) {
    (void)state;
    const float halved[16] = {0, .5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5};
    const float lifted[16] = {9,  9.5,  10, 10.5, 11, 11.5, 12, 12.5,
                              13, 13.5, 14, 14.5, 15, 15.5, 16, 16.5};
    const uint8_t narrowed[16] = {100, 101, 102, 103, 104, 105, 106, 107,
                                  108, 109, 110, 111, 112, 113, 114, 115};
    cls_program program = NULL;
    OK(cls_program_from_source(NULL, kernels, "kernels.cl", NULL, &program));
    cls_kernel made[4] = {register_kernel(program, "halve", "relu"),
                          register_kernel(program, "lift", "lift"),
                          register_kernel(program, "narrow", "narrow"),
                          register_kernel(program, "swapped", "swapped")};
    cls_array in = view_make(CLS_F32, 0, 16, ramp), out = view_make(CLS_F32, 1, 16, NULL);
    cls_array mask = view_make(CLS_U8, 3, 16, NULL);
    OK(cls_unary_named("relu", in, out, NULL));
    float *got = view_read(out);
    assert_memory_equal(got, halved, sizeof halved);
    free(got);
    OK(cls_unary_param_named("lift", out, out, 9, NULL));
    OK(cls_cast_named("narrow", in, mask, NULL));
    OK(cls_where_named("swapped", mask, in, out, in, NULL)); /* all true: out's */
    EXPECT(CLS_ERROR_SIZE_MISMATCH,
           cls_unary_named("relu", in, cls_array_at(out.buffer, CLS_F32, 1, 15), NULL));
    OK(cls_kernel_unregister(NULL, "relu"));
    OK(cls_unary_named("relu", out, out, NULL)); /* the library's own again */
    uint8_t *bytes = view_take(mask);
    assert_memory_equal(bytes, narrowed, sizeof narrowed);
    free(bytes);
    check_f32(in, lifted);
    check_f32(out, lifted);
    for (unsigned i = 0; i < 4; i++)
        OK(cls_kernel_destroy(made[i]));
    OK(cls_kernel_unregister(NULL, "lift"));
    OK(cls_kernel_unregister(NULL, "narrow"));
    OK(cls_kernel_unregister(NULL, "swapped"));
    OK(cls_program_destroy(program));
}

static void names_and_constants_match(void **state) {
    (void)state;
    cls_unary_op unary = CLS_UNARY_COPY;
    cls_unary_param_op param = CLS_UNARY_ELU;
    cls_binary_op binary = CLS_BINARY_ADD;
    cls_reduce_op reduce = CLS_REDUCE_SUM;
    for (int op = 1; op <= LAST_UNARY; op++) {
        OK(cls_unary_op_parse(cls_unary_op_name((cls_unary_op)op), &unary));
        assert_int_equal(unary, op);
    }
    for (int op = 1; op <= LAST_UNARY_PARAM; op++) {
        OK(cls_unary_param_op_parse(cls_unary_param_op_name((cls_unary_param_op)op), &param));
        assert_int_equal(param, op);
    }
    for (int op = 1; op <= LAST_BINARY; op++) {
        OK(cls_binary_op_parse(cls_binary_op_name((cls_binary_op)op), &binary));
        assert_int_equal(binary, op);
    }
    for (int op = 1; op <= LAST_REDUCE; op++) {
        OK(cls_reduce_op_parse(cls_reduce_op_name((cls_reduce_op)op), &reduce));
        assert_int_equal(reduce, op);
    }
    assert_string_equal(cls_unary_op_name((cls_unary_op)999), "?");
    EXPECT(CLS_ERROR_NOT_FOUND, cls_unary_op_parse("elu", &unary));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_unary_op_parse(NULL, &unary));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_binary_op_parse("add", NULL));
    assert_int_equal(unary, LAST_UNARY);
}

static void types_and_names_match(void **state) {
    (void)state;
    static const size_t sizes[TYPES] = {4, 8, 4, 8, 1, 4, 2, 2, 1, 2, 2};
    cls_dtype type = CLS_F32;
    for (unsigned i = 0; i < TYPES; i++) {
        OK(cls_dtype_parse(cls_dtype_name(all_types[i]), &type));
        assert_int_equal(type, all_types[i]);
        assert_int_equal(cls_dtype_size(type), sizes[i]);
    }
    assert_int_equal(cls_dtype_size((cls_dtype)0), 0);
    assert_string_equal(cls_dtype_name((cls_dtype)99), "?");
    EXPECT(CLS_ERROR_NOT_FOUND, cls_dtype_parse("u64", &type));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_dtype_parse(NULL, &type));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_dtype_parse("f32", NULL));
}

/* ---- parameters */

static void integer_parameters_truncate_and_saturate(void **state) {
    (void)state;
    const int32_t in[4] = {-5, 0, 7, INT32_MAX};
    static const struct {
        double param;
        int32_t low[4];
    } cases[] = {
        {2.9, {2, 2, 7, INT32_MAX}},
        {-2.9, {-2, 0, 7, INT32_MAX}},
        {1e300, {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX}},
        {-INFINITY, {-5, 0, 7, INT32_MAX}},
        {NAN, {0, 0, 7, INT32_MAX}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cls_array view = view_make(CLS_I32, 0, 4, in);
        OK(cls_unary_param(CLS_UNARY_CLAMP_MIN, view, view, cases[i].param, NULL));
        int32_t *got = view_take(view);
        assert_memory_equal(got, cases[i].low, sizeof in);
        free(got);
    }
}

static void typed_parameters_keep_all_bits(void **state) {
    (void)state;
    const int64_t in[2] = {0, 1}, odd = (INT64_C(1) << 60) + 1;
    cls_array view = view_make(CLS_I64, 0, 2, in);
    OK(cls_add_scalar_i64(view, view, odd, NULL));
    int64_t *got = view_take(view);
    assert_true(got[0] == odd && got[1] == odd + 1);
    free(got);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(unequal_counts_are_refused),
        cmocka_unit_test(types_that_do_not_go_together_are_refused),
        cmocka_unit_test(unknown_operations_are_refused),
        cmocka_unit_test(bad_handles_and_ranges_are_refused),
        cmocka_unit_test(partial_overlap_is_refused),
        cmocka_unit_test(no_elements_is_no_work),
        cmocka_unit_test(no_elements_overlap_nothing),
        cmocka_unit_test(f64_needs_the_device_to_have_it),
        cmocka_unit_test(names_of_the_library),
        cmocka_unit_test(registered_kernels_come_first),
        cmocka_unit_test(names_and_constants_match),
        cmocka_unit_test(types_and_names_match),
        cmocka_unit_test(integer_parameters_truncate_and_saturate),
        cmocka_unit_test(typed_parameters_keep_all_bits),
    };
    prepare_tests();
    return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}
