/* SPDX-License-Identifier: MIT */
/* Profiles of made-up commands: statistics and overlap, also against brute force. */
#include "made_up_commands.h"

#include <string.h>

static void test_operations(void **state) {
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        unsigned us = (i * 37) % 100 + 1; /* 1 to 100, in no order */
        struct trace_record *command = add(1, i * MS, i * MS + US, i * MS + US + us * US);
        command->label = "op";
        command->bytes = 10;
    }
    struct trace_record *other = add(2, 0, US, MS);
    other->kind = CLS_COMMAND_FILL;
    other->label = "op";
    struct trace_record *bad = add(1, 200 * MS, 201 * MS, 300 * MS);
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
    const struct record_group kernels = {NO_INDEX, CLS_COMMAND_KERNEL};
    const struct record_group uploads = {NO_INDEX, CLS_COMMAND_COPY_H2D};
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
        struct trace_record *command = add(s + 1, i, start * US, end * US);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_operations),
        TEST(test_latency_and_memory_of_a_stream),
        TEST(test_overlap_of_two_streams),
        TEST(test_what_depends_cannot_overlap),
        TEST(test_dependencies_go_to_the_last_recorded_command),
        TEST(test_overlap_of_kinds),
        TEST(test_sums_agree_with_brute_force),
    };
    return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
