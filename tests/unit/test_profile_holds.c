/* SPDX-License-Identifier: MIT */
/* Profiles of made-up commands: what held each of them back. */
#include "made_up_commands.h"

static void expect_hold(uint64_t stream, uint64_t position, cls_hold hold, uint64_t gap) {
    const cls_profile_record *record = find(stream, position);
    assert_string_equal(cls_hold_name(record->hold), cls_hold_name(hold));
    assert_int_equal(record->held_ns, gap);
}

static void test_held_by_nothing(void **state) {
    (void)state;
    add(1, 0, 0, 100 * US);
    add(1, 0, 100 * US, 200 * US);
    build();
    expect_hold(1, 2, CLS_HOLD_NONE, 0);
}

static void test_held_by_a_dependency(void **state) {
    (void)state;
    add(1, 0, 0, 900 * US);
    add(2, 0, 0, 100 * US);
    wait_for(add(2, 1 * US, 900 * US, 950 * US), 1, 1);
    build();
    expect_hold(2, 2, CLS_HOLD_DEPENDENCY, 800 * US);
    assert_int_equal(profile.streams[1].held_ns[CLS_HOLD_DEPENDENCY], 800 * US);
}

/* What a timeline holds back is handed over late. */
static void test_held_by_a_timeline(void **state) {
    (void)state;
    add(1, 0, 0, 100 * US);
    struct trace_record *command = add(1, 10 * US, 400 * US, 500 * US);
    wait_for(command, 0, 7);
    command->handing = command->handed = MS + 390 * US;
    command->device.queued = 0;
    build();
    expect_hold(1, 2, CLS_HOLD_DEPENDENCY, 300 * US);
}

static void test_held_by_the_host(void **state) {
    (void)state;
    add(1, 0, 0, 100 * US);
    add(1, 400 * US, 401 * US, 500 * US);
    build();
    expect_hold(1, 2, CLS_HOLD_HOST, 301 * US);
    assert_int_equal(profile.summary.held_ns[CLS_HOLD_HOST], 300 * US);
    assert_int_equal(profile.summary.held_ns[CLS_HOLD_LATENCY], US);
}

static void test_held_by_the_width_of_the_device(void **state) {
    (void)state;
    add(1, 0, 0, 500 * US);
    add(2, 0, 0, 100 * US);
    add(2, 0, 500 * US, 600 * US);
    build();
    expect_hold(2, 2, CLS_HOLD_WIDTH, 400 * US);
}

static void test_held_by_a_shared_queue(void **state) {
    (void)state;
    add(1, 0, 0, 500 * US);
    add(2, 0, 0, 100 * US)->queue = 1;
    add(2, 0, 500 * US, 600 * US)->queue = 1;
    add(3, 0, 0, 300 * US);
    build();
    expect_hold(2, 2, CLS_HOLD_QUEUE, 400 * US);
    assert_int_equal(profile.summary.held_ns[CLS_HOLD_WIDTH], 0);
}

static void test_held_by_latency(void **state) {
    (void)state;
    add(1, 0, 10 * US, 100 * US);
    add(1, 0, 250 * US, 300 * US);
    build();
    expect_hold(1, 2, CLS_HOLD_LATENCY, 150 * US);
}

/* Another device's work takes no room on this one. */
static void test_other_devices_take_no_room(void **state) {
    static struct device second = {.index = 1};
    (void)state;
    add(1, 0, 0, 500 * US);
    raws[0].device = &second;
    add(2, 0, 0, 100 * US);
    add(2, 0, 500 * US, 600 * US);
    build();
    expect_hold(2, 2, CLS_HOLD_LATENCY, 400 * US);
}

static void test_markers_and_failed_commands_hold_nothing(void **state) {
    (void)state;
    add(1, 0, 0, 100 * US);
    add(1, 0, 300 * US, 300 * US)->kind = CLS_COMMAND_MARKER;
    add(1, 0, 400 * US, 500 * US)->outcome = CLS_ERROR_COMMAND_FAILED;
    add(1, 0, 100 * US, 200 * US);
    build();
    expect_hold(1, 2, CLS_HOLD_NONE, 0);
    expect_hold(1, 3, CLS_HOLD_NONE, 0);
    expect_hold(1, 4, CLS_HOLD_NONE, 0);
}

static struct trace_record *add_marker(uint64_t stream, uint64_t queued, uint64_t time) {
    struct trace_record *marker = add(stream, queued, time, time);
    marker->kind = CLS_COMMAND_MARKER;
    return marker;
}

static void test_what_a_marker_waited_for_held_the_next_command(void **state) {
    (void)state;
    add(1, 0, 0, 900 * US);
    add(2, 0, 0, 100 * US);
    wait_for(add_marker(2, 1 * US, 900 * US), 1, 1);
    add(2, 2 * US, 910 * US, 950 * US);
    add(2, 3 * US, 960 * US, 990 * US);
    build();
    expect_hold(2, 2, CLS_HOLD_NONE, 0);
    expect_hold(2, 3, CLS_HOLD_DEPENDENCY, 810 * US);
    assert_int_equal(find(2, 3)->n_dependencies, 0);
    expect_hold(2, 4, CLS_HOLD_LATENCY, 10 * US);
    assert_int_equal(profile.streams[1].held_ns[CLS_HOLD_DEPENDENCY], 800 * US);
    assert_int_equal(profile.streams[1].held_ns[CLS_HOLD_LATENCY], 20 * US);
}

/* Also where the marker's own time is told as earlier than the end of what it waited for. */
static void test_the_last_wait_of_several_markers_counts(void **state) {
    (void)state;
    add(1, 0, 0, 700 * US);
    add(2, 0, 0, 400 * US);
    add(3, 0, 0, 100 * US);
    wait_for(add_marker(3, 0, 650 * US), 1, 1);
    wait_for(add_marker(3, 0, 650 * US), 2, 1);
    wait_for(add(3, 0, 800 * US, 900 * US), 2, 1);
    build();
    expect_hold(3, 4, CLS_HOLD_DEPENDENCY, 700 * US);
    assert_int_equal(profile.streams[2].held_ns[CLS_HOLD_DEPENDENCY], 600 * US);
}

/* What a timeline holds back is handed over late, a marker too. */
static void test_a_timeline_that_a_marker_waited_for_held_the_next_command(void **state) {
    (void)state;
    add(1, 0, 0, 100 * US);
    struct trace_record *marker = add_marker(1, 10 * US, 400 * US);
    wait_for(marker, 0, 7);
    marker->handing = marker->handed = MS + 390 * US;
    marker->device.queued = 0;
    add(1, 20 * US, 400 * US, 500 * US);
    build();
    expect_hold(1, 3, CLS_HOLD_DEPENDENCY, 300 * US);
    assert_int_equal(profile.summary.held_ns[CLS_HOLD_DEPENDENCY], 290 * US);
}

/* A marker's wait is over before its stream's earlier command, is of another stream's marker, or failed. */
static void test_waits_of_markers_that_held_nothing(void **state) {
    (void)state;
    add(1, 0, 0, 100 * US);
    wait_for(add_marker(1, 0, 900 * US), 3, 2);
    add(2, 0, 0, 200 * US);
    wait_for(add_marker(2, 0, 200 * US), 1, 1);
    add(2, 0, 300 * US, 400 * US);
    add(3, 0, 300 * US, 400 * US);
    add(3, 0, 400 * US, 900 * US);
    add(4, 0, 0, 100 * US);
    struct trace_record *failed = add_marker(4, 0, 900 * US);
    wait_for(failed, 3, 2);
    failed->outcome = CLS_ERROR_COMMAND_FAILED;
    add(4, 950 * US, 950 * US, 960 * US);
    build();
    assert_int_equal(profile.summary.held_ns[CLS_HOLD_DEPENDENCY], 0);
    expect_hold(4, 3, CLS_HOLD_HOST, 850 * US);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_held_by_nothing),
        TEST(test_held_by_a_dependency),
        TEST(test_held_by_a_timeline),
        TEST(test_held_by_the_host),
        TEST(test_held_by_the_width_of_the_device),
        TEST(test_held_by_a_shared_queue),
        TEST(test_held_by_latency),
        TEST(test_other_devices_take_no_room),
        TEST(test_markers_and_failed_commands_hold_nothing),
        TEST(test_what_a_marker_waited_for_held_the_next_command),
        TEST(test_the_last_wait_of_several_markers_counts),
        TEST(test_a_timeline_that_a_marker_waited_for_held_the_next_command),
        TEST(test_waits_of_markers_that_held_nothing),
    };
    return cmocka_run_group_tests_name("profile holds", tests, NULL, NULL);
}
