/* SPDX-License-Identifier: MIT */
/* What a program learns of a kernel and of a launch's groups. */
#include "../support/rig.h"

#include <stdio.h>
#include <string.h>

static const char source[] =
    "kernel void mixed(global const float *restrict from, volatile global int *to,\n"
    "                  constant uint *table, local float *scratch, float4 factor) {\n"
    "    local float own[64];\n"
    "    own[get_local_id(0) % 64] = from[get_global_id(0)];\n"
    "    scratch[get_local_id(0)] = own[get_local_id(0) % 64];\n"
    "    to[get_global_id(0)] = (int)(scratch[0] * factor.x + own[0]) + (int)table[0];\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(4, 2, 1))) void by_eights(global uint *out) {\n"
    "    out[get_global_id(0)] = 1;\n"
    "}\n"
    "kernel void place(global uint *out) { out[get_global_id(0)] = 1; }\n"
    "kernel void nothing(void) {}\n";

static cls_program program;

static int setup(void **state) {
    return rig_setup(state) ||
           cls_program_from_source(rig.context, source, "info.cl", NULL, &program);
}

static int teardown(void **state) { return cls_program_destroy(program) || rig_teardown(state); }

static cls_kernel kernel_of(const char *name) {
    cls_kernel kernel = NULL;
    OK(cls_kernel_create(program, name, &kernel));
    return kernel;
}

static cls_kernel_info info_of(cls_kernel kernel) {
    cls_kernel_info info = CLS_KERNEL_INFO_INIT;
    OK(cls_kernel_get_info(kernel, &info));
    return info;
}

static void test_limits_and_memory(void **state) {
    (void)state;
    cls_kernel mixed = kernel_of("mixed"), by_eights = kernel_of("by_eights");
    cls_kernel nothing = kernel_of("nothing");
    const cls_kernel_info info = info_of(mixed), fixed = info_of(by_eights);
    cls_device_info device = CLS_DEVICE_INFO_INIT;
    size_t index;
    OK(cls_context_get_device(rig.context, &index));
    OK(cls_device_get_info(index, &device));
    assert_int_equal(info.arguments, 5);
    assert_true(info.max_group >= 1 && info.group_multiple >= 1);
    assert_true(info.local_bytes <= device.local_memory);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(info.required_group[i], 0);
    assert_int_equal(fixed.arguments, 1);
    assert_true(fixed.required_group[0] == 4 && fixed.required_group[1] == 2 &&
                fixed.required_group[2] == 1);
    assert_int_equal(info_of(nothing).arguments, 0);
    OK(cls_kernel_destroy(mixed));
    OK(cls_kernel_destroy(by_eights));
    OK(cls_kernel_destroy(nothing));
}

static void test_arguments(void **state) {
    (void)state;
    static const struct {
        const char *name, *type;
        cls_address_space space;
        int is_const, is_restrict, is_volatile;
    } wanted[] = {{"from", "float*", CLS_ADDRESS_GLOBAL, 1, 1, 0},
                  {"to", "int*", CLS_ADDRESS_GLOBAL, 0, 0, 1},
                  {"table", "uint*", CLS_ADDRESS_CONSTANT, 1, 0, 0},
                  {"scratch", "float*", CLS_ADDRESS_LOCAL, 0, 0, 0},
                  {"factor", "float4", CLS_ADDRESS_PRIVATE, 0, 0, 0}};
    cls_kernel mixed = kernel_of("mixed");
    for (unsigned i = 0; i < 5; i++) {
        cls_kernel_arg_info arg = CLS_KERNEL_ARG_INFO_INIT;
        const cls_status status = cls_kernel_get_arg_info(mixed, i, &arg);
        if (status == CLS_ERROR_UNSUPPORTED)
            SKIP_BECAUSE("%s", cls_last_error_detail());
        OK(status);
        assert_string_equal(arg.name, wanted[i].name);
        assert_string_equal(arg.type_name, wanted[i].type);
        assert_int_equal(arg.space, wanted[i].space);
        assert_int_equal(arg.image_access, CLS_ACCESS_UNKNOWN);
        assert_int_equal(arg.is_restrict, wanted[i].is_restrict);
        assert_int_equal(arg.is_volatile, wanted[i].is_volatile);
        if (arg.space != CLS_ADDRESS_CONSTANT) /* drivers do not agree */
            assert_int_equal(arg.is_const, wanted[i].is_const);
        assert_false(arg.is_pipe);
    }
    OK(cls_kernel_destroy(mixed));
}

static void test_refusals_write_nothing(void **state) {
    (void)state;
    cls_kernel mixed = kernel_of("mixed");
    cls_kernel_arg_info arg = CLS_KERNEL_ARG_INFO_INIT;
    cls_kernel_info info = CLS_KERNEL_INFO_INIT;
    arg.is_pipe = 77;
    info.arguments = 77;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_kernel_get_arg_info(mixed, 5, &arg));
    assert_non_null(strstr(cls_last_error_detail(), "'mixed' has no argument 5"));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_get_arg_info(mixed, 0, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_get_info(mixed, NULL));
    info.size = sizeof info + 8;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_get_info(mixed, &info));
    info.size = sizeof info;
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_kernel_get_info(NULL, &info));
    OK(cls_kernel_destroy(mixed));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_kernel_get_info(mixed, &info));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_kernel_get_arg_info(mixed, 0, &arg));
    assert_true(arg.is_pipe == 77 && info.arguments == 77);
}

static void expect_local(cls_kernel kernel, cls_launch launch, size_t x, size_t y, size_t z) {
    size_t local[3] = {77, 77, 77};
    OK(cls_kernel_suggest_local(kernel, &launch, local));
    if (local[0] != x || local[1] != y || local[2] != z)
        fail_msg("%zu x %zu x %zu", local[0], local[1], local[2]);
}

static void test_the_local_size_of_a_launch(void **state) {
    (void)state;
    cls_kernel place = kernel_of("place"), by_eights = kernel_of("by_eights");
    cls_launch own = {2, {8, 4, 1}, {2, 1, 0}, {0, 0, 0}, NULL, 0};
    expect_local(place, own, 2, 1, 1);
    expect_local(place, cls_launch_1d(4), 0, 0, 0);
    expect_local(place, cls_launch_1d(0), 0, 0, 0);
    expect_local(by_eights, cls_launch_2d(8, 4), 4, 2, 1);
    size_t local[3] = {77, 77, 77};
    own.local[0] = 3;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_suggest_local(place, &own, local));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_suggest_local(place, NULL, local));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_suggest_local(place, &own, NULL));
    own = cls_launch_1d(4);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_suggest_local(by_eights, &own, local));
    assert_true(local[0] == 77 && local[1] == 77 && local[2] == 77);
    OK(cls_kernel_destroy(place));
    OK(cls_kernel_destroy(by_eights));
}

/* A size without divisors, in many groups as a whole: the library's choice. */
static void test_the_choice_of_the_library(void **state) {
    (void)state;
    cls_kernel place = kernel_of("place");
    cls_device_info device = CLS_DEVICE_INFO_INIT;
    size_t index;
    OK(cls_context_get_device(rig.context, &index));
    OK(cls_device_get_info(index, &device));
    if (device.max_work_group < 263 || info_of(place).max_group < 263)
        SKIP_BECAUSE("this device has small groups only");
    expect_local(place, cls_launch_2d(263, 512), 263, 1, 1);
    OK(cls_kernel_destroy(place));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits_and_memory),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_refusals_write_nothing),
        cmocka_unit_test(test_the_local_size_of_a_launch),
        cmocka_unit_test(test_the_choice_of_the_library),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
