/* SPDX-License-Identifier: MIT */
/*
 * Dropouts in batches: the bits of cls_dropout, which has a reference of its own (test_random.c), from the same states;
 * fusion, order, capture and refusals.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/effort.h"
#include "arrays.h"

enum { COUNT = 5003 };
static const double p = 0.25;

static float numbers[COUNT];

static void fill_numbers(void) {
    for (int i = 0; i < COUNT; i++)
        numbers[i] = (float)(i % 97 - 40);
}

static cls_batch begin_batch(void) {
    cls_batch batch;
    OK(cls_batch_create(NULL, NULL, &batch));
    return batch;
}

static cls_value upload_of(cls_batch batch) {
    cls_value value;
    OK(cls_batch_upload(batch, numbers, CLS_F32, COUNT, &value));
    return value;
}

/* Not at the beginning of a sequence, and across 2^32 counters. */
static cls_random begin_random(void) {
    const cls_random_state usual = {12345, 7, 0xfffffff0};
    cls_random random;
    OK(cls_random_create(NULL, usual.seed, &random));
    OK(cls_random_set_state(random, &usual, NULL));
    return random;
}

static cls_random_state state_of(cls_random random) {
    cls_random_state state;
    OK(cls_random_get_state(random, &state, NULL));
    return state;
}

/* out = dropout(in), and what stays, by the single call. */
static void drop(cls_random random, const float *in, float *out, uint8_t *kept) {
    const cls_array x = view_make(CLS_F32, 0, COUNT, in), y = view_make(CLS_F32, 0, COUNT, NULL),
                    mask = view_make(CLS_U8, 0, COUNT, NULL);
    OK(cls_dropout(random, x, mask, y, p, NULL));
    float *got = view_take(y);
    uint8_t *stays = view_take(mask);
    memcpy(out, got, COUNT * sizeof *out);
    if (kept)
        memcpy(kept, stays, COUNT);
    free(got);
    free(stays);
    view_destroy(x);
}

static void compare(cls_batch batch, cls_value value, cls_array wanted, const char *what) {
    const size_t bytes = wanted.count * cls_dtype_size(wanted.dtype);
    unsigned char *got = malloc(bytes + 1), *expected;
    assert_non_null(got);
    OK(cls_batch_read(batch, value, got));
    expected = view_take(wanted);
    if (memcmp(got, expected, bytes) != 0)
        fail_msg("%s of %s, %zu elements", what, cls_dtype_name(wanted.dtype), wanted.count);
    free(expected);
    free(got);
}

static void bits_case(cls_dtype type, size_t count, double probability) {
    void *values = hard_values(type, count + 1, 3);
    const cls_array in = view_make(type, 1, count, values), out = view_make(type, 3, count, NULL),
                    mask = view_make(CLS_U8, 2, count, NULL);
    cls_random one = begin_random(), other = begin_random();
    cls_batch batch = begin_batch();
    cls_value x, y, kept;
    OK(cls_batch_array(batch, in, &x));
    OK(cls_batch_dropout(batch, one, x, probability, &kept, &y));
    OK(cls_batch_execute(batch, NULL));
    OK(cls_dropout(other, in, mask, out, probability, NULL));
    assert_int_equal(state_of(one).offset, state_of(other).offset);
    compare(batch, y, out, "dropout");
    compare(batch, kept, mask, "the mask of dropout");
    OK(cls_batch_destroy(batch));
    OK(cls_random_destroy(one));
    OK(cls_random_destroy(other));
    view_destroy(in);
    free(values);
}

/* Each type costs the driver's compiler seconds. */
static bool is_tested(cls_dtype type) {
    const bool chosen = effort_is_long() || type == CLS_F32 || type == CLS_F16;
    return is_float(type) && chosen && (type != CLS_F64 || device_has_f64());
}

static void dropouts_have_the_bits_of_single_calls(void **state) {
    (void)state;
    NEED_ROUNDING(CLS_F32);
    static const size_t counts[] = {1, 2, 3, 4, 5, 15, 16, 17, 63, COUNT, 70001, 0};
    for (unsigned t = 0; t < TYPES; t++)
        for (unsigned i = 0; i < sizeof counts / sizeof *counts && is_tested(all_types[t]); i++)
            bits_case(all_types[t], counts[i], p);
}

static void all_or_nothing_stays(void **state) {
    (void)state;
    NEED_ROUNDING(CLS_F32);
    bits_case(CLS_F32, COUNT, 0);
    bits_case(CLS_F32, COUNT, 1);
}

static cls_batch_statistics facts_of(cls_batch batch) {
    cls_batch_statistics facts = CLS_BATCH_STATISTICS_INIT;
    OK(cls_batch_get_statistics(batch, &facts));
    return facts;
}

/* y = relu(dropout(2 x)), and the sum of it: what takes the state is a region, and all the rest one. */
static void a_dropout_is_fused(void **state) {
    (void)state;
    NEED_ROUNDING(CLS_F32);
    static float twice[COUNT], wanted[COUNT], got[COUNT];
    float sum = 0, total = 0;
    cls_random random = begin_random(), other = begin_random();
    cls_batch batch = begin_batch();
    cls_value y = upload_of(batch), all;
    OK(cls_batch_scale(batch, y, 2, &y));
    OK(cls_batch_dropout(batch, random, y, p, NULL, &y));
    OK(cls_random_destroy(random));
    OK(cls_batch_relu(batch, y, &y));
    OK(cls_batch_reduce(batch, CLS_REDUCE_MAX, y, &all));
    OK(cls_batch_keep(batch, y));
    OK(cls_batch_execute(batch, NULL));
    assert_int_equal(facts_of(batch).regions, 2);
    for (int i = 0; i < COUNT; i++)
        twice[i] = 2 * numbers[i];
    drop(other, twice, wanted, NULL);
    OK(cls_batch_read(batch, y, got));
    OK(cls_batch_read(batch, all, &total));
    for (int i = 0; i < COUNT; i++) {
        const float want = wanted[i] > 0 ? wanted[i] : 0;
        assert_true(got[i] == want);
        sum = want > sum ? want : sum;
    }
    assert_true(total == sum);
    OK(cls_batch_destroy(batch));
    OK(cls_random_destroy(other));
}

/* Each execution goes on where the one before has ended, and so does each dropout. */
static void draws_follow_each_other(void **state) {
    (void)state;
    NEED_ROUNDING(CLS_F32);
    static float wanted[COUNT], got[COUNT];
    cls_random random = begin_random(), other = begin_random();
    cls_batch batch = begin_batch();
    cls_value x = upload_of(batch), y[3];
    for (int i = 0; i < 3; i++)
        OK(cls_batch_dropout(batch, random, x, p, NULL, &y[i]));
    for (int k = 0; k < 2; k++) {
        OK(cls_batch_execute_async(batch, NULL));
        for (int i = 0; i < 3; i++) {
            drop(other, numbers, wanted, NULL);
            OK(cls_batch_read(batch, y[i], got));
            assert_memory_equal(got, wanted, sizeof got);
        }
    }
    assert_int_equal(state_of(random).offset, state_of(other).offset);
    OK(cls_batch_destroy(batch));
    OK(cls_random_destroy(random));
    OK(cls_random_destroy(other));
}

static void launches_of_a_graph_draw_anew(void **state) {
    (void)state;
    NEED_ROUNDING(CLS_F32);
    static float wanted[COUNT], got[COUNT];
    cls_random random = begin_random(), other = begin_random();
    cls_batch batch = begin_batch();
    cls_value x = upload_of(batch), y;
    cls_stream stream;
    cls_graph graph;
    cls_graph_exec exec;
    cls_buffer out;
    OK(cls_stream_create(NULL, NULL, &stream));
    OK(cls_buffer_create(NULL, sizeof got, &out));
    OK(cls_batch_dropout(batch, random, x, p, NULL, &y));
    OK(cls_batch_store(batch, y, cls_array_of(out, CLS_F32, COUNT)));
    OK(cls_batch_execute(batch, stream)); /* the upload */
    drop(other, numbers, wanted, NULL);
    OK(cls_stream_begin_capture(stream, "dropout"));
    OK(cls_batch_execute_async(batch, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    for (int i = 0; i < 3; i++) {
        OK(cls_graph_launch(exec, stream));
        OK(cls_buffer_to_host(out, got, sizeof got));
        drop(other, numbers, wanted, NULL);
        assert_memory_equal(got, wanted, sizeof got);
    }
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_batch_destroy(batch));
    OK(cls_random_destroy(random));
    OK(cls_random_destroy(other));
    OK(cls_buffer_destroy(out));
    OK(cls_stream_destroy(stream));
}

/* Nothing is recorded. */
static void what_is_no_dropout_is_refused(void **state) {
    (void)state;
    NEED_ROUNDING(CLS_F32);
    cls_random random = begin_random(), gone = begin_random();
    cls_batch batch = begin_batch();
    cls_value x = upload_of(batch), whole, one, y = 0, kept = 0;
    const float factor = 2;
    OK(cls_batch_cast(batch, x, CLS_I32, &whole));
    OK(cls_batch_scalar(batch, CLS_F32, &factor, &one));
    OK(cls_random_destroy(gone));
    const uint64_t before = facts_of(batch).operations;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_batch_dropout(batch, random, whole, p, &kept, &y));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_batch_dropout(batch, random, one, p, &kept, &y));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_dropout(batch, random, x, 1.5, &kept, &y));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_dropout(batch, random, x, (double)NAN, &kept, &y));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_dropout(batch, random, x, p, &kept, NULL));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_batch_dropout(batch, gone, x, p, &kept, &y));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_batch_dropout(batch, random, 0, p, &kept, &y));
    assert_true(y == 0 && kept == 0 && facts_of(batch).operations == before);
    OK(cls_batch_destroy(batch));
    OK(cls_random_destroy(random));
}

/* The generator's state and the batch must be of one context. */
static void generators_of_other_contexts_are_refused(void **state) {
    cls_context context;
    cls_random random;
    cls_batch batch = begin_batch();
    cls_value y;
    (void)state;
    OK(cls_context_create(NULL, &context));
    OK(cls_random_create(context, 1, &random));
    EXPECT(CLS_ERROR_WRONG_CONTEXT,
           cls_batch_dropout(batch, random, upload_of(batch), p, NULL, &y));
    OK(cls_random_destroy(random));
    OK(cls_batch_destroy(batch));
    OK(cls_context_destroy(context));
}

#define TEST(name) cmocka_unit_test(name)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(dropouts_have_the_bits_of_single_calls),
        TEST(all_or_nothing_stays),
        TEST(a_dropout_is_fused),
        TEST(draws_follow_each_other),
        TEST(launches_of_a_graph_draw_anew),
        TEST(what_is_no_dropout_is_refused),
        TEST(generators_of_other_contexts_are_refused),
    };
    prepare_tests();
    fill_numbers();
    return cmocka_run_group_tests_name("batch_draws", tests, NULL, NULL);
}
