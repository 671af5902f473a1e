/* SPDX-License-Identifier: MIT */
/*
 * Random expression graphs: a batch makes of them what single calls and the host make. BATCH_GRAPHS says
 * how many, BATCH_SEED which is the first, BATCH_VARIANTS how many share a structure, and so a program,
 * BATCH_EXACT=1 keeps to operations that do not depend on the width of vectors;
 * batch_graphs.sh (make check-long) runs 10,000 of as many structures.
 */
#include <stdlib.h>

#include "random_graph.h"

static unsigned number(const char *name, unsigned otherwise) {
    const char *text = getenv(name);
    return text && *text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void graphs_agree(void **state) {
    const struct graph_style style = {1, 12, 200, number("BATCH_EXACT", 0) != 0};
    const unsigned graphs = number("BATCH_GRAPHS", 240), first = number("BATCH_SEED", 1);
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(graphs_agree)};
    prepare_tests();
    return cmocka_run_group_tests_name("batch_graphs", tests, NULL, NULL);
}
