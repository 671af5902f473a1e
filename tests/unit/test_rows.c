/* SPDX-License-Identifier: MIT */
/* Whether rows overlap, against a comparison of each with each, and at sizes that no loop can compare. */
#include "../support/test.h"

#include <stdlib.h>

#include "base/byte_span.h"
#include "base/rows.h"

static bool compared_one_by_one(const struct rows *a, const struct rows *b) {
    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < b->count; k++) {
            const size_t x = a->start + i * a->pitch, y = b->start + k * b->pitch;
            if (x < y + b->width && y < x + a->width)
                return true;
        }
    return false;
}

static struct rows some_rows(unsigned wide, unsigned apart) {
    struct rows rows = {.width = 1 + (unsigned)rand() % wide, .count = 1 + (unsigned)rand() % 12};
    rows.start = (unsigned)rand() % (4 * apart);
    rows.pitch = rows.width + (unsigned)rand() % apart;
    return rows;
}

static void test_small_ones_exactly(void **state) {
    unsigned overlaps = 0;
    (void)state;
    srand(7);
    for (unsigned i = 0; i < 300000; i++) {
        const unsigned wide = i % 2 ? 3 : 9, apart = i % 3 ? 30 : 200;
        struct rows a = some_rows(wide, apart), b = some_rows(wide, apart);
        if (i % 4)
            b.width = a.width <= b.pitch ? a.width : b.width;
        const bool expected = compared_one_by_one(&a, &b);
        overlaps += expected;
        if (rows_overlap(&a, &b) != expected || rows_overlap(&b, &a) != expected)
            fail_msg("%zu+%zu by %zu, %zu times; %zu+%zu by %zu, %zu times: not %d", a.start,
                     a.width, a.pitch, a.count, b.start, b.width, b.pitch, b.count, expected);
    }
    assert_true(overlaps >= 50000 && overlaps <= 250000);
}

/* A billion rows, that meet only at the end or nowhere. */
static void test_many_rows_at_once(void **state) {
    (void)state;
    const size_t n = (size_t)1 << 30;
    const struct rows even = {0, 1, 2, n}, odd = {1, 1, 2, n};
    assert_false(rows_overlap(&even, &odd));
    const struct rows slow = {0, 1, 3, n / 2}, shifted = {n + 1, 1, 2, 1};
    assert_true(rows_overlap(&even, &slow));
    assert_false(rows_overlap(&even, &shifted));
    const struct rows wide = {5, 4, 1000003, 1000}, other = {1, 4, 999983, 1000};
    assert_false(rows_overlap(&wide, &other) != compared_one_by_one(&wide, &other));
    if (sizeof(size_t) < 8)
        return;
    const size_t far = (size_t)1 << 20;
    const struct rows huge = {0, 1, far * far, far}, beside = {1, 1, far * far + 1, far};
    assert_false(rows_overlap(&huge, &beside));
}

static struct byte_span some_slices(void) {
    const struct rows rows = some_rows(3, 12);
    const size_t depth = 1 + (unsigned)rand() % 6, height = 1 + (unsigned)rand() % 4;
    const size_t slice = height * rows.pitch + (unsigned)rand() % 60;
    return (struct byte_span){rows.start, rows.width, rows.pitch, height, slice, depth};
}

static struct rows slice_at(const struct byte_span *span, size_t i) {
    return (struct rows){span->start + i * span->slice, span->width, span->pitch, span->height};
}

static bool slices_compared_one_by_one(const struct byte_span *a, const struct byte_span *b) {
    for (size_t i = 0; i < a->depth; i++)
        for (size_t k = 0; k < b->depth; k++) {
            const struct rows x = slice_at(a, i), y = slice_at(b, k);
            if (compared_one_by_one(&x, &y))
                return true;
        }
    return false;
}

static void test_slices_exactly(void **state) {
    unsigned overlaps = 0;
    (void)state;
    for (unsigned i = 0; i < 100000; i++) {
        struct byte_span a = some_slices(), b = some_slices();
        if (i % 3)
            b.slice = a.slice > b.slice ? a.slice : b.slice;
        const bool expected = slices_compared_one_by_one(&a, &b);
        overlaps += expected;
        assert_int_equal(byte_spans_overlap(&a, &b), expected);
        assert_int_equal(byte_spans_overlap(&b, &a), expected);
    }
    assert_true(overlaps >= 20000 && overlaps <= 80000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_ones_exactly),
        cmocka_unit_test(test_many_rows_at_once),
        cmocka_unit_test(test_slices_exactly),
    };
    return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
