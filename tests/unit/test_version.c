/* SPDX-License-Identifier: MIT */
/* The version is one, in the headers, in configure.ac and in the library. */
#include "../support/test.h"

#include <stdio.h>

#include <clstream/version.h>

#include "config.h"

#if CLS_VERSION < CLS_VERSION_NUMBER(0, 1, 0)
#error "the preprocessor compares versions"
#endif

static void headers_library_and_configure_agree(void **state) {
    char text[32];
    (void)state;
    snprintf(text, sizeof text, "%d.%d.%d", CLS_VERSION_MAJOR, CLS_VERSION_MINOR,
             CLS_VERSION_PATCH);
    assert_string_equal(text, PACKAGE_VERSION);
    assert_string_equal(cls_version_string(), PACKAGE_VERSION);
    assert_int_equal(cls_version(), CLS_VERSION);
}

static void numbers_grow_with_versions(void **state) {
    (void)state;
    assert_int_equal(CLS_VERSION_NUMBER(1, 2, 3), 10203);
    assert_true(CLS_VERSION_NUMBER(0, 2, 0) > CLS_VERSION_NUMBER(0, 1, 99));
    assert_true(CLS_VERSION_NUMBER(1, 0, 0) > CLS_VERSION_NUMBER(0, 99, 99));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_library_and_configure_agree),
        cmocka_unit_test(numbers_grow_with_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
