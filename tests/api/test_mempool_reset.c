/* SPDX-License-Identifier: MIT */
/*
 * Stream-ordered memory that was given in an order which a failure breaks: the work before the free goes on
 * after the stream is reset, and is waited for all the same.
 */
#include "mempools.h"

/* The other stream is behind the held one's work only by way of a third, which is about to fail. */
struct chain {
    struct scene s;
    cls_stream third;
    struct gate gate;
    cls_buffer cells;
};

static void chain_open(struct chain *c, cls_reuse reuse) {
    gate_init(&c->gate);
    scene_open(&c->s, reuse);
    c->third = rig_stream();
    c->cells = take_from(c->s.pool, c->third, MIB);
}

static void chain_close(struct chain *c) {
    OK(cls_free_async(c->cells, c->third));
    OK(cls_stream_destroy(c->third));
    scene_close(&c->s);
    gate_destroy(&c->gate);
}

static void third_fails_at_gate(struct chain *c) {
    OK(cls_stream_launch_host_async(c->third, gate_hold, &c->gate));
    OK(rig_fail(c->third, "fails", -5));
    put_behind(c->third, c->s.held.stream);
    OK(rig_set(c->third, c->cells, 0, 1, 0));
}

/* The failure comes and the other stream is reset, while the held one still is to write 1 where the other then
 * writes 2. */
static void expect_order_after_reset(struct chain *c, cls_buffer y) {
    gate_open(&c->gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(c->third));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(c->s.other));
    OK(cls_stream_reset(c->s.other));
    OK(rig_set(c->s.other, y, 0, 2, 0));
    nap_ms(50);
    let_go(&c->s.held);
    OK(cls_stream_synchronize(c->s.other));
    assert_int_equal(rig_cell(y, 0), 2);
    OK(cls_free_async(y, c->s.other));
    OK(cls_stream_reset(c->third));
}

static void test_freed_before_the_stream_that_fails(void **state) {
    (void)state;
    struct chain c;
    chain_open(&c, CLS_REUSE_FOLLOW);
    cl_mem memory = use_and_free(c.s.pool, c.s.held.stream);
    third_fails_at_gate(&c);
    put_behind(c.s.other, c.third);
    expect_order_after_reset(&c, take_again(c.s.pool, c.s.other, memory));
    chain_close(&c);
}

static void freed_by_the_stream_that_fails(cls_reuse reuse) {
    struct chain c;
    chain_open(&c, reuse);
    cls_buffer x = take_to_work(&c.s, c.third);
    cl_mem memory = memory_of(x);
    third_fails_at_gate(&c);
    OK(cls_free_async(x, c.third));
    if (reuse == CLS_REUSE_FOLLOW)
        put_behind(c.s.other, c.third);
    expect_order_after_reset(&c, take_again(c.s.pool, c.s.other, memory));
    chain_close(&c);
}

static void test_freed_by_the_stream_that_fails(void **state) {
    (void)state;
    freed_by_the_stream_that_fails(CLS_REUSE_FOLLOW);
    freed_by_the_stream_that_fails(CLS_REUSE_INSERT);
}

static void test_freed_by_the_stream_itself(void **state) {
    (void)state;
    struct chain c;
    chain_open(&c, CLS_REUSE_NONE);
    cls_buffer x = take_to_work(&c.s, c.s.other);
    cl_mem memory = memory_of(x);
    third_fails_at_gate(&c);
    put_behind(c.s.other, c.third);
    OK(cls_free_async(x, c.s.other));
    expect_order_after_reset(&c, take_again(c.s.pool, c.s.other, memory));
    chain_close(&c);
}

/* A stream that has no such memory does not wait: the held stream ends only afterwards. */
static void test_others_are_not_waited_for(void **state) {
    (void)state;
    struct chain c;
    chain_open(&c, CLS_REUSE_FOLLOW);
    use_and_free(c.s.pool, c.s.held.stream);
    third_fails_at_gate(&c);
    put_behind(c.s.other, c.third);
    cls_buffer y = take_from(c.s.pool, c.s.other, MIB);
    gate_open(&c.gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(c.s.other));
    OK(cls_stream_reset(c.s.other));
    OK(rig_set(c.s.other, y, 0, 2, 0));
    OK(cls_stream_synchronize(c.s.other));
    assert_int_equal(rig_cell(y, 0), 2);
    OK(cls_free_async(y, c.s.other));
    let_go(&c.s.held);
    OK(cls_stream_reset(c.third));
    chain_close(&c);
}

/* Who uses the stream's memory fails only after its reset, which is no failure of the stream's. */
static void test_a_user_that_fails_later(void **state) {
    (void)state;
    struct chain c;
    chain_open(&c, CLS_REUSE_NONE);
    OK(cls_stream_launch_host_async(c.s.other, gate_hold, &c.gate));
    OK(rig_fail(c.s.other, "fails later", -5));
    OK(rig_set(c.s.other, c.cells, 0, 1, 0));
    OK(rig_fail(c.third, "fails", -5));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(c.third));
    OK(cls_stream_reset(c.third));
    OK(rig_set(c.third, c.cells, 0, 2, 0));
    gate_open(&c.gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(c.s.other));
    OK(cls_stream_synchronize(c.third));
    assert_int_equal(rig_cell(c.cells, 0), 2);
    OK(cls_stream_reset(c.s.other));
    let_go(&c.s.held);
    chain_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_freed_before_the_stream_that_fails),
        cmocka_unit_test(test_freed_by_the_stream_that_fails),
        cmocka_unit_test(test_freed_by_the_stream_itself),
        cmocka_unit_test(test_others_are_not_waited_for),
        cmocka_unit_test(test_a_user_that_fails_later),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
