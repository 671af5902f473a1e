/* SPDX-License-Identifier: MIT */
/* Stalls of very many streams: a look takes time by their number, in whatever order they come. */
#include "../support/test.h"

#include <string.h>

#include "coordinator/stall.h"

#include "../support/patience.h"

/* By their square it would take many minutes. */
enum { MANY = 300000, SECONDS = 60 };

static char keys[MANY];
static struct stall stall;

static int set_up(void **state) {
    (void)state;
    memset(&stall, 0, sizeof stall);
    watchdog(SECONDS);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    watchdog(0);
    stall_free(&stall);
    return 0;
}

static uint32_t stream(unsigned i, bool made) {
    bool is_new;
    uint32_t number = stall_stream(&stall, &keys[i], &is_new);
    assert_int_equal(is_new, made);
    return number;
}

/* Numbers them 0 to MANY - 1. */
static void all_streams(void) {
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(stream(i, true), i);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(stream(i, false), i);
}

/* Appends an item that needs all of another stream's items. */
static void add_need(unsigned i, uint64_t position, unsigned on) {
    assert_true(stall_add_item(&stall, i, position, false, "item"));
    assert_true(stall_add_need(&stall, (struct stall_need){.stream = on, .position = 1}));
}

/* Each is wanted once, in some order. */
static void expect_wanted(unsigned first, unsigned count) {
    uint32_t number;
    unsigned n = 0;
    while ((number = stall_next_wanted(&stall)) != STALL_NONE) {
        assert_true(number >= first && number - first < count);
        assert_true(stall.streams[number].known < stall.streams[number].wanted);
        stall.streams[number].known = stall.streams[number].wanted;
        n++;
    }
    assert_int_equal(n, count);
}

/* Each waits for the next: the last one's move moves all. */
static void test_a_chain(void **state) {
    (void)state;
    all_streams();
    for (unsigned i = 0; i + 1 < MANY; i++)
        add_need(i, 1, i + 1);
    expect_wanted(1, MANY - 1);
    stall_solve(&stall);
    for (unsigned i = 0; i < MANY; i++)
        assert_null(stall_unmet(&stall, i));
}

static void test_a_cycle(void **state) {
    (void)state;
    all_streams();
    for (unsigned i = 0; i < MANY; i++)
        add_need(i, 1, (i + 1) % MANY);
    expect_wanted(0, MANY);
    stall_solve(&stall);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(stall_unmet(&stall, i)->stream, (i + 1) % MANY);
    assert_true(stall_cycle(&stall, 0) < MANY);
}

/* One waits for all the others with one item, and they for each other. */
static void test_many_needs(void **state) {
    (void)state;
    all_streams();
    for (unsigned i = 1; i + 1 < MANY; i++)
        add_need(i, 1, i + 1);
    assert_true(stall_add_item(&stall, 0, 1, false, "item"));
    for (unsigned i = MANY - 1; i > 0; i--)
        assert_true(stall_add_need(&stall, (struct stall_need){.stream = i, .position = 1}));
    stall_solve(&stall);
    assert_null(stall_unmet(&stall, 0));
}

/* Two that wait for each other in turns. */
static void test_turns(void **state) {
    (void)state;
    for (unsigned i = 0; i < 2; i++)
        stream(i, true);
    for (unsigned i = 0; i < MANY; i++) {
        assert_true(stall_add_item(&stall, i % 2, i / 2 + 1, false, "item"));
        assert_true(stall_add_need(
            &stall, (struct stall_need){.stream = 1 - i % 2, .position = (i + 1) / 2}));
    }
    stall_solve(&stall);
    assert_null(stall_unmet(&stall, 0));
    assert_null(stall_unmet(&stall, 1));
}

/* Wanted again, and further, after it was looked at. */
static void test_wanted_again(void **state) {
    (void)state;
    for (unsigned i = 0; i < 2; i++)
        stream(i, true);
    for (uint64_t position = 1; position <= 3; position++) {
        assert_true(stall_add_item(&stall, 0, position, false, "item"));
        for (int times = 0; times < 2; times++)
            assert_true(
                stall_add_need(&stall, (struct stall_need){.stream = 1, .position = position}));
        expect_wanted(1, 1);
        assert_int_equal(stall.streams[1].known, position);
    }
}

#define IN_STALL(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_STALL(test_a_chain), IN_STALL(test_a_cycle),      IN_STALL(test_many_needs),
        IN_STALL(test_turns),   IN_STALL(test_wanted_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
