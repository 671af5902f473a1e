/* SPDX-License-Identifier: MIT */
/* Profiles of made-up commands: times of the device in the clock of the host, and the ring. */
#include "made_up_commands.h"

#include "trace/clock_map.h"

static uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

static void test_device_times_are_mapped(void **state) {
    (void)state;
    offset = -77 * (int64_t)MS;
    add(1, 0, 100 * US, 300 * US);
    add(1, 10 * US, 300 * US, 350 * US);
    build();
    assert_int_equal(profile.records[0].clock, CLS_CLOCK_DEVICE);
    assert_int_equal(profile.records[0].start_ns, MS + 100 * US);
    assert_int_equal(profile.records[1].end_ns, MS + 350 * US);
}

static void test_a_clock_that_drifts_is_followed(void **state) {
    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        offset = 3 * (int64_t)MS + i * (int64_t)US; /* 100 ppm over 10 s */
        add(1, i * 10 * MS, i * 10 * MS + 50 * US, i * 10 * MS + 80 * US);
    }
    build();
    for (unsigned i = 0; i < 1000; i++)
        assert_true(distance(profile.records[i].start_ns, MS + i * 10 * MS + 50 * US) < 4 * US);
}

static void test_a_driver_that_lies_is_not_believed(void **state) {
    (void)state;
    struct trace_record *backwards = add(1, 0, 100 * US, 300 * US);
    struct trace_record *zero = add(1, 0, 300 * US, 400 * US);
    struct trace_record *half = add(1, 0, 400 * US, 500 * US);
    backwards->device.started = backwards->device.ended + 1;
    zero->device = (struct event_times){0, 0, 0, 0};
    half->device.started = 0;
    backwards->retired = MS + 350 * US;
    zero->retired = MS + 450 * US;
    half->retired = MS + 550 * US;
    build();
    for (unsigned i = 0; i < 3; i++) {
        const cls_profile_record *record = find(1, i + 1);
        assert_int_equal(record->clock, CLS_CLOCK_NOTICED);
        assert_int_equal(record->end_ns, MS + 350 * US + i * 100 * US);
        assert_true(record->queued_ns <= record->submitted_ns);
        assert_true(record->submitted_ns <= record->start_ns);
    }
    assert_int_equal(find(1, 2)->start_ns, find(1, 1)->end_ns);
    assert_int_equal(find(1, 3)->start_ns, find(1, 2)->end_ns);
}

static void test_brackets_are_intersected(void **state) {
    struct bracket brackets[] = {bracket_of(1000, 1500, 1900), bracket_of(2000, 2700, 3300),
                                 bracket_of(3000, 3100, 3800)};
    struct clock_map map;
    (void)state;
    assert_true(clock_map_build(&map, brackets, 3));
    assert_int_equal(clock_map_host(&map, 5000), 5000 + 750); /* [700, 800] */
    clock_map_free(&map);
    assert_true(clock_map_build(&map, brackets, 0));
    assert_int_equal(clock_map_host(&map, 5000), 5000);
    clock_map_free(&map);
}

static void test_a_timer_counts_where_it_agrees(void **state) {
    struct bracket wide[] = {bracket_of(1000, 1000, 9000), bracket_of(1000, 4500, 4600)};
    struct bracket lie[] = {bracket_of(1000, 1000, 9000), bracket_of(1000, 900000, 900100)};
    struct bracket alone[] = {bracket_of(1000, 4500, 4600)};
    struct clock_map map;
    (void)state;
    wide[1].timer = lie[1].timer = alone[0].timer = true;
    assert_true(clock_map_build(&map, wide, 2));
    assert_int_equal(clock_map_host(&map, 1000), 4550);
    clock_map_free(&map);
    assert_true(clock_map_build(&map, lie, 2));
    assert_int_equal(clock_map_host(&map, 1000), 5000);
    clock_map_free(&map);
    assert_true(clock_map_build(&map, alone, 1));
    assert_int_equal(clock_map_host(&map, 1000), 1000);
    clock_map_free(&map);
}

/* What a foreign call enqueued is timed at its end alone: it lasts from the stream's earlier work on. */
static void test_foreign_calls_begin_behind_earlier_work(void **state) {
    (void)state;
    add(1, 0, 0, 100 * US)->retired = MS + 150 * US;
    struct trace_record *worker = add(1, 10 * US, 200 * US, 300 * US);
    struct trace_record *in_place = add(1, 10 * US, 500 * US, 600 * US);
    worker->kind = in_place->kind = CLS_COMMAND_FOREIGN;
    worker->began = MS + 20 * US;
    worker->ended = MS + 40 * US;
    worker->handing = worker->handed = 0;
    build();
    assert_int_equal(find(1, 2)->start_ns, MS + 100 * US);
    assert_int_equal(find(1, 2)->end_ns, MS + 300 * US);
    assert_int_equal(find(1, 3)->start_ns, MS + 300 * US);
    assert_int_equal(find(1, 3)->end_ns, MS + 600 * US);
}

/* So does what the driver has no times for: neither is told beside the work that it waited for. */
static void test_what_begins_unseen_begins_behind_what_it_waits_for(void **state) {
    (void)state;
    add(1, 0, 100 * US, 500 * US);
    struct trace_record *foreign = add(2, 10 * US, 550 * US, 600 * US);
    struct trace_record *noticed = add(3, 20 * US, 0, 0);
    foreign->kind = CLS_COMMAND_FOREIGN;
    noticed->device = (struct event_times){0, 0, 0, 0};
    noticed->retired = MS + 800 * US;
    wait_for(foreign, 1, 1);
    wait_for(noticed, 2, 1);
    build();
    assert_int_equal(find(2, 1)->start_ns, MS + 500 * US);
    assert_int_equal(find(2, 1)->end_ns, MS + 600 * US);
    assert_int_equal(find(3, 1)->start_ns, MS + 600 * US);
    assert_int_equal(find(3, 1)->end_ns, MS + 800 * US);
    assert_int_equal(overlap(0, 1).overlap_ns, 0);
    assert_int_equal(overlap(1, 2).overlap_ns, 0);
    assert_int_equal(profile.summary.critical_ns, profile.summary.busy_ns);
}

static void test_the_ring_keeps_the_latest(void **state) {
    struct raw out[4];
    struct record_ring ring;
    (void)state;
    assert_true(raw_ring_init(&ring, 4));
    for (uint64_t i = 1; i <= 3; i++)
        raw_ring_put(&ring)->thread = i;
    raw_ring_copy(&ring, out);
    assert_true(ring.count == 3 && out[0].thread == 1 && out[2].thread == 3 && !ring.dropped);
    for (uint64_t i = 4; i <= 10; i++)
        raw_ring_put(&ring)->thread = i;
    raw_ring_copy(&ring, out);
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(out[i].thread, 7 + i);
    assert_int_equal(ring.dropped, 6);
    raw_ring_free(&ring);
}

/* As the largest capacity that a profiler may have does where a size has 32 bits. */
static void test_a_ring_whose_bytes_overflow_is_refused(void **state) {
    struct record_ring ring;
    (void)state;
    const size_t least = SIZE_MAX / sizeof(struct raw) + 1;
    for (size_t more = 0; more < 64; more++)
        assert_false(raw_ring_init(&ring, least + more));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_device_times_are_mapped),
        TEST(test_a_clock_that_drifts_is_followed),
        TEST(test_a_driver_that_lies_is_not_believed),
        TEST(test_brackets_are_intersected),
        TEST(test_a_timer_counts_where_it_agrees),
        TEST(test_foreign_calls_begin_behind_earlier_work),
        TEST(test_what_begins_unseen_begins_behind_what_it_waits_for),
        TEST(test_the_ring_keeps_the_latest),
        TEST(test_a_ring_whose_bytes_overflow_is_refused),
    };
    return cmocka_run_group_tests_name("profile clocks", tests, NULL, NULL);
}
