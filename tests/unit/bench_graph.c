/* SPDX-License-Identifier: MIT */
/*
 * What an edge of the dependency graph costs: a million of them over 100,000 nodes, in a strict graph
 * that checks each for a cycle. Random edges follow a hidden order of the nodes, so none is refused, and
 * arrive in random order; where they "agree", that order is the one in which the nodes were added.
 * Beside it the same graph without any detection, and a depth-first search for each edge. Nothing here
 * waits, so processor time is what is measured: other programs on the machine do not count.
 *
 * White box, for the graph is no part of the interface; so this alone of the benchmarks links what is inside.
 */
#include <stdlib.h>
#include <time.h>

#include "../../bench/harness.h"
#include "coordinator/wait_graph.h"

enum { NODES = 100000, EDGES = 1000000, EARLY = 200000, SAMPLE = 50, ROUNDS = 5, QUICK_ROUNDS = 2 };

/* Of the hidden order: later[i] waits for earlier[i]. */
static uint32_t earlier[EDGES], later[EDGES];
static uint32_t node_at[NODES];

static uint32_t random_below(uint32_t limit) {
    static uint64_t state = UINT64_C(88172645463325252);
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state * UINT64_C(0x2545F4914F6CDD1D)) >> 33) % limit;
}

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void make_edges(void) {
    for (uint32_t i = 0; i < NODES; i++) {
        const uint32_t j = random_below(i + 1);
        node_at[i] = node_at[j];
        node_at[j] = i;
    }
    for (uint32_t i = 0; i < EDGES; i++) {
        uint32_t a = random_below(NODES), b;
        do
            b = random_below(NODES);
        while (a == b);
        earlier[i] = a < b ? a : b;
        later[i] = a < b ? b : a;
    }
}

static struct wait_graph *make_graph(bool permissive) {
    struct wait_graph *graph;
    uint32_t node;
    CLS(wait_graph_create(permissive, &graph));
    for (uint32_t i = 0; i < NODES; i++)
        CLS(wait_graph_add_node(graph, NULL, NULL, &node));
    return graph;
}

/* A permissive graph that has a cycle looks for no further ones. */
static struct wait_graph *make_unchecked_graph(void) {
    struct wait_graph *graph = make_graph(true);
    uint32_t node;
    CLS(wait_graph_add_node(graph, NULL, NULL, &node));
    CLS(wait_graph_add_edge(graph, node, node));
    return graph;
}

static void add_hidden(struct wait_graph *graph, uint32_t i) {
    CLS(wait_graph_add_edge(graph, node_at[later[i]], node_at[earlier[i]]));
}

static void add_agreeing(struct wait_graph *graph, uint32_t i) {
    CLS(wait_graph_add_edge(graph, later[i], earlier[i]));
}

static void add_opposed(struct wait_graph *graph, uint32_t i) {
    CLS(wait_graph_add_edge(graph, earlier[i], later[i]));
}

static void add_chain_up(struct wait_graph *graph, uint32_t i) {
    CLS(wait_graph_add_edge(graph, i, i + 1));
}

static void add_chain_down(struct wait_graph *graph, uint32_t i) {
    CLS(wait_graph_add_edge(graph, NODES - 2 - i, NODES - 1 - i));
}

struct load {
    const char *name;
    void (*add)(struct wait_graph *graph, uint32_t i);
    uint32_t edges;
    bool unchecked;
    double bar; /* us an edge */
};

static const struct load loads[] = {
    {"random edges, hidden order", add_hidden, EDGES, false, 1},
    {"random edges, agreeing", add_agreeing, EDGES, false, 1},
    {"random edges, opposed", add_opposed, EDGES, false, 1},
    {"chain against the order, from its front", add_chain_up, NODES - 1, false, 1},
    {"chain against the order, from its back", add_chain_down, NODES - 1, false, 1},
    {"random edges, no detection", add_hidden, EDGES, true, 0},
};

static double run_load(const struct load *load) {
    struct wait_graph *graph = load->unchecked ? make_unchecked_graph() : make_graph(false);
    const double start = cpu_seconds();
    for (uint32_t i = 0; i < load->edges; i++)
        load->add(graph, i);
    const double end = cpu_seconds();
    wait_graph_destroy(graph);
    return 1e6 * (end - start) / load->edges;
}

/* The depth-first search that an edge would take: does `prerequisite` wait for `dependent` already? */
static bool waits_for(const struct wait_graph *graph, uint32_t prerequisite, uint32_t dependent) {
    static uint32_t stack[NODES], seen[NODES], stamp;
    uint32_t depth = 0;
    seen[dependent] = ++stamp;
    stack[depth++] = dependent;
    while (depth) {
        const struct wait_graph_span next = wait_graph_dependents(graph, stack[--depth]);
        for (size_t i = 0; i < next.count; i++) {
            if (next.nodes[i] == prerequisite)
                return true;
            if (seen[next.nodes[i]] == stamp)
                continue;
            seen[next.nodes[i]] = stamp;
            stack[depth++] = next.nodes[i];
        }
    }
    return false;
}

static void search_and_add(struct wait_graph *graph, uint32_t i) {
    if (waits_for(graph, node_at[earlier[i]], node_at[later[i]]))
        die("a cycle where none can be");
    add_hidden(graph, i);
}

/* The mean over the edges from `first` on, with those before them in the graph. */
static double run_search(uint32_t first, uint32_t edges) {
    struct wait_graph *graph = make_unchecked_graph();
    for (uint32_t i = 0; i < first; i++)
        add_hidden(graph, i);
    const double start = cpu_seconds();
    for (uint32_t i = first; i < first + edges; i++)
        search_and_add(graph, i);
    const double end = cpu_seconds();
    wait_graph_destroy(graph);
    return 1e6 * (end - start) / edges;
}

static void search_row(const char *name, uint32_t first, uint32_t edges, unsigned rounds) {
    double values[ROUNDS];
    if (!bench_wants(name))
        return;
    for (unsigned i = 0; i < rounds; i++)
        values[i] = run_search(first, edges);
    bench_values(name, "us", values, rounds, 0);
}

int main(int argc, char **argv) {
    bench_begin(argc, argv, "graph");
    const unsigned rounds = bench_options()->quick ? QUICK_ROUNDS : ROUNDS;
    make_edges();
    bench_section("dependency graph, time an edge");
    for (size_t row = 0; row < sizeof loads / sizeof *loads; row++) {
        double values[ROUNDS];
        if (!bench_wants(loads[row].name))
            continue;
        for (unsigned i = 0; i < rounds; i++)
            values[i] = run_load(&loads[row]);
        bench_values(loads[row].name, "us", values, rounds, loads[row].bar);
    }
    search_row("a search an edge, the first 200,000", 0, EARLY, rounds);
    search_row("a search an edge, the last 50", EDGES - SAMPLE, SAMPLE, rounds);
    return bench_end();
}
