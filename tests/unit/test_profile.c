/* SPDX-License-Identifier: MIT */
/* Profiles of made-up commands: clocks, statistics, overlap, and what held commands back. No device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/clock_map.h"
#include "trace/profile.h"

enum { MAX_RAWS = 4000 };

#define US 1000ull
#define MS 1000000ull

static struct device device;
static struct raw raws[MAX_RAWS];
static size_t n_raws;
static struct profile profile;

/* Device times are the host's less this. */
static int64_t offset;

static void build(void) {
    const struct evidence evidence = {.raws = raws, .count = n_raws};
    profile_free(&profile);
    memset(&profile, 0, sizeof profile);
    assert_int_equal(profile_build(&profile, &evidence), CLS_SUCCESS);
}

static int reset(void **state) {
    (void)state;
    n_raws = 0;
    offset = 5 * (int64_t)MS;
    memset(raws, 0, sizeof raws);
    return 0;
}

static int release(void **state) {
    (void)state;
    profile_free(&profile);
    memset(&profile, 0, sizeof profile);
    return 0;
}

/* A kernel "k" of a stream: submitted and handed over at `queued`, on the device from `start` to `end`; all
 * from 1 ms on. Its driver queue has the stream's number. */
static struct sighting *add(uint64_t stream, uint64_t queued, uint64_t start, uint64_t end) {
    struct raw *raw = &raws[n_raws++];
    uint64_t position = 1;
    for (size_t i = 0; i + 1 < n_raws; i++)
        position += raws[i].stream == stream;
    *raw = (struct raw){.type = CLS_RECORD_COMMAND, .stream = stream, .device = &device};
    snprintf(raw->stream_name, sizeof raw->stream_name, "s%u", (unsigned)stream);
    raw->u.command = (struct sighting){
        .label = "k",
        .kind = CLS_COMMAND_KERNEL,
        .position = position,
        .queue = (unsigned)stream,
        .submitted = MS + queued,
        .handing = MS + queued,
        .handed = MS + queued,
        .retired = MS + end + 10 * MS,
    };
    raw->u.command.device = (struct event_times){
        .queued = (uint64_t)((int64_t)(MS + queued) - offset),
        .submitted = (uint64_t)((int64_t)(MS + queued) - offset),
        .started = (uint64_t)((int64_t)(MS + start) - offset),
        .ended = (uint64_t)((int64_t)(MS + end) - offset),
    };
    return &raw->u.command;
}

static void wait_for(struct sighting *command, uint64_t stream, uint64_t position) {
    command->deps[command->n_deps++] = (struct sighting_dep){stream, position};
}

/* The record of a stream's command. */
static const cls_profile_record *find(uint64_t stream, uint64_t position) {
    for (size_t i = 0; i < profile.count; i++)
        if (profile.records[i].stream == stream && profile.records[i].position == position)
            return &profile.records[i];
    fail_msg("no command %u of stream %u", (unsigned)position, (unsigned)stream);
    return NULL;
}

static uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

/* --- clocks --- */

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
    struct sighting *backwards = add(1, 0, 100 * US, 300 * US);
    struct sighting *zero = add(1, 0, 300 * US, 400 * US);
    struct sighting *half = add(1, 0, 400 * US, 500 * US);
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
    struct sighting *worker = add(1, 10 * US, 200 * US, 300 * US);
    struct sighting *in_place = add(1, 10 * US, 500 * US, 600 * US);
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

/* --- statistics --- */

static void test_operations(void **state) {
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        unsigned us = (i * 37) % 100 + 1; /* 1 to 100, in no order */
        struct sighting *command = add(1, i * MS, i * MS + US, i * MS + US + us * US);
        command->label = "op";
        command->bytes = 10;
    }
    struct sighting *other = add(2, 0, US, MS);
    other->kind = CLS_COMMAND_FILL;
    other->label = "op";
    struct sighting *bad = add(1, 200 * MS, 201 * MS, 300 * MS);
    bad->label = "op";
    bad->outcome = CLS_ERROR_COMMAND_FAILED;
    build();
    assert_int_equal(profile.operations[2].count, 2);
    const cls_profile_operation *op = &profile.operations[2].items[0];
    assert_int_equal(op->kind, CLS_COMMAND_KERNEL);
    assert_int_equal(op->count, 100);
    assert_int_equal(op->bytes, 1000);
    assert_int_equal(op->total_ns, 5050 * US);
    assert_true(op->mean_ns == 50500);
    assert_int_equal(op->min_ns, US);
    assert_int_equal(op->max_ns, 100 * US);
    assert_int_equal(op->p50_ns, 50 * US);
    assert_int_equal(op->p99_ns, 99 * US);
    assert_int_equal(profile.operations[0].count, 1);
    assert_int_equal(profile.operations[1].items[0].p99_ns, MS - US);
    assert_int_equal(profile.streams[0].failed, 1);
    assert_int_equal(profile.summary.kinds[CLS_COMMAND_KERNEL].count, 100);
    assert_int_equal(profile.summary.failed, 1);
}

static void test_latency_and_memory_of_a_stream(void **state) {
    (void)state;
    add(1, 0, 100 * US, 200 * US)->memory = 500;
    add(1, 100 * US, 200 * US, 500 * US)->memory = 900;
    add(2, 0, 0, 10 * US)->memory = 100;
    build();
    assert_true(profile.streams[0].latency_ns == 300 * US);
    assert_int_equal(profile.streams[0].memory_peak, 900);
    assert_int_equal(profile.streams[1].memory_peak, 100);
    assert_int_equal(profile.summary.memory_peak, 900);
    assert_string_equal(profile.streams[1].name, "s2");
}

/* --- overlap --- */

static cls_profile_overlap overlap(int a, int b) {
    cls_profile_overlap out = CLS_PROFILE_OVERLAP_INIT;
    const struct group left = {(uint32_t)a, -1}, right = {(uint32_t)b, -1};
    assert_int_equal(group_overlap(&profile, &left, &right, &out), CLS_SUCCESS);
    return out;
}

static void test_overlap_of_two_streams(void **state) {
    (void)state;
    add(1, 0, 0, 100 * US);
    add(1, 0, 200 * US, 300 * US);
    add(2, 0, 50 * US, 250 * US);
    build();
    cls_profile_overlap both = overlap(0, 1);
    assert_int_equal(both.busy_ns[0], 200 * US);
    assert_int_equal(both.busy_ns[1], 200 * US);
    assert_int_equal(both.overlap_ns, 100 * US);
    assert_int_equal(both.possible_ns, 200 * US);
    assert_true(both.achieved == 0.5);
    assert_int_equal(profile.summary.work_ns, 400 * US);
    assert_int_equal(profile.summary.busy_ns, 300 * US);
    assert_int_equal(profile.summary.critical_ns, 200 * US);
    assert_true(profile.summary.possible_concurrency == 2);
}

static void test_what_depends_cannot_overlap(void **state) {
    (void)state;
    add(1, 0, 0, 100 * US);
    wait_for(add(2, 1 * US, 100 * US, 150 * US), 1, 1);
    wait_for(add(1, 2 * US, 150 * US, 250 * US), 2, 1);
    build();
    cls_profile_overlap both = overlap(0, 1);
    assert_int_equal(both.overlap_ns, 0);
    assert_int_equal(both.possible_ns, 0);
    assert_true(both.achieved == 1);
    assert_int_equal(profile.summary.critical_ns, 250 * US);
    assert_true(profile.summary.concurrency == 1);
}

/* The wait is for a position that has no record: the stream's last one before it counts. */
static void test_dependencies_go_to_the_last_recorded_command(void **state) {
    (void)state;
    add(1, 0, 0, 100 * US)->position = 7;
    wait_for(add(2, 1 * US, 100 * US, 150 * US), 1, 9);
    wait_for(add(3, 0, 0, 100 * US), 1, 6);
    build();
    assert_int_equal(overlap(0, 1).possible_ns, 0);
    assert_int_equal(overlap(0, 2).possible_ns, 100 * US);
}

static void test_overlap_of_kinds(void **state) {
    cls_profile_overlap out = CLS_PROFILE_OVERLAP_INIT;
    const struct group kernels = {NO_INDEX, CLS_COMMAND_KERNEL};
    const struct group uploads = {NO_INDEX, CLS_COMMAND_COPY_H2D};
    (void)state;
    add(1, 0, 0, 100 * US);
    add(2, 0, 50 * US, 150 * US);
    add(3, 0, 120 * US, 180 * US)->kind = CLS_COMMAND_COPY_H2D;
    add(3, 0, 180 * US, 500 * US)->kind = CLS_COMMAND_HOST;
    build();
    assert_int_equal(group_overlap(&profile, &kernels, &uploads, &out), CLS_SUCCESS);
    assert_int_equal(out.busy_ns[0], 150 * US);
    assert_int_equal(out.overlap_ns, 30 * US);
    assert_int_equal(out.possible_ns, 60 * US);
    assert_int_equal(group_overlap(&profile, &kernels, &kernels, &out), CLS_SUCCESS);
    assert_int_equal(out.overlap_ns, 50 * US);
    assert_int_equal(out.possible_ns, 100 * US);
    assert_int_equal(profile.summary.busy_ns, 180 * US);
}

/* --- what held commands back --- */

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

/* --- all of it, at random --- */

static unsigned seed;
static unsigned below(unsigned n) {
    seed = seed * 1103515245u + 12345u;
    return (seed >> 8) % n;
}

enum { TICKS = 600, STREAMS = 5 };

/* Brute force: in which ticks of 1 us a stream was at work. */
static void mark(bool busy[STREAMS][TICKS]) {
    memset(busy, 0, STREAMS * TICKS * sizeof(bool));
    for (size_t i = 0; i < profile.count; i++)
        for (uint64_t t = profile.records[i].start_ns; t < profile.records[i].end_ns; t += US)
            busy[profile.records[i].stream - 1][(t - MS) / US] = true;
}

static void add_at_random(void) {
    uint64_t done[STREAMS] = {0}, counts[STREAMS] = {0};
    for (unsigned i = 0; i < 60; i++) {
        unsigned s = below(STREAMS), other = below(STREAMS);
        uint64_t start = done[s] + below(12);
        bool waits = other != s && counts[other] && below(3) == 0;
        if (waits && start < done[other])
            start = done[other];
        uint64_t end = start + 1 + below(15);
        if (end >= TICKS)
            break;
        struct sighting *command = add(s + 1, i, start * US, end * US);
        if (command->submitted > MS + start * US)
            command->submitted = command->handing = command->handed = MS + start * US;
        command->queue = below(2) ? 9 : s + 1;
        if (waits)
            wait_for(command, other + 1, counts[other]);
        done[s] = end;
        counts[s]++;
    }
}

static void check_against_brute_force(void) {
    static bool busy[STREAMS][TICKS];
    mark(busy);
    for (size_t a = 0; a < profile.n_streams; a++)
        for (size_t b = 0; b < profile.n_streams; b++) {
            unsigned both = 0, in_a = 0;
            const bool *left = busy[profile.streams[a].number - 1];
            const bool *right = busy[profile.streams[b].number - 1];
            for (unsigned t = 0; t < TICKS; t++) {
                both += left[t] && right[t];
                in_a += left[t];
            }
            cls_profile_overlap found = overlap((int)a, (int)b);
            assert_int_equal(found.busy_ns[0], in_a * US);
            assert_int_equal(found.overlap_ns, a == b ? 0 : both * US);
            assert_true(found.overlap_ns <= found.possible_ns || found.possible_ns == 0);
            assert_true(found.achieved >= 0 && found.achieved <= 1);
        }
}

static void test_sums_agree_with_brute_force(void **state) {
    for (unsigned round = 1; round < 200; round++) {
        reset(state);
        seed = round;
        add_at_random();
        build();
        check_against_brute_force();
        uint64_t gaps = 0, held = 0;
        for (size_t i = 0; i < profile.count; i++)
            gaps += profile.records[i].held_ns;
        for (int hold = 0; hold < CLS_HOLDS; hold++)
            held += profile.summary.held_ns[hold];
        assert_int_equal(gaps, held);
        assert_true(profile.summary.critical_ns <= profile.summary.busy_ns);
        assert_true(profile.summary.busy_ns <= profile.summary.work_ns);
    }
}

/* --- the ring --- */

static void test_the_ring_keeps_the_latest(void **state) {
    struct raw out[4];
    struct ring ring;
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, reset, release)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_device_times_are_mapped),
        TEST(test_a_clock_that_drifts_is_followed),
        TEST(test_a_driver_that_lies_is_not_believed),
        TEST(test_brackets_are_intersected),
        TEST(test_a_timer_counts_where_it_agrees),
        TEST(test_foreign_calls_begin_behind_earlier_work),
        TEST(test_operations),
        TEST(test_latency_and_memory_of_a_stream),
        TEST(test_overlap_of_two_streams),
        TEST(test_what_depends_cannot_overlap),
        TEST(test_dependencies_go_to_the_last_recorded_command),
        TEST(test_overlap_of_kinds),
        TEST(test_held_by_nothing),
        TEST(test_held_by_a_dependency),
        TEST(test_held_by_a_timeline),
        TEST(test_held_by_the_host),
        TEST(test_held_by_the_width_of_the_device),
        TEST(test_held_by_a_shared_queue),
        TEST(test_held_by_latency),
        TEST(test_other_devices_take_no_room),
        TEST(test_markers_and_failed_commands_hold_nothing),
        TEST(test_sums_agree_with_brute_force),
        TEST(test_the_ring_keeps_the_latest),
    };
    return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
