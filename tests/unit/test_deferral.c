/* SPDX-License-Identifier: MIT */
/* Commands that wait for their turn, where there is no memory for one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <clstream.h>

#include "core/worker.h"
#include "failing_memory.h"

static int reserved; /* workers; of this thread alone */

cls_status __real_workers_reserve(void);
void __real_workers_unreserve(void);
cls_status __wrap_workers_reserve(void);
void __wrap_workers_unreserve(void);

cls_status __wrap_workers_reserve(void) {
    cls_status status = __real_workers_reserve();
    reserved += !status;
    return status;
}

void __wrap_workers_unreserve(void) {
    reserved--;
    __real_workers_unreserve();
}

static void never(void *unused) {
    (void)unused;
    abort();
}

/* A reservation that stays keeps a thread for good, and the process's exit waits for that. */
static void test_a_refused_host_function_keeps_no_worker(void **state) {
    (void)state;
    cls_stream stream;
    assert_int_equal(cls_stream_create(NULL, NULL, &stream), CLS_SUCCESS);
    allocations_left = 0;
    cls_status status = cls_stream_launch_host_async(stream, never, NULL);
    assert_int_equal(allocations_left, -1);
    assert_int_equal(status, CLS_ERROR_OUT_OF_MEMORY);
    assert_int_equal(reserved, 0);
    assert_int_equal(cls_stream_destroy(stream), CLS_SUCCESS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_refused_host_function_keeps_no_worker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
