/* SPDX-License-Identifier: MIT */
/* Queued signals of a timeline: marks settled in any order, against what they say by themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "coordinator/lanes.h"

enum { SIGNALS = 8, TRIES = 20000 };

/* The stream goes on while several threads signal, so that a later claim may stand at an earlier position. */
static void a_value_comes_with_the_first_position_that_has_it(void **state) {
    (void)state;
    srand(1);
    for (int i = 0; i < TRIES; i++) {
        struct lanes lanes = {0};
        struct mark marks[SIGNALS];
        bool made;
        struct lane *lane = lanes_open(&lanes, &lanes, &made);
        const unsigned n = 1 + (unsigned)rand() % SIGNALS;
        for (unsigned k = 0; k < n; k++) {
            marks[k] = (struct mark){1 + (uint64_t)rand() % 10, 2 * k + 1 + (uint64_t)rand() % 2};
            assert_true(lane_claim(lane, marks[k].value));
        }
        for (unsigned k = n; k > 1; k--) { /* in any order */
            const unsigned other = (unsigned)rand() % k;
            const struct mark mark = marks[k - 1];
            marks[k - 1] = marks[other];
            marks[other] = mark;
        }
        for (unsigned k = 0; k < n; k++)
            lane_settle(lane, marks[k].position, marks[k].value);
        for (uint64_t value = 1; value <= 2 * n + 1; value++) {
            uint64_t first = 0;
            for (unsigned k = 0; k < n; k++)
                if (marks[k].value >= value && (!first || marks[k].position < first))
                    first = marks[k].position;
            const struct mark *reaching = lane_reaching(lane, value);
            assert_int_equal(reaching ? reaching->position : 0, first);
        }
        for (uint64_t position = 0, value = 0; lane_front(lane); lane_pop(lane)) {
            assert_true(lane_front(lane)->position > position && lane_front(lane)->value > value);
            position = lane_front(lane)->position;
            value = lane_front(lane)->value;
        }
        lanes_free(&lanes);
    }
}

static void waived_claims_leave_no_mark(void **state) {
    (void)state;
    struct lanes lanes = {0};
    bool made;
    struct lane *lane = lanes_open(&lanes, &lanes, &made);
    assert_true(lane_claim(lane, 3) && lane_claim(lane, 5));
    lane_waive(lane);
    lane_settle(lane, 7, 3);
    assert_int_equal(lane->claimed, 3);
    assert_int_equal(lane_back(lane)->position, 7);
    assert_null(lane_reaching(lane, 4));
    lanes_free(&lanes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_comes_with_the_first_position_that_has_it),
        cmocka_unit_test(waived_claims_leave_no_mark),
    };
    return cmocka_run_group_tests_name("lanes", tests, NULL, NULL);
}
