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
    struct sighting *command = add(1, 10 * US, 400 * US, 500 * US);
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
    };
    return cmocka_run_group_tests_name("profile holds", tests, NULL, NULL);
}
