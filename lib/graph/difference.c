/* SPDX-License-Identifier: MIT */
#include "graph/difference.h"

#include "base/error.h"

static void set_difference(cls_graph_difference *out, cls_graph_difference_kind kind, uint64_t node,
                           uint64_t own, uint64_t other) {
    out->kind = kind;
    out->node = node;
    out->own = own;
    out->other = other;
}

/* --- as captured --- */

/* A launch may become any other one: the kernel comes with its arguments. Records of events are markers too. */
static bool may_become(const struct command *command, const struct command *other) {
    if (command->type->capture == CAPTURE_LAUNCH)
        return other->type->capture == CAPTURE_LAUNCH;
    return command->type == other->type && command_is_record(command) == command_is_record(other);
}

/* Dependency `d` of a planned node; UINT64_MAX: it has fewer. */
static uint64_t dep_at(const struct exec_plan *plan, unsigned i, unsigned d) {
    const struct planned_node *node = &plan->nodes[i];
    return d < node->n_deps ? plan->deps[node->first_dep + d] : UINT64_MAX;
}

static bool same_deps(const struct exec_plan *own, const struct exec_plan *plan, unsigned i,
                      unsigned *first) {
    unsigned d = 0;
    while (dep_at(own, i, d) == dep_at(plan, i, d) && dep_at(own, i, d) != UINT64_MAX)
        d++;
    *first = d;
    return own->nodes[i].lane == plan->nodes[i].lane &&
           own->nodes[i].n_deps == plan->nodes[i].n_deps && d == own->nodes[i].n_deps;
}

static void compare_node(const struct exec_plan *own, const struct graph_node *own_nodes,
                         const struct exec_plan *plan, const struct graph_node *nodes, unsigned i,
                         cls_graph_difference *out) {
    const struct command *a = &own_nodes[own->nodes[i].node].command,
                         *b = &nodes[plan->nodes[i].node].command;
    unsigned d;
    if (!may_become(a, b))
        set_difference(out, CLS_GRAPH_OTHER_COMMAND, i, a->type->kind, b->type->kind);
    else if (!same_deps(own, plan, i, &d))
        set_difference(out, CLS_GRAPH_OTHER_DEPENDENCIES, i, dep_at(own, i, d), dep_at(plan, i, d));
}

static void compare_plans(const struct exec_plan *own, const struct graph_node *own_nodes,
                          const struct exec_plan *plan, const struct graph_node *nodes,
                          cls_graph_difference *out) {
    if (own->n_nodes != plan->n_nodes)
        set_difference(out, CLS_GRAPH_OTHER_NODES, UINT64_MAX, own->n_nodes, plan->n_nodes);
    for (unsigned i = 0; i < own->n_nodes && out->kind == CLS_GRAPH_SAME_SHAPE; i++)
        compare_node(own, own_nodes, plan, nodes, i, out);
}

cls_status graph_compare(const struct graph_exec *exec, const struct command_graph *graph,
                         cls_graph_difference *out) {
    const struct command_graph *before = exec->body->captured;
    struct exec_plan own, plan;
    cls_status status = exec_plan_make(before->nodes, before->n_nodes, exec->most_lanes, &own);
    if (status)
        return status;
    status = exec_plan_make(graph->nodes, graph->n_nodes, exec->most_lanes, &plan);
    if (!status) {
        compare_plans(&own, before->nodes, &plan, graph->nodes, out);
        exec_plan_free(&plan);
    }
    exec_plan_free(&own);
    return status;
}

/* --- fused --- */

static bool is_fused(const struct graph_fusion *fusion, unsigned i) {
    return fusion->places && fusion->places[i] == FUSED_NODE;
}

static bool same_plans(const struct exec_plan *own, const struct exec_plan *plan) {
    bool same = own->n_nodes == plan->n_nodes;
    unsigned d;
    for (unsigned i = 0; i < own->n_nodes && same; i++)
        same = same_deps(own, plan, i, &d);
    return same;
}

void graph_compare_fused(const struct graph_exec *exec, const struct exec_parts *parts,
                         cls_graph_difference *out) {
    const struct graph_fusion *own = &exec->fusion, *other = &parts->fusion;
    const unsigned count = own->places ? own->n_nodes : other->n_nodes;
    unsigned i = 0;
    while (i < count && is_fused(own, i) == is_fused(other, i))
        i++;
    if (i < count || own->n_kernels != other->n_kernels || !same_plans(&exec->plan, &parts->plan))
        set_difference(out, CLS_GRAPH_OTHER_FUSION, i < count ? i : UINT64_MAX, own->n_kernels,
                       other->n_kernels);
}

/* --- in words --- */

/* The command of a node by its number, which empty nodes do not have. */
static const struct command *command_of(const struct command_graph *graph, uint64_t number) {
    unsigned i = 0;
    while (node_is_empty(&graph->nodes[i]) || number--)
        i++;
    return &graph->nodes[i].command;
}

static cls_status report_command(const struct graph_exec *exec, const struct command_graph *graph,
                                 uint64_t node) {
    return error_set(CLS_ERROR_INVALID_VALUE, "node %llu of graph '%s' is '%s', and not '%s'",
                     (unsigned long long)node, exec->name, command_label(command_of(graph, node)),
                     command_label(command_of(exec->body->captured, node)));
}

static cls_status report_fusion(const struct graph_exec *exec,
                                const cls_graph_difference *difference) {
    if (difference->node == UINT64_MAX)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "the operations of graph '%s' make %llu kernels, and those of the other "
                         "one %llu others",
                         exec->name, (unsigned long long)difference->own,
                         (unsigned long long)difference->other);
    const bool was = is_fused(&exec->fusion, (unsigned)difference->node);
    return error_set(CLS_ERROR_INVALID_VALUE, "node %llu of graph '%s' %s",
                     (unsigned long long)difference->node, exec->name,
                     was ? "is not fused any more" : "is fused with others now");
}

cls_status graph_difference_report(const struct graph_exec *exec, const struct command_graph *graph,
                                   const cls_graph_difference *difference) {
    switch (difference->kind) {
    case CLS_GRAPH_SAME_SHAPE:
        break;
    case CLS_GRAPH_OTHER_NODES:
        return error_set(
            CLS_ERROR_INVALID_VALUE, "graph '%s' has %llu nodes, and the other one %llu",
            exec->name, (unsigned long long)difference->own, (unsigned long long)difference->other);
    case CLS_GRAPH_OTHER_COMMAND:
        return report_command(exec, graph, difference->node);
    case CLS_GRAPH_OTHER_DEPENDENCIES:
        return error_set(CLS_ERROR_INVALID_VALUE, "node %llu of graph '%s' has other dependencies",
                         (unsigned long long)difference->node, exec->name);
    case CLS_GRAPH_OTHER_FUSION:
        return report_fusion(exec, difference);
    }
    return CLS_SUCCESS;
}
