/* SPDX-License-Identifier: MIT */
/* The race checker on random graphs whose order is known exactly: it finds nothing in a correct graph, and
 * something in every graph that lacks one wait. Under a plain driver; no layer is needed. */
#include "../../support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../support/effort.h"
#include "dag.h"

enum { GRAPHS = 300, LONG_GRAPHS = 5000, COMMANDS = 4000, LONG_COMMANDS = 200000, BATCH = 128 };

static cls_context context;

static cls_check_counts counts(void) {
    cls_check_counts now = CLS_CHECK_COUNTS_INIT;
    assert_int_equal(cls_check_get_counts(&now), CLS_SUCCESS);
    assert_true(now.on);
    assert_int_equal(now.forgotten, 0);
    return now;
}

static void say_first(void) {
    cls_check_finding finding = CLS_CHECK_FINDING_INIT;
    if (cls_check_get_finding(0, &finding) == CLS_SUCCESS)
        print_message("# %s\n", finding.text);
}

static struct dag_result run(struct dag_plan plan) {
    struct dag_result result;
    assert_int_equal(cls_check_clear(), CLS_SUCCESS);
    dag_run(context, &plan, &result);
    if (result.failed)
        fail_msg("%s", result.what);
    return result;
}

static void test_a_correct_graph_has_no_race(void **state) {
    const struct dag_plan plan = {.seed = 1,
                                  .commands = effort_is_long() ? LONG_COMMANDS : COMMANDS,
                                  .streams = 6,
                                  .batch = 256};
    (void)state;
    const struct dag_result result = run(plan);
    print_message("# %" PRIu64 " commands, %" PRIu64 " waits\n", result.commands, result.waits);
    say_first();
    assert_int_equal(counts().races + counts().possible, 0);
    assert_true(counts().commands >= plan.commands);
}

/* How many of the graphs that lack one wait show nothing. Graphs of one batch: comparing it with the model
 * orders all. */
static unsigned missed(unsigned narrow) {
    const unsigned graphs = effort_is_long() ? LONG_GRAPHS : GRAPHS;
    unsigned planted = 0, silent = 0;
    for (unsigned i = 0; i < graphs; i++) {
        const struct dag_plan plan = {.seed = 7 + i,
                                      .commands = 1,
                                      .streams = 6,
                                      .batch = BATCH,
                                      .planted = 1 + i % 30,
                                      .narrow = narrow};
        const struct dag_result result = run(plan);
        const cls_check_counts found = counts();
        planted += result.left_out != 0;
        silent += result.left_out && !found.races;
        assert_int_equal(found.possible, 0);
        assert_true(result.left_out || !found.races);
    }
    assert_true(planted > graphs * 3 / 4);
    return silent;
}

static void test_every_wait_that_kernels_lack_is_a_race(void **state) {
    (void)state;
    assert_int_equal(missed(8), 0);
}

/* What a host function or foreign code touches is declared when it runs. By then a command that it races
 * with may be forgotten for one that came after both. */
static void test_missing_waits_of_all_kinds_are_races(void **state) {
    const unsigned graphs = effort_is_long() ? LONG_GRAPHS : GRAPHS;
    unsigned silent = missed(0);
    (void)state;
    print_message("# of %u graphs without one wait %u showed nothing\n", graphs, silent);
    assert_true(silent <= graphs / 50);
}

static int setup(void **state) {
    (void)state;
    return cls_context_create(NULL, &context) ? -1 : 0;
}

static int teardown(void **state) {
    (void)state;
    return cls_context_destroy(context) ? -1 : 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_correct_graph_has_no_race),
        cmocka_unit_test(test_every_wait_that_kernels_lack_is_a_race),
        cmocka_unit_test(test_missing_waits_of_all_kinds_are_races),
    };
    setenv("CLSTREAM_CHECK", "race", 1);
    return cmocka_run_group_tests(tests, setup, teardown);
}
