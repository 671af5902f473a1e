/* SPDX-License-Identifier: MIT */
/* What each submission looks at stands in few cache lines: where the driver has used the cache, those are its cost. */
#include "../support/test.h"

#include "command/kernel.h"
#include "memory/buffer.h"
#include "stream/context.h"
#include "stream/flight.h"
#include "stream/stream.h"

enum { LINE = 64 };

#define LAST_LINE(type, member) (offsetof(struct type, member) / LINE)

/* Of a mutex of 40 bytes and pointers of 8; there are platforms that have others. */
static void test_streams(void **state) {
    (void)state;
    if (sizeof(pthread_mutex_t) != 40 || sizeof(void *) != 8)
        SKIP_BECAUSE("mutexes of %zu bytes and pointers of %zu, not of 40 and 8",
                     sizeof(pthread_mutex_t), sizeof(void *));
    assert_int_equal(LAST_LINE(stream, submitted), 1);
    assert_int_equal(LAST_LINE(stream, flights), 2);
    assert_true(LAST_LINE(stream, waits.u.here[1]) <= 4);
    assert_int_equal(LAST_LINE(stream, fifo.head), LAST_LINE(stream, counters.work_items));
    assert_int_equal(offsetof(struct stream, kernels) % LINE, 0);
}

static void test_flights(void **state) {
    (void)state;
    assert_int_equal(_Alignof(struct flight) % LINE, 0);
    assert_int_equal(LAST_LINE(flight, next), 0);
    assert_true(LAST_LINE(flight, refs.here[0]) <= 1);
    assert_int_equal(offsetof(struct flight, deps) % LINE, 0);
    assert_true(offsetof(struct flight, deps.u.here[1]) - offsetof(struct flight, deps) <= LINE);
}

static void test_the_rest(void **state) {
    (void)state;
    assert_int_equal(LAST_LINE(context, closed), 0);
    assert_int_equal(LAST_LINE(kernel, has_group), 0);
    assert_int_equal(LAST_LINE(buffer, svm_owner), 0);
    assert_true(offsetof(struct kernel_slot, cached[1]) <= LINE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_flights),
        cmocka_unit_test(test_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
