/* SPDX-License-Identifier: MIT */
/* Stream-ordered memory: who is given freed memory again, and when. */
#include "../support/rig.h"

#include <string.h>

#include <clstream/mempool.h>

enum { KIB = 1 << 10, MIB = 1 << 20 };

/* --- what the tests share --- */

/* A stream that a host function holds: what is submitted behind it stays pending until `let_go`. */
struct held {
    cls_stream stream;
    struct gate gate;
};

static void hold(struct held *held) {
    gate_init(&held->gate);
    held->stream = rig_stream();
    OK(cls_stream_launch_host_async(held->stream, gate_hold, &held->gate));
    gate_await(&held->gate);
}

static void let_go(struct held *held) {
    gate_open(&held->gate);
    OK(cls_stream_synchronize(held->stream));
    gate_destroy(&held->gate);
}

static cls_buffer take(cls_stream stream, size_t bytes) {
    cls_buffer buffer = NULL;
    OK(cls_malloc_async(stream, bytes, &buffer));
    return buffer;
}

static cls_buffer take_from(cls_mempool pool, cls_stream stream, size_t bytes) {
    cls_buffer buffer = NULL;
    OK(cls_mempool_malloc_async(pool, stream, bytes, &buffer));
    return buffer;
}

static cls_mempool pool_of(cls_reuse reuse) {
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    cls_mempool pool = NULL;
    config.reuse = reuse;
    OK(cls_mempool_create(rig.context, &config, &pool));
    return pool;
}

static cls_mempool_stats stats_of(cls_mempool pool) {
    cls_mempool_stats stats = CLS_MEMPOOL_STATS_INIT;
    OK(cls_mempool_get_stats(pool, &stats));
    return stats;
}

/* The driver's handle: two buffers of one pool are the same memory if and only if these are equal. */
static cl_mem memory_of(cls_buffer buffer) {
    cl_mem memory = NULL;
    OK(cls_buffer_get_cl(buffer, &memory));
    return memory;
}

/* Lets `later` come after what is on `earlier` so far. */
static void put_behind(cls_stream later, cls_stream earlier) {
    cls_event event = rig_event();
    OK(cls_event_record(event, earlier));
    OK(cls_stream_wait_event(later, event));
    OK(cls_event_destroy(event));
}

/* Ends a pool that nothing is allocated from any more, after seeing that all its memory goes back. */
static void end_pool(cls_mempool pool) {
    OK(cls_context_synchronize(rig.context));
    OK(cls_mempool_trim(pool, 0));
    assert_int_equal(stats_of(pool).used, 0);
    assert_int_equal(stats_of(pool).reserved, 0);
    OK(cls_mempool_destroy(pool));
}

/* --- what is given --- */

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
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_free_async(plain, stream));
    config.reuse = (cls_reuse)8;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_mempool_set_config(pool, &config));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_mempool_create(rig.context, &config, &pool));
    config.reuse = CLS_REUSE_ALL;
    config.size--;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_mempool_get_config(pool, &config));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_mempool_get_stats(pool, NULL));
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

/* --- stale handles --- */

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

/* --- reuse --- */

/* The same stream, at once: the kernels on the old and the new buffer do not get in each other's way. */
static void test_the_same_stream_reuses_at_once(void **state) {
    (void)state;
    struct held held;
    uint32_t first = 0, second = 0;
    const uint32_t zero = 0;
    hold(&held);
    cls_buffer x = take(held.stream, 4 * KIB);
    cl_mem memory = memory_of(x);
    OK(cls_fill_async(x, 0, 4, &zero, 4, held.stream));
    OK(rig_step(held.stream, x, 0, 1, 7, 5));
    OK(cls_copy_d2h_async(&first, x, 0, 4, held.stream));
    OK(cls_free_async(x, held.stream));
    cls_buffer y = take(held.stream, 4 * KIB);
    assert_ptr_equal(memory_of(y), memory);
    OK(rig_set(held.stream, y, 0, 9, 5));
    OK(cls_copy_d2h_async(&second, y, 0, 4, held.stream));
    OK(cls_free_async(y, held.stream));
    let_go(&held);
    assert_int_equal(first, 7);
    assert_int_equal(second, 9);
    OK(cls_stream_destroy(held.stream));
}

static void test_memory_at_work_is_for_nobody_else(void **state) {
    (void)state;
    struct held held;
    cls_stream other = rig_stream();
    cls_mempool pool = pool_of(CLS_REUSE_FOLLOW_DONE);
    hold(&held);
    cls_buffer x = take_from(pool, held.stream, 4 * KIB);
    cl_mem memory = memory_of(x);
    OK(rig_set(held.stream, x, 0, 1, 0));
    OK(cls_free_async(x, held.stream));
    cls_buffer y = take_from(pool, other, 4 * KIB);
    assert_ptr_not_equal(memory_of(y), memory);
    let_go(&held);
    cls_buffer z = take_from(pool, other, 4 * KIB);
    assert_ptr_equal(memory_of(z), memory); /* done: opportunistic */
    assert_int_equal(stats_of(pool).done, 1);
    OK(cls_free_async(y, other));
    OK(cls_free_async(z, other));
    end_pool(pool);
    OK(cls_stream_destroy(held.stream));
    OK(cls_stream_destroy(other));
}

/* What becomes of memory freed on a held stream when `other` asks, `behind` it or not. */
static bool is_given(cls_reuse reuse, bool behind, bool through_a_third, bool let_go_first) {
    struct held held;
    cls_stream third = rig_stream(), other = rig_stream();
    cls_mempool pool = pool_of(reuse);
    hold(&held);
    cls_buffer x = take_from(pool, held.stream, 4 * KIB);
    cl_mem memory = memory_of(x);
    OK(rig_set(held.stream, x, 0, 1, 0));
    OK(cls_free_async(x, held.stream));
    if (behind)
        put_behind(through_a_third ? third : other, held.stream);
    if (behind && through_a_third)
        put_behind(other, third);
    if (let_go_first)
        let_go(&held);
    cls_buffer y = take_from(pool, other, 4 * KIB);
    bool given = memory_of(y) == memory;
    OK(cls_free_async(y, other));
    if (!let_go_first)
        let_go(&held);
    end_pool(pool);
    OK(cls_stream_destroy(held.stream));
    OK(cls_stream_destroy(third));
    OK(cls_stream_destroy(other));
    return given;
}

static void test_reuse_follows_events(void **state) {
    (void)state;
    assert_true(is_given(CLS_REUSE_FOLLOW, true, false, false));
    assert_true(is_given(CLS_REUSE_FOLLOW, true, true, false));
    assert_true(is_given(CLS_REUSE_FOLLOW_DONE, true, false, false));
    assert_true(is_given(CLS_REUSE_FOLLOW, true, false, true));
    assert_false(is_given(CLS_REUSE_FOLLOW, false, false, false));
    assert_false(is_given(CLS_REUSE_FOLLOW, false, false, true));
    assert_false(is_given(CLS_REUSE_DONE, true, false, false));
    assert_false(is_given(CLS_REUSE_NONE, true, false, false));
}

static void test_reuse_of_what_is_done(void **state) {
    (void)state;
    assert_true(is_given(CLS_REUSE_DONE, false, false, true));
    assert_false(is_given(CLS_REUSE_DONE, false, false, false));
    assert_false(is_given(CLS_REUSE_NONE, false, false, true));
}

/* An event from before the last use is no dependency on the free. */
static void test_an_early_event_is_not_enough(void **state) {
    (void)state;
    struct held held;
    cls_stream other = rig_stream();
    cls_mempool pool = pool_of(CLS_REUSE_FOLLOW_DONE);
    hold(&held);
    cls_buffer x = take_from(pool, held.stream, 4 * KIB);
    cl_mem memory = memory_of(x);
    put_behind(other, held.stream);
    OK(rig_set(held.stream, x, 0, 1, 0));
    OK(cls_free_async(x, held.stream));
    cls_buffer y = take_from(pool, other, 4 * KIB);
    assert_ptr_not_equal(memory_of(y), memory);
    OK(cls_free_async(y, other));
    let_go(&held);
    end_pool(pool);
    OK(cls_stream_destroy(held.stream));
    OK(cls_stream_destroy(other));
}

/* Work on memory that followed an event comes after the work before the free. */
static void test_followed_memory_is_in_order(void **state) {
    (void)state;
    cls_stream first = rig_stream(), second = rig_stream();
    cls_mempool pool = pool_of(CLS_REUSE_FOLLOW);
    uint32_t was = 0, is = 0;
    cls_buffer x = take_from(pool, first, 4 * KIB);
    OK(rig_set(first, x, 0, 1, 0));
    OK(rig_step(first, x, 0, 1, 1, 30));
    OK(cls_copy_d2h_async(&was, x, 0, 4, first));
    OK(cls_free_async(x, first));
    put_behind(second, first);
    cls_buffer y = take_from(pool, second, 4 * KIB);
    OK(rig_set(second, y, 0, 50, 0));
    OK(cls_copy_d2h_async(&is, y, 0, 4, second));
    OK(cls_free_async(y, second));
    OK(cls_stream_synchronize(second));
    assert_int_equal(was, 2);
    assert_int_equal(is, 50);
    assert_int_equal(stats_of(pool).followed, 1);
    end_pool(pool);
    OK(cls_stream_destroy(first));
    OK(cls_stream_destroy(second));
}

static void test_reuse_by_an_inserted_dependency(void **state) {
    (void)state;
    struct held held;
    cls_stream other = rig_stream();
    cls_mempool pool = pool_of(CLS_REUSE_INSERT);
    hold(&held);
    cls_buffer x = take_from(pool, held.stream, 4 * KIB);
    cl_mem memory = memory_of(x);
    OK(rig_set(held.stream, x, 0, 1, 0));
    OK(cls_free_async(x, held.stream));
    cls_buffer y = take_from(pool, other, 4 * KIB);
    assert_ptr_equal(memory_of(y), memory);
    OK(rig_set(other, y, 0, 2, 0));
    nap_ms(5);
    EXPECT(CLS_NOT_READY, cls_stream_query(other));
    let_go(&held);
    assert_int_equal(rig_cell(y, 0), 1 + 1 * (cls_stream_synchronize(other) == CLS_SUCCESS));
    assert_int_equal(stats_of(pool).inserted, 1);
    OK(cls_free_async(y, other));
    end_pool(pool);
    OK(cls_stream_destroy(held.stream));
    OK(cls_stream_destroy(other));
}

/* --- where a free is in the order --- */

/* A stream that waits and has submitted nothing since: the free comes after what it waits for. */
static void test_a_free_comes_after_pending_waits(void **state) {
    (void)state;
    struct held held;
    cls_stream freeing = rig_stream(), other = rig_stream();
    cls_mempool pool = pool_of(CLS_REUSE_FOLLOW_DONE);
    hold(&held);
    cls_buffer x = take_from(pool, held.stream, 4 * KIB);
    cl_mem memory = memory_of(x);
    OK(rig_set(held.stream, x, 0, 1, 0));
    put_behind(freeing, held.stream);
    OK(cls_free_async(x, freeing));
    cls_buffer y = take_from(pool, other, 4 * KIB);
    assert_ptr_not_equal(memory_of(y), memory);
    let_go(&held);
    cls_buffer z = take_from(pool, other, 4 * KIB);
    assert_ptr_equal(memory_of(z), memory);
    OK(cls_free_async(y, other));
    OK(cls_free_async(z, other));
    end_pool(pool);
    OK(cls_stream_destroy(held.stream));
    OK(cls_stream_destroy(freeing));
    OK(cls_stream_destroy(other));
}

static void test_asking_for_frees(void **state) {
    (void)state;
    struct held held;
    cls_stream freeing = rig_stream();
    hold(&held);
    OK(cls_stream_query_frees(freeing));
    put_behind(freeing, held.stream);
    OK(cls_free_async(take(freeing, 4 * KIB), freeing));
    EXPECT(CLS_NOT_READY, cls_stream_query_frees(freeing));
    let_go(&held);
    cls_status status;
    while ((status = cls_stream_query_frees(freeing)) == CLS_NOT_READY)
        nap_ms(1);
    OK(status);
    OK(cls_stream_destroy(held.stream));
    OK(cls_stream_destroy(freeing));
}

static void test_free_on_another_stream(void **state) {
    (void)state;
    struct held held;
    cls_stream maker = rig_stream();
    cls_mempool pool = pool_of(CLS_REUSE_FOLLOW_DONE);
    hold(&held);
    cls_buffer x = take_from(pool, maker, 4 * KIB);
    cl_mem memory = memory_of(x);
    OK(rig_set(held.stream, x, 0, 1, 0));
    OK(cls_free_async(x, held.stream));
    cls_buffer y = take_from(pool, maker, 4 * KIB); /* its own once, but at work elsewhere */
    assert_ptr_not_equal(memory_of(y), memory);
    cls_buffer z = take_from(pool, held.stream, 4 * KIB);
    assert_ptr_equal(memory_of(z), memory);
    OK(cls_free_async(y, maker));
    OK(cls_free_async(z, held.stream));
    let_go(&held);
    end_pool(pool);
    OK(cls_stream_destroy(held.stream));
    OK(cls_stream_destroy(maker));
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

/* A failed stream drops its waits: what it freed behind them may still be read by others. */
static void test_failure_does_not_free_what_is_at_work(void **state) {
    (void)state;
    struct held held;
    cls_stream failing = rig_stream();
    cls_mempool pool = pool_of(CLS_REUSE_ALL);
    hold(&held);
    cls_buffer x = take_from(pool, failing, 4 * KIB);
    cl_mem memory = memory_of(x);
    OK(rig_set(held.stream, x, 0, 1, 0));
    OK(rig_fail(failing, "fails", -5));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(failing));
    put_behind(failing, held.stream);
    OK(cls_free_async(x, failing));
    OK(cls_stream_reset(failing));
    cls_buffer y = take_from(pool, failing, 4 * KIB);
    assert_ptr_not_equal(memory_of(y), memory);
    OK(cls_free_async(y, failing));
    let_go(&held);
    end_pool(pool);
    OK(cls_stream_destroy(held.stream));
    OK(cls_stream_destroy(failing));
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

/* --- by the stream --- */

static void test_free_all_of_a_stream(void **state) {
    (void)state;
    enum { COUNT = 50 };
    cls_stream stream = rig_stream(), other = rig_stream();
    cls_mempool pool = pool_of(CLS_REUSE_FOLLOW_DONE);
    cls_buffer buffers[COUNT], kept = take_from(pool, other, 300);
    cls_stream_memory memory = CLS_STREAM_MEMORY_INIT;
    for (unsigned i = 0; i < COUNT; i++)
        buffers[i] = i % 2 ? take_from(pool, stream, 300) : take(stream, 300);
    OK(cls_free_async(buffers[3], stream));
    OK(cls_stream_get_memory(stream, &memory));
    assert_int_equal(memory.used, (COUNT - 1) * 512);
    assert_int_equal(memory.peak, COUNT * 512);
    OK(cls_stream_free_all_async(stream, CLS_FREE_IN_ORDER));
    for (unsigned i = 0; i < COUNT; i++)
        EXPECT(CLS_ERROR_INVALID_HANDLE, cls_free_async(buffers[i], stream));
    OK(cls_stream_get_memory(stream, &memory));
    assert_int_equal(memory.used, 0);
    assert_int_equal(memory.frees, COUNT);
    assert_int_equal(memory.cached, COUNT * 512);
    OK(cls_stream_free_all_async(stream, CLS_FREE_IN_ORDER));
    OK(rig_set(other, kept, 0, 1, 0)); /* not the stream's */
    OK(cls_free_async(kept, other));
    end_pool(pool);
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(other));
}

/* Deferred: not even the stream itself before its work so far is done. */
static void test_free_all_when_done(void **state) {
    (void)state;
    struct held held;
    cls_mempool pool = pool_of(CLS_REUSE_FOLLOW_DONE);
    hold(&held);
    cls_buffer x = take_from(pool, held.stream, 4 * KIB);
    cl_mem memory = memory_of(x);
    OK(cls_stream_free_all_async(held.stream, CLS_FREE_WHEN_DONE));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_free_async(x, held.stream));
    EXPECT(CLS_NOT_READY, cls_stream_query_frees(held.stream));
    cls_buffer y = take_from(pool, held.stream, 4 * KIB);
    assert_ptr_not_equal(memory_of(y), memory);
    let_go(&held);
    OK(cls_stream_query_frees(held.stream));
    cls_buffer z = take_from(pool, held.stream, 4 * KIB);
    assert_ptr_equal(memory_of(z), memory);
    OK(cls_stream_free_all_async(held.stream, CLS_FREE_WHEN_DONE));
    end_pool(pool);
    OK(cls_stream_destroy(held.stream));
}

/* Frees wait for the reader; the stream's own work does not. */
static void test_frees_wait_for_an_event(void **state) {
    (void)state;
    struct held reader;
    cls_stream stream = rig_stream(), other = rig_stream();
    cls_event read = rig_event();
    cls_mempool pool = pool_of(CLS_REUSE_ALL);
    hold(&reader);
    cls_buffer x = take_from(pool, stream, 4 * KIB), unrelated = take_from(pool, stream, 4 * KIB);
    cl_mem memory = memory_of(x), first = memory_of(unrelated);
    OK(cls_free_async(unrelated, stream)); /* before the call: does not wait */
    OK(rig_set(reader.stream, x, 0, 1, 0));
    OK(cls_event_record(read, reader.stream));
    OK(cls_stream_frees_wait_event(stream, read));
    OK(cls_free_async(x, stream));
    OK(cls_stream_synchronize(stream));
    EXPECT(CLS_NOT_READY, cls_stream_query_frees(stream));
    cls_buffer y = take_from(pool, stream, 4 * KIB), z = take_from(pool, other, 4 * KIB);
    assert_ptr_equal(memory_of(y), first);
    assert_ptr_not_equal(memory_of(z), memory);
    OK(rig_set(stream, y, 0, 5, 0));
    OK(cls_stream_synchronize(stream));
    let_go(&reader);
    OK(cls_stream_query_frees(stream));
    cls_buffer w = take_from(pool, stream, 4 * KIB);
    assert_ptr_equal(memory_of(w), memory);
    OK(cls_free_async(w, stream)); /* the event is done: nothing waits any more */
    w = take_from(pool, stream, 4 * KIB);
    assert_ptr_equal(memory_of(w), memory);
    OK(cls_free_async(w, stream));
    OK(cls_free_async(y, stream));
    OK(cls_free_async(z, other));
    OK(cls_event_destroy(read));
    end_pool(pool);
    OK(cls_stream_destroy(reader.stream));
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(other));
}

/* Two events, one after the other: the frees in between wait for the first only. */
static void test_frees_wait_for_several_events(void **state) {
    (void)state;
    struct held first, second;
    cls_stream stream = rig_stream();
    cls_event events[2] = {rig_event(), rig_event()};
    cls_mempool pool = pool_of(CLS_REUSE_ALL);
    hold(&first);
    hold(&second);
    cls_buffer x = take_from(pool, stream, 4 * KIB), y = take_from(pool, stream, 4 * KIB);
    cl_mem memories[2] = {memory_of(x), memory_of(y)};
    OK(cls_event_record(events[0], first.stream));
    OK(cls_event_record(events[1], second.stream));
    OK(cls_stream_frees_wait_event(stream, events[0]));
    OK(cls_free_async(x, stream));
    OK(cls_stream_frees_wait_event(stream, events[1]));
    OK(cls_free_async(y, stream));
    let_go(&first);
    x = take_from(pool, stream, 4 * KIB);
    y = take_from(pool, stream, 4 * KIB);
    assert_ptr_equal(memory_of(x), memories[0]);
    assert_ptr_not_equal(memory_of(y), memories[1]);
    EXPECT(CLS_NOT_READY, cls_stream_query_frees(stream));
    let_go(&second);
    OK(cls_stream_query_frees(stream));
    OK(cls_stream_free_all_async(stream, CLS_FREE_IN_ORDER));
    for (int i = 0; i < 2; i++)
        OK(cls_event_destroy(events[i]));
    end_pool(pool);
    OK(cls_stream_destroy(first.stream));
    OK(cls_stream_destroy(second.stream));
    OK(cls_stream_destroy(stream));
}

/* --- pools --- */

static void test_trim_and_threshold(void **state) {
    (void)state;
    struct held held;
    cls_mempool pool = pool_of(CLS_REUSE_FOLLOW_DONE);
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    hold(&held);
    cls_buffer x = take_from(pool, held.stream, MIB), y = take_from(pool, held.stream, 2 * MIB);
    cls_buffer live = take_from(pool, held.stream, 4 * MIB);
    assert_int_equal(stats_of(pool).reserved, 7 * MIB);
    OK(cls_free_async(x, held.stream));
    OK(cls_free_async(y, held.stream));
    OK(cls_mempool_trim(pool, 0)); /* the work is pending: all of it stays */
    assert_int_equal(stats_of(pool).reserved, 7 * MIB);
    let_go(&held); /* the threshold is above all: synchronizing gives nothing back */
    assert_int_equal(stats_of(pool).reserved, 7 * MIB);
    OK(cls_mempool_trim(pool, 6 * MIB));
    assert_in_range(stats_of(pool).reserved, 4 * MIB, 6 * MIB);
    OK(cls_mempool_trim(pool, 0));
    assert_int_equal(stats_of(pool).reserved, 4 * MIB);
    assert_int_equal(stats_of(pool).reserved_high, 7 * MIB);
    config.release_threshold = 0;
    OK(cls_mempool_set_config(pool, &config));
    OK(cls_free_async(live, held.stream));
    OK(cls_stream_synchronize(held.stream));
    assert_int_equal(stats_of(pool).reserved, 0);
    OK(cls_mempool_destroy(pool));
    OK(cls_stream_destroy(held.stream));
}

static void test_a_limit(void **state) {
    (void)state;
    cls_stream stream = rig_stream(), other = rig_stream();
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT, back = CLS_MEMPOOL_CONFIG_INIT;
    cls_mempool pool;
    cls_buffer buffers[4], untouched = NULL;
    config.max_bytes = 4 * MIB;
    OK(cls_mempool_create(rig.context, &config, &pool));
    OK(cls_mempool_get_config(pool, &back));
    assert_int_equal(back.max_bytes, 4 * MIB);
    for (int i = 0; i < 4; i++)
        buffers[i] = take_from(pool, stream, MIB);
    EXPECT(CLS_ERROR_OUT_OF_DEVICE_MEMORY, cls_mempool_malloc_async(pool, stream, 1, &untouched));
    assert_non_null(strstr(cls_last_error_detail(), "max_bytes"));
    assert_null(untouched);
    assert_int_equal(stats_of(pool).reserved, 4 * MIB);
    for (int i = 0; i < 2; i++)
        OK(cls_free_async(buffers[i], stream));
    OK(cls_stream_synchronize(stream));
    /* Unused memory of another size makes room. */
    buffers[0] = take_from(pool, other, 2 * MIB);
    assert_int_equal(stats_of(pool).reserved, 4 * MIB);
    OK(cls_free_async(buffers[0], other));
    OK(cls_free_async(buffers[2], stream));
    OK(cls_free_async(buffers[3], stream));
    end_pool(pool);
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(other));
}

static void test_the_current_pool(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_mempool standard, pool = pool_of(CLS_REUSE_FOLLOW_DONE), now;
    OK(cls_mempool_default(rig.context, &standard));
    OK(cls_context_get_mempool(rig.context, &now));
    assert_ptr_equal(now, standard);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_mempool_destroy(standard));
    OK(cls_context_set_mempool(rig.context, pool));
    cls_buffer buffer = take(stream, MIB);
    assert_int_equal(stats_of(pool).used, MIB);
    OK(cls_context_set_mempool(rig.context, NULL));
    OK(cls_context_get_mempool(rig.context, &now));
    assert_ptr_equal(now, standard);
    OK(cls_context_set_mempool(rig.context, pool));
    OK(cls_free_async(buffer, stream));
    OK(cls_mempool_destroy(pool)); /* the default takes its place */
    OK(cls_context_get_mempool(rig.context, &now));
    assert_ptr_equal(now, standard);
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_mempool_destroy(pool));
    buffer = take(stream, MIB);
    OK(cls_free_async(buffer, stream));
    OK(cls_stream_destroy(stream));
}

/* Buffers outlive their pool's handle. */
static void test_a_destroyed_pool(void **state) {
    (void)state;
    struct held held;
    cls_mempool pool = pool_of(CLS_REUSE_FOLLOW_DONE);
    cls_buffer cells, untouched = NULL;
    uint32_t seen = 0;
    hold(&held);
    cells = take_from(pool, held.stream, 64);
    cls_buffer freed = take_from(pool, held.stream, 64);
    OK(cls_free_async(freed, held.stream));
    OK(cls_mempool_destroy(pool));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_mempool_malloc_async(pool, held.stream, 64, &untouched));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_mempool_trim(pool, 0));
    OK(rig_set(held.stream, cells, 0, 77, 0));
    OK(cls_copy_d2h_async(&seen, cells, 0, 4, held.stream));
    OK(cls_free_async(cells, held.stream));
    let_go(&held);
    assert_int_equal(seen, 77);
    OK(cls_stream_destroy(held.stream));
}

static void test_a_destroyed_context(void **state) {
    (void)state;
    cls_context context;
    cls_stream stream;
    cls_mempool own, standard;
    cls_buffer x, y, z, untouched = NULL;
    OK(cls_context_create(NULL, &context));
    OK(cls_stream_create(context, NULL, &stream));
    OK(cls_mempool_create(context, NULL, &own));
    OK(cls_mempool_default(context, &standard));
    OK(cls_malloc_async(stream, MIB, &x));
    OK(cls_malloc_async(stream, MIB, &y));
    OK(cls_mempool_malloc_async(own, stream, 100, &z));
    OK(cls_context_destroy(context));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_malloc_async(stream, 64, &untouched));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_mempool_trim(own, 0));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_mempool_trim(standard, 0));
    OK(cls_free_async(x, stream));
    OK(cls_free_async(y, NULL)); /* there is no default stream any more */
    OK(cls_buffer_destroy(z));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_free_async(y, NULL));
    OK(cls_mempool_destroy(own));
    OK(cls_stream_destroy(stream));
}

/* cls_buffer_destroy: the memory is given again once the commands that use it are done. */
static void test_destroying_instead_of_freeing(void **state) {
    (void)state;
    struct held held;
    cls_stream other = rig_stream();
    cls_mempool pool = pool_of(CLS_REUSE_NONE);
    hold(&held);
    cls_buffer x = take_from(pool, other, 4 * KIB);
    cl_mem memory = memory_of(x);
    OK(rig_set(held.stream, x, 0, 1, 0));
    OK(cls_buffer_destroy(x));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_buffer_destroy(x));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_free_async(x, other));
    cls_buffer y = take_from(pool, other, 4 * KIB);
    assert_ptr_not_equal(memory_of(y), memory);
    let_go(&held);
    cls_buffer z = take_from(pool, other, 4 * KIB);
    assert_ptr_equal(memory_of(z), memory);
    OK(cls_free_async(y, other));
    OK(cls_free_async(z, other));
    end_pool(pool);
    OK(cls_stream_destroy(held.stream));
    OK(cls_stream_destroy(other));
}

static void test_statistics(void **state) {
    (void)state;
    cls_stream first = rig_stream(), second = rig_stream();
    cls_mempool pool = pool_of(CLS_REUSE_FOLLOW_DONE);
    cls_stream_memory memory = CLS_STREAM_MEMORY_INIT;
    cls_buffer a = take_from(pool, first, MIB), b = take_from(pool, first, 2 * MIB);
    cls_buffer c = take_from(pool, second, MIB);
    cls_mempool_stats stats = stats_of(pool);
    assert_int_equal(stats.used, 4 * MIB);
    assert_int_equal(stats.used_high, 4 * MIB);
    assert_int_equal(stats.blocks, 3);
    assert_int_equal(stats.mallocs, 3);
    assert_int_equal(stats.fresh, 3);
    OK(cls_free_async(a, first));
    OK(cls_free_async(b, second)); /* elsewhere than it was allocated */
    OK(cls_stream_get_memory(first, &memory));
    assert_int_equal(memory.used, 0);
    assert_int_equal(memory.peak, 3 * MIB);
    assert_int_equal(memory.mallocs, 2);
    a = take_from(pool, first, MIB);
    stats = stats_of(pool);
    assert_int_equal(stats.used, 2 * MIB);
    assert_int_equal(stats.used_high, 4 * MIB);
    assert_int_equal(stats.same_stream, 1);
    assert_int_equal(stats.mallocs - stats.frees, 2);
    OK(cls_mempool_reset_peaks(pool));
    assert_int_equal(stats_of(pool).used_high, 2 * MIB);
    OK(cls_stream_get_memory(first, &memory));
    assert_int_equal(memory.peak, MIB);
    OK(cls_stream_destroy(second)); /* with memory that is still in use */
    OK(cls_context_synchronize(rig.context));
    assert_int_equal(stats_of(pool).used, 2 * MIB);
    OK(cls_free_async(a, first));
    OK(cls_free_async(c, first));
    stats = stats_of(pool);
    assert_int_equal(stats.used, 0);
    assert_int_equal(stats.mallocs, 4);
    assert_int_equal(stats.frees, 4);
    end_pool(pool);
    OK(cls_stream_destroy(first));
}

/* Real work on two streams, not held by anything: what one frees the other takes when it can. */
static void test_long_kernels(void **state) {
    (void)state;
    enum { ROUNDS = 12 };
    cls_stream streams[2] = {rig_stream(), rig_stream()};
    cls_mempool pool = pool_of(CLS_REUSE_ALL);
    uint32_t seen[ROUNDS] = {0};
    for (uint32_t i = 0; i < ROUNDS; i++) {
        cls_stream stream = streams[i % 3 == 0];
        cls_buffer x = take_from(pool, stream, 4 * KIB);
        OK(rig_set(stream, x, 0, i, 0));
        OK(rig_step(stream, x, 0, 1, 100, 4));
        OK(cls_copy_d2h_async(&seen[i], x, 0, 4, stream));
        OK(cls_free_async(x, stream));
    }
    for (int i = 0; i < 2; i++)
        OK(cls_stream_synchronize(streams[i]));
    for (uint32_t i = 0; i < ROUNDS; i++)
        assert_int_equal(seen[i], 100 + i);
    assert_int_equal(stats_of(pool).mallocs, ROUNDS);
    end_pool(pool);
    for (int i = 0; i < 2; i++)
        OK(cls_stream_destroy(streams[i]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_buffer_like_any_other),
        cmocka_unit_test(test_sizes_and_alignment),
        cmocka_unit_test(test_live_buffers_do_not_overlap),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_other_contexts),
        cmocka_unit_test(test_a_freed_handle_is_stale),
        cmocka_unit_test(test_the_same_stream_reuses_at_once),
        cmocka_unit_test(test_memory_at_work_is_for_nobody_else),
        cmocka_unit_test(test_reuse_follows_events),
        cmocka_unit_test(test_reuse_of_what_is_done),
        cmocka_unit_test(test_an_early_event_is_not_enough),
        cmocka_unit_test(test_followed_memory_is_in_order),
        cmocka_unit_test(test_reuse_by_an_inserted_dependency),
        cmocka_unit_test(test_a_free_comes_after_pending_waits),
        cmocka_unit_test(test_asking_for_frees),
        cmocka_unit_test(test_free_on_another_stream),
        cmocka_unit_test(test_a_poisoned_stream_allocates_and_frees),
        cmocka_unit_test(test_failure_does_not_free_what_is_at_work),
        cmocka_unit_test(test_host_functions_may_allocate),
        cmocka_unit_test(test_free_all_of_a_stream),
        cmocka_unit_test(test_free_all_when_done),
        cmocka_unit_test(test_frees_wait_for_an_event),
        cmocka_unit_test(test_frees_wait_for_several_events),
        cmocka_unit_test(test_trim_and_threshold),
        cmocka_unit_test(test_a_limit),
        cmocka_unit_test(test_the_current_pool),
        cmocka_unit_test(test_a_destroyed_pool),
        cmocka_unit_test(test_a_destroyed_context),
        cmocka_unit_test(test_destroying_instead_of_freeing),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_long_kernels),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
