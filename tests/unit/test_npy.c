/* SPDX-License-Identifier: MIT */
/* The .npy header parser and writer of the clstream command. */
#include "../support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/npy.h"

/* The texts of this file are those of little-endian machines. */
static void make_native(void *text, size_t length) {
    const uint16_t one = 1;
    char *at = text;
    for (; !*(const unsigned char *)&one && length; at++, length--)
        if (*at == '<' || *at == '>')
            *at = *at == '<' ? '>' : '<';
}

/* A header of the given version around a text; returns its size. */
static size_t make(unsigned char *to, unsigned version, const char *text) {
    const size_t length = strlen(text), start = version == 1 ? 10 : 12;
    memcpy(to, "\x93NUMPY", 6);
    to[6] = (unsigned char)version;
    to[7] = 0;
    for (size_t i = 8; i < start; i++)
        to[i] = (unsigned char)(length >> (8 * (i - 8)));
    memcpy(to + start, text, length);
    make_native(to + start, length);
    return start + length;
}

/* Parses from a block of exactly that size, so that a sanitizer sees any byte read past it. */
static enum npy_result parse_exact(const void *bytes, size_t size, struct npy_array *array,
                                   size_t *needed, char *reason) {
    void *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    const enum npy_result result = npy_parse(copy, size, array, needed, reason);
    free(copy);
    return result;
}

static enum npy_result parse_text(const char *text, struct npy_array *array, char *reason) {
    unsigned char bytes[4096];
    size_t needed;
    const size_t size = make(bytes, 1, text);
    return parse_exact(bytes, size, array, &needed, reason);
}

static void reads_all_types_in_every_version(void **state) {
    static const struct {
        const char *descr;
        cls_dtype dtype;
    } rows[] = {
        {"<f4", CLS_F32}, {"<f8", CLS_F64}, {"<i4", CLS_I32}, {"<i8", CLS_I64},
        {"|u1", CLS_U8},  {"<u1", CLS_U8},  {">u1", CLS_U8},  {"<u4", CLS_U32},
        {"|i1", CLS_I8},  {"<i2", CLS_I16}, {"<u2", CLS_U16}, {"<f2", CLS_F16},
    };
    (void)state;
    for (unsigned version = 1; version <= 3; version++)
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            unsigned char bytes[256];
            char text[128], reason[NPY_REASON];
            struct npy_array array;
            size_t needed;
            snprintf(text, sizeof text,
                     "{'descr': '%s', 'fortran_order': False, 'shape': (3, 5), }\n", rows[i].descr);
            const size_t size = make(bytes, version, text);
            assert_int_equal(parse_exact(bytes, size, &array, &needed, reason), NPY_OK);
            assert_int_equal(array.dtype, rows[i].dtype);
            assert_int_equal(array.n_dims, 2);
            assert_int_equal(array.shape[0], 3);
            assert_int_equal(array.shape[1], 5);
            assert_int_equal(array.count, 15);
            assert_int_equal(array.header_bytes, size);
        }
}

static void takes_any_key_order_quotes_and_spaces(void **state) {
    static const char *const texts[] = {
        "{\"shape\":(2,3),\"descr\":\"<f4\",\"fortran_order\":False}",
        "  { 'fortran_order' : False , 'shape' : ( 2 , 3 , ) , 'descr' : '<f4' , }   \n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct npy_array array;
        char reason[NPY_REASON];
        assert_int_equal(parse_text(texts[i], &array, reason), NPY_OK);
        assert_int_equal(array.count, 6);
    }
}

static void counts_scalars_and_empty_arrays(void **state) {
    struct npy_array array;
    char reason[NPY_REASON];
    (void)state;
    assert_int_equal(
        parse_text("{'descr': '<f8', 'fortran_order': False, 'shape': ()}", &array, reason),
        NPY_OK);
    assert_int_equal(array.n_dims, 0);
    assert_int_equal(array.count, 1);
    /* The other sizes would overflow, were there any element. */
    assert_int_equal(parse_text("{'descr': '<f8', 'fortran_order': False, 'shape': "
                                "(9000000000000000000, 0, 9000000000000000000)}",
                                &array, reason),
                     NPY_OK);
    assert_int_equal(array.count, 0);
}

static void takes_fortran_order_only_where_it_means_nothing(void **state) {
    struct npy_array array;
    char reason[NPY_REASON];
    (void)state;
    assert_int_equal(
        parse_text("{'descr': '<f4', 'fortran_order': True, 'shape': (7,)}", &array, reason),
        NPY_OK);
    assert_int_equal(
        parse_text("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 7)}", &array, reason),
        NPY_OK);
    assert_int_equal(
        parse_text("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 7)}", &array, reason),
        NPY_BAD);
    assert_non_null(strstr(reason, "Fortran order"));
}

static void says_what_it_dislikes(void **state) {
    static const struct {
        const char *text;
        const char *part; /* of the reason */
    } rows[] = {
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "-endian"},
        {"{'descr': '<u8', 'fortran_order': False, 'shape': (1,)}", "'<u8'"},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}", "'|b1'"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "'<c8'"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "'|O'"},
        {"{'descr': '', 'fortran_order': False, 'shape': (1,)}", "type is ''"},
        {"{'descr': '|f4', 'fortran_order': False, 'shape': (1,)}", "'|f4'"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "records"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "neither True nor False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 5}", "'('"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "tuple of sizes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", "tuple of sizes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "overflows"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
         "overflows"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976,)}", "overflows"},
        {"{'descr': '<f4', 'fortran_order': False}", "lacks"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "repeated"},
        {"{'extra': '<f4', 'fortran_order': False, 'shape': (1,)}", "unknown key 'extra'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "goes on"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)", "dictionary"},
        {"{'descr': '<f4", "''' where"},
        {"", "'{'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct npy_array array = {.count = 42};
        char reason[NPY_REASON] = "", part[32];
        make_native(strcpy(part, rows[i].part), strlen(rows[i].part));
        if (parse_text(rows[i].text, &array, reason) != NPY_BAD || !strstr(reason, part))
            fail_msg("%s: %s", rows[i].text, reason);
        assert_int_equal(array.count, 42); /* written only on success */
    }
}

static void refuses_what_is_no_npy_file(void **state) {
    struct npy_array array;
    char reason[NPY_REASON];
    size_t needed;
    (void)state;
    assert_int_equal(parse_exact("PK\3\4 a zip archive", 18, &array, &needed, reason), NPY_BAD);
    assert_non_null(strstr(reason, "no .npy file"));
    assert_int_equal(parse_exact("\x93NUMPY\4\0\0\0", 10, &array, &needed, reason), NPY_BAD);
    assert_non_null(strstr(reason, "version 4.0"));
    assert_int_equal(parse_exact("\x93NUMPY\2\0\xff\xff\xff\xff", 12, &array, &needed, reason),
                     NPY_BAD);
    assert_non_null(strstr(reason, "claims"));
}

/* Every prefix of a good header asks for more, and exactly the whole parses. */
static void asks_for_more_until_the_header_is_whole(void **state) {
    (void)state;
    for (unsigned version = 1; version <= 3; version++) {
        unsigned char bytes[256];
        const size_t size =
            make(bytes, version, "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }\n");
        for (size_t have = 0; have < size; have++) {
            struct npy_array array;
            char reason[NPY_REASON];
            size_t needed = 0;
            assert_int_equal(parse_exact(bytes, have, &array, &needed, reason), NPY_MORE);
            assert_true(needed >= have + 1 && needed <= size);
        }
    }
}

/* Each single-byte change is parsed or refused, within the bytes given (a sanitizer watches). */
static void survives_any_damaged_byte(void **state) {
    unsigned char bytes[256];
    const size_t size =
        make(bytes, 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 31), }\n");
    unsigned refused = 0;
    (void)state;
    for (size_t at = 0; at < size; at++)
        for (unsigned value = 0; value < 256; value++) {
            const unsigned char kept = bytes[at];
            struct npy_array array;
            char reason[NPY_REASON];
            size_t needed = 0;
            bytes[at] = (unsigned char)value;
            const enum npy_result result = parse_exact(bytes, size, &array, &needed, reason);
            if (result == NPY_MORE)
                assert_true(needed > size);
            if (result == NPY_OK)
                assert_true(array.count <= INT64_MAX / 8);
            refused += result == NPY_BAD;
            bytes[at] = kept;
        }
    assert_true(refused >= size * 200 && refused <= size * 256);
}

static void writes_what_it_reads(void **state) {
    static const cls_dtype types[] = {CLS_F32, CLS_F64, CLS_I32, CLS_I64, CLS_U8,
                                      CLS_U32, CLS_I8,  CLS_I16, CLS_U16};
    (void)state;
    for (unsigned t = 0; t < sizeof types / sizeof *types; t++)
        for (unsigned n_dims = 0; n_dims <= NPY_MAX_DIMS; n_dims++) {
            struct npy_array array = {.dtype = types[t], .n_dims = n_dims, .count = 1}, back;
            unsigned char bytes[NPY_MAX_WRITTEN];
            char reason[NPY_REASON];
            size_t needed;
            for (unsigned i = 0; i < n_dims; i++) {
                array.shape[i] = i % 16 == 3 ? 2 + i : 1;
                array.count *= array.shape[i];
            }
            const size_t size = npy_write(&array, bytes, sizeof bytes);
            assert_true(size > 0 && size % 64 == 0 && bytes[size - 1] == '\n');
            assert_int_equal(npy_parse(bytes, size, &back, &needed, reason), NPY_OK);
            assert_int_equal(back.dtype, array.dtype);
            assert_int_equal(back.n_dims, n_dims);
            assert_int_equal(back.count, array.count);
            assert_memory_equal(back.shape, array.shape, n_dims * sizeof array.shape[0]);
            assert_int_equal(npy_write(&array, bytes, size - 1), 0);
        }
}

/* NumPy 2 has up to 64; the widest numbers, which a 0 before them makes an array of nothing. */
static void takes_as_many_dimensions_as_numpy(void **state) {
    char text[2048] = "{'descr': '<f8', 'fortran_order': False, 'shape': (0", reason[NPY_REASON];
    unsigned char bytes[NPY_MAX_WRITTEN];
    struct npy_array array, back;
    size_t needed;
    (void)state;
    for (unsigned i = 1; i < 64; i++)
        strcat(text, ", 9223372036854775807");
    strcat(text, ")}");
    assert_int_equal(parse_text(text, &array, reason), NPY_OK);
    assert_int_equal(array.n_dims, 64);
    assert_int_equal(array.count, 0);
    const size_t size = npy_write(&array, bytes, sizeof bytes);
    assert_true(size > 0);
    assert_int_equal(npy_parse(bytes, size, &back, &needed, reason), NPY_OK);
    assert_memory_equal(back.shape, array.shape, sizeof array.shape);
    strcpy(text + strlen(text) - 2, ", 1)}");
    assert_int_equal(parse_text(text, &array, reason), NPY_BAD);
    assert_non_null(strstr(reason, "more than 64 dimensions"));
}

/* NumPy's own bytes for numpy.zeros((2, 3), '<f4'): the format is a contract with other
 * programs. */
static void writes_the_bytes_that_numpy_writes(void **state) {
    const struct npy_array array = {.dtype = CLS_F32, .n_dims = 2, .shape = {2, 3}, .count = 6};
    static const char text[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    unsigned char expected[128], bytes[NPY_MAX_WRITTEN];
    (void)state;
    memset(expected, ' ', sizeof expected);
    memcpy(expected, "\x93NUMPY\1\0\x76\0", 10);
    memcpy(expected + 10, text, sizeof text - 1);
    make_native(expected + 10, sizeof text - 1);
    expected[127] = '\n';
    assert_int_equal(npy_write(&array, bytes, sizeof bytes), 128);
    assert_memory_equal(bytes, expected, 128);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all_types_in_every_version),
        cmocka_unit_test(takes_any_key_order_quotes_and_spaces),
        cmocka_unit_test(counts_scalars_and_empty_arrays),
        cmocka_unit_test(takes_fortran_order_only_where_it_means_nothing),
        cmocka_unit_test(says_what_it_dislikes),
        cmocka_unit_test(refuses_what_is_no_npy_file),
        cmocka_unit_test(asks_for_more_until_the_header_is_whole),
        cmocka_unit_test(survives_any_damaged_byte),
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(takes_as_many_dimensions_as_numpy),
        cmocka_unit_test(writes_the_bytes_that_numpy_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
