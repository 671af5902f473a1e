/* SPDX-License-Identifier: MIT */
/* The stages of `clstream run`: the language, and the plan that is made of it. */
#include "../support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/binary.h>
#include <clstream/unary.h>

#include "../../tools/low_bytes.h"
#include "../../tools/plan.h"

static struct expression expression;
static struct plan plan;
static struct expression_error error;

static void names_types_and_numbers(void **state) {
    (void)state;
    assert_true(expression_parse(" cast  f32|scale -0x1p-4\t| gelu\n| where i64 1e3 -2 ",
                                 &expression, &error));
    assert_int_equal(expression.n_stages, 4);
    assert_string_equal(expression.stages[0].operation->name, "cast");
    assert_int_equal(expression.stages[0].dtype, CLS_F32);
    assert_int_equal(expression.stages[0].at, 1);
    assert_int_equal(expression.stages[0].length, 9);
    assert_string_equal(expression.stages[1].operation->name, "scale");
    assert_true(expression.stages[1].numbers[0] == -0.0625);
    assert_string_equal(expression.stages[2].operation->name, "gelu");
    assert_int_equal(expression.stages[3].dtype, CLS_I64);
    assert_true(expression.stages[3].numbers[0] == 1000);
    assert_true(expression.stages[3].numbers[1] == -2);
}

static void every_operation_parses_with_its_arguments(void **state) {
    const struct operation *operation;
    size_t i;
    (void)state;
    for (i = 0; (operation = operation_at(i)); i++) {
        char text[64];
        snprintf(text, sizeof text, "%s%s%s", operation->name, operation->takes_type ? " i32" : "",
                 operation->n_numbers == 2   ? " 1 2"
                 : operation->n_numbers == 1 ? " 1"
                                             : "");
        assert_true(expression_parse(text, &expression, &error));
        assert_ptr_equal(expression.stages[0].operation, operation);
        assert_ptr_equal(operation_find(operation->name, strlen(operation->name)), operation);
    }
}

static void found(const char *name, enum operation_kind kind, int code) {
    const struct operation *operation = operation_find(name, strlen(name));
    if (!operation || operation->kind != kind || operation->code != code)
        fail_msg("the tool and the library differ about '%s'", name);
}

/* The library numbers its operations from 1 without gaps and names what is none "?". */
static void knows_every_operation_of_the_library(void **state) {
    size_t n = 2; /* cast and where */
    const char *name;
    (void)state;
    for (int i = 1; *(name = cls_unary_op_name((cls_unary_op)i)) != '?'; i++, n++)
        found(name, OPERATION_UNARY, i);
    for (int i = 1; *(name = cls_unary_param_op_name((cls_unary_param_op)i)) != '?'; i++, n++)
        found(name, OPERATION_PARAM, i);
    for (int i = 1; *(name = cls_binary_op_name((cls_binary_op)i)) != '?'; i++, n++)
        found(name, OPERATION_BINARY, i);
    assert_non_null(operation_at(n - 1));
    assert_null(operation_at(n));
}

static void says_what_is_wrong_and_where(void **state) {
    static const struct {
        const char *text;
        size_t at;
        size_t length;
        const char *part; /* of the reason */
    } rows[] = {
        {"", 0, 1, "missing"},
        {"   ", 3, 1, "missing"},
        {"gelu|", 5, 1, "missing"},
        {"|gelu", 0, 1, "missing"},
        {"gelu||relu", 5, 1, "missing"},
        {"gelo", 0, 4, "did you mean 'gelu'"},
        {"relu | sigmod | abs", 7, 6, "did you mean 'sigmoid'"},
        {"GELU", 0, 4, "unknown operation 'GELU'"},
        {"zzzzzzzz", 0, 8, "unknown operation 'zzzzzzzz'"},
        {"cast", 4, 1, "needs a type"},
        {"cast f8", 5, 2, "'f8' is no type"},
        {"cast f32 f64", 9, 3, "takes no further argument"},
        {"gelu 1", 5, 1, "takes no argument"},
        {"scale", 5, 1, "needs a number"},
        {"scale 1,5", 6, 3, "'1,5' is no number"},
        {"scale 1e400", 6, 5, "'1e400' is too large"},
        {"add -1e400", 4, 6, "'-1e400' is too large"},
        {"scale 1 2", 8, 1, "takes no further argument"},
        {"where f32 1", 11, 1,
         "needs a type (f32 f64 i32 i64 u8 u32 f16 bf16 i8 i16 u16) and two numbers"},
        {"where f32 1 2 3", 14, 1, "takes no further argument"},
        {"where f32 1 2 3 4 5 6", 14, 1, "takes no further argument"},
        {"scale 1 | where f32 1 b", 22, 1, "'b' is no number"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        expression.n_stages = 77;
        assert_false(expression_parse(rows[i].text, &expression, &error));
        if (error.at != rows[i].at || error.length != rows[i].length ||
            !strstr(error.reason, rows[i].part))
            fail_msg("'%s': %zu+%zu %s", rows[i].text, error.at, error.length, error.reason);
        assert_int_equal(expression.n_stages, 77); /* written only on success */
    }
}

static void bounds_what_it_takes(void **state) {
    char text[8 * (EXPRESSION_MAX_STAGES + 1)] = "";
    char *word = malloc(100001);
    (void)state;
    for (unsigned i = 0; i < EXPRESSION_MAX_STAGES; i++)
        strcat(text, i ? "|relu" : "relu");
    assert_true(expression_parse(text, &expression, &error));
    strcat(text, "|relu");
    assert_false(expression_parse(text, &expression, &error));
    assert_non_null(strstr(error.reason, "more than"));
    assert_non_null(word);
    memset(word, 'x', 100000);
    word[100000] = '\0';
    assert_false(expression_parse(word, &expression, &error));
    assert_int_equal(error.length, 100000);
    assert_true(strlen(error.reason) < EXPRESSION_REASON);
    memcpy(word, "scale ", 6);
    assert_false(expression_parse(word, &expression, &error));
    assert_non_null(strstr(error.reason, "is no number"));
    free(word);
}

static void points_at_the_part(void **state) {
    char text[256];
    (void)state;
    assert_false(expression_parse("cast f32 | gelo", &expression, &error));
    expression_explain("cast f32 | gelo", &error, text, sizeof text);
    assert_string_equal(text, "column 12: unknown operation 'gelo'; did you mean 'gelu'?\n"
                              "  cast f32 | gelo\n"
                              "             ^^^^");
    assert_false(expression_parse("a\nb\xc3\xa9", &expression, &error));
    expression_explain("a\nb\xc3\xa9", &error, text, sizeof text);
    assert_non_null(strstr(text, "\n  a?b??\n"));
}

static bool make(const char *text, cls_dtype from) {
    assert_true(expression_parse(text, &expression, &error));
    return plan_make(&expression, from, &plan, &error);
}

static void works_in_place_where_it_can(void **state) {
    (void)state;
    assert_true(make("relu | neg | sqr", CLS_F32));
    assert_int_equal(plan.n_buffers, 1);
    assert_int_equal(plan.steps[plan.n_steps - 1].target, 0);
    assert_int_equal(plan.widest, 4);
    assert_true(make("cast f64 | relu | cast u8", CLS_U8));
    assert_int_equal(plan.n_buffers, 2);
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[0].source, 0);
    assert_int_equal(plan.steps[0].target, 1);
    assert_int_equal(plan.steps[1].source, 1);
    assert_int_equal(plan.steps[1].target, 1);
    assert_int_equal(plan.steps[2].target, 0);
    assert_int_equal(plan.steps[plan.n_steps - 1].target, 0);
    assert_int_equal(plan.widest, 8);
    assert_int_equal(plan.to, CLS_U8);
}

/* Each step reads what the one before it wrote, whatever the chain. */
static void steps_follow_one_another(void **state) {
    (void)state;
    assert_true(
        make("cast f32 | gt 0 | where i32 5 -5 | cast i64 | abs | eq 5 | cast f64 | exp", CLS_U8));
    assert_int_equal(plan.steps[0].source, 0);
    assert_int_equal(plan.steps[0].from, CLS_U8);
    for (unsigned i = 1; i < plan.n_steps; i++) {
        assert_int_equal(plan.steps[i].source, plan.steps[i - 1].target);
        assert_int_equal(plan.steps[i].from, plan.steps[i - 1].to);
        if (plan.steps[i].from != plan.steps[i].to)
            assert_int_not_equal(plan.steps[i].source, plan.steps[i].target);
    }
    assert_int_equal(plan.to, CLS_F64);
    assert_int_equal(plan.n_constants, 4);
}

static void leaves_casts_to_the_same_type_out(void **state) {
    (void)state;
    assert_true(make("cast f32", CLS_F32));
    assert_int_equal(plan.n_steps, 0);
    assert_true(make("cast f32 | relu | cast f32 | neg", CLS_F32));
    assert_int_equal(plan.n_steps, 2);
    assert_string_equal(plan.steps[1].stage->operation->name, "neg");
}

static void checks_types_and_constants(void **state) {
    static const struct {
        const char *text;
        cls_dtype from;
        size_t at;
        size_t length;
        const char *part;
    } rows[] = {
        {"gelu", CLS_U8, 0, 4, "'gelu' takes f32, f64, f16 or bf16, and gets u8 here"},
        {"cast i32 | relu | exp", CLS_F32, 18, 3, "gets i32"},
        {"where f32 1 0", CLS_F32, 0, 13, "'where' takes u8, i32 or i64"},
        {"add 256", CLS_U8, 4, 3, "256 is no u8"},
        {"add -1", CLS_U32, 4, 2, "-1 is no u32"},
        {"add 128", CLS_I8, 4, 3, "128 is no i8"},
        {"add -32769", CLS_I16, 4, 6, "-32769 is no i16"},
        {"add 65536", CLS_U16, 4, 5, "65536 is no u16"},
        {"add 0.5", CLS_I32, 4, 3, "0.5 is no i32"},
        {"gt nan", CLS_I64, 3, 3, "nan is no i64"},
        {"add 9223372036854775808", CLS_I64, 4, 19, "is no i64"},
        {"add -9223372036854775809", CLS_I64, 4, 20, "is no i64"},
        {"add 0x8000000000000000", CLS_I64, 4, 18, "is no i64"},
        {"add 1e39", CLS_F32, 4, 4, "1e39 is no f32"},
        {"gt 0 | where i32 1   2.5", CLS_F32, 21, 3, "2.5 is no i32"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (make(rows[i].text, rows[i].from))
            fail_msg("'%s' was taken", rows[i].text);
        if (error.at != rows[i].at || error.length != rows[i].length ||
            !strstr(error.reason, rows[i].part))
            fail_msg("'%s': %zu+%zu %s", rows[i].text, error.at, error.length, error.reason);
    }
}

static int64_t as_integer(double number, cls_dtype dtype) {
    unsigned char bytes[8] = {0};
    assert_true(element_of(number, dtype, bytes));
    return (int64_t)low_bytes_read(bytes, cls_dtype_size(dtype));
}

static void makes_elements_of_numbers(void **state) {
    unsigned char bytes[8];
    float single;
    double number;
    (void)state;
    assert_int_equal(as_integer(255, CLS_U8), 255);
    assert_int_equal(as_integer(4294967295.0, CLS_U32), 4294967295);
    assert_int_equal((int8_t)as_integer(-128, CLS_I8), INT8_MIN);
    assert_int_equal((int16_t)as_integer(-32768, CLS_I16), INT16_MIN);
    assert_int_equal(as_integer(65535, CLS_U16), 65535);
    assert_int_equal((int32_t)as_integer(-2147483648.0, CLS_I32), INT32_MIN);
    assert_int_equal(as_integer(-9223372036854775808.0, CLS_I64), INT64_MIN);
    assert_true(element_of(0.1, CLS_F32, bytes));
    memcpy(&single, bytes, sizeof single);
    assert_true(single == (float)0.1); /* not as exact as a register may be */
    assert_true(element_of(-INFINITY, CLS_F32, bytes));
    memcpy(&single, bytes, sizeof single);
    assert_true(single == -INFINITY);
    assert_true(element_of(0.1, CLS_F64, bytes));
    memcpy(&number, bytes, sizeof number);
    assert_true(number == (double)0.1);
}

static void wide_integers_are_exact(void **state) {
    static const struct {
        const char *text;
        int64_t value;
    } rows[] = {
        {"eq 9007199254740993", 9007199254740993},
        {"add -9007199254740993", -9007199254740993},
        {"sub 9223372036854775807|abs", INT64_MAX},
        {"max -9223372036854775808", INT64_MIN},
        {"min 0x7fffffffffffffff", INT64_MAX},
        {"add 0x10p0", 16},
        {"add 0010", 10},
        {"add 1e3", 1000},
        {"add -0", 0},
        {"cast u8 | where i64 9007199254740993 1", 9007199254740993},
        {"add 00000000000000000000000000000000000000000000000000000000000000000000007", 7},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t value;
        if (!make(rows[i].text, CLS_I64))
            fail_msg("'%s': %s", rows[i].text, error.reason);
        memcpy(&value, plan.constants[0].bytes, sizeof value);
        if (value != rows[i].value)
            fail_msg("'%s' is %lld", rows[i].text, (long long)value);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_types_and_numbers),
        cmocka_unit_test(every_operation_parses_with_its_arguments),
        cmocka_unit_test(knows_every_operation_of_the_library),
        cmocka_unit_test(says_what_is_wrong_and_where),
        cmocka_unit_test(bounds_what_it_takes),
        cmocka_unit_test(points_at_the_part),
        cmocka_unit_test(works_in_place_where_it_can),
        cmocka_unit_test(steps_follow_one_another),
        cmocka_unit_test(leaves_casts_to_the_same_type_out),
        cmocka_unit_test(checks_types_and_constants),
        cmocka_unit_test(makes_elements_of_numbers),
        cmocka_unit_test(wide_integers_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
