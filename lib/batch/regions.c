/* SPDX-License-Identifier: MIT */
/* Groups the recorded operations into regions. */
#include "batch/regions.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

enum { TAKES = 0 /* the level of calls that take a generator's state */ };

/* What all operations of a region have in common: the elements they go over. */
struct region_extent {
    size_t count;
    bool scalar;
};

/* The partition so far: groups of nodes as a union-find forest; what is known of a group is stored at its
 * root. */
struct partition {
    const struct batch_node *nodes;
    uint32_t n_nodes;
    unsigned limit; /* operations of a group */
    uint32_t *parent;
    unsigned *level;
    unsigned *operations;
    uint32_t *reduction;
};

static cls_status list_add(struct node_list *list, uint32_t node) {
    if (!ARRAY_ROOM(list->at, list->count, list->room, 4))
        return error_no_memory("to plan a batch");
    list->at[list->count++] = node;
    return CLS_SUCCESS;
}

static cls_status list_add_once(struct node_list *list, uint32_t node) {
    for (unsigned i = 0; i < list->count; i++)
        if (list->at[i] == node)
            return CLS_SUCCESS;
    return list_add(list, node);
}

/* ---- groups */

static struct region_extent extent_of(const struct batch_node *nodes,
                                      const struct batch_node *node) {
    struct region_extent extent = {1, true};
    for (unsigned i = 0; i < node->n_inputs; i++) {
        const struct batch_node *input = &nodes[node->inputs[i]];
        if (input->scalar || node_broadcasts(node, i))
            continue;
        if (extent.scalar || input->count > extent.count)
            extent = (struct region_extent){input->count, false};
    }
    return extent;
}

static bool same_extent(const struct partition *fusion, uint32_t a, uint32_t b) {
    const struct region_extent x = extent_of(fusion->nodes, &fusion->nodes[a]),
                               y = extent_of(fusion->nodes, &fusion->nodes[b]);
    return x.count == y.count && x.scalar == y.scalar;
}

static uint32_t root_of(struct partition *fusion, uint32_t node) {
    while (fusion->parent[node] != node) {
        fusion->parent[node] = fusion->parent[fusion->parent[node]];
        node = fusion->parent[node];
    }
    return node;
}

/* Whether the two groups may be merged. */
static bool fits(const struct partition *fusion, uint32_t a, uint32_t b) {
    return fusion->operations[a] + fusion->operations[b] <= fusion->limit &&
           (fusion->reduction[a] == NO_NODE || fusion->reduction[b] == NO_NODE);
}

static void unite(struct partition *fusion, uint32_t a, uint32_t b) {
    fusion->parent[b] = a;
    fusion->operations[a] += fusion->operations[b];
    if (fusion->reduction[a] == NO_NODE)
        fusion->reduction[a] = fusion->reduction[b];
}

/* Whether the node may be in the kernel of its input `i` and take it from a register. */
static bool is_fusable(const struct partition *fusion, uint32_t node, unsigned i) {
    const struct batch_node *at = &fusion->nodes[node];
    const uint32_t input = at->inputs[i];
    return fusion->nodes[input].kind == NODE_MAP && !node_is_call(at) && !node_broadcasts(at, i) &&
           same_extent(fusion, input, node);
}

static unsigned level_of(const struct partition *fusion, uint32_t node) {
    const struct batch_node *at = &fusion->nodes[node];
    if (at->kind == NODE_TAKE)
        return TAKES;
    unsigned level = TAKES + 1;
    for (unsigned i = 0; i < at->n_inputs; i++) {
        const uint32_t input = at->inputs[i];
        if (node_is_input(&fusion->nodes[input]))
            continue;
        const unsigned least = fusion->level[input] + !is_fusable(fusion, node, i);
        level = level > least ? level : least;
    }
    return level;
}

/* Merges the node with the groups of all inputs that it can be fused with. Where they do not all fit into
 * one, the node starts a group of its own, one level up, and reads its inputs from memory. */
static void join_inputs(struct partition *fusion, uint32_t node) {
    const struct batch_node *at = &fusion->nodes[node];
    uint32_t roots[NODE_MAX_INPUTS];
    unsigned n_roots = 0, operations = 1, reductions = at->kind == NODE_REDUCE;
    for (unsigned i = 0; i < at->n_inputs; i++) {
        const uint32_t input = at->inputs[i];
        if (!is_fusable(fusion, node, i) || fusion->level[input] != fusion->level[node])
            continue;
        const uint32_t root = root_of(fusion, input);
        bool known = false;
        for (unsigned k = 0; k < n_roots; k++)
            known = known || roots[k] == root;
        if (known)
            continue;
        roots[n_roots++] = root;
        operations += fusion->operations[root];
        reductions += fusion->reduction[root] != NO_NODE;
    }
    if (operations > fusion->limit || reductions > 1) {
        fusion->level[node]++;
        return;
    }
    for (unsigned i = 0; i < n_roots; i++)
        unite(fusion, root_of(fusion, node), roots[i]);
}

/* Merges groups of one level that read the same array, so that it is read once. `reader` has room for every
 * node. */
static void join_readers(struct partition *fusion, uint32_t *reader) {
    memset(reader, 0xff, fusion->n_nodes * sizeof *reader);
    for (uint32_t node = 0; node < fusion->n_nodes; node++) {
        const struct batch_node *at = &fusion->nodes[node];
        for (unsigned i = 0; i < at->n_inputs && !node_is_call(at); i++) {
            const uint32_t input = at->inputs[i];
            const uint32_t other = reader[input];
            if (fusion->nodes[input].scalar || node_broadcasts(at, i))
                continue;
            reader[input] = node;
            if (other == NO_NODE || fusion->level[other] != fusion->level[node] ||
                !same_extent(fusion, other, node))
                continue;
            const uint32_t a = root_of(fusion, other), b = root_of(fusion, node);
            if (a != b && fits(fusion, a, b))
                unite(fusion, a, b);
        }
    }
}

static void fuse(struct partition *fusion, uint32_t *scratch) {
    for (uint32_t node = 0; node < fusion->n_nodes; node++) {
        const struct batch_node *at = &fusion->nodes[node];
        fusion->parent[node] = node;
        fusion->level[node] = 0;
        fusion->operations[node] = !node_is_input(at);
        fusion->reduction[node] = at->kind == NODE_REDUCE ? node : NO_NODE;
        if (node_is_input(at))
            continue;
        fusion->level[node] = level_of(fusion, node);
        join_inputs(fusion, node);
    }
    join_readers(fusion, scratch);
}

/* ---- regions */

static int by_level(const void *a, const void *b) {
    const struct region *x = a, *y = b;
    if (x->level != y->level)
        return x->level < y->level ? -1 : 1;
    /* Within a level in the order of recording: `count` holds the first node. */
    return x->count < y->count ? -1 : x->count > y->count;
}

/* Makes a region of each group. Until they are sorted, `count` holds the first node and `reduction` the root. */
static cls_status number_groups(struct partition *fusion, struct regions *out) {
    for (uint32_t node = 0; node < fusion->n_nodes; node++)
        out->of_node[node] = NO_NODE;
    for (uint32_t node = 0; node < fusion->n_nodes; node++) {
        if (node_is_input(&fusion->nodes[node]))
            continue;
        const uint32_t root = root_of(fusion, node);
        if (out->of_node[root] != NO_NODE)
            continue;
        out->of_node[root] = out->count;
        out->at[out->count++] =
            (struct region){.level = fusion->level[root], .count = node, .reduction = root};
    }
    qsort(out->at, out->count, sizeof *out->at, by_level);
    for (unsigned i = 0; i < out->count; i++)
        out->of_node[out->at[i].reduction] = i;
    for (uint32_t node = 0; node < fusion->n_nodes; node++)
        if (!node_is_input(&fusion->nodes[node]))
            out->of_node[node] = out->of_node[root_of(fusion, node)];
    for (unsigned i = 0; i < out->count; i++) {
        const uint32_t root = out->at[i].reduction;
        out->at[i].count = extent_of(fusion->nodes, &fusion->nodes[root]).count;
        out->at[i].reduction = fusion->reduction[root];
        out->at[i].call = NO_NODE;
    }
    return CLS_SUCCESS;
}

static cls_status list_members(const struct partition *fusion, struct regions *out) {
    cls_status status = CLS_SUCCESS;
    for (uint32_t node = 0; node < fusion->n_nodes && !status; node++) {
        const struct batch_node *at = &fusion->nodes[node];
        if (node_is_input(at))
            continue;
        struct region *region = &out->at[out->of_node[node]];
        if (at->kind == NODE_MAP)
            status = list_add(&region->maps, node);
        if (!status && node_broadcasts(at, BROADCAST_INPUT))
            status = list_add(&region->broadcasts, node);
        if (node_is_call(at))
            region->call = node;
        for (unsigned i = 0; i < at->n_inputs && !status; i++) {
            const uint32_t input = at->inputs[i];
            if (fusion->nodes[input].kind == NODE_CONSTANT)
                status = list_add_once(&region->constants, input);
            else if (out->of_node[input] != out->of_node[node])
                status = list_add_once(&region->inputs, input);
        }
    }
    return status;
}

/* `outside` has room for every node. */
static cls_status list_outputs(const struct partition *fusion, struct regions *out,
                               uint32_t *outside) {
    cls_status status = CLS_SUCCESS;
    for (uint32_t node = 0; node < fusion->n_nodes; node++)
        outside[node] = node_is_result(&fusion->nodes[node]);
    for (unsigned r = 0; r < out->count; r++)
        for (unsigned i = 0; i < out->at[r].inputs.count; i++)
            outside[out->at[r].inputs.at[i]] = true;
    for (uint32_t node = 0; node < fusion->n_nodes && !status; node++)
        if (fusion->nodes[node].kind == NODE_MAP && outside[node])
            status = list_add(&out->at[out->of_node[node]].outputs, node);
    return status;
}

static size_t argument_bytes(const struct region *region) {
    return 16 * ((size_t)region->inputs.count + region->outputs.count + region->broadcasts.count) +
           8 * (size_t)region->constants.count;
}

static bool arguments_fit(const struct regions *regions) {
    for (unsigned i = 0; i < regions->count; i++)
        if (argument_bytes(&regions->at[i]) > REGION_ARGUMENT_BYTES)
            return false;
    return true;
}

static cls_status attempt(struct partition *fusion, uint32_t *scratch, struct regions *out) {
    fuse(fusion, scratch);
    struct regions made = {calloc(fusion->n_nodes, sizeof *made.at), 0,
                           calloc(fusion->n_nodes, sizeof *made.of_node)};
    cls_status status = made.at && made.of_node ? CLS_SUCCESS : error_no_memory("to plan a batch");
    if (!status)
        status = number_groups(fusion, &made);
    if (!status)
        status = list_members(fusion, &made);
    if (!status)
        status = list_outputs(fusion, &made, scratch);
    if (status)
        regions_free(&made);
    else
        *out = made;
    return status;
}

static cls_status run(struct partition *fusion, uint32_t *scratch, struct regions *out) {
    fusion->limit = REGION_OPERATIONS;
    for (;;) {
        cls_status status = attempt(fusion, scratch, out);
        if (status || arguments_fit(out) || fusion->limit == 1)
            return status;
        regions_free(out);
        fusion->limit /= 2;
    }
}

cls_status regions_make(const struct batch_node *nodes, uint32_t n_nodes, struct regions *out) {
    const size_t n = n_nodes ? n_nodes : 1;
    struct partition fusion = {.nodes = nodes,
                               .n_nodes = n_nodes,
                               .parent = calloc(n, sizeof *fusion.parent),
                               .level = calloc(n, sizeof *fusion.level),
                               .operations = calloc(n, sizeof *fusion.operations),
                               .reduction = calloc(n, sizeof *fusion.reduction)};
    uint32_t *scratch = calloc(n, sizeof *scratch);
    cls_status status =
        fusion.parent && fusion.level && fusion.operations && fusion.reduction && scratch
            ? CLS_SUCCESS
            : error_no_memory("to plan a batch");
    if (!status)
        status = run(&fusion, scratch, out);
    free(scratch);
    free(fusion.reduction);
    free(fusion.operations);
    free(fusion.level);
    free(fusion.parent);
    return status;
}

void regions_free(struct regions *regions) {
    for (unsigned i = 0; i < regions->count; i++) {
        free(regions->at[i].maps.at);
        free(regions->at[i].inputs.at);
        free(regions->at[i].constants.at);
        free(regions->at[i].broadcasts.at);
        free(regions->at[i].outputs.at);
    }
    free(regions->at);
    free(regions->of_node);
    *regions = (struct regions){0};
}
