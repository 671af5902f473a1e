/* SPDX-License-Identifier: MIT */
/* Names that are kept for good: one copy each, and no more of them than there is room for. */
#include "../support/test.h"

#include <stdio.h>

#include "base/intern.h"

enum { MANY = 20000 };

static const char *number(unsigned i) {
    char name[32];
    snprintf(name, sizeof name, "step %u", i);
    return intern(name);
}

static void test_names_are_bounded(void **state) {
    (void)state;
    const char *first = number(0);
    assert_string_equal(first, "step 0");
    for (unsigned i = 0; i < MANY; i++)
        assert_non_null(number(i));
    assert_ptr_equal(number(0), first);
    assert_string_equal(number(MANY), "(one of too many names)");
    assert_ptr_equal(number(MANY), number(MANY - 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names_are_bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
