/* SPDX-License-Identifier: MIT */
/* What the driver refuses: it is not in a pool's figures, nor is it given in memory that is smaller. */
#include "../support/test.h"

#include <stdbool.h>

#include <clstream.h>
#include <clstream/opencl.h>

#include "stream/context.h"

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
    cls_mempool_statistics stats = CLS_MEMPOOL_STATISTICS_INIT;
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
    assert_int_equal(cls_mempool_get_statistics(pool, &stats), CLS_SUCCESS);
    assert_int_equal(stats.reserved, SMALL);
    assert_int_equal(stats.reserved_high, SMALL);
    assert_int_equal(cls_mempool_malloc_async(pool, stream, LARGE, &large), CLS_SUCCESS);
    assert_int_equal(cls_mempool_get_statistics(pool, &stats), CLS_SUCCESS);
    assert_int_equal(stats.reserved_high, SMALL + LARGE);
    assert_int_equal(cls_mempool_destroy(pool), CLS_SUCCESS);
    assert_int_equal(cls_context_destroy(context), CLS_SUCCESS);
}

/* A device whose largest allocation is not as large as its class, as a fourth of a GPU's memory is not. */
static void test_no_memory_is_given_for_more_than_it_has(void **state) {
    const size_t most = LARGE + (4 << 10);
    cls_context handle;
    struct context *context;
    cls_stream stream;
    cls_buffer buffer, larger = NULL;
    (void)state;
    assert_int_equal(cls_context_create(NULL, &handle), CLS_SUCCESS);
    assert_int_equal(context_get(handle, &context), CLS_SUCCESS);
    struct device device = *context->device;
    struct device *real = context->device;
    device.info.max_allocation = most;
    context->device = &device;
    assert_int_equal(cls_stream_create(handle, NULL, &stream), CLS_SUCCESS);
    assert_int_equal(cls_malloc_async(stream, most, &buffer), CLS_SUCCESS);
    assert_int_equal(cls_free_async(buffer, stream), CLS_SUCCESS);
    assert_int_equal(cls_malloc_async(stream, most + 64, &larger), CLS_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_null(larger);
    assert_int_equal(cls_malloc_async(stream, most, &buffer), CLS_SUCCESS);
    assert_int_equal(cls_free_async(buffer, stream), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(stream), CLS_SUCCESS);
    context->device = real;
    context_put(context);
    assert_int_equal(cls_context_destroy(handle), CLS_SUCCESS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_the_driver_refuses_is_not_counted),
        cmocka_unit_test(test_no_memory_is_given_for_more_than_it_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
