/* SPDX-License-Identifier: MIT */
/* The length of a union of intervals that come in any order, against a list of instants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pipeline/cover.h"

enum { INSTANTS = 200, ROOM = INSTANTS / 2, TRIES = 2000 };

/* Whole numbers, so that lengths are exact. */
struct model {
    bool covered[INSTANTS];
    unsigned settled;
};

static unsigned count(const struct model *model) {
    unsigned n = 0;
    for (unsigned i = 0; i < INSTANTS; i++)
        n += model->covered[i];
    return n;
}

/* Now and then of no length, or turned round, as a clock may have it. */
static void add_one(struct cover *cover, struct model *model) {
    const unsigned start = (unsigned)rand() % INSTANTS;
    const unsigned most = rand() % 8 ? 4 : INSTANTS;
    unsigned end = start + (unsigned)rand() % most;
    end = end < INSTANTS ? end : INSTANTS;
    if (rand() % 16 == 0) {
        cover_add(cover, (struct interval){end, start});
        return;
    }
    cover_add(cover, (struct interval){start, end});
    for (unsigned i = start; i < end; i++)
        model->covered[i] |= i >= model->settled;
}

static void settle_somewhere(struct cover *cover, struct model *model) {
    const unsigned until = (unsigned)rand() % INSTANTS;
    cover_settle(cover, until);
    if (until > model->settled)
        model->settled = until;
}

static void no_instant_counts_twice(void **state) {
    (void)state;
    struct cover cover = {0};
    srand(1);
    assert_true(cover_reserve(&cover, ROOM + 1));
    for (int i = 0; i < TRIES; i++) {
        struct model model = {.settled = (unsigned)rand() % 8};
        cover_begin(&cover, model.settled);
        for (int k = rand() % 100; k > 0; k--) {
            if (rand() % 20)
                add_one(&cover, &model);
            else
                settle_somewhere(&cover, &model);
            assert_true(cover_length(&cover) == count(&model));
        }
    }
    cover_free(&cover);
}

/* What was settled for want of room is not added to, so that length may be missing, but none is added. */
static void without_room_the_earliest_is_settled(void **state) {
    (void)state;
    struct cover cover = {0};
    assert_true(cover_reserve(&cover, 4));
    cover_begin(&cover, 0);
    for (int i = 0; i < 100; i++) {
        cover_add(&cover, (struct interval){2 * i, 2 * i + 1});
        assert_true(cover.n <= 4 && cover_length(&cover) == i + 1);
    }
    cover_add(&cover, (struct interval){0, 190});
    assert_true(cover_length(&cover) == 100);
    cover_add(&cover, (struct interval){0, 200});
    assert_true(cover_length(&cover) == cover.length + 200 - cover.settled);
    cover_free(&cover);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_instant_counts_twice),
        cmocka_unit_test(without_room_the_earliest_is_settled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
