/* SPDX-License-Identifier: MIT */
/* Stream-ordered memory: who is given freed memory again, and when. */
#include "mempools.h"

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
    struct scene s;
    scene_open(&s, CLS_REUSE_FOLLOW_DONE);
    cl_mem memory = use_and_free(s.pool, s.held.stream);
    expect_given_when_done(&s, memory);
    assert_int_equal(stats_of(s.pool).done, 1);
    scene_close(&s);
}

/* How the stream that asks stands to the one that freed, and what has become of the work of that. */
enum relation { APART, BEHIND, BEHIND_A_THIRD };
enum work { PENDING, DONE };

/* Whether memory freed on a held stream is given to another. */
static bool is_given(cls_reuse reuse, enum relation relation, enum work work) {
    struct scene s;
    cls_stream third = rig_stream();
    scene_open(&s, reuse);
    cl_mem memory = use_and_free(s.pool, s.held.stream);
    if (relation == BEHIND)
        put_behind(s.other, s.held.stream);
    if (relation == BEHIND_A_THIRD) {
        put_behind(third, s.held.stream);
        put_behind(s.other, third);
    }
    if (work == DONE)
        let_go(&s.held);
    cls_buffer y = take_from(s.pool, s.other, 4 * KIB);
    bool given = memory_of(y) == memory;
    OK(cls_free_async(y, s.other));
    if (work == PENDING)
        let_go(&s.held);
    scene_close(&s);
    OK(cls_stream_destroy(third));
    return given;
}

static void test_reuse_follows_events(void **state) {
    (void)state;
    assert_true(is_given(CLS_REUSE_FOLLOW, BEHIND, PENDING));
    assert_true(is_given(CLS_REUSE_FOLLOW, BEHIND_A_THIRD, PENDING));
    assert_true(is_given(CLS_REUSE_FOLLOW_DONE, BEHIND, PENDING));
    assert_true(is_given(CLS_REUSE_FOLLOW, BEHIND, DONE));
    assert_false(is_given(CLS_REUSE_FOLLOW, APART, PENDING));
    assert_false(is_given(CLS_REUSE_FOLLOW, APART, DONE));
    assert_false(is_given(CLS_REUSE_DONE, BEHIND, PENDING));
    assert_false(is_given(CLS_REUSE_NONE, BEHIND, PENDING));
}

static void test_reuse_of_what_is_done(void **state) {
    (void)state;
    assert_true(is_given(CLS_REUSE_DONE, APART, DONE));
    assert_false(is_given(CLS_REUSE_DONE, APART, PENDING));
    assert_false(is_given(CLS_REUSE_NONE, APART, DONE));
}

/* An event from before the last use is no dependency on the free. */
static void test_an_early_event_is_not_enough(void **state) {
    (void)state;
    struct scene s;
    scene_open(&s, CLS_REUSE_FOLLOW_DONE);
    put_behind(s.other, s.held.stream);
    cl_mem memory = use_and_free(s.pool, s.held.stream);
    cls_buffer y = take_another(s.pool, s.other, memory);
    OK(cls_free_async(y, s.other));
    let_go(&s.held);
    scene_close(&s);
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
    struct scene s;
    scene_open(&s, CLS_REUSE_INSERT);
    cl_mem memory = use_and_free(s.pool, s.held.stream);
    cls_buffer y = take_again(s.pool, s.other, memory);
    OK(rig_set(s.other, y, 0, 2, 0));
    nap_ms(5);
    EXPECT(CLS_NOT_READY, cls_stream_query(s.other));
    let_go(&s.held);
    OK(cls_stream_synchronize(s.other));
    assert_int_equal(rig_cell(y, 0), 2);
    assert_int_equal(stats_of(s.pool).inserted, 1);
    OK(cls_free_async(y, s.other));
    scene_close(&s);
}

/* cls_buffer_destroy: the memory is given again once the commands that use it are done. */
static void test_destroying_instead_of_freeing(void **state) {
    (void)state;
    struct scene s;
    scene_open(&s, CLS_REUSE_NONE);
    cls_buffer x = take_to_work(&s, s.other);
    cl_mem memory = memory_of(x);
    OK(cls_buffer_destroy(x));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_buffer_destroy(x));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_free_async(x, s.other));
    expect_given_when_done(&s, memory);
    scene_close(&s);
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
        cmocka_unit_test(test_the_same_stream_reuses_at_once),
        cmocka_unit_test(test_memory_at_work_is_for_nobody_else),
        cmocka_unit_test(test_reuse_follows_events),
        cmocka_unit_test(test_reuse_of_what_is_done),
        cmocka_unit_test(test_an_early_event_is_not_enough),
        cmocka_unit_test(test_followed_memory_is_in_order),
        cmocka_unit_test(test_reuse_by_an_inserted_dependency),
        cmocka_unit_test(test_destroying_instead_of_freeing),
        cmocka_unit_test(test_long_kernels),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
