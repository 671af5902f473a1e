/* SPDX-License-Identifier: MIT */
#include "check/race_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/race_report.h"
#include "check/race_state.h"

/* Marks the nodes that come before node `i`, and the node itself, which may read and write the same bytes. Earlier ones
 * are looked at last, so that one walk finds all. */
static void mark_before(const struct race_node *nodes, unsigned i, bool *before) {
    memset(before, 0, i * sizeof *before);
    before[i] = true;
    for (unsigned at = i + 1; at-- > 0;)
        for (unsigned d = 0; before[at] && d < nodes[at].n_deps; d++)
            before[nodes[at].deps[d]] = true;
}

/* The record stands for a stream in which each node has a position of its own, from 1. */
static void compare(const char *name, const struct race_node *nodes, unsigned n_nodes,
                    bool *before) {
    struct race_stream by = {.holds = 1};
    struct race_shadows shadows = {.memories = NULL};
    struct race_visitor visitor = {
        .by = &by, .nodes = nodes, .before = before, .shadows = &shadows};
    snprintf(by.name, sizeof by.name, "%s", name);
    for (unsigned i = 0; i < n_nodes; i++) {
        if (!nodes[i].touches.count && !nodes[i].touches.failed)
            continue;
        mark_before(nodes, i, before);
        visitor.position = i + 1;
        visitor.label = nodes[i].label;
        race_visit(&visitor, &nodes[i].touches);
    }
    race_shadows_clear(&shadows);
}

void race_graph(const char *name, const struct race_node *nodes, unsigned n_nodes) {
    bool *before = malloc((n_nodes + 1) * sizeof *before);
    race_lock();
    if (before)
        compare(name, nodes, n_nodes, before);
    else
        race_count_forgotten();
    race_unlock();
    free(before);
}
