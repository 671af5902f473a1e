/* SPDX-License-Identifier: MIT */
/* CLSTREAM_CHECK=race: waits that come before the signal that they are for. */
#include "race_pairs.h"

#include <clstream/mempool.h>

static void wait_early(cls_stream stream, cls_timeline line, uint64_t value) {
    OK(cls_stream_wait_timeline(stream, line, value));
}

static void early_wait(bool clean) {
    wait_early(w.b, w.early, 1);
    read_x(w.b);
    if (clean)
        write_x(w.a);
    OK(cls_stream_signal_timeline(w.a, w.early, 1));
    if (!clean)
        write_x(w.a);
}

static void early_wait_for_a_value(bool clean) {
    wait_early(w.b, w.early, clean ? 2 : 1);
    read_x(w.b);
    OK(cls_stream_signal_timeline(w.a, w.early, 1));
    write_x(w.a);
    OK(cls_stream_signal_timeline(w.a, w.early, 2));
}

/* Who comes after the stream that waits has to wait with it. */
static void early_wait_of_another(bool clean) {
    wait_early(w.b, w.early, 1);
    if (clean)
        edge(w.b, w.c);
    read_x(w.c);
    write_x(w.a);
    OK(cls_stream_signal_timeline(w.a, w.early, 1));
}

/* The signal itself stands behind a wait whose signal comes later. */
static void chained_early_waits(bool clean) {
    wait_early(w.c, w.early, 1);
    read_x(w.c);
    wait_early(w.b, w.later, 1);
    OK(cls_stream_signal_timeline(w.b, w.early, 1));
    if (clean)
        write_x(w.a);
    OK(cls_stream_signal_timeline(w.a, w.later, 1));
    if (!clean)
        write_x(w.a);
}

/* Two commands that wait early, for different things, race with each other. */
static void two_early_waits(bool clean) {
    wait_early(w.b, w.early, 1);
    read_x(w.b);
    wait_early(w.c, clean ? w.early : w.later, clean ? 2 : 1);
    fill(w.x, 0, 4, w.c);
    OK(cls_stream_signal_timeline(w.a, w.later, 1));
    OK(cls_stream_signal_timeline(w.a, w.early, 1));
    OK(cls_stream_wait_event(w.a, w.event));
    if (clean)
        edge(w.b, w.a);
    OK(cls_stream_signal_timeline(w.a, w.early, 2));
}

/* Any of two streams may signal first: the command has to come after both. */
static void early_wait_for_any(bool clean) {
    wait_early(w.c, w.early, 1);
    read_x(w.c);
    write_x(w.a);
    if (clean)
        edge(w.a, w.b);
    OK(cls_stream_signal_timeline(w.b, w.early, 1));
    OK(cls_stream_signal_timeline(w.a, w.early, 1));
}

/* The host fills what the device waits to fetch. */
static void early_wait_for_the_host(bool clean) {
    wait_early(w.b, w.early, 1);
    write_x(w.b);
    if (!clean)
        OK(cls_timeline_signal(w.early, 1));
    OK(cls_check_host_access(w.words, BYTES, CLS_ACCESS_WRITE));
    if (clean)
        OK(cls_timeline_signal(w.early, 1));
}

/* What the host has learned comes before its signal, not before what was submitted earlier. */
static void host_signal_hands_on(bool clean) {
    wait_early(w.b, w.early, 1);
    read_x(w.b);
    write_x(w.a);
    if (clean)
        OK(cls_stream_synchronize(w.a));
    OK(cls_timeline_signal(w.early, 1));
}

static void learned_after_the_signal(bool clean) {
    wait_early(w.b, w.early, 1);
    wait_early(w.b, w.later, 1);
    read_x(w.b);
    write_x(w.a);
    if (clean)
        OK(cls_stream_synchronize(w.a));
    OK(cls_timeline_signal(w.early, 1));
    OK(cls_stream_signal_timeline(w.c, w.later, 1));
    OK(cls_stream_synchronize(w.a));
}

static void signal_early(void *value) { OK(cls_timeline_signal(w.early, *(uint64_t *)value)); }

static void signal_by_a_host_function(bool clean) {
    static uint64_t one = 1;
    wait_early(w.b, w.early, 1);
    read_x(w.b);
    if (clean)
        write_x(w.a);
    OK(cls_stream_launch_host_async(w.a, signal_early, &one));
    if (!clean)
        write_x(w.a);
    OK(cls_context_synchronize(rig.context));
}

static void host_waits_for_a_timeline(bool clean) {
    OK(cls_stream_signal_timeline(w.a, w.early, 1));
    read_x(w.a);
    OK(cls_stream_signal_timeline(w.a, w.early, 2));
    OK(cls_timeline_wait(w.early, clean ? 2 : 1, UINT64_MAX));
    OK(cls_check_host_access(w.more, 4, CLS_ACCESS_READ));
}

/* The signal comes after an early wait for a third stream, and the host knows that much. */
static void host_waits_behind_an_early_wait(bool clean) {
    wait_early(w.b, w.early, 1);
    OK(cls_stream_signal_timeline(w.b, w.later, 1));
    if (clean)
        read_x(w.a);
    OK(cls_stream_signal_timeline(w.a, w.early, 1));
    if (!clean)
        read_x(w.a);
    while (cls_timeline_query(w.later, 1) == CLS_NOT_READY)
        nap_ms(1);
    OK(cls_check_host_access(w.more, 4, CLS_ACCESS_READ));
}

/* A buffer's memory is given again while what is behind a wait has not been compared yet. */
static void early_wait_and_free(bool clean) {
    cls_buffer memory = NULL;
    wait_early(w.b, w.early, 1);
    OK(cls_malloc_async(w.b, BYTES, &memory));
    fill(memory, 0, BYTES, w.b);
    if (clean)
        edge(w.b, w.c);
    fill(memory, 0, 4, w.c);
    edge(w.c, w.b);
    OK(cls_free_async(memory, w.b));
    OK(cls_stream_signal_timeline(w.a, w.early, 1));
}

/* A wait that comes to nothing leaves what is behind it undone, and the stream followed after its reset. */
static void test_what_fails_behind_an_early_wait_is_let_go(void **state) {
    (void)state;
    world_begin();
    wait_early(w.b, w.early, 1);
    read_x(w.b);
    edge(w.b, w.c);
    fill(w.y, 0, 4, w.c);
    OK(cls_timeline_destroy(w.early));
    assert_int_not_equal(cls_stream_synchronize(w.b), CLS_SUCCESS);
    assert_int_not_equal(cls_stream_synchronize(w.c), CLS_SUCCESS);
    OK(cls_stream_reset(w.b));
    OK(cls_stream_reset(w.c));
    write_x(w.a);
    fill(w.y, 0, 4, w.a);
    assert_int_equal(found().races, 0);
    read_x(w.b);
    assert_int_equal(found().races, 1);
    OK(cls_timeline_create(NULL, &w.early));
    world_end();
}

static void fail_once_open(void *gate) {
    gate_hold(gate);
    cls_host_function_fail("on purpose");
}

static void open_when_called(cls_stream stream, cls_status status, void *gate) {
    (void)stream, (void)status;
    gate_open(gate);
}

/* The second stream fails, and calls its callback before the work is done that it was to wait for. What is behind it comes
 * after that work all the same, which is compared last. */
static void test_what_a_failed_wait_was_for_is_compared_later(void **state) {
    struct gate gate, called;
    (void)state;
    world_begin();
    gate_init(&gate);
    gate_init(&called);
    wait_early(w.a, w.early, 1);
    write_x(w.a);
    OK(cls_stream_launch_host_async(w.b, fail_once_open, &gate));
    edge(w.a, w.b);
    OK(cls_stream_add_callback(w.b, open_when_called, &called));
    edge(w.b, w.c);
    write_x(w.c);
    gate_open(&gate);
    gate_hold(&called);
    OK(cls_timeline_signal(w.early, 1));
    OK(cls_stream_synchronize(w.a));
    assert_int_equal(found().races, 0);
    assert_int_not_equal(cls_stream_synchronize(w.c), CLS_SUCCESS);
    OK(cls_stream_reset(w.b));
    OK(cls_stream_reset(w.c));
    gate_destroy(&gate);
    gate_destroy(&called);
    world_end();
}

/* A timeline that starts at a value has nothing to be waited for. */
static void test_a_timeline_may_start_at_the_value(void **state) {
    const cls_timeline_config config = {sizeof config, NULL, 7, NULL};
    cls_timeline line = NULL;
    (void)state;
    world_begin();
    OK(cls_timeline_create(&config, &line));
    OK(cls_stream_wait_timeline(w.b, line, 7));
    read_x(w.b);
    write_x(w.a);
    assert_int_equal(found().races, 1);
    OK(cls_timeline_destroy(line));
    world_end();
}

/* More than one pass of the checker's lists: each stream waits for the next one, and the last for the host. */
static void test_a_ladder_of_early_waits_is_followed(void **state) {
    enum { RUNGS = 40 };
    cls_timeline line = NULL;
    (void)state;
    world_begin();
    OK(cls_timeline_create(NULL, &line));
    for (uint64_t i = 0; i < RUNGS; i++) {
        cls_stream stream = i % 2 ? w.a : w.b;
        OK(cls_stream_wait_timeline(stream, line, 2 * i + 1));
        fill(w.x, 0, 4, stream);
        OK(cls_stream_signal_timeline(stream, line, 2 * i + 2));
        OK(cls_stream_wait_timeline(w.c, line, 2 * i + 2));
        OK(cls_stream_signal_timeline(w.c, line, 2 * i + 3));
    }
    assert_int_equal(found().races, 0);
    OK(cls_timeline_signal(line, 1));
    OK(cls_timeline_wait(line, 2 * RUNGS + 1, UINT64_MAX));
    assert_int_equal(found().races, 0);
    fill(w.x, 0, 4, w.a);
    fill(w.x, 0, 4, w.b);
    assert_int_equal(found().races, 1);
    OK(cls_timeline_destroy(line));
    world_end();
}

static const struct CMUnitTest tests[] = {
    PAIR("early wait", early_wait, false,
         {"command 1 of stream 'second' ('copy_d2h') reads",
          "command 1 of stream 'first' ('copy_h2d') writes"}),
    PAIR("early wait for a value", early_wait_for_a_value, false, {"'first'", "'second'"}),
    PAIR("early wait of another", early_wait_of_another, false, {"'first'", "'third'"}),
    PAIR("chained early waits", chained_early_waits, false, {"'first'", "'third'"}),
    PAIR("two early waits", two_early_waits, false, {"'second'", "'third'", "bytes 0 to 3"}),
    PAIR("early wait for any", early_wait_for_any, false, {"'first'", "'third'"}),
    PAIR("early wait for the host", early_wait_for_the_host, false,
         {"command 1 of stream 'second' ('copy_h2d') reads and the host writes 256 bytes"}),
    PAIR("host signal hands on", host_signal_hands_on, false, {"'first'", "'second'"}),
    PAIR("learned after the signal", learned_after_the_signal, false, {"'first'", "'second'"}),
    PAIR("signal by a host function", signal_by_a_host_function, false, {"'first'", "'second'"}),
    PAIR("host waits for a timeline", host_waits_for_a_timeline, false, {"the host reads 4 bytes"}),
    PAIR("host waits behind an early wait", host_waits_behind_an_early_wait, false,
         {"'first'", "the host reads 4 bytes"}),
    PAIR("early wait and free", early_wait_and_free, false, {"'second'", "'third'"}),
    cmocka_unit_test(test_what_fails_behind_an_early_wait_is_let_go),
    cmocka_unit_test(test_what_a_failed_wait_was_for_is_compared_later),
    cmocka_unit_test(test_a_timeline_may_start_at_the_value),
    cmocka_unit_test(test_a_ladder_of_early_waits_is_followed),
};

int main(void) { return cmocka_run_group_tests(tests, race_setup, race_teardown); }
