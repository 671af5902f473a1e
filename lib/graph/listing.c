/* SPDX-License-Identifier: MIT */
/* What a graph holds: its nodes one by one, and all of it as Graphviz DOT. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "graph/graph.h"
#include "graph/plan.h"

/* A graph with its plan, for one call. */
struct listing {
    struct command_graph *graph; /* retained */
    struct exec_plan plan;
};

static cls_status open_listing(cls_graph handle, struct listing *out) {
    cls_status status = command_graph_get(handle, &out->graph);
    if (status)
        return status;
    status = exec_plan_make(out->graph->nodes, out->graph->n_nodes, PLAN_LANES, &out->plan);
    if (status)
        object_release(&out->graph->object);
    return status;
}

static cls_status close_listing(struct listing *listing, cls_status status) {
    exec_plan_free(&listing->plan);
    object_release(&listing->graph->object);
    return status;
}

static const struct command *command_at(const struct listing *listing, unsigned i) {
    return &listing->graph->nodes[listing->plan.nodes[i].node].command;
}

cls_status cls_graph_get_nodes(cls_graph handle, uint64_t *count) {
    struct listing listing;
    if (!count)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_graph_get_nodes: count is null");
    cls_status status = open_listing(handle, &listing);
    if (status)
        return status;
    *count = listing.plan.n_nodes;
    return close_listing(&listing, CLS_SUCCESS);
}

static cls_status check_number(const struct listing *listing, uint64_t number) {
    if (number < listing->plan.n_nodes)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_OUT_OF_RANGE, "graph '%s' has %u nodes, and none of number %llu",
                     listing->graph->name, listing->plan.n_nodes, (unsigned long long)number);
}

static void describe(const struct listing *listing, unsigned i, cls_graph_node_info *info) {
    const struct command *command = command_at(listing, i);
    const struct planned_node *planned = &listing->plan.nodes[i];
    info->kind = command->type->kind;
    snprintf(info->label, sizeof info->label, "%s", command_label(command));
    info->bytes = command->bytes;
    info->stream = planned->lane;
    info->n_dependencies = planned->n_deps;
    for (unsigned d = 0; d < planned->n_deps && d < CLS_GRAPH_NODE_DEPENDENCIES; d++)
        info->dependencies[d] = listing->plan.deps[planned->first_dep + d];
}

cls_status cls_graph_get_node(cls_graph handle, uint64_t number, cls_graph_node_info *info) {
    cls_graph_node_info now = CLS_GRAPH_NODE_INFO_INIT;
    struct listing listing;
    cls_status status = SIZED_CHECK(cls_graph_node_info, info);
    if (!status)
        status = open_listing(handle, &listing);
    if (status)
        return status;
    status = check_number(&listing, number);
    if (!status) {
        describe(&listing, (unsigned)number, &now);
        SIZED_OUT(cls_graph_node_info, info, &now);
    }
    return close_listing(&listing, status);
}

/* --- DOT --- */

/* Names may hold any bytes. */
static void put_quoted(FILE *file, const char *text) {
    putc('"', file);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(file, "\\%c", *text);
        else if (*text == '\n')
            fputs("\\n", file);
        else
            putc(*text, file);
    putc('"', file);
}

static void put_node(FILE *file, const struct listing *listing, unsigned i) {
    const struct planned_node *planned = &listing->plan.nodes[i];
    fprintf(file, "    n%u [label=", i);
    put_quoted(file, command_label(command_at(listing, i)));
    fputs("];\n", file);
    for (unsigned d = 0; d < planned->n_deps; d++)
        fprintf(file, "    n%u -> n%u;\n", listing->plan.deps[planned->first_dep + d], i);
}

cls_status cls_graph_write_dot(cls_graph handle, FILE *file) {
    struct listing listing;
    if (!file)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_graph_write_dot: file is null");
    cls_status status = open_listing(handle, &listing);
    if (status)
        return status;
    fputs("digraph ", file);
    put_quoted(file, listing.graph->name);
    fputs(" {\n", file);
    for (unsigned i = 0; i < listing.plan.n_nodes; i++)
        put_node(file, &listing, i);
    fputs("}\n", file);
    if (fflush(file) || ferror(file))
        status = error_set(CLS_ERROR_IO, "writing graph '%s' failed", listing.graph->name);
    return close_listing(&listing, status);
}
