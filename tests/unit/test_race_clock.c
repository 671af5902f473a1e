/* SPDX-License-Identifier: MIT */
/* The race checker's data: clocks, a past that stays bounded, shadows against one byte at a time. */
#include "../support/test.h"

#include <string.h>

#include "check/race_clock.h"
#include "check/race_shadow.h"

static void test_clocks_keep_the_later_position(void **state) {
    struct race_clock a = {0}, b = {0};
    (void)state;
    assert_true(race_clock_raise(&a, 7, 3) && race_clock_raise(&a, 2, 9));
    assert_true(race_clock_raise(&a, 7, 1) && race_clock_raise(&b, 7, 5));
    assert_int_equal(race_clock_at(&a, 7), 3);
    assert_true(race_clock_join(&a, &b));
    assert_int_equal(race_clock_at(&a, 7), 5);
    assert_int_equal(race_clock_at(&a, 2), 9);
    assert_int_equal(race_clock_at(&a, 3), 0);
    race_clock_clear(&a);
    race_clock_clear(&b);
}

/* A mark at every second position from 2 on, where stream 1 is known up to the same position. */
static void push_marks(struct race_history *history, uint64_t upto, uint64_t lag) {
    struct race_clock clock = {0};
    for (uint64_t at = 2; at <= upto; at += 2) {
        assert_true(race_clock_raise(&clock, 1, at));
        assert_true(race_history_push(history, at, &clock, at > lag ? at - lag : 0));
    }
    race_clock_clear(&clock);
}

static uint64_t known_at(const struct race_history *history, uint64_t position) {
    const struct race_clock *clock = race_history_at(history, position);
    return clock ? race_clock_at(clock, 1) : 0;
}

static void test_a_settled_past_is_dropped(void **state) {
    struct race_history history = {0};
    (void)state;
    push_marks(&history, 1000000, 100);
    assert_true(history.capacity <= 256);
    assert_int_equal(known_at(&history, 1000000), 1000000);
    assert_int_equal(known_at(&history, 999999), 999998);
    assert_int_equal(known_at(&history, 999900), 999900);
    race_history_clear(&history);
}

/* Never too little is known of a position: that would be a false alarm. */
static void test_an_unsettled_past_is_thinned_out(void **state) {
    struct race_history history = {0};
    (void)state;
    push_marks(&history, 100000, UINT64_MAX);
    assert_true(history.count <= HISTORY_MARKS);
    assert_int_equal(known_at(&history, 1), 0);
    for (uint64_t at = 2; at <= 100000; at++)
        assert_true(known_at(&history, at) >= at - at % 2);
    race_history_clear(&history);
}

/* --- shadows, against all accesses of each byte --- */

enum { BYTES = 60, ACCESSES = 400, STREAMS = 3 };

/* Streams are numbers here: `by` is never followed. */
static char names[STREAMS];
static long held;

struct model {
    struct race_access accesses[ACCESSES];
    bool covers[ACCESSES][BYTES];
    unsigned count;
    /* Of the newest access: up to where it comes after each stream. */
    uint64_t after[STREAMS];
    bool found[BYTES];
};

static unsigned stream_of(const struct race_access *access) {
    return (unsigned)((const char *)(const void *)access->by - names);
}

static enum race_order order_of(void *context, const struct race_access *known) {
    const struct model *model = context;
    return known->position <= model->after[stream_of(known)] ? RACE_BEFORE : RACE_UNORDERED;
}

static bool never_settled(void *context, const struct race_access *known) {
    (void)context;
    (void)known;
    return false;
}

static void note(void *context, const struct race_access *known, size_t start, size_t end) {
    struct model *model = context;
    (void)known;
    for (size_t i = start; i < end; i++)
        model->found[i] = true;
}

static void count_holds(struct race_stream *by, int more) {
    (void)by;
    held += more;
}

static uint32_t number(uint32_t below) {
    static uint64_t random = 88172645463325252u;
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return (uint32_t)(random >> 20) % below;
}

static struct byte_span any_span(void) {
    struct byte_span span = {.start = number(12),
                             .width = 1 + number(5),
                             .height = 1 + number(3),
                             .depth = 1 + number(2)};
    span.pitch = span.width + number(3);
    span.slice = span.height * span.pitch + number(3);
    return span;
}

static bool races_at(const struct model *model, const struct race_access *access, size_t byte) {
    for (unsigned i = 0; i < model->count; i++) {
        const struct race_access *known = &model->accesses[i];
        if (model->covers[i][byte] && (known->write || access->write) &&
            known->position > model->after[stream_of(known)])
            return true;
    }
    return false;
}

/* Each stream's clock; now and then one learns what another knows. */
static void test_shadows_find_what_bytes_find(void **state) {
    static struct model model;
    uint64_t clocks[STREAMS][STREAMS] = {{0}};
    struct race_shadow shadow = {0};
    const struct race_rules rules = {&model, order_of, never_settled, note, count_holds};
    unsigned racy = 0;
    (void)state;
    for (model.count = 0; model.count < ACCESSES; model.count++) {
        unsigned s = number(STREAMS), other = number(STREAMS);
        bool learns = number(3) == 0;
        for (unsigned i = 0; i < STREAMS && learns; i++)
            if (clocks[other][i] > clocks[s][i])
                clocks[s][i] = clocks[other][i];
        struct race_access access = {.by = (struct race_stream *)(void *)&names[s],
                                     .position = ++clocks[s][s],
                                     .write = number(3) == 0};
        struct byte_span span = any_span();
        memcpy(model.after, clocks[s], sizeof model.after);
        memset(model.found, 0, sizeof model.found);
        assert_true(race_shadow_touch(&shadow, &span, &access, &rules));
        for (size_t row = 0; row < span.height * span.depth; row++) {
            const size_t at = row / span.height * span.slice + row % span.height * span.pitch;
            memset(&model.covers[model.count][span.start + at], 1, span.width);
        }
        for (size_t byte = 0; byte < BYTES; byte++) {
            bool races = model.covers[model.count][byte] && races_at(&model, &access, byte);
            assert_int_equal(model.found[byte], races);
            racy += races;
        }
        model.accesses[model.count] = access;
    }
    assert_true(racy > ACCESSES);
    race_shadow_forget(&shadow, 0, SIZE_MAX, &rules);
    assert_int_equal(shadow.count, 0);
    assert_int_equal(held, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clocks_keep_the_later_position),
        cmocka_unit_test(test_a_settled_past_is_dropped),
        cmocka_unit_test(test_an_unsettled_past_is_thinned_out),
        cmocka_unit_test(test_shadows_find_what_bytes_find),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
