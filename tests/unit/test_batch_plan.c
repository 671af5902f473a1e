/* SPDX-License-Identifier: MIT */
/* The pure parts of batches: which operations are fused, and where intermediate values lie. */
#include "../support/test.h"

#include <stdlib.h>
#include <string.h>

#include <clstream.h>

#include "batch/arena.h"
#include "batch/generate.h"
#include "batch/regions.h"

#include "../support/patience.h"

/* ---- graphs written down by hand */

enum { MOST = 512 };

struct graph {
    struct batch_node nodes[MOST];
    uint32_t n;
};

static uint32_t add(struct graph *graph, struct batch_node node) {
    assert_true(graph->n < MOST);
    for (unsigned i = 0; i < node.n_inputs; i++)
        graph->nodes[node.inputs[i]].users++;
    graph->nodes[graph->n] = node;
    return graph->n++;
}

static uint32_t array(struct graph *graph, size_t count) {
    return add(graph, (struct batch_node){.kind = NODE_UPLOAD, .dtype = CLS_F32, .count = count});
}

static uint32_t unary(struct graph *graph, uint32_t in) {
    struct batch_node node = {
        .kind = NODE_MAP, .row = op_row_named(OP_UNARY, "neg"), .dtype = CLS_F32};
    node.n_inputs = 1;
    node.inputs[0] = in;
    node.count = graph->nodes[in].count;
    node.scalar = graph->nodes[in].scalar;
    return add(graph, node);
}

static uint32_t binary(struct graph *graph, uint32_t a, uint32_t b) {
    struct batch_node node = {
        .kind = NODE_MAP, .row = op_row_named(OP_BINARY, "add"), .dtype = CLS_F32};
    const uint32_t shape = graph->nodes[a].scalar ? b : a;
    node.n_inputs = 2;
    node.inputs[0] = a;
    node.inputs[1] = b;
    node.count = graph->nodes[shape].count;
    node.scalar = graph->nodes[shape].scalar;
    return add(graph, node);
}

static uint32_t reduce(struct graph *graph, uint32_t in) {
    struct batch_node node = {.kind = NODE_REDUCE, .row = op_row_named(OP_REDUCE, "sum")};
    node.dtype = CLS_F32;
    node.n_inputs = 1;
    node.inputs[0] = in;
    node.count = 1;
    node.scalar = true;
    return add(graph, node);
}

static uint32_t constant(struct graph *graph) {
    return add(graph, (struct batch_node){
                          .kind = NODE_CONSTANT, .dtype = CLS_F32, .count = 1, .scalar = true});
}

static struct regions regions_of(const struct graph *graph) {
    struct regions regions;
    assert_int_equal(regions_make(graph->nodes, graph->n, &regions), CLS_SUCCESS);
    return regions;
}

/* What must hold of any partition: every operation is in one region, and what a region reads is of a
 * lower level, or an input. */
static void check_regions(const struct graph *graph, const struct regions *regions) {
    for (uint32_t i = 0; i < graph->n; i++) {
        const struct batch_node *node = &graph->nodes[i];
        const uint32_t of = regions->of_node[i];
        assert_int_equal(of == NO_NODE, node_is_input(node));
        for (unsigned k = 0; k < node->n_inputs; k++) {
            const uint32_t from = regions->of_node[node->inputs[k]];
            if (from != NO_NODE && from != of)
                assert_true(regions->at[from].level < regions->at[of].level && from < of);
        }
    }
    for (unsigned r = 0; r < regions->count; r++) {
        const struct region *region = &regions->at[r];
        const unsigned operations = region->maps.count + (region->reduction != NO_NODE);
        assert_true(operations >= 1 && operations <= REGION_OPERATIONS);
        assert_true(16 * (region->inputs.count + region->outputs.count) +
                        8 * region->constants.count <=
                    REGION_ARGUMENT_BYTES);
    }
}

static void expect_regions(const struct graph *graph, unsigned count) {
    struct regions regions = regions_of(graph);
    check_regions(graph, &regions);
    assert_int_equal(regions.count, count);
    regions_free(&regions);
}

static void test_a_chain_is_one_region(void **state) {
    struct graph graph = {.n = 0};
    uint32_t x = array(&graph, 100);
    (void)state;
    for (int i = 0; i < 8; i++)
        x = unary(&graph, x);
    reduce(&graph, x);
    expect_regions(&graph, 1);
}

static void test_a_reductions_result_is_read_by_a_later_region(void **state) {
    struct graph graph = {.n = 0};
    const uint32_t x = array(&graph, 100), y = unary(&graph, x), total = reduce(&graph, y);
    (void)state;
    binary(&graph, y, total);
    struct regions regions = regions_of(&graph);
    check_regions(&graph, &regions);
    assert_int_equal(regions.count, 2);
    assert_int_equal(regions.at[0].reduction, total);
    assert_int_equal(regions.at[0].outputs.count, 1); /* y */
    assert_int_equal(regions.at[1].inputs.count, 2);
    regions_free(&regions);
}

/* Two paths from x to z, of which one goes through a reduction: z cannot be where y is. */
static void test_no_region_waits_for_itself(void **state) {
    struct graph graph = {.n = 0};
    const uint32_t x = array(&graph, 64), y = unary(&graph, x);
    const uint32_t scalar = unary(&graph, reduce(&graph, y));
    (void)state;
    binary(&graph, binary(&graph, y, scalar), unary(&graph, y));
    expect_regions(&graph, 3);
}

static void test_what_reads_one_array_reads_it_together(void **state) {
    struct graph graph = {.n = 0};
    const uint32_t x = array(&graph, 100), other = array(&graph, 100), few = array(&graph, 10);
    (void)state;
    unary(&graph, x);
    unary(&graph, x);
    unary(&graph, few);
    unary(&graph, other);
    expect_regions(&graph, 3);
}

static void test_a_region_has_one_reduction(void **state) {
    struct graph graph = {.n = 0};
    const uint32_t y = unary(&graph, array(&graph, 100));
    (void)state;
    reduce(&graph, y);
    reduce(&graph, y);
    expect_regions(&graph, 2);
}

static void test_long_chains_and_many_arguments_are_cut(void **state) {
    struct graph graph = {.n = 0};
    uint32_t x = array(&graph, 100);
    (void)state;
    for (unsigned i = 0; i < REGION_OPERATIONS + 1; i++)
        x = unary(&graph, x);
    expect_regions(&graph, 2);
    graph.n = 0;
    memset(graph.nodes, 0, sizeof graph.nodes);
    x = array(&graph, 100);
    for (int i = 0; i < 60; i++)
        x = binary(&graph, x, array(&graph, 100));
    struct regions regions = regions_of(&graph);
    check_regions(&graph, &regions);
    assert_true(regions.count > 1 && regions.count <= 4);
    regions_free(&regions);
    graph.n = 0;
    memset(graph.nodes, 0, sizeof graph.nodes);
    x = array(&graph, 100);
    for (int i = 0; i < 60; i++)
        x = binary(&graph, x, constant(&graph));
    expect_regions(&graph, 1);
}

static uint64_t random_state;

static unsigned below(unsigned limit) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(random_state >> 33) % limit;
}

static void test_random_graphs_are_cut_into_regions_in_order(void **state) {
    (void)state;
    for (unsigned seed = 0; seed < 2000; seed++) {
        static struct graph graph;
        memset(&graph, 0, sizeof graph);
        random_state = seed;
        array(&graph, 50);
        array(&graph, 7);
        constant(&graph);
        for (unsigned i = 0, n = 1 + below(200); i < n; i++) {
            const uint32_t a = below(graph.n), b = below(graph.n);
            const struct batch_node *x = &graph.nodes[a], *y = &graph.nodes[b];
            if (below(8) == 0)
                reduce(&graph, a);
            else if (x->scalar || y->scalar || x->count == y->count)
                binary(&graph, a, b);
            else
                unary(&graph, a);
            graph.nodes[graph.n - 1].kept = below(5) == 0;
        }
        struct regions regions = regions_of(&graph);
        check_regions(&graph, &regions);
        regions_free(&regions);
    }
}

/* ---- the arena */

static bool alive_together(const void *context, unsigned a, unsigned b) {
    const struct arena_value *values = context;
    return values[a].first <= values[b].last && values[b].first <= values[a].last;
}

/* Returns the arena's bytes less the least there can be. */
static size_t place(struct arena_value *values, unsigned n, unsigned n_steps) {
    const size_t least = arena_least(values, n, n_steps);
    size_t bytes = 0;
    assert_int_equal(arena_place(values, n, least, alive_together, values, &bytes), CLS_SUCCESS);
    assert_true(bytes >= least);
    for (unsigned a = 0; a < n; a++) {
        assert_true(values[a].offset % ARENA_ALIGNMENT == 0);
        assert_true(values[a].offset + values[a].bytes <= bytes);
        for (unsigned b = 0; b < a; b++)
            if (alive_together(values, a, b))
                assert_true(values[a].offset + values[a].bytes <= values[b].offset ||
                            values[b].offset + values[b].bytes <= values[a].offset);
    }
    return bytes - least;
}

static void test_chains_need_no_more_than_the_least(void **state) {
    (void)state;
    for (unsigned seed = 0; seed < 5000; seed++) {
        struct arena_value values[40];
        random_state = seed;
        const unsigned n = 1 + below(40);
        for (unsigned i = 0; i < n; i++)
            values[i] = (struct arena_value){ARENA_ALIGNMENT * (1 + below(1000)), 0, i, i + 1};
        assert_int_equal(place(values, n, n + 1), 0);
    }
}

static void test_no_two_values_alive_share_bytes(void **state) {
    size_t over = 0, least = 0;
    (void)state;
    for (unsigned seed = 0; seed < 2000; seed++) {
        struct arena_value values[40];
        random_state = seed;
        const unsigned n = 1 + below(40);
        for (unsigned i = 0; i < n; i++)
            values[i] =
                (struct arena_value){ARENA_ALIGNMENT * (1 + below(100)), 0, i, i + below(6)};
        least += arena_least(values, n, n + 6);
        over += place(values, n, n + 6);
    }
    assert_true(over * 10 < least);
}

/* Each place is found in one walk: by the cube of the values it would take minutes. */
static void test_many_values_alive_together(void **state) {
    enum { VALUES = 8000, SECONDS = 40 };
    static struct arena_value values[VALUES];
    size_t least = 0, bytes = 0;
    (void)state;
    watchdog(SECONDS);
    for (unsigned i = 0; i < VALUES; i++)
        values[i] = (struct arena_value){ARENA_ALIGNMENT * (1 + i % 7), 0, 0, 0};
    for (unsigned i = 0; i < VALUES; i++)
        least += values[i].bytes;
    assert_int_equal(arena_place(values, VALUES, least, alive_together, values, &bytes),
                     CLS_SUCCESS);
    assert_int_equal(bytes, least);
    assert_int_equal(arena_place(values, VALUES, 0, alive_together, values, &bytes), CLS_SUCCESS);
    assert_int_equal(bytes, least);
    watchdog(0);
}

/* ---- the text */

static void test_equal_structures_have_equal_texts(void **state) {
    struct text texts[2] = {{0}, {0}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct graph graph = {.n = 0};
        const struct region_shape shape = {SHAPE_RUNS, 16, 1, 512, 1};
        if (i)
            array(&graph, 3); /* other numbers of nodes */
        uint32_t x = array(&graph, i ? 100 : 7);
        binary(&graph, unary(&graph, x), constant(&graph));
        struct regions regions = regions_of(&graph);
        generate_region(graph.nodes, &regions.at[0], &shape, &texts[i]);
        regions_free(&regions);
    }
    assert_string_equal(texts[0].bytes, texts[1].bytes);
    assert_non_null(strstr(texts[0].bytes, "op_neg_unary_float_float(a0)"));
    free(texts[0].bytes);
    free(texts[1].bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_chain_is_one_region),
        cmocka_unit_test(test_a_reductions_result_is_read_by_a_later_region),
        cmocka_unit_test(test_no_region_waits_for_itself),
        cmocka_unit_test(test_what_reads_one_array_reads_it_together),
        cmocka_unit_test(test_a_region_has_one_reduction),
        cmocka_unit_test(test_long_chains_and_many_arguments_are_cut),
        cmocka_unit_test(test_random_graphs_are_cut_into_regions_in_order),
        cmocka_unit_test(test_chains_need_no_more_than_the_least),
        cmocka_unit_test(test_no_two_values_alive_share_bytes),
        cmocka_unit_test(test_many_values_alive_together),
        cmocka_unit_test(test_equal_structures_have_equal_texts),
    };
    return cmocka_run_group_tests_name("batch_plan", tests, NULL, NULL);
}
