/* SPDX-License-Identifier: MIT */
/* Checksums: they depend on the bytes and their order, and not on how these are cut. */
#include <string.h>

#include "base/checksum.h"

#include "../support/test.h"

enum { N = 61 };

static uint64_t of_pieces(const unsigned char *bytes, size_t n, size_t piece) {
    struct checksum sum = {0};
    for (size_t at = 0; at < n; at += piece)
        checksum_add(&sum, bytes + at, n - at < piece ? n - at : piece);
    return checksum_value(&sum);
}

static void test_cuts_do_not_matter(void **state) {
    unsigned char bytes[N];
    (void)state;
    for (unsigned i = 0; i < N; i++)
        bytes[i] = (unsigned char)(i * 37 + 11);
    for (size_t n = 0; n <= N; n++)
        for (size_t piece = 1; piece <= N; piece++)
            assert_true(of_pieces(bytes, n, piece) == of_pieces(bytes, n, N));
}

static void test_each_bit_matters(void **state) {
    unsigned char bytes[N] = {0};
    (void)state;
    const uint64_t before = of_pieces(bytes, N, N);
    for (unsigned bit = 0; bit < N * 8; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        assert_true(of_pieces(bytes, N, 5) != before);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}

static void test_length_and_order_matter(void **state) {
    const unsigned char zeros[N] = {0}, one[] = "abcdefgh12345678", other[] = "12345678abcdefgh";
    (void)state;
    for (size_t n = 1; n <= N; n++)
        assert_true(of_pieces(zeros, n, N) != of_pieces(zeros, n - 1, N));
    assert_true(of_pieces(one, 16, 16) != of_pieces(other, 16, 16));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuts_do_not_matter),
        cmocka_unit_test(test_each_bit_matters),
        cmocka_unit_test(test_length_and_order_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
