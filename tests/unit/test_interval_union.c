/* SPDX-License-Identifier: MIT */
/* The length of a union of intervals, added in any order, compared with an array of instants. */
#include "../support/test.h"

#include <stdlib.h>

#include "pipeline/interval_union.h"

enum { INSTANTS = 200, ROOM = INSTANTS / 2, TRIES = 2000 };

/* Whole numbers, so that lengths are exact. */
struct model {
    bool covered[INSTANTS];
    unsigned folded_until;
};

static unsigned count(const struct model *model) {
    unsigned n = 0;
    for (unsigned i = 0; i < INSTANTS; i++)
        n += model->covered[i];
    return n;
}

/* Now and then empty, or with its end before its start, as an unsteady clock gives it. */
static void add_one(struct interval_union *all, struct model *model) {
    const unsigned start = (unsigned)rand() % INSTANTS;
    const unsigned most = rand() % 8 ? 4 : INSTANTS;
    unsigned end = start + (unsigned)rand() % most;
    end = end < INSTANTS ? end : INSTANTS;
    if (rand() % 16 == 0) {
        interval_union_add(all, (struct interval){end, start});
        return;
    }
    interval_union_add(all, (struct interval){start, end});
    for (unsigned i = start; i < end; i++)
        model->covered[i] |= i >= model->folded_until;
}

static void fold_somewhere(struct interval_union *all, struct model *model) {
    const unsigned until = (unsigned)rand() % INSTANTS;
    interval_union_fold(all, until);
    if (until > model->folded_until)
        model->folded_until = until;
}

static void no_instant_counts_twice(void **state) {
    (void)state;
    struct interval_union all = {0};
    srand(1);
    assert_true(interval_union_reserve(&all, ROOM + 1));
    for (int i = 0; i < TRIES; i++) {
        struct model model = {.folded_until = (unsigned)rand() % 8};
        interval_union_begin(&all, model.folded_until);
        for (int k = rand() % 100; k > 0; k--) {
            if (rand() % 20)
                add_one(&all, &model);
            else
                fold_somewhere(&all, &model);
            assert_true(interval_union_length(&all) == count(&model));
        }
    }
    interval_union_free(&all);
}

/* A part folded for want of room is not extended, so the length may be too short, but never too long. */
static void without_room_the_earliest_is_folded(void **state) {
    (void)state;
    struct interval_union all = {0};
    assert_true(interval_union_reserve(&all, 4));
    interval_union_begin(&all, 0);
    for (int i = 0; i < 100; i++) {
        interval_union_add(&all, (struct interval){2 * i, 2 * i + 1});
        assert_true(all.n <= 4 && interval_union_length(&all) == i + 1);
    }
    interval_union_add(&all, (struct interval){0, 190});
    assert_true(interval_union_length(&all) == 100);
    interval_union_add(&all, (struct interval){0, 200});
    assert_true(interval_union_length(&all) == all.folded + 200 - all.folded_until);
    interval_union_free(&all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_instant_counts_twice),
        cmocka_unit_test(without_room_the_earliest_is_folded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
