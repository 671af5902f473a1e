/* SPDX-License-Identifier: MIT */
/*
 * cmocka, after the headers that its own needs, and checks of statuses. A test that skips says why first:
 * SKIP_BECAUSE does both, and build-aux/run-test fails a skip without a reason.
 */
#ifndef CLSTREAM_TESTS_TEST_H
#define CLSTREAM_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* cmocka 2 deprecates them, which a build with an error for each warning refuses. */
#undef assert_in_range
#undef assert_not_in_range
#undef assert_in_set
#undef assert_not_in_set

#include <clstream/status.h>

#define OK(call) expect_status(CLS_SUCCESS, (call), #call, __FILE__, __LINE__)
#define EXPECT(status, call) expect_status((status), (call), #call, __FILE__, __LINE__)

/* Fails the running test with the call, both statuses and the detail. */
static inline void expect_status(cls_status wanted, cls_status got, const char *call,
                                 const char *file, int line) {
    if (got == wanted)
        return;
    print_error("%s\n    is %s, not %s; the detail: %s\n", call, cls_status_string(got),
                cls_status_string(wanted), cls_last_error_detail());
    _fail(file, line);
}

/* The detail of this thread's last error contains `part`. */
static inline void expect_detail(const char *part) {
    if (!strstr(cls_last_error_detail(), part))
        fail_msg("'%s' is not in the detail: %s", part, cls_last_error_detail());
}

/* Skips the running test. */
#define SKIP_BECAUSE(...) (print_message(__VA_ARGS__), print_message("\n"), skip())

#endif
