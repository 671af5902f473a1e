/* SPDX-License-Identifier: MIT */
/* Kernels of the user's that are registered under a name, for the calls that take one. */
#include "../support/rig.h"

#include <string.h>

#include <clstream/cast.h>
#include <clstream/unary.h>
#include <clstream/where.h>

static const char generic[] =
    "kernel void half_of(global const float *in, ulong from, global float *out, ulong to, ulong n) "
    "{\n    if (get_global_id(0) < n) out[to + get_global_id(0)] = in[from + get_global_id(0)] / 2;\n"
    "}\n"
    "kernel void as_negative(global const float *in, ulong from, global int *out, ulong to, "
    "ulong n) {\n"
    "    if (get_global_id(0) < n) out[to + get_global_id(0)] = -(int)in[from + get_global_id(0)];\n"
    "}\n";

static void test_a_registered_kernel_serves_by_its_name(void **state) {
    (void)state;
    cls_program own;
    cls_kernel half_of, as_negative;
    float in[] = {2, 4, 6, 8, 10};
    float out[5];
    int32_t ints[5];
    cls_buffer a, b;
    OK(cls_program_from_source(rig.context, generic, "generic.cl", NULL, &own));
    OK(cls_kernel_create(own, "half_of", &half_of));
    OK(cls_kernel_create(own, "as_negative", &as_negative));
    OK(cls_buffer_from_host(rig.context, in, sizeof in, &a));
    OK(cls_buffer_create(rig.context, sizeof in, &b));
    cls_array from = cls_array_of(a, CLS_F32, 5), to = cls_array_of(b, CLS_F32, 5);
    EXPECT(CLS_ERROR_NOT_FOUND, cls_unary_named("half", from, to, NULL));
    OK(cls_kernel_register(half_of, "half"));
    OK(cls_kernel_register(as_negative, "negative"));
    OK(cls_kernel_destroy(half_of));
    OK(cls_kernel_destroy(as_negative));
    OK(cls_program_destroy(own));
    OK(cls_unary_named("half", from, to, NULL));
    OK(cls_buffer_to_host(b, out, sizeof out));
    for (int i = 0; i < 5; i++)
        assert_true(out[i] == in[i] / 2);
    OK(cls_cast_named("negative", from, cls_array_of(b, CLS_I32, 5), NULL));
    OK(cls_buffer_to_host(b, ints, sizeof ints));
    for (int i = 0; i < 5; i++)
        assert_int_equal(ints[i], -(int)in[i]);
    OK(cls_kernel_unregister(rig.context, "half"));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_kernel_unregister(rig.context, "half"));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_unary_named("half", from, to, NULL));
    OK(cls_kernel_unregister(rig.context, "negative"));
    OK(cls_buffer_destroy(a));
    OK(cls_buffer_destroy(b));
}

/* Its parameters are compared with what a named call passes: some drivers would read past a value. */
static void test_a_registered_kernel_of_other_parameters_is_refused(void **state) {
    (void)state;
    rig_need("structure_arguments");
    static const char wrong[] =
        "typedef struct { ulong a, b; } two;\n"
        "kernel void wide(global const float *in, ulong from, global float *out, ulong to, two n) {\n"
        "    out[to] = in[from] + n.b;\n"
        "}\n"
        "kernel void value(global const float *in, ulong from, ulong out, ulong to, ulong n) {}\n";
    cls_program own;
    cls_kernel kernel;
    cls_buffer cells = rig_cells(10);
    const cls_array from = cls_array_of(cells, CLS_F32, 5), to = cls_array_at(cells, CLS_F32, 5, 5);
    OK(cls_program_from_source(rig.context, wrong, "wrong.cl", NULL, &own));
    for (int i = 0; i < 2; i++) {
        OK(cls_kernel_create(own, i ? "value" : "wide", &kernel));
        OK(cls_kernel_register(kernel, "wrong"));
        OK(cls_kernel_destroy(kernel));
        EXPECT(CLS_ERROR_INVALID_VALUE, cls_unary_named("wrong", from, to, NULL));
        assert_non_null(strstr(cls_last_error_detail(), i ? "argument 2" : "argument 4"));
    }
    OK(cls_kernel_unregister(rig.context, "wrong"));
    OK(cls_program_destroy(own));
    OK(cls_buffer_destroy(cells));
}

static void test_a_registered_kernel_may_fix_its_group(void **state) {
    static const char fixed[] =
        "#define PARAMETERS global const float *in, ulong i, global float *out, ulong o, ulong n\n"
        "kernel __attribute__((reqd_work_group_size(8, 1, 1))) void by_8(PARAMETERS) {\n"
        "    size_t at = get_global_id(0);\n"
        "    if (at < n) out[o + at] = in[i + at] + get_local_size(0);\n"
        "}\n"
        "kernel __attribute__((reqd_work_group_size(4, 2, 1))) void by_4_and_2(PARAMETERS) {}\n";
    static const char *const names[] = {"by_8", "by_4_and_2"};
    enum { COUNT = 300 };
    float out[COUNT], zero[COUNT] = {0};
    cls_program own;
    cls_buffer cells;
    (void)state;
    OK(cls_program_from_source(rig.context, fixed, NULL, NULL, &own));
    for (int i = 0; i < 2; i++) {
        cls_kernel kernel;
        OK(cls_kernel_create(own, names[i], &kernel));
        OK(cls_kernel_register(kernel, names[i]));
        OK(cls_kernel_destroy(kernel));
    }
    OK(cls_program_destroy(own));
    OK(cls_buffer_from_host(rig.context, zero, sizeof zero, &cells));
    cls_array all = cls_array_of(cells, CLS_F32, COUNT);
    OK(cls_unary_named("by_8", all, all, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_unary_named_async("by_4_and_2", all, all, NULL));
    OK(cls_buffer_to_host(cells, out, sizeof out));
    for (int i = 0; i < COUNT; i++)
        assert_true(out[i] == 8);
    for (int i = 0; i < 2; i++)
        OK(cls_kernel_unregister(rig.context, names[i]));
    OK(cls_buffer_destroy(cells));
}

/* The user's launches and the library's set the arguments of one kernel in turns. */
static void test_a_registered_kernel_is_launched_by_its_user_too(void **state) {
    (void)state;
    cls_program own;
    cls_kernel half_of;
    float in[] = {2, 4}, out[2], zero[] = {0, 0};
    cls_buffer a, b, c;
    cls_stream stream = rig_stream();
    OK(cls_program_from_source(rig.context, generic, NULL, NULL, &own));
    OK(cls_kernel_create(own, "half_of", &half_of));
    OK(cls_buffer_from_host(rig.context, in, sizeof in, &a));
    OK(cls_buffer_from_host(rig.context, zero, sizeof zero, &b));
    OK(cls_buffer_from_host(rig.context, zero, sizeof zero, &c));
    cls_array from = cls_array_of(a, CLS_F32, 2), to = cls_array_of(c, CLS_F32, 2);
    cls_arg args[] = {cls_arg_buffer(a), cls_arg_u64(0), cls_arg_buffer(b), cls_arg_u64(0),
                      cls_arg_u64(2)};
    cls_launch shape = cls_launch_1d(2);
    OK(cls_kernel_register(half_of, "half"));
    for (int turn = 0; turn < 3; turn++) {
        OK(cls_copy_h2d(b, 0, zero, sizeof zero, stream));
        OK(cls_kernel_launch_async(half_of, &shape, args, 5, stream));
        OK(cls_unary_named("half", from, to, stream));
        OK(cls_copy_d2h(out, b, 0, sizeof out, stream));
        assert_true(out[0] == 1 && out[1] == 2);
    }
    OK(cls_kernel_unregister(rig.context, "half"));
    OK(cls_kernel_destroy(half_of));
    OK(cls_program_destroy(own));
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(a));
    OK(cls_buffer_destroy(b));
    OK(cls_buffer_destroy(c));
}

/* A name of the library's own is taken over, and comes back when it is taken away. */
static void test_a_registered_kernel_comes_before_the_librarys(void **state) {
    (void)state;
    cls_program own;
    cls_kernel half_of;
    float in[] = {-2, 4}, out[2];
    cls_buffer a, b;
    OK(cls_program_from_source(rig.context, generic, NULL, NULL, &own));
    OK(cls_kernel_create(own, "half_of", &half_of));
    OK(cls_buffer_from_host(rig.context, in, sizeof in, &a));
    OK(cls_buffer_create(rig.context, sizeof in, &b));
    cls_array from = cls_array_of(a, CLS_F32, 2), to = cls_array_of(b, CLS_F32, 2);
    OK(cls_kernel_register(half_of, "relu"));
    OK(cls_unary_named("relu", from, to, NULL));
    OK(cls_buffer_to_host(b, out, sizeof out));
    assert_true(out[0] == -1 && out[1] == 2);
    OK(cls_kernel_unregister(rig.context, "relu"));
    OK(cls_unary_named("relu", from, to, NULL));
    OK(cls_buffer_to_host(b, out, sizeof out));
    assert_true(out[0] == 0 && out[1] == 4);
    OK(cls_kernel_destroy(half_of));
    OK(cls_program_destroy(own));
    OK(cls_buffer_destroy(a));
    OK(cls_buffer_destroy(b));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_registered_kernel_serves_by_its_name),
        cmocka_unit_test(test_a_registered_kernel_of_other_parameters_is_refused),
        cmocka_unit_test(test_a_registered_kernel_may_fix_its_group),
        cmocka_unit_test(test_a_registered_kernel_is_launched_by_its_user_too),
        cmocka_unit_test(test_a_registered_kernel_comes_before_the_librarys),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
