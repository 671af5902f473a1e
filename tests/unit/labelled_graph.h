/* SPDX-License-Identifier: MIT */
/* A graph whose first nodes are labelled "a" to "f". */
#ifndef CLSTREAM_TESTS_LABELLED_GRAPH_H
#define CLSTREAM_TESTS_LABELLED_GRAPH_H

#include "../support/test.h"

#include "coordinator/wait_graph.h"

static inline struct wait_graph *make(bool permissive, uint32_t nodes) {
    static const char *const labels[] = {"a", "b", "c", "d", "e", "f"};
    struct wait_graph *graph = NULL;
    uint32_t node;
    assert_int_equal(wait_graph_create(permissive, &graph), CLS_SUCCESS);
    for (uint32_t i = 0; i < nodes; i++) {
        const char *label = i < 6 ? labels[i] : NULL;
        assert_int_equal(wait_graph_add_node(graph, NULL, label, &node), CLS_SUCCESS);
        assert_int_equal(node, i);
    }
    return graph;
}

static inline void edge(struct wait_graph *graph, uint32_t dependent, uint32_t prerequisite) {
    assert_int_equal(wait_graph_add_edge(graph, dependent, prerequisite), CLS_SUCCESS);
}

#endif
