/* SPDX-License-Identifier: MIT */
/* Stream-ordered memory: where a free is in the order, and what it waits for. */
#include "mempools.h"

#include <string.h>
#include <time.h>

#include <clstream/reduce.h>

/* A stream that waits and has submitted nothing since: the free comes after what it waits for. */
static void test_a_free_comes_after_pending_waits(void **state) {
    (void)state;
    struct scene s;
    cls_stream freeing = rig_stream();
    scene_open(&s, CLS_REUSE_FOLLOW_DONE);
    cls_buffer x = take_to_work(&s, s.held.stream);
    cl_mem memory = memory_of(x);
    put_behind(freeing, s.held.stream);
    OK(cls_free_async(x, freeing));
    expect_given_when_done(&s, memory);
    scene_close(&s);
    OK(cls_stream_destroy(freeing));
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
    struct scene s;
    scene_open(&s, CLS_REUSE_FOLLOW_DONE);
    cls_buffer x = take_to_work(&s, s.other);
    cl_mem memory = memory_of(x);
    OK(cls_free_async(x, s.held.stream));
    cls_buffer y = take_another(s.pool, s.other, memory); /* its own once, but at work elsewhere */
    cls_buffer z = take_again(s.pool, s.held.stream, memory);
    OK(cls_free_async(y, s.other));
    OK(cls_free_async(z, s.held.stream));
    let_go(&s.held);
    scene_close(&s);
}

/* A failed stream drops its waits: what it freed behind them may still be read by others. */
static void test_failure_does_not_free_what_is_at_work(void **state) {
    (void)state;
    struct scene s;
    scene_open(&s, CLS_REUSE_ALL);
    cls_buffer x = take_to_work(&s, s.other);
    cl_mem memory = memory_of(x);
    OK(rig_fail(s.other, "fails", -5));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(s.other));
    put_behind(s.other, s.held.stream);
    OK(cls_free_async(x, s.other));
    OK(cls_stream_reset(s.other));
    cls_buffer y = take_another(s.pool, s.other, memory);
    OK(cls_free_async(y, s.other));
    let_go(&s.held);
    scene_close(&s);
}

/* The other stream is to fail once the gate opens, before a command that is behind the held stream's work. */
static void fail_at_gate(const struct scene *s, struct gate *gate, cls_buffer cells) {
    OK(cls_stream_launch_host_async(s->other, gate_hold, gate));
    OK(rig_fail(s->other, "fails", -5));
    put_behind(s->other, s->held.stream);
    OK(rig_set(s->other, cells, 0, 1, 0));
}

/* The same for other streams: the free is done, since the command that was to wait was dropped. */
static void test_failure_does_not_give_others_what_is_at_work(void **state) {
    (void)state;
    struct scene s;
    struct gate gate;
    gate_init(&gate);
    scene_open(&s, CLS_REUSE_ALL);
    cls_stream third = rig_stream();
    cls_buffer cells = take_from(s.pool, s.other, MIB);
    cls_buffer x = take_to_work(&s, s.other);
    cl_mem memory = memory_of(x);
    fail_at_gate(&s, &gate, cells);
    OK(cls_free_async(x, s.other));
    gate_open(&gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(s.other));
    OK(cls_stream_reset(s.other));
    cls_buffer y = take_another(s.pool, third, memory);
    let_go(&s.held);
    OK(cls_free_async(y, third));
    OK(cls_free_async(cells, s.other));
    OK(cls_stream_destroy(third));
    scene_close(&s);
    gate_destroy(&gate);
}

/* What a failed stream was to come after by a command that was dropped, it does not come after. */
static void test_failure_breaks_the_order_that_memory_follows(void **state) {
    (void)state;
    struct scene s;
    struct gate gate;
    gate_init(&gate);
    scene_open(&s, CLS_REUSE_FOLLOW);
    cls_buffer cells = take_from(s.pool, s.other, MIB);
    cl_mem memory = use_and_free(s.pool, s.held.stream);
    fail_at_gate(&s, &gate, cells);
    gate_open(&gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(s.other));
    cls_buffer before = take_another(s.pool, s.other, memory);
    OK(cls_stream_reset(s.other));
    cls_buffer after = take_another(s.pool, s.other, memory);
    let_go(&s.held);
    OK(cls_free_async(before, s.other));
    OK(cls_free_async(after, s.other));
    OK(cls_free_async(cells, s.other));
    scene_close(&s);
    gate_destroy(&gate);
}

/* Not even to the stream itself where it had it again before it failed: what comes after the reset waits for all
 * that was to be waited for. */
static void test_order_outlives_a_failure(void **state) {
    (void)state;
    struct scene s;
    struct gate gate;
    gate_init(&gate);
    scene_open(&s, CLS_REUSE_ALL);
    cls_buffer cells = take_from(s.pool, s.other, MIB);
    cls_buffer x = take_to_work(&s, s.other);
    cl_mem memory = memory_of(x);
    fail_at_gate(&s, &gate, cells);
    OK(cls_free_async(x, s.other));
    cls_buffer y = take_again(s.pool, s.other, memory);
    gate_open(&gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(s.other));
    OK(cls_stream_reset(s.other));
    OK(rig_set(s.other, y, 0, 2, 0));
    nap_ms(50);
    let_go(&s.held);
    OK(cls_stream_synchronize(s.other));
    assert_int_equal(rig_cell(y, 0), 2);
    OK(cls_free_async(y, s.other));
    OK(cls_free_async(cells, s.other));
    scene_close(&s);
    gate_destroy(&gate);
}

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
    struct scene s;
    scene_open(&s, CLS_REUSE_FOLLOW_DONE);
    cls_buffer x = take_from(s.pool, s.held.stream, 4 * KIB);
    cl_mem memory = memory_of(x);
    OK(cls_stream_free_all_async(s.held.stream, CLS_FREE_WHEN_DONE));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_free_async(x, s.held.stream));
    EXPECT(CLS_NOT_READY, cls_stream_query_frees(s.held.stream));
    take_another(s.pool, s.held.stream, memory);
    let_go(&s.held);
    OK(cls_stream_query_frees(s.held.stream));
    take_again(s.pool, s.held.stream, memory);
    OK(cls_stream_free_all_async(s.held.stream, CLS_FREE_WHEN_DONE));
    scene_close(&s);
}

/* Frees behind a wait are made to come by a mark, for which a full FIFO has no room yet. */
static void test_a_full_fifo_is_no_failure_of_frees(void **state) {
    (void)state;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    struct held other;
    struct gate gate;
    cls_stream stream;
    cls_event event = rig_event();
    cls_status status = CLS_NOT_READY;
    config.fifo_limit = 1;
    OK(cls_stream_create(rig.context, &config, &stream));
    cls_buffer buffer = take(stream, 4 * KIB);
    hold(&other);
    OK(cls_event_record(event, other.stream));
    gate_init(&gate);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_stream_wait_event(stream, event));
    OK(cls_free_async(buffer, stream));
    EXPECT(CLS_NOT_READY, cls_stream_query_frees(stream));
    gate_open(&gate);
    let_go(&other);
    while (status == CLS_NOT_READY)
        status = cls_stream_query_frees(stream);
    OK(status);
    gate_destroy(&gate);
    OK(cls_event_destroy(event));
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(other.stream));
}

/* A host function that frees all of its stream once a reduction waits behind it. */
static void free_all_behind(void *arg) {
    cls_stream stream = arg;
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    for (int i = 0; i < 200 && !counters.commands[CLS_COMMAND_COPY_D2H]; i++) {
        nap_ms(5);
        cls_stream_get_counters(stream, &counters);
    }
    cls_stream_free_all_async(stream, CLS_FREE_IN_ORDER);
}

/* The temporary memory of an operation is the library's own: freed once, by the operation. */
static void test_free_all_leaves_what_operations_use(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_mempool pool;
    cls_buffer ones, kept[2];
    const int32_t one = 1;
    int64_t sum = 0;
    OK(cls_buffer_create(rig.context, 256 * KIB, &ones));
    OK(cls_fill(ones, 0, 256 * KIB, &one, sizeof one, stream));
    OK(cls_reduce(CLS_REDUCE_SUM, cls_array_at(ones, CLS_I32, 0, 64 * KIB), &sum, stream));
    OK(cls_mempool_default(rig.context, &pool));
    const cls_mempool_statistics before = stats_of(pool);
    OK(cls_stream_launch_host_async(stream, free_all_behind, stream));
    OK(cls_reduce(CLS_REDUCE_SUM, cls_array_at(ones, CLS_I32, 0, 64 * KIB), &sum, stream));
    assert_int_equal(sum, 64 * KIB);
    const cls_mempool_statistics after = stats_of(pool);
    assert_int_equal(after.used, before.used);
    assert_int_equal(after.mallocs - before.mallocs, after.frees - before.frees);
    for (int i = 0; i < 2; i++)
        kept[i] = take_from(pool, stream, KIB);
    assert_ptr_not_equal(memory_of(kept[0]), memory_of(kept[1]));
    OK(cls_stream_free_all_async(stream, CLS_FREE_IN_ORDER));
    OK(cls_buffer_destroy(ones));
    OK(cls_stream_destroy(stream));
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
    cls_buffer y = take_again(pool, stream, first), z = take_another(pool, other, memory);
    OK(rig_set(stream, y, 0, 5, 0));
    OK(cls_stream_synchronize(stream));
    let_go(&reader);
    OK(cls_stream_query_frees(stream));
    for (int i = 0; i < 2; i++) /* the event is done: nothing waits any more */
        OK(cls_free_async(take_again(pool, stream, memory), stream));
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
    take_again(pool, stream, memories[0]);
    take_another(pool, stream, memories[1]);
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

static clock_t time_to_take(cls_mempool pool, cls_stream stream, cls_buffer *buffers, unsigned n) {
    const clock_t before = clock();
    for (unsigned i = 0; i < n; i++)
        buffers[i] = take_from(pool, stream, 4 * KIB);
    return clock() - before;
}

/* However much is held, who allocates does not look at all of it: that would take a hundred times as long as to
 * allocate at first did. */
static void test_many_frees_wait(void **state) {
    enum { MOST = RIG_HANDLES / 4, MANY = MOST < 20000 ? MOST : 20000, BEHIND_EACH = 40 };
    static cls_buffer buffers[MANY], more[MANY];
    (void)state;
    struct held reader;
    cls_stream stream = rig_stream();
    cls_event read = rig_event();
    cls_mempool pool = pool_of(CLS_REUSE_ALL);
    cls_buffer cells = rig_cells(1);
    hold(&reader);
    const clock_t at_first = time_to_take(pool, stream, buffers, MANY);
    for (unsigned i = 0; i < MANY; i++) {
        if (i % BEHIND_EACH == 0) {
            OK(rig_set(reader.stream, cells, 0, i, 0));
            OK(cls_event_record(read, reader.stream));
            OK(cls_stream_frees_wait_event(stream, read));
        }
        OK(cls_free_async(buffers[i], stream));
    }
    const clock_t beside_held = time_to_take(pool, stream, more, MANY);
    assert_true(beside_held < 10 * at_first + CLOCKS_PER_SEC / 10);
    const uint64_t fresh = stats_of(pool).fresh;
    let_go(&reader);
    OK(cls_stream_query_frees(stream));
    for (unsigned i = 0; i < MANY; i++)
        take_from(pool, stream, 4 * KIB);
    assert_int_equal(stats_of(pool).fresh, fresh);
    OK(cls_stream_free_all_async(stream, CLS_FREE_IN_ORDER));
    end_pool(pool);
    OK(cls_event_destroy(read));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(reader.stream));
    OK(cls_stream_destroy(stream));
}

/* They wait for it also when the stream is destroyed meanwhile. */
static void test_frees_of_a_destroyed_stream_wait(void **state) {
    (void)state;
    struct scene s;
    cls_stream stream = rig_stream();
    scene_open(&s, CLS_REUSE_ALL);
    cls_event read = rig_event();
    cls_buffer x = take_from(s.pool, stream, 4 * KIB);
    cl_mem memory = memory_of(x);
    OK(cls_event_record(read, s.held.stream));
    OK(cls_stream_frees_wait_event(stream, read));
    OK(cls_free_async(x, stream));
    OK(cls_event_destroy(read));
    OK(cls_stream_destroy(stream));
    nap_ms(50);
    cls_buffer before = take_another(s.pool, s.other, memory);
    let_go(&s.held);
    OK(cls_free_async(before, s.other));
    scene_close(&s);
}

/* So do those behind waits that nothing followed. */
static void test_frees_behind_waits_of_a_destroyed_stream_wait(void **state) {
    (void)state;
    struct scene s;
    cls_stream stream = rig_stream();
    scene_open(&s, CLS_REUSE_ALL);
    cls_buffer x = take_from(s.pool, stream, 4 * KIB), y = take_from(s.pool, stream, 8 * KIB);
    cl_mem memories[2] = {memory_of(x), memory_of(y)};
    put_behind(stream, s.held.stream);
    OK(cls_free_async(x, stream));
    OK(cls_stream_free_all_async(stream, CLS_FREE_WHEN_DONE));
    OK(cls_stream_destroy(stream));
    nap_ms(50);
    cls_buffer before = take_another(s.pool, s.other, memories[0]);
    cls_buffer larger = take_from(s.pool, s.other, 8 * KIB);
    assert_ptr_not_equal(memory_of(larger), memories[1]);
    let_go(&s.held);
    OK(cls_free_async(before, s.other));
    OK(cls_free_async(larger, s.other));
    scene_close(&s);
}

static bool is_known(const char *name) {
    static char text[1 << 16];
    size_t length;
    OK(cls_context_explain(rig.context, text, sizeof text, &length));
    return strstr(text, name) != NULL;
}

/* Two streams whose frees wait for each other go when they are destroyed. */
static void test_frees_that_wait_for_each_other_let_go(void **state) {
    (void)state;
    enum { TRIES = 1000 };
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream streams[2];
    cls_event events[2];
    struct held held;
    cls_mempool pool = pool_of(CLS_REUSE_FOLLOW_DONE);
    config.name = "criss-cross";
    hold(&held);
    for (int i = 0; i < 2; i++) {
        OK(cls_stream_create(rig.context, &config, &streams[i]));
        events[i] = rig_event();
        put_behind(streams[i], held.stream);
        OK(cls_event_record(events[i], streams[i]));
    }
    for (int i = 0; i < 2; i++) {
        OK(cls_stream_frees_wait_event(streams[i], events[1 - i]));
        OK(cls_free_async(take_from(pool, streams[i], 4 * KIB), streams[i]));
    }
    for (int i = 0; i < 2; i++) {
        OK(cls_event_destroy(events[i]));
        OK(cls_stream_destroy(streams[i]));
    }
    assert_true(is_known(config.name));
    let_go(&held);
    for (int i = 0; i < TRIES && is_known(config.name); i++)
        nap_ms(5);
    assert_false(is_known(config.name));
    end_pool(pool);
    OK(cls_stream_destroy(held.stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_free_comes_after_pending_waits),
        cmocka_unit_test(test_asking_for_frees),
        cmocka_unit_test(test_free_on_another_stream),
        cmocka_unit_test(test_failure_does_not_free_what_is_at_work),
        cmocka_unit_test(test_failure_does_not_give_others_what_is_at_work),
        cmocka_unit_test(test_order_outlives_a_failure),
        cmocka_unit_test(test_failure_breaks_the_order_that_memory_follows),
        cmocka_unit_test(test_free_all_of_a_stream),
        cmocka_unit_test(test_free_all_when_done),
        cmocka_unit_test(test_a_full_fifo_is_no_failure_of_frees),
        cmocka_unit_test(test_free_all_leaves_what_operations_use),
        cmocka_unit_test(test_frees_wait_for_an_event),
        cmocka_unit_test(test_frees_wait_for_several_events),
        cmocka_unit_test(test_many_frees_wait),
        cmocka_unit_test(test_frees_of_a_destroyed_stream_wait),
        cmocka_unit_test(test_frees_behind_waits_of_a_destroyed_stream_wait),
        cmocka_unit_test(test_frees_that_wait_for_each_other_let_go),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
