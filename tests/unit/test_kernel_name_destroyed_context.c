/* SPDX-License-Identifier: MIT */
/* A kernel that is registered while its context is destroyed keeps neither of them. */
#include "../support/test.h"

#include <time.h>

#include <clstream.h>

#include "command/kernel.h"
#include "stream/context.h"

static cls_context to_destroy; /* once the kernel is looked up; NULL: none */

cls_status __real_kernel_get(cls_kernel handle, struct kernel **out);
cls_status __wrap_kernel_get(cls_kernel handle, struct kernel **out);

cls_status __wrap_kernel_get(cls_kernel handle, struct kernel **out) {
    const cls_context context = to_destroy;
    cls_status status = __real_kernel_get(handle, out);
    to_destroy = NULL;
    if (context)
        assert_int_equal(cls_context_destroy(context), CLS_SUCCESS);
    return status;
}

/* The library's own thread may hold a stream of the context for a moment. */
static void expect_live(long wanted) {
    const struct timespec nap = {0, 5 * 1000 * 1000};
    for (int i = 0; i < 2000 && atomic_load(&context_pool.live) != wanted; i++)
        nanosleep(&nap, NULL);
    assert_int_equal(atomic_load(&context_pool.live), wanted);
}

static void test_its_context_is_destroyed_meanwhile(void **state) {
    const long before = atomic_load(&context_pool.live);
    cls_context context;
    cls_program program;
    cls_kernel kernel;
    (void)state;
    assert_int_equal(cls_context_create(NULL, &context), CLS_SUCCESS);
    assert_int_equal(
        cls_program_from_source(context, "kernel void nothing(void) { }", NULL, NULL, &program),
        CLS_SUCCESS);
    assert_int_equal(cls_kernel_create(program, "nothing", &kernel), CLS_SUCCESS);
    to_destroy = context;
    assert_int_equal(cls_kernel_register(kernel, "late"), CLS_ERROR_CONTEXT_DESTROYED);
    assert_int_equal(cls_kernel_destroy(kernel), CLS_SUCCESS);
    assert_int_equal(cls_program_destroy(program), CLS_SUCCESS);
    expect_live(before);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_its_context_is_destroyed_meanwhile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
