/* SPDX-License-Identifier: MIT */
/* Stream-ordered memory: the buffers that a pool gives are like any other, until they are freed. */
#include "mempools.h"

#include <stdlib.h>
#include <string.h>

#include <clstream/managed.h>

static void test_a_buffer_like_any_other(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    const uint32_t words[4] = {1, 2, 3, 4};
    uint32_t back[4] = {0};
    size_t bytes = 0;
    cls_buffer x = take(stream, sizeof words), y = take(stream, sizeof words);
    OK(cls_buffer_get_size(x, &bytes));
    assert_int_equal(bytes, sizeof words);
    OK(cls_copy_h2d_async(x, 0, words, sizeof words, stream));
    OK(rig_step(stream, x, 2, 10, 5, 0));
    OK(cls_copy_d2d_async(y, 0, x, 0, sizeof words, stream));
    OK(cls_free_async(x, stream));
    OK(cls_copy_d2h_async(back, y, 0, sizeof back, stream));
    OK(cls_free_async(y, stream));
    OK(cls_stream_synchronize(stream));
    assert_int_equal(back[0], 1);
    assert_int_equal(back[2], 35);
    OK(cls_stream_destroy(stream));
}

static void test_sizes_and_alignment(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 3, 255, 257, 4096, 5000, 70000, 300000, 3 * MIB + 1};
    enum { SIZES = sizeof sizes / sizeof *sizes, EACH = 3 };
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    cls_buffer buffers[SIZES][EACH];
    cls_stream stream = rig_stream();
    size_t device, unit;
    OK(cls_context_get_device(rig.context, &device));
    OK(cls_device_get_info(device, &info));
    unit = info.base_align > 256 ? info.base_align : 256;
    for (unsigned i = 0; i < SIZES; i++)
        for (unsigned k = 0; k < EACH; k++) {
            size_t bytes = 0, offset = 1;
            buffers[i][k] = take(stream, sizes[i]);
            cl_mem memory = memory_of(buffers[i][k]);
            assert_int_equal(clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof bytes, &bytes, NULL),
                             0);
            assert_int_equal(
                clGetMemObjectInfo(memory, CL_MEM_OFFSET, sizeof offset, &offset, NULL), 0);
            assert_true(bytes >= sizes[i]);
            assert_true(bytes - sizes[i] <= sizes[i] / 8 + unit);
            assert_int_equal(offset % info.base_align, 0);
        }
    /* The end of what was asked for is the end, whatever the slot's size. */
    uint32_t word = 0;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_copy_h2d_async(buffers[3][0], 256, &word, 4, stream));
    for (unsigned i = 0; i < SIZES; i++)
        for (unsigned k = 0; k < EACH; k++)
            OK(cls_free_async(buffers[i][k], stream));
    OK(cls_stream_destroy(stream));
}

/* All of one class and its neighbours at once, each with a value of its own. */
static void test_live_buffers_do_not_overlap(void **state) {
    (void)state;
    enum { COUNT = 200 };
    cls_buffer buffers[COUNT];
    cls_stream stream = rig_stream();
    for (uint32_t i = 0; i < COUNT; i++) {
        size_t bytes = 600 + 40 * (i % 20);
        buffers[i] = take(stream, bytes);
        OK(cls_fill_async(buffers[i], 0, bytes / 4 * 4, &i, 4, stream));
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t first = ~0u, last = ~0u;
        size_t bytes = 600 + 40 * (i % 20);
        OK(cls_copy_d2h(&first, buffers[i], 0, 4, stream));
        OK(cls_copy_d2h(&last, buffers[i], bytes / 4 * 4 - 4, 4, stream));
        assert_int_equal(first, i);
        assert_int_equal(last, i);
        OK(cls_free_async(buffers[i], stream));
    }
    OK(cls_stream_destroy(stream));
}

/* Memory of cls_buffer_create and memory of a pool, each freed by the other's call while work uses it. */
static void test_either_call_frees_either_memory(void **state) {
    cls_stream stream = rig_stream();
    cls_buffer plain = rig_cells(1), pooled = take(stream, 64), out = rig_cells(2);
    struct gate gate;
    (void)state;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(rig_set(stream, plain, 0, 5, 0));
    OK(rig_set(stream, pooled, 0, 6, 0));
    OK(cls_copy_d2d_async(out, 0, plain, 0, 4, stream));
    OK(cls_copy_d2d_async(out, 4, pooled, 0, 4, stream));
    OK(cls_free_async(plain, stream));
    OK(cls_buffer_destroy(pooled));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_free_async(plain, stream));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_buffer_destroy(plain));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_free_async(pooled, stream));
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(out, 0), 5);
    assert_int_equal(rig_cell(out, 1), 6);
    gate_destroy(&gate);
    OK(cls_buffer_destroy(out));
    OK(cls_stream_destroy(stream));
}

static void test_what_belongs_to_others_is_not_freed(void **state) {
    cls_stream stream = rig_stream(), other;
    cls_buffer plain = rig_cells(1), pinned;
    cls_context context;
    void *memory;
    (void)state;
    OK(cls_context_create(NULL, &context));
    OK(cls_stream_create(context, NULL, &other));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_free_async(plain, other));
    OK(cls_host_alloc(rig.context, 64, &memory));
    if (cls_host_buffer(memory, &pinned) != CLS_ERROR_UNSUPPORTED) { /* as on some drivers */
        EXPECT(CLS_ERROR_INVALID_VALUE, cls_free_async(pinned, stream));
        assert_non_null(strstr(cls_last_error_detail(), "cls_host_free"));
    }
    OK(cls_host_free(memory));
    OK(cls_free_async(plain, NULL));
    OK(cls_stream_destroy(other));
    OK(cls_context_destroy(context));
    OK(cls_stream_destroy(stream));
}

static void expect_refusal(cls_status status, const char *call) {
    assert_int_equal(status, CLS_ERROR_INVALID_VALUE);
    if (!strstr(cls_last_error_detail(), call) || !strstr(cls_last_error_detail(), "0 bytes"))
        fail_msg("the detail of %s is '%s'", call, cls_last_error_detail());
}

static void test_no_memory_has_0_bytes(void **state) {
    cls_buffer buffer;
    void *host;
    cls_mempool pool = pool_of(CLS_REUSE_FOLLOW_DONE);
    (void)state;
    expect_refusal(cls_buffer_create(rig.context, 0, &buffer), "cls_buffer_create");
    expect_refusal(cls_buffer_from_host(rig.context, "", 0, &buffer), "cls_buffer_from_host");
    expect_refusal(cls_malloc_async(NULL, 0, &buffer), "cls_malloc_async");
    expect_refusal(cls_mempool_malloc_async(pool, NULL, 0, &buffer), "cls_mempool_malloc_async");
    expect_refusal(cls_host_alloc(rig.context, 0, &host), "cls_host_alloc");
    expect_refusal(cls_managed_alloc(rig.context, 0, &buffer, &host), "cls_managed_alloc");
    OK(cls_mempool_destroy(pool));
}

static void test_bad_input(void **state) {
    (void)state;
    cls_stream stream = rig_stream(), gone = rig_stream();
    cls_buffer buffer = take(stream, 64), untouched = (cls_buffer)(uintptr_t)8,
               plain = rig_cells(1);
    cls_mempool pool = pool_of(CLS_REUSE_FOLLOW_DONE);
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    OK(cls_stream_destroy(gone));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_malloc_async(stream, 64, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_malloc_async(stream, 0, &untouched));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_malloc_async(gone, 64, &untouched));
    EXPECT(CLS_ERROR_OUT_OF_DEVICE_MEMORY, cls_malloc_async(stream, SIZE_MAX, &untouched));
    EXPECT(CLS_ERROR_OUT_OF_DEVICE_MEMORY, cls_malloc_async(stream, SIZE_MAX / 2, &untouched));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_mempool_malloc_async(NULL, stream, 64, &untouched));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_mempool_malloc_async(pool, stream, 0, &untouched));
    assert_ptr_equal(untouched, (cls_buffer)(uintptr_t)8);
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_free_async(NULL, stream));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_free_async((cls_buffer)(void *)stream, stream));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_free_async(buffer, gone));
    config.reuse = (cls_reuse)8;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_mempool_set_config(pool, &config));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_mempool_create(rig.context, &config, &pool));
    config.reuse = CLS_REUSE_ALL;
    config.size--;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_mempool_get_config(pool, &config));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_mempool_get_statistics(pool, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_free_all_async(stream, (cls_free_mode)2));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_get_memory(stream, NULL));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_stream_frees_wait_event(stream, NULL));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_stream_query_frees(gone));
    OK(cls_free_async(buffer, stream));
    OK(cls_buffer_destroy(plain));
    end_pool(pool);
    OK(cls_stream_destroy(stream));
}

static void test_other_contexts(void **state) {
    (void)state;
    cls_context context;
    cls_stream own = rig_stream(), other;
    cls_mempool pool = pool_of(CLS_REUSE_ALL);
    cls_buffer buffer = take(own, 64), untouched = NULL;
    OK(cls_context_create(NULL, &context));
    OK(cls_stream_create(context, NULL, &other));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_free_async(buffer, other));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_mempool_malloc_async(pool, other, 64, &untouched));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_context_set_mempool(context, pool));
    OK(cls_free_async(buffer, NULL)); /* the default stream of its own context */
    OK(cls_stream_destroy(other));
    OK(cls_context_destroy(context));
    end_pool(pool);
    OK(cls_stream_destroy(own));
}

static void expect_stale(cls_buffer buffer, cls_stream stream) {
    uint32_t word = 0;
    size_t bytes;
    cl_mem memory;
    const cls_launch shape = cls_launch_1d(1);
    const cls_arg args[5] = {cls_arg_buffer(buffer), cls_arg_u32(0), cls_arg_u32(0), cls_arg_u32(0),
                             cls_arg_u32(1)};
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_free_async(buffer, stream));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_free_async(buffer, NULL));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_buffer_destroy(buffer));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_buffer_get_size(buffer, &bytes));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_buffer_get_cl(buffer, &memory));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_copy_h2d_async(buffer, 0, &word, 4, stream));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_copy_d2h_async(&word, buffer, 0, 4, stream));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_kernel_launch_async(rig.step, &shape, args, 5, stream));
}

static void test_a_freed_handle_is_stale(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer old = take(stream, 4 * KIB);
    cl_mem memory = memory_of(old);
    OK(cls_free_async(old, stream));
    expect_stale(old, stream);
    cls_buffer again = take(stream, 4 * KIB);
    assert_ptr_equal(memory_of(again), memory);
    assert_ptr_not_equal(again, old);
    expect_stale(old, stream);
    OK(cls_free_async(again, stream));
    expect_stale(again, stream);
    OK(cls_stream_destroy(stream));
}

static void allocate_inside(void *arg) {
    cls_stream stream = arg;
    cls_buffer buffer;
    if (!cls_malloc_async(stream, 128, &buffer))
        cls_free_async(buffer, stream);
    else
        abort();
}

static void test_host_functions_may_allocate(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    OK(cls_stream_launch_host_async(stream, allocate_inside, stream));
    OK(cls_stream_synchronize(stream));
    cls_stream_memory memory = CLS_STREAM_MEMORY_INIT;
    OK(cls_stream_get_memory(stream, &memory));
    assert_int_equal(memory.mallocs, 1);
    assert_int_equal(memory.frees, 1);
    OK(cls_stream_destroy(stream));
}

static void test_a_poisoned_stream_allocates_and_frees(void **state) {
    (void)state;
    cls_stream stream = rig_stream(), other = rig_stream();
    cls_mempool pool = pool_of(CLS_REUSE_FOLLOW_DONE);
    cls_buffer x = take_from(pool, stream, 4 * KIB);
    OK(rig_set(stream, x, 0, 1, 0));
    OK(rig_fail(stream, "fails", -5));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    OK(cls_free_async(x, stream));
    cls_buffer y = take_from(pool, stream, 4 * KIB);
    EXPECT(CLS_ERROR_COMMAND_FAILED, rig_set(stream, y, 0, 1, 0));
    OK(cls_free_async(y, stream));
    cls_buffer z = take_from(pool, other, 4 * KIB);
    OK(cls_free_async(z, other));
    OK(cls_stream_reset(stream));
    y = take_from(pool, stream, 4 * KIB);
    OK(rig_set(stream, y, 0, 3, 0));
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(y, 0), 3);
    OK(cls_free_async(y, stream));
    end_pool(pool);
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(other));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_buffer_like_any_other),
        cmocka_unit_test(test_sizes_and_alignment),
        cmocka_unit_test(test_live_buffers_do_not_overlap),
        cmocka_unit_test(test_either_call_frees_either_memory),
        cmocka_unit_test(test_what_belongs_to_others_is_not_freed),
        cmocka_unit_test(test_no_memory_has_0_bytes),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_other_contexts),
        cmocka_unit_test(test_a_freed_handle_is_stale),
        cmocka_unit_test(test_host_functions_may_allocate),
        cmocka_unit_test(test_a_poisoned_stream_allocates_and_frees),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
