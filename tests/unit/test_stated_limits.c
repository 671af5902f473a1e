/* SPDX-License-Identifier: MIT */
/* The limits of a kernel that a driver states are hints: what the driver accepts is launched, and where it refuses, the
 * detail has its code and its limit. The driver is played at the link (--wrap). */
#include "../support/test.h"

#include <string.h>

#include <clstream.h>
#include <clstream/opencl.h>

#include "driver/device.h"
#include "driver/quirk.h"
#include "wrapped_launch.h"

enum { ITEMS = 64, STATED = 32 };

static size_t stated_group; /* 0: as the driver says */
static cl_ulong stated_local;
static cl_int refusal;

cl_int __real_clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                       cl_kernel_work_group_info what, size_t size, void *to,
                                       size_t *used);
cl_int __wrap_clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                       cl_kernel_work_group_info what, size_t size, void *to,
                                       size_t *used);

cl_int __wrap_clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                       cl_kernel_work_group_info what, size_t size, void *to,
                                       size_t *used) {
    const cl_int code = __real_clGetKernelWorkGroupInfo(kernel, device, what, size, to, used);
    if (code == CL_SUCCESS && to && what == CL_KERNEL_WORK_GROUP_SIZE && stated_group)
        memcpy(to, &stated_group, sizeof stated_group);
    if (code == CL_SUCCESS && to && what == CL_KERNEL_LOCAL_MEM_SIZE && stated_local)
        memcpy(to, &stated_local, sizeof stated_local);
    return code;
}

cl_int launch_instead(const struct wrapped_launch *call) {
    return refusal ? refusal : launch_really(call);
}

/* --- a kernel that the driver states something of --- */

static const char source[] = "kernel void fill(global uint *words, uint value) {\n"
                             "    words[get_global_id(0)] = value + (uint)get_local_size(0);\n"
                             "}\n";

static struct side {
    cls_program program;
    cls_kernel kernel;
    cls_buffer words;
} side;

static void open_side(size_t group, cl_ulong local) {
    stated_group = group;
    stated_local = local;
    assert_int_equal(cls_program_from_source(NULL, source, "fill.cl", NULL, &side.program), 0);
    assert_int_equal(cls_kernel_create(side.program, "fill", &side.kernel), 0);
    assert_int_equal(cls_buffer_create(NULL, ITEMS * sizeof(uint32_t), &side.words), 0);
}

static void close_side(void) {
    refusal = CL_SUCCESS;
    assert_int_equal(cls_buffer_destroy(side.words), 0);
    assert_int_equal(cls_kernel_destroy(side.kernel), 0);
    assert_int_equal(cls_program_destroy(side.program), 0);
}

static cls_status launch(uint32_t value) {
    const cls_launch shape = {1, {ITEMS, 1, 1}, {ITEMS, 1, 1}, {0, 0, 0}, NULL, 0};
    const cls_arg args[] = {cls_arg_buffer(side.words), cls_arg_u32(value)};
    return cls_kernel_launch(side.kernel, &shape, args, 2, NULL);
}

static void expect_launched(uint32_t value) {
    uint32_t words[ITEMS];
    assert_int_equal(launch(value), CLS_SUCCESS);
    assert_int_equal(cls_copy_d2h(words, side.words, 0, sizeof words, NULL), CLS_SUCCESS);
    for (unsigned i = 0; i < ITEMS; i++)
        assert_int_equal(words[i], value + ITEMS);
}

static void group_beyond_the_stated_size_is_launched(void **state) {
    (void)state;
    open_side(STATED, 0);
    expect_launched(7);
    close_side();
}

static void refused_group_names_the_stated_size(void **state) {
    (void)state;
    open_side(STATED, 0);
    refusal = CL_INVALID_WORK_GROUP_SIZE;
    assert_int_equal(launch(7), CLS_ERROR_INVALID_VALUE);
    assert_non_null(strstr(cls_last_error_detail(), "CL_INVALID_WORK_GROUP_SIZE (-54)"));
    assert_non_null(strstr(cls_last_error_detail(), "64 work-items"));
    assert_non_null(strstr(cls_last_error_detail(), "states 32"));
    assert_non_null(strstr(cls_last_error_detail(), "reqd_work_group_size"));
    refusal = CL_SUCCESS;
    expect_launched(8); /* nothing was poisoned */
    close_side();
}

static void refused_group_within_the_stated_size_has_the_drivers_code_alone(void **state) {
    (void)state;
    open_side(ITEMS, 0);
    refusal = CL_OUT_OF_RESOURCES;
    assert_int_equal(launch(7), CLS_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_null(strstr(cls_last_error_detail(), "reqd_work_group_size"));
    close_side();
}

static struct device *default_device(void) {
    struct device *device;
    assert_int_equal(device_find(NULL, &device), CLS_SUCCESS);
    return device;
}

static void local_memory_of_its_own_is_the_drivers_to_judge(void **state) {
    struct device *device = default_device();
    const unsigned quirks = device->quirks;
    (void)state;
    open_side(0, device->info.local_memory + 1);
    device->quirks = quirks | QUIRK_LOCAL_MEMORY_ABORTS;
    assert_int_equal(launch(7), CLS_ERROR_INVALID_VALUE);
    device->quirks = quirks & ~(unsigned)QUIRK_LOCAL_MEMORY_ABORTS;
    expect_launched(9);
    device->quirks = quirks;
    close_side();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(group_beyond_the_stated_size_is_launched),
        cmocka_unit_test(refused_group_names_the_stated_size),
        cmocka_unit_test(refused_group_within_the_stated_size_has_the_drivers_code_alone),
        cmocka_unit_test(local_memory_of_its_own_is_the_drivers_to_judge),
    };
    return cmocka_run_group_tests_name("stated_limits", tests, NULL, NULL);
}
