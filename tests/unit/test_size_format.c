/* SPDX-License-Identifier: MIT */
/* Sizes and counts as the clstream command reads and prints them. */
#include "../support/test.h"

#include "../../tools/size.h"

static void reads_suffixes(void **state) {
    static const struct {
        const char *text;
        uint64_t value;
    } rows[] = {
        {"0", 0},
        {"17", 17},
        {"17B", 17},
        {"4k", 4096},
        {"4KB", 4096},
        {"4KiB", 4096},
        {"8M", (uint64_t)8 << 20},
        {"3g", (uint64_t)3 << 30},
        {"2T", (uint64_t)2 << 40},
        {"18446744073709551615", UINT64_MAX},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t value = 1;
        assert_true(size_parse(rows[i].text, &value));
        assert_int_equal(value, rows[i].value);
    }
}

static void refuses_what_is_no_size(void **state) {
    static const char *const texts[] = {
        "",
        "K",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1.5M",
        "1Q",
        "1KK",
        "1Kx",
        "1iB",
        "0x10",
        "1\x0b",
        "18446744073709551616",
        "18014398509481984K",
        "99999999999999999999",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uint64_t value = 42;
        if (size_parse(texts[i], &value))
            fail_msg("'%s' was taken for %llu", texts[i], (unsigned long long)value);
        assert_int_equal(value, 42);
    }
}

static void keeps_numbers_within_their_range(void **state) {
    uint64_t value = 42;
    (void)state;
    assert_true(number_parse("64", 1, 64, &value));
    assert_int_equal(value, 64);
    assert_false(number_parse("65", 1, 64, &value));
    assert_false(number_parse("0", 1, 64, &value));
    assert_false(number_parse("4K", 1, UINT64_MAX, &value));
    assert_false(number_parse("", 0, 64, &value));
    assert_int_equal(value, 64);
}

static void prints_sizes_and_counts(void **state) {
    char text[SIZE_TEXT];
    (void)state;
    assert_string_equal(size_format(0, text), "0 bytes");
    assert_string_equal(size_format(1023, text), "1023 bytes");
    assert_string_equal(size_format(8 << 20, text), "8 MiB");
    assert_string_equal(size_format(1536, text), "1.50 KiB");
    assert_string_equal(size_format(115008, text), "112.3 KiB");
    assert_string_equal(size_format(UINT64_MAX, text), "16 EiB");
    assert_string_equal(count_format(0, text), "0");
    assert_string_equal(count_format(999, text), "999");
    assert_string_equal(count_format(1000, text), "1,000");
    assert_string_equal(count_format(115008, text), "115,008");
    assert_string_equal(count_format(UINT64_MAX, text), "18,446,744,073,709,551,615");
}

static void prints_times_with_three_digits(void **state) {
    static const struct {
        uint64_t ns;
        const char *text;
    } rows[] = {
        {0, "0 ns"},
        {999, "999 ns"},
        {999499, "999 us"},
        {999600, "1 ms"},
        {1500000, "1.5 ms"},
        {999600000, "1 s"},
        {123456789012, "123 s"},
        {12345678901234, "12346 s"},
    };
    char text[SIZE_TEXT];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(span_format(rows[i].ns, text), rows[i].text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_suffixes),
        cmocka_unit_test(refuses_what_is_no_size),
        cmocka_unit_test(keeps_numbers_within_their_range),
        cmocka_unit_test(prints_sizes_and_counts),
        cmocka_unit_test(prints_times_with_three_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
