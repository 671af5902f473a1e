/* SPDX-License-Identifier: MIT */
/* The program of a library that was built without CLBlast, for tests of its calls: one test, which is skipped. */
#ifndef CLSTREAM_TESTS_WITHOUT_CLBLAST_H
#define CLSTREAM_TESTS_WITHOUT_CLBLAST_H

#include "../support/test.h"

static void calls(void **state) {
    (void)state;
    SKIP_BECAUSE("this library was built without CLBlast");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
