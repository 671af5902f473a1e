/* SPDX-License-Identifier: MIT */
/* Timelines: failure goes from signal to wait; what is destroyed fails what waits for it. */
#include <pthread.h>
#include <stdatomic.h>

#include <clstream/mempool.h>

#include "timelines.h"

struct victims {
    cls_stream failing, waiting, host;
    cls_timeline timeline;
    cls_buffer cells;
};

static struct victims open_victims(void) {
    return (struct victims){rig_stream(), rig_stream(), rig_stream(), make("poisoned", 0, NULL),
                            rig_cells(1)};
}

static void close_victims(struct victims *v) {
    OK(cls_stream_destroy(v->failing));
    OK(cls_stream_destroy(v->waiting));
    OK(cls_stream_destroy(v->host));
    OK(cls_timeline_destroy(v->timeline));
    OK(cls_buffer_destroy(v->cells));
}

static void test_a_skipped_signal_advances_and_poisons(void **state) {
    (void)state;
    struct victims v = open_victims();
    struct gate gate;
    cls_timeline_info info = CLS_TIMELINE_INFO_INIT;
    gate_init(&gate);
    OK(cls_stream_wait_timeline(v.waiting, v.timeline, 5));
    OK(rig_set(v.waiting, v.cells, 0, 1, 0));
    OK(cls_stream_signal_timeline(v.failing, v.timeline, 2));
    OK(cls_stream_launch_host_async(v.failing, gate_hold, &gate));
    OK(rig_fail(v.failing, "the culprit", -5));
    OK(cls_stream_signal_timeline(v.failing, v.timeline, 5));
    gate_open(&gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_timeline_wait(v.timeline, 5, UINT64_MAX));
    expect_detail("the culprit");
    expect_detail("poisoned");
    assert_int_equal(cls_last_error_code(), -5);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(v.waiting));
    expect_detail("the culprit");
    assert_int_equal(rig_cell(v.cells, 0), 0);
    OK(cls_timeline_get_info(v.timeline, &info));
    assert_int_equal(info.value, 5);
    EXPECT(CLS_ERROR_COMMAND_FAILED, info.status);
    OK(cls_timeline_query(v.timeline, 2)); /* reached well */
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_timeline_query(v.timeline, 4));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_timeline_query(v.timeline, 50));
    close_victims(&v);
    gate_destroy(&gate);
}

static void test_the_host_fails_what_is_not_reached(void **state) {
    (void)state;
    struct victims v = open_victims();
    OK(cls_timeline_signal(v.timeline, 2));
    OK(cls_stream_wait_timeline(v.waiting, v.timeline, 3));
    OK(rig_set(v.waiting, v.cells, 0, 1, 0));
    OK(cls_timeline_fail(v.timeline, "reception", "the other side is gone"));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(v.waiting));
    expect_detail("command 'reception' failed: the other side is gone");
    assert_int_equal(rig_cell(v.cells, 0), 0);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_timeline_wait(v.timeline, 3, UINT64_MAX));
    OK(cls_timeline_query(v.timeline, 2));
    OK(cls_timeline_fail(v.timeline, "another", "later"));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_timeline_query(v.timeline, 3));
    expect_detail("the other side is gone"); /* the first failure counts */
    OK(cls_timeline_reset(v.timeline));
    OK(cls_timeline_signal(v.timeline, 4));
    OK(cls_timeline_query(v.timeline, 4));
    close_victims(&v);
}

static void test_only_its_signaller_fails_a_timeline(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_timeline timeline = make("owned", 0, stream);
    EXPECT(CLS_ERROR_INVALID_STATE, cls_timeline_fail(timeline, "a", "b"));
    EXPECT(CLS_NOT_READY, cls_timeline_query(timeline, 1));
    OK(cls_timeline_destroy(timeline));
    OK(cls_stream_destroy(stream));
}

static void test_a_note_is_part_of_the_explanation(void **state) {
    (void)state;
    cls_timeline timeline = make("noted", 0, NULL);
    OK(cls_timeline_annotate(timeline, "rank 1 is late"));
    EXPECT(CLS_ERROR_TIMEOUT, cls_timeline_wait(timeline, 1, 0));
    expect_detail("; rank 1 is late");
    OK(cls_timeline_annotate(timeline, NULL));
    EXPECT(CLS_ERROR_TIMEOUT, cls_timeline_wait(timeline, 1, 0));
    assert_null(strstr(cls_last_error_detail(), "late"));
    OK(cls_timeline_destroy(timeline));
}

static void test_a_wait_for_a_poisoned_timeline_poisons(void **state) {
    (void)state;
    struct victims v = open_victims();
    OK(cls_timeline_signal(v.timeline, 1));
    OK(rig_fail(v.failing, "the culprit", -5));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(v.failing));
    OK(cls_stream_signal_timeline(v.failing, v.timeline, 2)); /* accepted, so that nobody hangs */
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_timeline_wait(v.timeline, 2, UINT64_MAX));
    OK(cls_stream_wait_timeline(v.waiting, v.timeline, 1));
    OK(cls_stream_query(v.waiting));
    OK(cls_stream_wait_timeline(v.waiting, v.timeline, 3));
    EXPECT(CLS_ERROR_COMMAND_FAILED, rig_set(v.waiting, v.cells, 0, 1, 0));
    expect_detail("the culprit");
    OK(cls_stream_query(v.host));
    close_victims(&v);
}

static void test_a_timeline_is_reset(void **state) {
    (void)state;
    struct victims v = open_victims();
    OK(cls_timeline_reset(v.timeline)); /* healthy: nothing to do */
    OK(rig_fail(v.failing, "the culprit", -5));
    OK(cls_stream_signal_timeline(v.failing, v.timeline, 2));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_timeline_wait(v.timeline, 2, UINT64_MAX));
    OK(cls_timeline_reset(v.timeline));
    OK(cls_stream_reset(v.failing));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_timeline_query(v.timeline, 2));
    EXPECT(CLS_NOT_READY, cls_timeline_query(v.timeline, 3));
    OK(cls_stream_wait_timeline(v.waiting, v.timeline, 3));
    OK(rig_set(v.waiting, v.cells, 0, 1, 0));
    OK(cls_stream_signal_timeline(v.failing, v.timeline, 3));
    OK(cls_stream_synchronize(v.waiting));
    assert_int_equal(rig_cell(v.cells, 0), 1);
    for (uint64_t round = 4; round < 20; round += 2) {
        OK(rig_fail(v.failing, "again", -5));
        OK(cls_stream_signal_timeline(v.failing, v.timeline, round));
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_timeline_wait(v.timeline, round, UINT64_MAX));
        OK(cls_stream_reset(v.failing));
        OK(cls_timeline_reset(v.timeline));
        OK(cls_stream_signal_timeline(v.failing, v.timeline, round + 1));
        OK(cls_timeline_wait(v.timeline, round + 1, UINT64_MAX));
    }
    close_victims(&v);
}

/* The timeline is poisoned below `value` and reset at once, before anybody has looked. */
static void poison_and_reset(struct victims *v) {
    OK(rig_fail(v->failing, "the culprit", -5));
    OK(cls_stream_signal_timeline(v->failing, v->timeline, 1));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(v->failing));
    OK(cls_timeline_reset(v->timeline));
    OK(cls_timeline_signal(v->timeline, 2));
}

static void test_a_reset_takes_no_failure_from_who_waits(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct victims v = open_victims();
        if (round % 2)
            OK(cls_stream_wait_timeline(v.waiting, v.timeline, 1));
        OK(cls_stream_wait_timeline(v.waiting, v.timeline, 2));
        if (round % 4 < 2)
            OK(rig_set(v.waiting, v.cells, 0, 1, 0));
        poison_and_reset(&v);
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(v.waiting));
        expect_detail("the culprit");
        assert_int_equal(rig_cell(v.cells, 0), 0);
        OK(cls_stream_wait_timeline(v.host, v.timeline, 2)); /* taken behind the reset */
        OK(rig_set(v.host, v.cells, 0, 1, 0));
        OK(cls_stream_synchronize(v.host));
        close_victims(&v);
    }
}

/* What was waited for first is reached well; the later wait is taken behind the failure and its reset. */
static void test_waits_behind_a_reset_are_free_of_the_failure_before(void **state) {
    (void)state;
    struct victims v = open_victims();
    OK(cls_stream_wait_timeline(v.waiting, v.timeline, 1));
    OK(cls_timeline_signal(v.timeline, 1));
    OK(rig_fail(v.failing, "the culprit", -5));
    OK(cls_stream_signal_timeline(v.failing, v.timeline, 2));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(v.failing));
    OK(cls_timeline_reset(v.timeline));
    OK(cls_stream_wait_timeline(v.waiting, v.timeline, 3));
    OK(rig_set(v.waiting, v.cells, 0, 1, 0));
    OK(cls_timeline_signal(v.timeline, 3));
    OK(cls_stream_synchronize(v.waiting));
    assert_int_equal(rig_cell(v.cells, 0), 1);
    close_victims(&v);
}

struct host {
    cls_timeline timeline;
    cls_status status;
    sleeper thread;
};

static void *wait_for_two(void *arg) {
    struct host *host = arg;
    sleeper_here(&host->thread);
    host->status = cls_timeline_wait(host->timeline, 2, 2000000000);
    return arg;
}

static void test_a_reset_takes_no_failure_from_a_host_that_waits(void **state) {
    (void)state;
    for (int round = 0; round < 10; round++) {
        struct victims v = open_victims();
        struct host host = {.timeline = v.timeline};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, wait_for_two, &host), 0);
        await_sleeper(&host.thread);
        OK(rig_fail(v.failing, "the culprit", -5));
        OK(cls_stream_signal_timeline(v.failing, v.timeline, 1));
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(v.failing));
        OK(cls_timeline_reset(v.timeline));
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(host.status, CLS_ERROR_COMMAND_FAILED);
        close_victims(&v);
    }
}

/* The signal is with the device when its stream's work fails: the wait was the device's own. */
static void test_failure_comes_through_a_wait_of_the_device(void **state) {
    (void)state;
    struct victims v = open_victims();
    OK(rig_set(v.failing, v.cells, 0, 1, 20));
    OK(rig_fail(v.failing, "the culprit", -5));
    OK(cls_stream_signal_timeline(v.failing, v.timeline, 1));
    OK(cls_stream_wait_timeline(v.waiting, v.timeline, 1));
    cls_status status = rig_set(v.waiting, v.cells, 0, 2, 0);
    if (status)
        EXPECT(CLS_ERROR_COMMAND_FAILED, status);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(v.waiting));
    expect_detail("the culprit");
    close_victims(&v);
}

/* The wait is the device's own, or becomes that once the signal is with it. */
static void begin_wait(struct victims *v, bool early, double ms) {
    if (early) {
        OK(cls_stream_wait_timeline(v->waiting, v->timeline, 5));
        OK(rig_set(v->waiting, v->cells, 0, 1, 0));
    }
    OK(rig_set(v->host, v->cells, 0, 9, ms));
    OK(cls_stream_signal_timeline(v->host, v->timeline, 5));
    if (!early) {
        OK(cls_stream_wait_timeline(v->waiting, v->timeline, 5));
        OK(rig_set(v->waiting, v->cells, 0, 1, 0));
    }
}

/* False: the signal that is waited for came before the failure. */
static bool another_signal_fails(bool early, bool reset, double ms) {
    struct victims v = open_victims();
    begin_wait(&v, early, ms);
    OK(rig_fail(v.failing, "the culprit", -5));
    OK(cls_stream_signal_timeline(v.failing, v.timeline, 1));
    const cls_status failed = cls_timeline_wait(v.timeline, 1, UINT64_MAX);
    const bool before = failed && cls_stream_query(v.host) == CLS_NOT_READY;
    if (failed)
        EXPECT(CLS_ERROR_COMMAND_FAILED, failed);
    if (reset)
        OK(cls_timeline_reset(v.timeline));
    if (before) {
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(v.waiting));
        expect_detail("the culprit");
    }
    OK(cls_stream_synchronize(v.host));
    close_victims(&v);
    return before;
}

static void test_a_wait_of_the_device_fails_by_another_signal(void **state) {
    (void)state;
    for (int round = 0; round < 4; round++) {
        double ms = 50;
        while (!another_signal_fails(round % 2, round / 2, ms) && ms < 2000)
            ms *= 2;
        if (ms >= 2000 && !rig_kernels_always_pass())
            SKIP_BECAUSE("this driver does not always tell of a command before a longer one on "
                         "another queue ends");
        assert_true(ms < 2000);
    }
}

/* A signal of 3 is done; one of 5 is behind a failure. Nobody looks at the timeline until both have taken effect. */
static void signal_and_fail(struct victims *v, bool fails_first, bool fails_queued_first) {
    struct gate gate;
    cls_stream second = fails_first ? v->host : v->failing;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(second, gate_hold, &gate));
    if (fails_queued_first)
        OK(cls_stream_signal_timeline(v->failing, v->timeline, 1));
    OK(cls_stream_signal_timeline(v->host, v->timeline, 3));
    if (!fails_first)
        OK(rig_set(v->host, v->cells, 0, 1, 0));
    OK(rig_fail(v->failing, "the culprit", -5));
    OK(cls_stream_signal_timeline(v->failing, v->timeline, fails_first ? 2 : 5));
    if (fails_first)
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(v->failing));
    else
        OK(cls_stream_synchronize(v->host));
    gate_open(&gate);
    OK(cls_stream_synchronize(v->host));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(v->failing));
    gate_destroy(&gate);
}

static void test_failures_and_values_keep_their_order_unseen(void **state) {
    (void)state;
    for (int round = 0; round < 4; round++) {
        struct victims v = open_victims();
        signal_and_fail(&v, round % 2, round / 2);
        if (round % 2) {
            EXPECT(CLS_ERROR_COMMAND_FAILED, cls_timeline_query(v.timeline, 3));
        } else {
            OK(cls_timeline_query(v.timeline, 3));
            EXPECT(CLS_ERROR_COMMAND_FAILED, cls_timeline_query(v.timeline, 4));
        }
        close_victims(&v);
    }
}

static void test_destroyed_with_waits_pending(void **state) {
    (void)state;
    struct victims v = open_victims();
    cls_timeline timeline = make("short-lived", 0, NULL);
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(v.host, gate_hold, &gate));
    OK(cls_stream_signal_timeline(v.host, timeline, 4));
    OK(cls_stream_wait_timeline(v.waiting, timeline, 4)); /* a signal for it is queued */
    OK(rig_set(v.waiting, v.cells, 0, 4, 0));
    OK(cls_stream_wait_timeline(v.failing, timeline, 5)); /* and none for this */
    OK(rig_set(v.failing, v.cells, 0, 5, 0));
    OK(cls_timeline_destroy(timeline));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_timeline_signal(timeline, 5));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(v.failing));
    expect_detail("destroyed timeline");
    EXPECT(CLS_NOT_READY, cls_stream_query(v.waiting));
    gate_open(&gate);
    OK(cls_stream_synchronize(v.waiting));
    assert_int_equal(rig_cell(v.cells, 0), 4);
    close_victims(&v);
    gate_destroy(&gate);
}

static void test_a_destroyed_signaller_fails_the_waits(void **state) {
    (void)state;
    struct victims v = open_victims();
    cls_stream owner = rig_stream();
    cls_timeline timeline = make("orphan", 0, owner);
    OK(cls_stream_wait_timeline(v.waiting, timeline, 1));
    OK(rig_set(v.waiting, v.cells, 0, 4, 0));
    OK(cls_stream_wait_timeline(v.failing, timeline, 2));
    OK(rig_set(v.failing, v.cells, 0, 5, 0));
    OK(rig_set(owner, v.cells, 0, 3, 20));
    OK(cls_stream_signal_timeline(owner, timeline, 1));
    OK(cls_stream_destroy(owner));
    OK(cls_stream_synchronize(v.waiting));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(v.failing));
    expect_detail("destroyed signaller");
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_timeline_wait(timeline, 2, UINT64_MAX));
    OK(cls_timeline_query(timeline, 1));
    assert_int_equal(rig_cell(v.cells, 0), 4);
    OK(cls_timeline_destroy(timeline));
    close_victims(&v);
}

enum { BEFORE_THE_END, BEFORE_THE_RESET, BEHIND_THE_RESET, TIMES };

/* The wait for 6 is given up, one for 4 is taken at that time, and the timeline is reset in between. */
static void give_up_and_reset(struct victims *v, cls_timeline timeline, cls_stream owner,
                              int when) {
    if (when == BEFORE_THE_END)
        OK(cls_stream_wait_timeline(v->waiting, timeline, 4));
    OK(cls_stream_signal_timeline(owner, timeline, 2));
    OK(cls_stream_destroy(owner));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_timeline_wait(timeline, 6, 2000 * MS));
    if (when == BEFORE_THE_RESET)
        OK(cls_stream_wait_timeline(v->waiting, timeline, 4));
    OK(cls_timeline_reset(timeline));
    if (when == BEHIND_THE_RESET)
        OK(cls_stream_wait_timeline(v->waiting, timeline, 4));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_wait(v->waiting, 2000 * MS));
    expect_detail("destroyed signaller");
}

/* Nobody can meet the waits, below the value that was given up or above it: a reset changes nothing for them. */
static void test_waits_of_an_orphan_fail_behind_a_reset_too(void **state) {
    (void)state;
    for (int when = 0; when < TIMES; when++) {
        struct victims v = open_victims();
        cls_stream owner = rig_stream();
        cls_timeline timeline = make("orphan", 0, owner);
        cls_timeline_info info = CLS_TIMELINE_INFO_INIT;
        give_up_and_reset(&v, timeline, owner, when);
        for (uint64_t value = 9; value > 2; value--) {
            OK(cls_timeline_reset(timeline));
            OK(cls_timeline_query(timeline, 2)); /* reached well */
            EXPECT(CLS_ERROR_COMMAND_FAILED, cls_timeline_wait(timeline, value, 2000 * MS));
        }
        OK(cls_timeline_get_info(timeline, &info));
        assert_int_equal(info.value, 2);
        EXPECT(CLS_ERROR_COMMAND_FAILED, info.status);
        OK(cls_timeline_destroy(timeline));
        close_victims(&v);
    }
}

static cls_status poll_until_over(cls_stream stream) {
    cls_status status = CLS_NOT_READY;
    for (int i = 0; i < 2000 && status == CLS_NOT_READY; i++) {
        status = cls_stream_query(stream);
        nap_ms(1);
    }
    return status;
}

/* With no command behind the wait there is nobody who hands anything over, and finds out. */
static void test_polling_ends_waits_that_nobody_can_meet(void **state) {
    (void)state;
    for (int signaller = 0; signaller < 2; signaller++) {
        cls_stream waiting = rig_stream(), signalling = rig_stream();
        cls_timeline timeline = make(NULL, 0, signaller ? signalling : NULL);
        OK(cls_stream_wait_timeline(waiting, timeline, 1));
        EXPECT(CLS_NOT_READY, cls_stream_query(waiting));
        OK(signaller ? cls_stream_destroy(signalling) : cls_timeline_destroy(timeline));
        EXPECT(CLS_ERROR_COMMAND_FAILED, poll_until_over(waiting));
        OK(signaller ? cls_timeline_destroy(timeline) : cls_stream_destroy(signalling));
        OK(cls_stream_destroy(waiting));
    }
}

/* What is freed behind such a wait is free when it is over, though its stream is gone by then. */
static void test_memory_comes_back_behind_waits_that_nobody_can_meet(void **state) {
    (void)state;
    cls_mempool pool;
    cls_mempool_statistics stats = CLS_MEMPOOL_STATISTICS_INIT;
    OK(cls_mempool_create(rig.context, NULL, &pool));
    for (int i = 0; i < 4; i++) {
        cls_stream stream = rig_stream();
        cls_timeline timeline = make(NULL, 0, NULL);
        cls_buffer buffer;
        OK(cls_mempool_malloc_async(pool, stream, 1 << 20, &buffer));
        OK(cls_stream_wait_timeline(stream, timeline, 1));
        OK(cls_free_async(buffer, stream));
        OK(cls_stream_destroy(stream));
        OK(cls_timeline_destroy(timeline));
    }
    stats.reserved = 1;
    for (int i = 0; i < 2000 && stats.reserved; i++) {
        OK(cls_mempool_trim(pool, 0));
        OK(cls_mempool_get_statistics(pool, &stats));
        nap_ms(1);
    }
    assert_int_equal(stats.reserved, 0);
    OK(cls_mempool_destroy(pool));
}

/* A waiter that holds its timeline, and a timeline that holds its waiter. */
static void test_streams_with_waits_are_destroyed(void **state) {
    (void)state;
    for (int round = 0; round < 50; round++) {
        cls_stream stream = rig_stream();
        cls_timeline timeline = make(NULL, 0, round % 2 ? stream : NULL);
        OK(cls_stream_signal_timeline(stream, timeline, 1));
        if (!(round % 2))
            OK(cls_stream_wait_timeline(stream, timeline, 2));
        OK(round % 3 ? cls_stream_destroy(stream) : cls_timeline_destroy(timeline));
        OK(round % 3 ? cls_timeline_destroy(timeline) : cls_stream_destroy(stream));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_skipped_signal_advances_and_poisons),
        cmocka_unit_test(test_the_host_fails_what_is_not_reached),
        cmocka_unit_test(test_only_its_signaller_fails_a_timeline),
        cmocka_unit_test(test_a_note_is_part_of_the_explanation),
        cmocka_unit_test(test_a_wait_for_a_poisoned_timeline_poisons),
        cmocka_unit_test(test_a_timeline_is_reset),
        cmocka_unit_test(test_a_reset_takes_no_failure_from_who_waits),
        cmocka_unit_test(test_waits_behind_a_reset_are_free_of_the_failure_before),
        cmocka_unit_test(test_a_reset_takes_no_failure_from_a_host_that_waits),
        cmocka_unit_test(test_failure_comes_through_a_wait_of_the_device),
        cmocka_unit_test(test_a_wait_of_the_device_fails_by_another_signal),
        cmocka_unit_test(test_failures_and_values_keep_their_order_unseen),
        cmocka_unit_test(test_destroyed_with_waits_pending),
        cmocka_unit_test(test_a_destroyed_signaller_fails_the_waits),
        cmocka_unit_test(test_waits_of_an_orphan_fail_behind_a_reset_too),
        cmocka_unit_test(test_polling_ends_waits_that_nobody_can_meet),
        cmocka_unit_test(test_memory_comes_back_behind_waits_that_nobody_can_meet),
        cmocka_unit_test(test_streams_with_waits_are_destroyed),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
