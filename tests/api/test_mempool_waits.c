/* SPDX-License-Identifier: MIT */
/*
 * Waits that are dropped: by a failure, or with their stream. What was freed behind one is for nobody else before it
 * is over, and what comes after a reset waits for it, be it for an event, a timeline or a cl_event of the program's.
 */
#include "mempools.h"

#include <clstream/opencl.h>
#include <clstream/timeline.h>

enum kind { OF_EVENT, OF_TIMELINE, OF_CL_EVENT, KINDS };

/* Has a stream wait for what is over once wait_end has been called. */
struct wait {
    enum kind kind;
    struct held held;
    cls_timeline timeline;
    cl_event event;
};

static void wait_for(struct wait *wait, enum kind kind, cls_stream stream) {
    wait->kind = kind;
    hold(&wait->held);
    OK(cls_timeline_create(NULL, &wait->timeline));
    wait->event = rig_user_event();
    if (kind == OF_EVENT)
        put_behind(stream, wait->held.stream);
    else if (kind == OF_TIMELINE)
        OK(cls_stream_wait_timeline(stream, wait->timeline, 1));
    else
        OK(cls_stream_wait_cl(stream, wait->event));
}

static void wait_end(struct wait *wait) {
    OK(cls_timeline_signal(wait->timeline, 1));
    assert_int_equal(clSetUserEventStatus(wait->event, CL_COMPLETE), CL_SUCCESS);
    let_go(&wait->held);
}

static void wait_close(struct wait *wait) {
    OK(cls_stream_destroy(wait->held.stream));
    OK(cls_timeline_destroy(wait->timeline));
    assert_int_equal(clReleaseEvent(wait->event), CL_SUCCESS);
}

/* A stream that waits and then fails in front of a command that was to wait. */
struct failed {
    cls_mempool pool;
    cls_stream stream;
    cl_mem memory; /* that it freed behind the wait */
    struct wait wait;
};

static void fail_at_a_wait(struct failed *f, enum kind kind) {
    struct gate gate;
    f->pool = pool_of(CLS_REUSE_ALL);
    f->stream = rig_stream();
    cls_buffer cells = rig_cells(1), freed = take_from(f->pool, f->stream, 4 * KIB);
    f->memory = memory_of(freed);
    gate_init(&gate);
    OK(cls_stream_launch_host_async(f->stream, gate_hold, &gate));
    OK(rig_fail(f->stream, "fails", -5));
    wait_for(&f->wait, kind, f->stream);
    OK(rig_set(f->stream, cells, 0, 1, 0));
    OK(cls_free_async(freed, f->stream));
    gate_open(&gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(f->stream));
    gate_destroy(&gate);
    OK(cls_buffer_destroy(cells));
}

static void failed_close(struct failed *f) {
    end_pool(f->pool);
    OK(cls_stream_destroy(f->stream));
    wait_close(&f->wait);
}

static void test_what_was_freed_behind_a_dropped_wait(void **state) {
    (void)state;
    for (enum kind kind = 0; kind < KINDS; kind++) {
        struct failed f;
        cls_stream other = rig_stream();
        fail_at_a_wait(&f, kind);
        EXPECT(CLS_NOT_READY, cls_stream_query_frees(f.stream));
        cls_buffer before = take_another(f.pool, other, f.memory);
        wait_end(&f.wait);
        OK(cls_stream_reset(f.stream));
        OK(cls_stream_synchronize(f.stream));
        OK(cls_stream_query_frees(f.stream));
        OK(cls_free_async(take_again(f.pool, f.stream, f.memory), f.stream));
        OK(cls_free_async(before, other));
        failed_close(&f);
        OK(cls_stream_destroy(other));
    }
}

static void test_what_comes_after_the_reset_waits(void **state) {
    (void)state;
    for (enum kind kind = 0; kind < KINDS; kind++) {
        struct failed f;
        cls_buffer cells = rig_cells(1);
        fail_at_a_wait(&f, kind);
        OK(cls_stream_reset(f.stream));
        OK(rig_set(f.stream, cells, 0, 3, 0));
        EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(f.stream, 30000000));
        wait_end(&f.wait);
        OK(cls_stream_synchronize(f.stream));
        assert_int_equal(rig_cell(cells, 0), 3);
        OK(cls_buffer_destroy(cells));
        failed_close(&f);
    }
}

/* Two failures in turn: what was freed behind both waits comes after the first one's too. */
static void test_a_second_failure_forgets_no_wait(void **state) {
    (void)state;
    struct failed f;
    struct wait second;
    struct gate gate;
    cls_stream other = rig_stream();
    cls_buffer cells = rig_cells(1);
    fail_at_a_wait(&f, OF_TIMELINE);
    cls_buffer before = take_another(f.pool, other, f.memory);
    OK(cls_stream_reset(f.stream));
    cls_buffer freed = take_another(f.pool, f.stream, f.memory);
    cl_mem memory = memory_of(freed);
    gate_init(&gate);
    OK(cls_stream_launch_host_async(other, gate_hold, &gate));
    OK(rig_fail(other, "fails too", -5));
    put_behind(f.stream, other);
    wait_for(&second, OF_CL_EVENT, f.stream);
    OK(rig_set(f.stream, cells, 0, 1, 0));
    OK(cls_free_async(freed, f.stream));
    gate_open(&gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(f.stream));
    cls_stream third = rig_stream();
    wait_end(&second);
    cls_buffer early = take_another(f.pool, third, memory);
    assert_ptr_not_equal(memory_of(early), f.memory);
    wait_end(&f.wait);
    OK(cls_stream_reset(other));
    OK(cls_stream_reset(f.stream));
    OK(cls_stream_synchronize(f.stream));
    OK(cls_free_async(early, third));
    OK(cls_free_async(before, other));
    OK(cls_buffer_destroy(cells));
    gate_destroy(&gate);
    failed_close(&f);
    wait_close(&second);
    OK(cls_stream_destroy(other));
    OK(cls_stream_destroy(third));
}

static void test_what_a_destroyed_stream_freed_behind_a_wait(void **state) {
    (void)state;
    for (enum kind kind = 0; kind < KINDS; kind++) {
        struct wait wait;
        cls_mempool pool = pool_of(CLS_REUSE_ALL);
        cls_stream stream = rig_stream(), other = rig_stream();
        cls_buffer freed = take_from(pool, stream, 4 * KIB);
        cl_mem memory = memory_of(freed);
        wait_for(&wait, kind, stream);
        OK(cls_free_async(freed, stream));
        OK(cls_stream_destroy(stream));
        nap_ms(20);
        cls_buffer before = take_another(pool, other, memory);
        wait_end(&wait);
        OK(cls_free_async(before, other));
        end_pool(pool);
        OK(cls_stream_destroy(other));
        wait_close(&wait);
    }
}

/* A poisoned stream takes no mark: what it freed behind a wait is asked about all the same. */
static void test_asking_a_poisoned_stream_for_frees(void **state) {
    (void)state;
    for (enum kind kind = 0; kind < KINDS; kind++) {
        struct wait wait;
        cls_mempool pool = pool_of(CLS_REUSE_ALL);
        cls_stream stream = rig_stream();
        cls_buffer freed = take_from(pool, stream, 4 * KIB);
        OK(rig_fail(stream, "fails", -5));
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
        wait_for(&wait, kind, stream);
        OK(cls_free_async(freed, stream));
        EXPECT(CLS_NOT_READY, cls_stream_query_frees(stream));
        wait_end(&wait);
        OK(cls_stream_query_frees(stream));
        OK(cls_stream_reset(stream));
        end_pool(pool);
        OK(cls_stream_destroy(stream));
        wait_close(&wait);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_freed_behind_a_dropped_wait),
        cmocka_unit_test(test_what_comes_after_the_reset_waits),
        cmocka_unit_test(test_a_second_failure_forgets_no_wait),
        cmocka_unit_test(test_what_a_destroyed_stream_freed_behind_a_wait),
        cmocka_unit_test(test_asking_a_poisoned_stream_for_frees),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
