/* SPDX-License-Identifier: MIT */
/*
 * The types of 16 bits: every element of them, and of the others every number at which a cast turns from one
 * element to the next, bit for bit.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"

enum { ELEMENTS = 1 << 16, NEAR = 3 };

static const cls_dtype narrow_types[] = {CLS_F16, CLS_BF16};

/* The bits of a NaN are free, but for the one that makes it quiet. */
static bool is_quiet_nan(cls_dtype type, uint16_t bits) {
    return (bits & 0x7fff) > (type == CLS_F16 ? 0x7c00 : 0x7f80) &&
           (bits & (type == CLS_F16 ? 0x0200 : 0x0040)) != 0;
}

static void *cast(cls_dtype from, cls_dtype to, const void *in, size_t count) {
    const cls_array a = view_make(from, 0, count, in), b = view_make(to, 0, count, NULL);
    OK(cls_cast(a, b, NULL));
    view_destroy(a);
    return view_take(b);
}

static void need_casts_of_f64(void) {
    NEED_TYPE(CLS_F64);
    NEED_ROUNDING(CLS_F64);
}

static uint16_t *all_elements(void) {
    uint16_t *all = malloc(ELEMENTS * sizeof *all);
    assert_non_null(all);
    for (unsigned i = 0; i < ELEMENTS; i++)
        all[i] = (uint16_t)i;
    return all;
}

/* To the wider type the same number, and back the same bits. */
static void there_and_back(cls_dtype narrow, cls_dtype wide) {
    uint16_t *all = all_elements();
    void *expected = malloc(ELEMENTS * cls_dtype_size(wide));
    assert_non_null(expected);
    assert_true(reference_cast(narrow, wide, all, expected, ELEMENTS));
    void *got = cast(narrow, wide, all, ELEMENTS);
    check_array("an element of 16 bits", wide, got, expected, NULL, ELEMENTS, narrow, all);
    uint16_t *back = cast(wide, narrow, got, ELEMENTS);
    for (unsigned i = 0; i < ELEMENTS; i++) {
        double x = reference_float(narrow, all, i), y = reference_float(wide, got, i);
        const bool lost = device_flushes() && wide == CLS_F32 && y == 0 && x != 0;
        if (isnan(x) ? !is_quiet_nan(narrow, back[i]) : back[i] != all[i] && !lost)
            fail_msg("%s %#x is %a in %s and comes back as %#x", cls_dtype_name(narrow), all[i], y,
                     cls_dtype_name(wide), back[i]);
    }
    free(back);
    free(got);
    free(expected);
    free(all);
}

static void elements_go_to_f32_and_back(void **state) {
    (void)state;
    for (unsigned t = 0; t < 2; t++)
        there_and_back(narrow_types[t], CLS_F32);
}

static void elements_go_to_f64_and_back(void **state) {
    (void)state;
    need_casts_of_f64();
    for (unsigned t = 0; t < 2; t++)
        there_and_back(narrow_types[t], CLS_F64);
}

/* Between each element and the next, and what the wide type has beside that; behind the largest as if there were one
 * more. */
static void put_turn(cls_dtype narrow, cls_dtype wide, unsigned element, void *to, size_t i) {
    const uint16_t pair[2] = {(uint16_t)element, (uint16_t)(element + 1)};
    const double low = reference_float(narrow, pair, 0), high = reference_float(narrow, pair, 1);
    const double end = narrow == CLS_F16 ? 0x1p16 : 0x1p128;
    const double middle = isinf(high) ? low + (copysign(end, high) - low) / 2 : (low + high) / 2;
    if (wide == CLS_F64) {
        ((double *)to)[i] = nextafter(middle, -INFINITY);
        ((double *)to)[i + 1] = middle;
        ((double *)to)[i + 2] = nextafter(middle, INFINITY);
    } else {
        ((float *)to)[i] = nextafterf((float)middle, -INFINITY);
        ((float *)to)[i + 1] = (float)middle;
        ((float *)to)[i + 2] = nextafterf((float)middle, INFINITY);
    }
}

static void check_turns(cls_dtype narrow, cls_dtype wide) {
    const size_t count = NEAR * ELEMENTS;
    void *in = calloc(count, cls_dtype_size(wide));
    uint16_t *expected = malloc(count * sizeof *expected);
    assert_non_null(in);
    assert_non_null(expected);
    for (unsigned i = 0; i < ELEMENTS; i++)
        put_turn(narrow, wide, i, in, (size_t)NEAR * i);
    assert_true(reference_cast(wide, narrow, in, expected, count));
    uint16_t *got = cast(wide, narrow, in, count);
    check_array("a number between two elements", narrow, got, expected, NULL, count, wide, in);
    free(got);
    free(expected);
    free(in);
}

static void f32_turns_where_it_is_to(void **state) {
    (void)state;
    for (unsigned t = 0; t < 2; t++)
        check_turns(narrow_types[t], CLS_F32);
}

static void f64_turns_where_it_is_to(void **state) {
    (void)state;
    need_casts_of_f64();
    for (unsigned t = 0; t < 2; t++)
        check_turns(narrow_types[t], CLS_F64);
}

/* The integers about the middle of every two elements. */
static void integer_turns(cls_dtype narrow, cls_dtype type) {
    const size_t size = cls_dtype_size(type);
    unsigned char *in = calloc((size_t)NEAR * ELEMENTS, size);
    uint16_t *expected = calloc((size_t)NEAR * ELEMENTS, sizeof *expected);
    size_t n = 0;
    assert_non_null(in);
    assert_non_null(expected);
    for (unsigned i = 0; i < ELEMENTS; i++) {
        double near[NEAR];
        put_turn(narrow, CLS_F64, i, near, 0);
        if (!(fabs(near[1]) < 0x1p62))
            continue;
        for (int64_t by = -1; by <= 1; by++) {
            const int64_t x = (int64_t)near[1] + by;
            memcpy(in + n++ * size, &x, size); /* modulo the type's range: any integer will do */
        }
    }
    assert_true(reference_cast(type, narrow, in, expected, n));
    uint16_t *got = cast(type, narrow, in, n);
    check_array("an integer between two elements", narrow, got, expected, NULL, n, type, in);
    free(got);
    free(expected);
    free(in);
}

static void integers_turn_where_they_are_to(void **state) {
    static const cls_dtype types[] = {CLS_I32, CLS_I64, CLS_U8, CLS_U32};
    (void)state;
    for (unsigned t = 0; t < 2; t++)
        for (unsigned i = 0; i < sizeof types / sizeof types[0]; i++)
            integer_turns(narrow_types[t], types[i]);
}

static void elements_go_to_the_other_type(void **state) {
    uint16_t *all = all_elements(), *expected = malloc(ELEMENTS * sizeof *expected);
    (void)state;
    assert_non_null(expected);
    for (unsigned t = 0; t < 2; t++) {
        const cls_dtype from = narrow_types[t], to = narrow_types[1 - t];
        assert_true(reference_cast(from, to, all, expected, ELEMENTS));
        uint16_t *got = cast(from, to, all, ELEMENTS);
        check_array("an element of the other type", to, got, expected, NULL, ELEMENTS, from, all);
        free(got);
    }
    free(expected);
    free(all);
}

int main(void) {
    prepare_tests();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_go_to_f32_and_back),
        cmocka_unit_test(elements_go_to_f64_and_back),
        cmocka_unit_test(f32_turns_where_it_is_to),
        cmocka_unit_test(f64_turns_where_it_is_to),
        cmocka_unit_test(integers_turn_where_they_are_to),
        cmocka_unit_test(elements_go_to_the_other_type),
    };
    return cmocka_run_group_tests_name("types of 16 bits", tests, NULL, NULL);
}
