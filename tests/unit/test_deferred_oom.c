/* SPDX-License-Identifier: MIT */
/* Commands that wait for their turn, where there is no memory for one: when it is to wait, and when its turn has
 * come. */
#include "../support/test.h"

#include <stdlib.h>

#include <clstream.h>
#include <clstream/opencl.h>

#include "failing_memory.h"
#include "stream/blocking.h"
#include "stream/worker.h"

enum { BYTES = 64 };

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
    launch_mode_read(); /* the first time a variable is read takes memory on Windows */
    allocations_left = 0;
    cls_status status = cls_stream_launch_host_async(stream, never, NULL);
    assert_int_equal(allocations_left, -1);
    assert_int_equal(status, CLS_ERROR_OUT_OF_MEMORY);
    assert_int_equal(reserved, 0);
    assert_int_equal(cls_stream_destroy(stream), CLS_SUCCESS);
}

/* Leaves the thread a code of the driver's. */
static void fail_to_build(void) {
    cls_program program;
    assert_int_equal(cls_program_from_source(NULL, "kernel", NULL, NULL, &program),
                     CLS_ERROR_BUILD_FAILED);
    assert_int_not_equal(cls_last_error_code(), 0);
}

/* A stream's first command, which an event of the caller's holds. */
static void hold_a_fill(cls_stream stream, cls_buffer buffer, cl_event held) {
    const char byte = 1;
    assert_int_equal(cls_stream_wait_cl(stream, held), CLS_SUCCESS);
    assert_int_equal(cls_fill_async(buffer, 0, BYTES, &byte, 1, stream), CLS_SUCCESS);
}

/* No driver has anything to do with it, whatever it told this thread before. */
static void test_lack_of_memory_has_no_code_of_the_drivers(void **state) {
    (void)state;
    cl_context context;
    cl_int code;
    cls_stream stream;
    cls_buffer buffer;
    assert_int_equal(cls_context_get_cl(NULL, &context, NULL), CLS_SUCCESS);
    assert_int_equal(cls_buffer_create(NULL, BYTES, &buffer), CLS_SUCCESS);
    assert_int_equal(cls_stream_create(NULL, NULL, &stream), CLS_SUCCESS);
    cl_event held = clCreateUserEvent(context, &code);
    assert_int_equal(code, CL_SUCCESS);
    hold_a_fill(stream, buffer, held);
    fail_to_build();
    allocations_left = 0;
    assert_int_equal(clSetUserEventStatus(held, CL_COMPLETE), CL_SUCCESS);
    cls_status status;
    while ((status = cls_stream_query(stream)) == CLS_NOT_READY)
        continue;
    assert_int_equal(allocations_left, -1);
    assert_int_equal(status, CLS_ERROR_OUT_OF_MEMORY);
    assert_int_equal(cls_last_error_code(), 0);
    assert_int_equal(cls_stream_destroy(stream), CLS_SUCCESS);
    assert_int_equal(cls_buffer_destroy(buffer), CLS_SUCCESS);
    clReleaseEvent(held);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_refused_host_function_keeps_no_worker),
        cmocka_unit_test(test_lack_of_memory_has_no_code_of_the_drivers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
