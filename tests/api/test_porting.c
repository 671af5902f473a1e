/* SPDX-License-Identifier: MIT */
/* The OpenCL C that doc/porting.md names is compiled for the device, with the extensions that it has, and some of it run. */
#include "../support/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS = 256 };

static cls_program program;

static int setup(void **state) {
    char path[4096];
    if (rig_setup(state))
        return -1;
    const char *folder = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/device/porting.cl", folder ? folder : "..");
    OK(cls_program_load(rig.context, path, NULL, &program));
    return 0;
}

static int teardown(void **state) {
    OK(cls_program_destroy(program));
    return rig_teardown(state);
}

static void launch(const char *name, size_t items, const cls_arg *args, unsigned n) {
    cls_launch shape = cls_launch_1d(items);
    cls_kernel kernel;
    OK(cls_kernel_create(program, name, &kernel));
    OK(cls_kernel_launch(kernel, &shape, args, n, NULL));
    OK(cls_kernel_destroy(kernel));
}

/* A float's atomicAdd, by the loop that the page shows. */
static void test_floats_are_added_atomically(void **state) {
    float in[ITEMS], sum = 0, expected = 0;
    cls_buffer values, total;
    (void)state;
    for (int i = 0; i < ITEMS; i++)
        expected += in[i] = (float)i;
    OK(cls_buffer_from_host(rig.context, in, sizeof in, &values));
    OK(cls_buffer_from_host(rig.context, &sum, sizeof sum, &total));
    launch("float_atomics", ITEMS, (cls_arg[]){cls_arg_buffer(total), cls_arg_buffer(values)}, 2);
    OK(cls_buffer_to_host(total, &sum, sizeof sum));
    assert_true(sum == expected);
    OK(cls_buffer_destroy(values));
    OK(cls_buffer_destroy(total));
}

/* Each returns the old value, and works on what the one before it has left. */
static void test_integer_atomics_return_the_old_value(void **state) {
    int p = 1;
    float f[2] = {0, 0};
    const int olds = 1 + 3 + 2 + 2 + 4 + 4 + 6 + 1 + 8;
    cls_buffer ints, uints = rig_cells(1), floats;
    (void)state;
    OK(cls_buffer_from_host(rig.context, &p, sizeof p, &ints));
    OK(cls_buffer_from_host(rig.context, f, sizeof f, &floats));
    launch("atomics", 1,
           (cls_arg[]){cls_arg_buffer(ints), cls_arg_buffer(uints), cls_arg_buffer(floats)}, 3);
    OK(cls_buffer_to_host(ints, &p, sizeof p));
    OK(cls_buffer_to_host(floats, f, sizeof f));
    assert_int_equal(p, 9);
    assert_int_equal((int)f[1], olds);
    assert_true(f[0] == 1.0f);
    assert_int_equal(rig_cell(uints, 0), 1);
    OK(cls_buffer_destroy(ints));
    OK(cls_buffer_destroy(uints));
    OK(cls_buffer_destroy(floats));
}

/* reqd_work_group_size is no bound: launches give just that size. */
static void test_a_required_size_is_exact(void **state) {
    cls_launch shape = cls_launch_1d(128);
    cls_buffer cells = rig_cells(128);
    const cls_arg arg = cls_arg_buffer(cells);
    cls_kernel kernel;
    (void)state;
    OK(cls_kernel_create(program, "bounded", &kernel));
    shape.local[0] = 32;
    assert_true(cls_kernel_launch(kernel, &shape, &arg, 1, NULL) != CLS_SUCCESS);
    shape.local[0] = 64;
    OK(cls_kernel_launch(kernel, &shape, &arg, 1, NULL));
    assert_int_equal(rig_cell(cells, 127), 1);
    OK(cls_kernel_destroy(kernel));
    OK(cls_buffer_destroy(cells));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats_are_added_atomically),
        cmocka_unit_test(test_integer_atomics_return_the_old_value),
        cmocka_unit_test(test_a_required_size_is_exact),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
