/* SPDX-License-Identifier: MIT */
/* What rounds of a comparison agree on. */
#include "../support/test.h"

#include "driver/paired.h"

enum { ROUNDS = 40 };

/* `above` of the rounds at 1.4, the others at 0.5, neither in order. */
static struct paired judge(size_t above) {
    double ratios[ROUNDS];
    for (size_t i = 0; i < ROUNDS; i++)
        ratios[i * 7 % ROUNDS] = i < above ? 1.4 : 0.5;
    return paired_judge(ratios, ROUNDS, 1.1);
}

static void ratio_is_what_four_of_five_exceed(void **state) {
    double ratios[10] = {1.9, 1.1, 1.5, 1.3, 1.7, 1.0, 1.8, 1.2, 1.6, 1.4};
    (void)state;
    struct paired judged = paired_judge(ratios, 10, 1.1);
    assert_true(judged.ratio == (double)1.2 && judged.agreed);
}

static void few_slow_rounds_change_nothing(void **state) {
    (void)state;
    struct paired judged = judge(ROUNDS / 5);
    assert_true(judged.ratio == 0.5 && judged.agreed);
    judged = judge(ROUNDS - ROUNDS / 5);
    assert_true(judged.ratio == (double)1.4 && judged.agreed);
}

static void rounds_that_disagree_say_so_and_claim_little(void **state) {
    (void)state;
    for (size_t above = ROUNDS / 5 + 1; above < ROUNDS - ROUNDS / 5; above++) {
        struct paired judged = judge(above);
        assert_true(judged.ratio == 0.5);
        assert_false(judged.agreed);
    }
}

static void no_round_says_nothing(void **state) {
    (void)state;
    struct paired judged = paired_judge(NULL, 0, 1.1);
    assert_true(judged.ratio == 1 && judged.agreed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ratio_is_what_four_of_five_exceed),
        cmocka_unit_test(few_slow_rounds_change_nothing),
        cmocka_unit_test(rounds_that_disagree_say_so_and_claim_little),
        cmocka_unit_test(no_round_says_nothing),
    };
    return cmocka_run_group_tests_name("paired", tests, NULL, NULL);
}
