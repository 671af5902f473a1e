/* SPDX-License-Identifier: MIT */
/*
 * A lane is a chain of nodes, each of which depends on the one before it. So what a node comes after is told by one number
 * a lane, the newest node there that it is behind: its clock. A dependency that the clock of a later one has already is
 * implied. Where all lanes are taken, a node goes behind another lane's last node, which becomes a dependency.
 */
#include "graph/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/node.h"

struct planner {
    struct exec_plan *plan;
    const struct graph_node *nodes;
    unsigned most;
    unsigned *place; /* of each node of the graph: its index in the plan; of empty ones undefined */
    unsigned *found; /* dependencies of the node at hand */
    unsigned n_found;
    unsigned char *seen;       /* of each node of the graph: whether the node at hand has it */
    unsigned ends[PLAN_LANES]; /* the last planned node of each lane */
    unsigned counts[PLAN_LANES];
};

/* Adds what a dependency stands for: itself, or what an empty node joins. Earlier nodes are looked at last, so that the
 * walk needs no stack of its own: empty ones are marked on the way. */
static void find_deps(struct planner *planner, unsigned node) {
    const struct graph_node *from = &planner->nodes[node];
    memset(planner->seen, 0, node + 1);
    planner->n_found = 0;
    for (unsigned d = 0; d < from->n_deps; d++)
        planner->seen[from->deps[d]] = true;
    for (unsigned i = node; i-- > 0;) {
        if (!planner->seen[i])
            continue;
        if (!node_is_empty(&planner->nodes[i]))
            planner->found[planner->n_found++] = planner->place[i];
        for (unsigned d = 0; node_is_empty(&planner->nodes[i]) && d < planner->nodes[i].n_deps; d++)
            planner->seen[planner->nodes[i].deps[d]] = true;
    }
}

/* A node whose dependencies are no empty ones needs no walk. */
static int later_first(const void *a, const void *b) {
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x < y) - (x > y);
}

static void collect_deps(struct planner *planner, unsigned node) {
    const struct graph_node *from = &planner->nodes[node];
    bool direct = true;
    for (unsigned d = 0; d < from->n_deps; d++)
        direct = direct && !node_is_empty(&planner->nodes[from->deps[d]]);
    if (!direct) {
        find_deps(planner, node);
        return;
    }
    planner->n_found = from->n_deps;
    for (unsigned d = 0; d < from->n_deps; d++)
        planner->found[d] = planner->place[from->deps[d]];
    qsort(planner->found, planner->n_found, sizeof *planner->found, later_first);
}

/* The lane of which a dependency is the end, a new one, or the one whose end is oldest. */
static unsigned choose_lane(struct planner *planner) {
    struct exec_plan *plan = planner->plan;
    unsigned oldest = 0;
    for (unsigned d = 0; d < planner->n_found; d++) {
        const unsigned lane = plan->nodes[planner->found[d]].lane;
        if (planner->ends[lane] == planner->found[d])
            return lane;
    }
    if (plan->n_lanes < planner->most)
        return plan->n_lanes++;
    for (unsigned lane = 1; lane < plan->n_lanes; lane++)
        if (planner->ends[lane] < planner->ends[oldest])
            oldest = lane;
    return oldest;
}

/* Has the node at hand come behind the lane's end; the dependencies stay in order. */
static void add_end(struct planner *planner, unsigned lane) {
    const unsigned end = planner->ends[lane];
    unsigned at = 0;
    while (at < planner->n_found && planner->found[at] > end)
        at++;
    if (at < planner->n_found && planner->found[at] == end)
        return;
    memmove(&planner->found[at + 1], &planner->found[at],
            (planner->n_found - at) * sizeof *planner->found);
    planner->found[at] = end;
    planner->n_found++;
}

static void merge(struct plan_clock *clock, const struct plan_clock *other) {
    for (unsigned lane = 0; lane < PLAN_LANES; lane++)
        if (clock->before[lane] < other->before[lane])
            clock->before[lane] = other->before[lane];
}

/* Enters a node with the dependencies that no later one implies. */
static cls_status enter(struct planner *planner, unsigned node) {
    struct exec_plan *plan = planner->plan;
    const unsigned index = plan->n_nodes, lane = choose_lane(planner);
    struct plan_clock *clock = &plan->clocks[index];
    if (planner->counts[lane])
        add_end(planner, lane);
    unsigned *deps = realloc(plan->deps, (plan->n_deps + planner->n_found + 1) * sizeof *deps);
    if (!deps)
        return error_no_memory("for the plan of a graph");
    plan->deps = deps;
    plan->nodes[index] =
        (struct planned_node){.node = node, .lane = lane, .first_dep = plan->n_deps};
    for (unsigned d = 0; d < planner->n_found; d++) {
        const unsigned dep = planner->found[d], from = plan->nodes[dep].lane;
        if (clock->before[from] >= plan->clocks[dep].before[from])
            continue;
        merge(clock, &plan->clocks[dep]);
        deps[plan->n_deps++] = dep;
        plan->nodes[index].n_deps++;
        plan->n_sinks -= !plan->nodes[dep].n_successors++;
        plan->nodes[dep].crosses |= from != lane;
    }
    clock->before[lane] = ++planner->counts[lane];
    planner->ends[lane] = index;
    planner->place[node] = index;
    plan->n_nodes++;
    plan->n_sinks++;
    return CLS_SUCCESS;
}

static cls_status plan_all(struct planner *planner, unsigned n_nodes) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < n_nodes && !status; i++) {
        if (node_is_empty(&planner->nodes[i]))
            continue;
        collect_deps(planner, i);
        status = enter(planner, i);
    }
    return status;
}

cls_status exec_plan_make(const struct graph_node *nodes, unsigned n_nodes, unsigned most,
                          struct exec_plan *out) {
    struct exec_plan plan = {.n_nodes = 0};
    struct planner planner = {.plan = &plan, .nodes = nodes, .most = most};
    const size_t room = (size_t)n_nodes + 1;
    plan.nodes = calloc(room, sizeof *plan.nodes);
    plan.clocks = calloc(room, sizeof *plan.clocks);
    planner.place = calloc(room, sizeof *planner.place);
    planner.found = calloc(room + 1, sizeof *planner.found);
    planner.seen = calloc(room, sizeof *planner.seen);
    const bool has_all =
        plan.nodes && plan.clocks && planner.place && planner.found && planner.seen;
    cls_status status =
        has_all ? plan_all(&planner, n_nodes) : error_no_memory("for the plan of a graph");
    free(planner.place);
    free(planner.found);
    free(planner.seen);
    if (status)
        exec_plan_free(&plan);
    else
        *out = plan;
    return status;
}

void exec_plan_free(struct exec_plan *plan) {
    free(plan->nodes);
    free(plan->clocks);
    free(plan->deps);
    *plan = (struct exec_plan){.n_nodes = 0};
}
