/* SPDX-License-Identifier: MIT */
/*
 * Random expression graphs: a batch makes of them what single calls and the host make. BATCH_GRAPHS says
 * how many, BATCH_SEED which is the first; batch_graphs.sh (make check-long) runs 10,000.
 */
#include <stdlib.h>

#include "random_graph.h"

static unsigned number(const char *name, unsigned otherwise) {
    const char *text = getenv(name);
    return text && *text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void graphs_agree(void **state) {
    const struct graph_style style = {1, 12, 200};
    const unsigned graphs = number("BATCH_GRAPHS", 60), first = number("BATCH_SEED", 1);
    struct graph_totals totals = {0};
    (void)state;
    for (unsigned i = 0; i < graphs; i++)
        graph_check(NULL, first + i, &style, &totals);
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
