/* SPDX-License-Identifier: MIT */
/* A pool's figures tell of what the driver has given, not of what it was asked for and has refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <clstream.h>
#include <clstream/opencl.h>

enum { SMALL = 1 << 20, LARGE = 64 << 20 };

static bool refuses;

cl_mem __real_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                             cl_int *code);
cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                             cl_int *code);

cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                             cl_int *code) {
    if (!refuses || size < LARGE)
        return __real_clCreateBuffer(context, flags, size, host, code);
    *code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return NULL;
}

static void test_what_the_driver_refuses_is_not_counted(void **state) {
    cls_mempool_stats stats = CLS_MEMPOOL_STATS_INIT;
    cls_context context;
    cls_stream stream;
    cls_mempool pool;
    cls_buffer small, large = NULL;
    (void)state;
    assert_int_equal(cls_context_create(NULL, &context), CLS_SUCCESS);
    assert_int_equal(cls_stream_create(context, NULL, &stream), CLS_SUCCESS);
    assert_int_equal(cls_mempool_create(context, NULL, &pool), CLS_SUCCESS);
    assert_int_equal(cls_mempool_malloc_async(pool, stream, SMALL, &small), CLS_SUCCESS);
    refuses = true;
    assert_int_equal(cls_mempool_malloc_async(pool, stream, LARGE, &large),
                     CLS_ERROR_OUT_OF_DEVICE_MEMORY);
    refuses = false;
    assert_null(large);
    assert_int_equal(cls_mempool_get_stats(pool, &stats), CLS_SUCCESS);
    assert_int_equal(stats.reserved, SMALL);
    assert_int_equal(stats.reserved_high, SMALL);
    assert_int_equal(cls_mempool_malloc_async(pool, stream, LARGE, &large), CLS_SUCCESS);
    assert_int_equal(cls_mempool_get_stats(pool, &stats), CLS_SUCCESS);
    assert_int_equal(stats.reserved_high, SMALL + LARGE);
    assert_int_equal(cls_mempool_destroy(pool), CLS_SUCCESS);
    assert_int_equal(cls_context_destroy(context), CLS_SUCCESS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_the_driver_refuses_is_not_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
