/* SPDX-License-Identifier: MIT */
/* The comparison behind `clstream run --verify`: it must see a difference wherever one is
 * planted. */
#include "../support/test.h"

#include <math.h>
#include <string.h>

#include "../../tools/compare.h"
#include "../../tools/low_bytes.h"

static const cls_dtype types[] = {CLS_F32, CLS_F64, CLS_I32, CLS_I64, CLS_U8,
                                  CLS_U32, CLS_I8,  CLS_I16, CLS_U16};

static void equal_arrays_are_equal(void **state) {
    unsigned char a[64], b[64];
    (void)state;
    for (size_t i = 0; i < sizeof a; i++)
        a[i] = b[i] = (unsigned char)(i * 7);
    for (unsigned t = 0; t < sizeof types / sizeof *types; t++) {
        const struct comparison found =
            compare_arrays(types[t], a, b, NULL, sizeof a / cls_dtype_size(types[t]));
        assert_true(found.within);
        assert_true(found.worst == 0);
    }
}

static size_t low_byte(size_t size) { return low_bytes_at(1) ? size - 1 : 0; }

/* One flipped low bit, anywhere, in any type. */
static void finds_a_planted_difference_and_where_it_is(void **state) {
    unsigned char a[64], b[64];
    (void)state;
    memset(a, 1, sizeof a);
    for (unsigned t = 0; t < sizeof types / sizeof *types; t++) {
        const size_t size = cls_dtype_size(types[t]), count = sizeof a / size;
        for (size_t i = 0; i < count; i++) {
            memcpy(b, a, sizeof a);
            b[i * size + low_byte(size)] ^= 1;
            const struct comparison found = compare_arrays(types[t], a, b, NULL, count);
            assert_false(found.within);
            assert_int_equal(found.at, i);
            assert_true(found.worst == 1);
        }
    }
}

static struct comparison compare_f32(float got, float expected, float bound) {
    return compare_arrays(CLS_F32, &got, &expected, &bound, 1);
}

static struct comparison compare_f64(double got, double expected, float bound) {
    return compare_arrays(CLS_F64, &got, &expected, &bound, 1);
}

static void counts_units_in_the_last_place(void **state) {
    (void)state;
    assert_true(compare_f32(1.0f, nextafterf(1.0f, 2.0f), 1).within);
    assert_false(compare_f32(1.0f, nextafterf(nextafterf(1.0f, 2.0f), 2.0f), 1).within);
    assert_true(compare_f32(1.0f, nextafterf(nextafterf(1.0f, 2.0f), 2.0f), 1).worst == 2);
    /* Across zero: one step on either side of it. */
    assert_true(compare_f32(nextafterf(0, 1), nextafterf(0, -1), 2).worst == 2);
    /* The bits of doubles are further apart than doubles can tell. */
    assert_true(compare_f64(1.0, nextafter(1.0, 2.0), 1).worst == 1);
    assert_true(compare_f64(-1.0, nextafter(-1.0, -2.0), 1).worst == 1);
    assert_false(compare_f64(1e300, -1e300, 1e6).within);
}

static void reports_the_worst_of_several(void **state) {
    const float expected[] = {1, 2, 3, 4};
    float got[] = {1, 2, 3, 4}, bounds[] = {4, 4, 4, 4};
    (void)state;
    got[1] = nextafterf(2, 3);
    got[2] = nextafterf(nextafterf(3, 4), 4);
    const struct comparison found = compare_arrays(CLS_F32, got, expected, bounds, 4);
    assert_true(found.within);
    assert_true(found.worst == 2);
    assert_int_equal(found.at, 2);
    /* Each element has its own bound, and the first one beyond it is shown. */
    bounds[1] = 0;
    const struct comparison beyond = compare_arrays(CLS_F32, got, expected, bounds, 4);
    assert_false(beyond.within);
    assert_true(beyond.worst == 2);
    assert_int_equal(beyond.at, 1);
}

static void treats_nan_infinity_and_zero_as_stated(void **state) {
    (void)state;
    assert_true(compare_f32(NAN, -NAN, 0).within);
    assert_false(compare_f32(NAN, 1, 1e30).within);
    assert_false(compare_f32(1, NAN, 1e30).within);
    assert_true(compare_f32(INFINITY, INFINITY, 0).within);
    assert_false(compare_f32(INFINITY, -INFINITY, 4).within);
    assert_false(compare_f32(INFINITY, 3.40282347e38f, 4).within);
    assert_false(compare_f32(-0.0f, 0.0f, 0).within);
    assert_true(compare_f32(-0.0f, 0.0f, 1).within);
    assert_true(compare_f64(NAN, -NAN, 0).within);
    assert_false(compare_f64(NAN, 1, 1e30).within);
    assert_false(compare_f64(-0.0, 0.0, 0).within);
}

static void takes_zero_for_what_may_be_flushed(void **state) {
    const float subnormal = 1e-40f;
    (void)state;
    assert_true(compare_f32(0.0f, subnormal, 0).within);
    assert_true(compare_f32(-0.0f, -subnormal, 3).within);
    assert_true(compare_f64(0.0, 1e-310, 0).within);
    assert_false(compare_f32(0.0f, 1.2e-38f, 4).within);
    assert_false(compare_f32(subnormal, 0.0f, 4).within);
    assert_false(compare_f32(1e-41f, subnormal, 4).within);
}

static void sees_integers_that_doubles_cannot_tell_apart(void **state) {
    const int64_t a = INT64_MAX, b = INT64_MAX - 1, c = INT64_MIN;
    (void)state;
    assert_true(compare_arrays(CLS_I64, &a, &b, NULL, 1).worst == 1);
    assert_false(compare_arrays(CLS_I64, &a, &c, NULL, 1).within);
    assert_true(compare_arrays(CLS_I64, &a, &c, NULL, 1).worst > 1.8e19);
}

/* From one end of a type to the other, and one step across zero. */
static void small_integers_have_signs(void **state) {
    const int8_t low = INT8_MIN, high = INT8_MAX, minus = -1, zero = 0;
    const int16_t lowest = INT16_MIN, highest = INT16_MAX;
    const uint16_t none = 0, all = UINT16_MAX;
    (void)state;
    assert_true(compare_arrays(CLS_I8, &low, &high, NULL, 1).worst == 255);
    assert_true(compare_arrays(CLS_I8, &minus, &zero, NULL, 1).worst == 1);
    assert_true(compare_arrays(CLS_I16, &lowest, &highest, NULL, 1).worst == 65535);
    assert_true(compare_arrays(CLS_U16, &none, &all, NULL, 1).worst == 65535);
}

static void prints_elements_exactly(void **state) {
    const float single = 0.1f;
    const double number = 0.1;
    const int32_t i32 = INT32_MIN;
    const int64_t i64 = INT64_MIN;
    const uint32_t u32 = UINT32_MAX;
    const uint8_t u8 = 255;
    const int8_t i8 = INT8_MIN;
    const int16_t i16 = INT16_MIN;
    const uint16_t u16 = UINT16_MAX;
    char text[ELEMENT_TEXT];
    (void)state;
    assert_string_equal(element_format(CLS_F32, &single, 0, text), "0.100000001");
    assert_string_equal(element_format(CLS_F64, &number, 0, text), "0.10000000000000001");
    assert_string_equal(element_format(CLS_I32, &i32, 0, text), "-2147483648");
    assert_string_equal(element_format(CLS_I64, &i64, 0, text), "-9223372036854775808");
    assert_string_equal(element_format(CLS_U32, &u32, 0, text), "4294967295");
    assert_string_equal(element_format(CLS_U8, &u8, 0, text), "255");
    assert_string_equal(element_format(CLS_I8, &i8, 0, text), "-128");
    assert_string_equal(element_format(CLS_I16, &i16, 0, text), "-32768");
    assert_string_equal(element_format(CLS_U16, &u16, 0, text), "65535");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_arrays_are_equal),
        cmocka_unit_test(finds_a_planted_difference_and_where_it_is),
        cmocka_unit_test(counts_units_in_the_last_place),
        cmocka_unit_test(reports_the_worst_of_several),
        cmocka_unit_test(treats_nan_infinity_and_zero_as_stated),
        cmocka_unit_test(takes_zero_for_what_may_be_flushed),
        cmocka_unit_test(sees_integers_that_doubles_cannot_tell_apart),
        cmocka_unit_test(small_integers_have_signs),
        cmocka_unit_test(prints_elements_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
