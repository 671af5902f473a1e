/* SPDX-License-Identifier: MIT */
/* What a program learns of a device before there is a context, beside what OpenCL itself says. */
#include "../support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/device.h>
#include <clstream/opencl.h>

static size_t devices;

static int setup(void **state) {
    (void)state;
    return cls_device_count(&devices);
}

static cl_device_id id_of(size_t index) {
    cl_platform_id platform = NULL, of_device = NULL;
    cl_device_id id = NULL;
    OK(cls_device_get_cl(index, &platform, &id));
    assert_true(platform && id);
    assert_int_equal(clGetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof of_device, &of_device, NULL),
                     CL_SUCCESS);
    assert_ptr_equal(platform, of_device);
    return id;
}

static cls_device_info info_of(size_t index) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    OK(cls_device_get_info(index, &info));
    return info;
}

static void expect_number(cl_device_id id, cl_device_info what, uint64_t seen) {
    cl_ulong wanted = 0;
    size_t size = 0;
    assert_int_equal(clGetDeviceInfo(id, what, sizeof wanted, &wanted, &size), CL_SUCCESS);
    if (wanted != seen)
        fail_msg("0x%x is %llu, not %llu", (unsigned)what, (unsigned long long)wanted,
                 (unsigned long long)seen);
}

static void test_facts_are_those_of_opencl(void **state) {
    (void)state;
    for (size_t i = 0; i < devices; i++) {
        const cl_device_id id = id_of(i);
        const cls_device_info info = info_of(i);
        expect_number(id, CL_DEVICE_MAX_PARAMETER_SIZE, info.max_parameters);
        expect_number(id, CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, info.max_constant);
        expect_number(id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, info.cache_bytes);
        expect_number(id, CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, info.cache_line);
        expect_number(id, CL_DEVICE_MAX_CLOCK_FREQUENCY, info.clock_mhz);
        expect_number(id, CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, info.float_width);
        expect_number(id, CL_DEVICE_ADDRESS_BITS, info.address_bits);
        expect_number(id, CL_DEVICE_IMAGE_SUPPORT, (uint64_t)info.has_images);
        if (info.has_images) {
            expect_number(id, CL_DEVICE_IMAGE2D_MAX_HEIGHT, info.max_image_2d[1]);
            expect_number(id, CL_DEVICE_IMAGE3D_MAX_DEPTH, info.max_image_3d[2]);
            expect_number(id, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, info.max_image_layers);
            expect_number(id, CL_DEVICE_MAX_SAMPLERS, info.max_samplers);
        }
        assert_true(info.max_work_items[0] >= 1 && info.opencl_version >= 120);
        assert_true(info.has_fp64 || !info.double_width);
        assert_int_equal(strncmp(info.c_version, "OpenCL C ", 9), 0);
    }
}

static void test_identities_are_told_or_zero(void **state) {
    (void)state;
    static const unsigned char zero[16];
    for (size_t i = 0; i < devices; i++) {
        const cls_device_info info = info_of(i);
        int has_khr = 0;
        OK(cls_device_has_extension(i, "cl_khr_device_uuid", &has_khr));
        assert_true(info.has_uuid || !memcmp(info.uuid, zero, sizeof zero));
        assert_true(info.has_uuid || !has_khr);
        assert_true(info.has_pci || !(info.pci_domain | info.pci_bus | info.pci_device));
    }
}

static void test_extensions_are_whole_words(void **state) {
    (void)state;
    for (size_t i = 0; i < devices; i++) {
        const cls_device_info info = info_of(i);
        char *list = strdup(info.extensions), *left = list;
        char part[256];
        int has = 77;
        assert_ptr_equal(info.extensions, info_of(i).extensions);
        for (const char *name; (name = strtok_r(left, " ", &left));) {
            OK(cls_device_has_extension(i, name, &has));
            assert_int_equal(has, 1);
            snprintf(part, sizeof part, "%s_and_more", name);
            OK(cls_device_has_extension(i, part, &has));
            assert_int_equal(has, 0);
        }
        free(list);
        OK(cls_device_has_extension(i, "cl_khr", &has));
        assert_int_equal(has, 0);
    }
}

static void test_any_query(void **state) {
    (void)state;
    for (size_t i = 0; i < devices; i++) {
        const cls_device_info info = info_of(i);
        size_t needed = 0, sizes[8] = {0};
        uint32_t units = 0;
        char name[256] = "";
        OK(cls_device_query(i, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL));
        assert_int_equal(units, info.compute_units);
        OK(cls_device_query(i, CL_DEVICE_NAME, 0, NULL, &needed));
        OK(cls_device_query(i, CL_DEVICE_NAME, sizeof name, name, NULL));
        assert_int_equal(needed, strlen(name) + 1);
        OK(cls_device_query(i, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, &needed));
        assert_true(needed >= 3 * sizeof *sizes && sizes[0] == info.max_work_items[0]);
    }
}

static void test_refusals_write_nothing(void **state) {
    (void)state;
    size_t needed = 77;
    unsigned char byte = 77;
    int has = 77;
    cl_device_id id = NULL;
    if (!devices)
        SKIP_BECAUSE("there is no device");
    EXPECT(CLS_ERROR_NO_DEVICE, cls_device_query(devices, CL_DEVICE_TYPE, 1, &byte, &needed));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_device_query(0, CL_DEVICE_TYPE, 1, &byte, &needed));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_device_query(0, CL_DEVICE_TYPE, 8, NULL, &needed));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_device_query(0, CL_DEVICE_TYPE, 0, NULL, NULL));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_device_query(0, 0x7fff0001, 0, NULL, &needed));
    assert_non_null(strstr(cls_last_error_detail(), "0x7fff0001"));
    assert_int_equal(cls_last_error_code(), CL_INVALID_VALUE);
    EXPECT(CLS_ERROR_NO_DEVICE, cls_device_has_extension(devices, "cl_khr_fp64", &has));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_device_has_extension(0, NULL, &has));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_device_has_extension(0, "", &has));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_device_has_extension(0, "a b", &has));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_device_has_extension(0, "cl_khr_fp64", NULL));
    EXPECT(CLS_ERROR_NO_DEVICE, cls_device_get_cl(devices, NULL, &id));
    OK(cls_device_get_cl(0, NULL, NULL));
    assert_true(needed == 77 && byte == 77 && has == 77 && !id);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts_are_those_of_opencl),
        cmocka_unit_test(test_identities_are_told_or_zero),
        cmocka_unit_test(test_extensions_are_whole_words),
        cmocka_unit_test(test_any_query),
        cmocka_unit_test(test_refusals_write_nothing),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
