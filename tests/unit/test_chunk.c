/* SPDX-License-Identifier: MIT */
/* What `clstream run` makes of an expression on the device: one kernel a chunk. */
/* Before cmocka, which has a macro of the same name as one of its functions. */
#include "tools/chunk.h"

#include "../support/trust.h"

#include <clstream.h>

enum { CAPACITY = 1000 };

/* Every kind of stage, and types of every size. */
static const char long_expression[] =
    "scale 0.5 | tanh | abs | add_scalar 1 | cast i64 | max 1 | gt 0 | "
    "where f32 2 -3 | clamp_max 1 | sqrt | cast u8";

static uint64_t kernels(cls_stream stream) {
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    assert_int_equal(cls_stream_get_counters(stream, &counters), CLS_SUCCESS);
    return counters.commands[CLS_COMMAND_KERNEL];
}

static void plan_of(const char *text, struct expression *expression, struct plan *plan) {
    struct expression_error error;
    assert_true(expression_parse(text, expression, &error));
    assert_true(plan_make(expression, CLS_F32, plan, &error));
}

static void run_chunks(const char *text, unsigned result, uint8_t expected) {
    static float in[CAPACITY];
    static uint8_t out[CAPACITY * sizeof(float)];
    struct expression expression;
    struct plan plan;
    struct failure failure = {.set = false};
    const struct program program = {&plan, NULL, CAPACITY};
    struct chunk chunk = {0};
    cls_buffer device[2] = {NULL, NULL};
    cls_stream stream;
    plan_of(text, &expression, &plan);
    assert_int_equal(chunk_result(&plan), result);
    assert_int_equal(cls_buffer_from_host(NULL, in, sizeof in, &device[0]), CLS_SUCCESS);
    assert_int_equal(cls_buffer_create(NULL, CAPACITY * 8, &device[1]), CLS_SUCCESS);
    assert_int_equal(cls_stream_create(NULL, NULL, &stream), CLS_SUCCESS);
    for (unsigned i = 0; i < 3; i++)
        assert_true(chunk_submit(&chunk, &program, device, i == 2 ? CAPACITY / 3 : CAPACITY, stream,
                                 &failure));
    assert_int_equal(kernels(stream), plan.n_steps ? 3 : 0);
    const size_t bytes = CAPACITY * cls_dtype_size(plan.to);
    assert_int_equal(cls_copy_d2h(out, device[result], 0, bytes, stream), CLS_SUCCESS);
    for (size_t i = 0; i < bytes; i += cls_dtype_size(plan.to))
        assert_int_equal(out[i], expected);
    chunk_destroy(&chunk);
    chunk_destroy(&chunk);
    cls_buffer_destroy(device[0]);
    cls_buffer_destroy(device[1]);
    cls_stream_destroy(stream);
}

static void test_a_chunk_is_one_kernel(void **state) {
    (void)state;
    trust_need(NULL, "rounding");
    run_chunks(long_expression, 1, 1);
}

static void test_a_result_as_large_as_the_input_takes_its_place(void **state) {
    (void)state;
    run_chunks("cast u8 | add_scalar 7 | cast i32", 0, 7);
}

static void test_no_stages_are_no_kernel(void **state) {
    (void)state;
    run_chunks("cast f32", 0, 0);
}

static void test_memory_of_a_chunk(void **state) {
    struct expression expression;
    struct plan plan;
    (void)state;
    plan_of("neg", &expression, &plan);
    assert_int_equal(chunk_bytes(&plan, 100), 400);
    plan_of("cast f64 | cast u8", &expression, &plan);
    assert_int_equal(chunk_bytes(&plan, 100), 500);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_chunk_is_one_kernel),
        cmocka_unit_test(test_a_result_as_large_as_the_input_takes_its_place),
        cmocka_unit_test(test_no_stages_are_no_kernel),
        cmocka_unit_test(test_memory_of_a_chunk),
    };
    return cmocka_run_group_tests_name("chunk", tests, NULL, NULL);
}
