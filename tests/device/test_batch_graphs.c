/* SPDX-License-Identifier: MIT */
/*
 * Random expression graphs: a batch makes of them what single calls and the host make. BATCH_GRAPHS says
 * how many, BATCH_SEED which is the first, BATCH_VARIANTS how many share a structure, and so a program,
 * BATCH_EXACT=1 keeps to operations that do not depend on the width of vectors;
 * batch_graphs.sh (make check-long) runs 10,000 of as many structures. Their arrays are small; reductions
 * of larger ones, which take more than a round of groups, are by themselves.
 */
#include <stdlib.h>

#include "../support/effort.h"
#include "random_graph.h"

static unsigned number(const char *name, unsigned otherwise) {
    const char *text = getenv(name);
    return text && *text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void graphs_agree(void **state) {
    const struct graph_style style = {1, 12, 200, number("BATCH_EXACT", 0) != 0};
    const unsigned graphs = number("BATCH_GRAPHS", effort_is_long() ? 120 : 48),
                   first = number("BATCH_SEED", 1);
    const unsigned variants = number("BATCH_VARIANTS", 8);
    struct graph_totals totals = {0};
    (void)state;
    for (unsigned i = 0; i < graphs; i++)
        graph_check(first + i / variants, first + i, &style, &totals);
    print_message("%u graphs, %u operations (%u reductions) in %u regions, %zu elements\n",
                  totals.graphs, totals.operations, totals.reductions, totals.regions,
                  totals.elements);
    assert_int_equal(totals.graphs, graphs);
    assert_true(totals.fused * 2 > graphs);
}

/* The reductions of -x, with the sums and the index of the maximum exact in f32. */
struct reduced {
    float sum, dot, least, most;
    int64_t index;
};

static struct reduced reduced_on_host(const float *x, size_t count) {
    struct reduced of = {0, 0, -x[0], -x[0], 0};
    for (size_t i = 0; i < count; i++) {
        of.sum -= x[i];
        of.dot -= x[i] * x[i];
        of.least = -x[i] < of.least ? -x[i] : of.least;
        of.index = -x[i] > of.most ? (int64_t)i : of.index;
        of.most = -x[i] > of.most ? -x[i] : of.most;
    }
    return of;
}

static struct reduced reduced_by_batch(const float *x, size_t count) {
    cls_batch batch;
    cls_value in, y, values[5];
    struct reduced of;
    OK(cls_batch_create(NULL, NULL, &batch));
    OK(cls_batch_upload(batch, x, CLS_F32, count, &in));
    OK(cls_batch_unary(batch, CLS_UNARY_NEG, in, &y));
    OK(cls_batch_reduce(batch, CLS_REDUCE_SUM, y, &values[0]));
    OK(cls_batch_dot(batch, y, in, &values[1]));
    OK(cls_batch_reduce(batch, CLS_REDUCE_MIN, y, &values[2]));
    OK(cls_batch_reduce(batch, CLS_REDUCE_MAX, y, &values[3]));
    OK(cls_batch_reduce(batch, CLS_REDUCE_ARGMAX, y, &values[4]));
    OK(cls_batch_execute(batch, NULL));
    OK(cls_batch_read(batch, values[0], &of.sum));
    OK(cls_batch_read(batch, values[1], &of.dot));
    OK(cls_batch_read(batch, values[2], &of.least));
    OK(cls_batch_read(batch, values[3], &of.most));
    OK(cls_batch_read(batch, values[4], &of.index));
    OK(cls_batch_destroy(batch));
    return of;
}

/* About the ends of vectors, groups, and rounds of groups. */
static void reductions_of_any_count(void **state) {
    static const size_t counts[] = {1, 3, 5, 511, 2047, 2048, 2049, 8193, 70001, 1000003};
    const size_t n = sizeof counts / sizeof counts[0];
    float *x = calloc(counts[n - 1], sizeof *x);
    (void)state;
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < counts[i]; k++)
            x[k] = (float)(k * 7919 % 10007 % 5) - 2;
        x[counts[i] * 2 / 3] = -9;
        const struct reduced wanted = reduced_on_host(x, counts[i]);
        const struct reduced got = reduced_by_batch(x, counts[i]);
        assert_true(got.sum == wanted.sum && got.dot == wanted.dot);
        assert_true(got.least == wanted.least && got.most == wanted.most);
        assert_int_equal(got.index, wanted.index);
    }
    free(x);
}

/* Also where no vector is aligned. */
static void results_are_stored_from_any_element_on(void **state) {
    enum { COUNT = 1000, MOST = 5 };
    static int64_t x[COUNT], out[COUNT + MOST];
    cls_buffer to;
    (void)state;
    for (int i = 0; i < COUNT; i++)
        x[i] = i;
    OK(cls_buffer_create(NULL, sizeof out, &to));
    for (int first = 0; first < MOST; first++) {
        cls_batch batch;
        cls_value in, y;
        OK(cls_batch_create(NULL, NULL, &batch));
        OK(cls_batch_upload(batch, x, CLS_I64, COUNT, &in));
        OK(cls_batch_unary(batch, CLS_UNARY_NEG, in, &y));
        OK(cls_batch_store(batch, y, cls_array_at(to, CLS_I64, (size_t)first, COUNT)));
        OK(cls_batch_execute(batch, NULL));
        OK(cls_buffer_to_host(to, out, sizeof out));
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(out[first + i], -x[i]);
        OK(cls_batch_destroy(batch));
    }
    OK(cls_buffer_destroy(to));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(graphs_agree),
                                       cmocka_unit_test(results_are_stored_from_any_element_on),
                                       cmocka_unit_test(reductions_of_any_count)};
    prepare_tests();
    return cmocka_run_group_tests_name("batch_graphs", tests, NULL, NULL);
}
