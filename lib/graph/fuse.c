/* SPDX-License-Identifier: MIT */
#include "graph/fuse.h"

#include <stdlib.h>

#include "base/error.h"
#include "graph/record.h"

enum { LONGEST = 64 }; /* steps of a chain: what one kernel of a batch takes */

struct fuser {
    const struct command_graph *graph;
    cls_stream recorder;      /* captures what the kernels compute; NULL until needed */
    unsigned *successors;     /* of each node of the graph: how many come right behind it */
    unsigned *next;           /* and the last one of them; 0: none */
    struct graph_node *nodes; /* of the fused graph */
    bool *fused;              /* of each node: it is one of a chain */
    unsigned n_fused, n_kernels;
};

/* Nodes in a row. */
struct fused_chain {
    unsigned at[LONGEST];
    const struct chain_step *steps[LONGEST];
    unsigned count;
};

/* --- chains --- */

/* Whether two views may be of one kernel: they are the same, have no byte in common, or are only read. */
static bool views_fit(const struct op_view *a, const struct op_view *b, bool written) {
    return !written || chain_same_view(a, b) || !op_views_overlap(a, b);
}

static bool steps_fit(const struct chain_step *a, const struct chain_step *b) {
    for (unsigned i = 0; i < a->n_views; i++)
        for (unsigned k = 0; k < b->n_views; k++)
            if (!views_fit(&a->views[i], &b->views[k], i + 1 == a->n_views || k + 1 == b->n_views))
                return false;
    return true;
}

/* Whether the later step reads an array of the other one's. */
static bool is_connected(const struct chain_step *step, const struct chain_step *later) {
    for (unsigned i = 0; i < step->n_views; i++)
        for (unsigned k = 0; k + 1 < later->n_views; k++)
            if (chain_same_view(&step->views[i], &later->views[k]))
                return true;
    return false;
}

static bool may_join(const struct fuser *fuser, const struct fused_chain *chain, unsigned i) {
    const struct graph_node *node = &fuser->graph->nodes[i];
    const unsigned last = chain->at[chain->count - 1];
    bool connected = false;
    if (!node->step || node->n_deps != 1 || node->deps[0] != last || fuser->successors[last] != 1 ||
        chain->count == LONGEST || node->step->views[0].count != chain->steps[0]->views[0].count)
        return false;
    for (unsigned s = 0; s < chain->count; s++) {
        if (!steps_fit(chain->steps[s], node->step))
            return false;
        connected = connected || is_connected(chain->steps[s], node->step);
    }
    return connected && steps_fit(node->step, node->step);
}

static void add(const struct fuser *fuser, struct fused_chain *chain, unsigned i) {
    chain->at[chain->count] = i;
    chain->steps[chain->count++] = fuser->graph->nodes[i].step;
}

/* The longest chain from a node on. */
static void find_chain(const struct fuser *fuser, unsigned first, struct fused_chain *chain) {
    chain->count = 0;
    if (!fuser->graph->nodes[first].step ||
        !steps_fit(fuser->graph->nodes[first].step, fuser->graph->nodes[first].step))
        return;
    add(fuser, chain, first);
    for (unsigned i = fuser->next[first]; i && may_join(fuser, chain, i); i = fuser->next[i])
        add(fuser, chain, i);
}

/* --- memory that only the chain uses --- */

static bool node_has(const struct graph_node *node, const struct buffer *buffer) {
    if (refs_use(&node->command.refs, &buffer->object))
        return true;
    for (unsigned a = 0; a < node->n_args; a++)
        if (node->args[a].buffer == buffer)
            return true;
    return false;
}

static bool chain_has(const struct fused_chain *chain, unsigned node) {
    for (unsigned i = 0; i < chain->count; i++)
        if (chain->at[i] == node)
            return true;
    return false;
}

static bool is_used_outside(const struct fuser *fuser, const struct fused_chain *chain,
                            const struct buffer *buffer) {
    for (unsigned i = 0; i < fuser->graph->n_nodes; i++)
        if (!chain_has(chain, i) && node_has(&fuser->graph->nodes[i], buffer))
            return true;
    return false;
}

/* Copies of the steps that say what is forgotten after this chain. */
static void copy_steps(const struct fuser *fuser, const struct fused_chain *chain,
                       struct chain_step *steps) {
    for (unsigned i = 0; i < chain->count; i++) {
        const struct chain_step *step = chain->steps[i];
        steps[i] = *step;
        steps[i].forgotten = step->forgotten &&
                             !is_used_outside(fuser, chain, step->views[step->n_views - 1].buffer);
    }
}

/* --- the kernel of a chain --- */

static cls_status execute(const void *batch, cls_stream recorder) {
    return cls_batch_execute_async(*(const cls_batch *)batch, recorder);
}

static cls_status record_chain(struct fuser *fuser, const struct fused_chain *chain,
                               struct command_graph **out) {
    const struct command_graph *graph = fuser->graph;
    struct chain_step *copies = malloc(chain->count * sizeof *copies);
    const struct chain_step *steps[LONGEST];
    cls_batch batch;
    if (!copies)
        return error_no_memory("to fuse a graph");
    copy_steps(fuser, chain, copies);
    for (unsigned i = 0; i < chain->count; i++)
        steps[i] = &copies[i];
    cls_status status = batch_of_chain(graph->context, steps, chain->count, &batch);
    free(copies);
    if (status)
        return status;
    status = graph_record(graph->context, graph->name, &fuser->recorder, execute, &batch, out);
    struct detail held;
    error_save(&held);
    cls_batch_destroy(batch);
    return error_restore(&held, status);
}

/* Not where the arguments are too many for one kernel, or nothing is left in memory. Of several kernels one may
 * write what another reads, which a batch refuses. */
static cls_status try_chain(struct fuser *fuser, const struct fused_chain *chain) {
    struct command_graph *recorded;
    struct detail held;
    error_save(&held);
    cls_status status = record_chain(fuser, chain, &recorded);
    const bool several = status == CLS_ERROR_OVERLAP;
    error_restore(&held, several ? CLS_SUCCESS : status);
    if (status)
        return several ? CLS_SUCCESS : status;
    if (recorded->n_nodes == 1) {
        const unsigned last = chain->at[chain->count - 1];
        status = node_copy(&fuser->nodes[last], &recorded->nodes[0]);
        if (!status)
            status = node_ranges_join(NULL, fuser->graph->nodes[last].ranges,
                                      &fuser->nodes[last].ranges);
        for (unsigned i = 0; i < chain->count; i++)
            fuser->fused[chain->at[i]] = true;
        fuser->n_fused += chain->count;
        fuser->n_kernels++;
    }
    object_release(&recorded->object);
    return status;
}

static void find_successors(struct fuser *fuser) {
    const struct command_graph *graph = fuser->graph;
    for (unsigned i = 0; i < graph->n_nodes; i++)
        for (unsigned d = 0; d < graph->nodes[i].n_deps; d++) {
            fuser->successors[graph->nodes[i].deps[d]]++;
            fuser->next[graph->nodes[i].deps[d]] = i;
        }
}

/* The chain from a node on, or the first half of it ... that is one kernel. */
static cls_status fuse_from(struct fuser *fuser, unsigned first) {
    struct fused_chain chain;
    cls_status status = CLS_SUCCESS;
    find_chain(fuser, first, &chain);
    for (; chain.count > 1 && !fuser->fused[first] && !status; chain.count /= 2)
        status = try_chain(fuser, &chain);
    return status;
}

static cls_status fuse_all(struct fuser *fuser) {
    cls_status status = CLS_SUCCESS;
    find_successors(fuser);
    for (unsigned i = 0; i < fuser->graph->n_nodes && !status; i++)
        if (!fuser->fused[i])
            status = fuse_from(fuser, i);
    return status;
}

/* --- the fused graph --- */

static cls_status make_node(struct fuser *fuser, unsigned i) {
    const struct graph_node *from = &fuser->graph->nodes[i];
    struct graph_node *to = &fuser->nodes[i];
    return fuser->fused[i] ? node_set_deps(to, from->deps, from->n_deps) : node_copy(to, from);
}

static cls_status make_rest(struct fuser *fuser) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < fuser->graph->n_nodes && !status; i++)
        status = make_node(fuser, i);
    return status;
}

static cls_status number(const struct fuser *fuser, struct graph_fusion *fusion) {
    const struct command_graph *graph = fuser->graph;
    unsigned planned = 0;
    *fusion = (struct graph_fusion){.n_fused = fuser->n_fused, .n_kernels = fuser->n_kernels};
    fusion->places = malloc((graph->n_nodes + 1) * sizeof *fusion->places);
    if (!fusion->places)
        return error_no_memory("to fuse a graph");
    for (unsigned i = 0; i < graph->n_nodes; i++) {
        if (!node_is_empty(&graph->nodes[i]))
            fusion->places[fusion->n_nodes++] = fuser->fused[i] ? FUSED_NODE : planned;
        planned += !node_is_empty(&fuser->nodes[i]);
    }
    return CLS_SUCCESS;
}

static cls_status finish(struct fuser *fuser, struct graph_fusion *fusion,
                         struct command_graph **out) {
    const struct command_graph *graph = fuser->graph;
    cls_status status = make_rest(fuser);
    if (!status)
        status = number(fuser, fusion);
    if (!status)
        status = command_graph_new(graph->context, graph->name, fuser->nodes, graph->n_nodes, out);
    if (status) {
        fusion_free(fusion);
        return status;
    }
    object_note_librarys(object_handle(&(*out)->object));
    fuser->nodes = NULL;
    return CLS_SUCCESS;
}

static cls_status run(struct fuser *fuser, struct graph_fusion *fusion,
                      struct command_graph **out) {
    const size_t room = (size_t)fuser->graph->n_nodes + 1;
    fuser->successors = calloc(room, sizeof *fuser->successors);
    fuser->next = calloc(room, sizeof *fuser->next);
    fuser->nodes = calloc(room, sizeof *fuser->nodes);
    fuser->fused = calloc(room, sizeof *fuser->fused);
    if (!fuser->successors || !fuser->next || !fuser->nodes || !fuser->fused)
        return error_no_memory("to fuse a graph");
    cls_status status = fuse_all(fuser);
    if (status || !fuser->n_kernels)
        return status;
    return finish(fuser, fusion, out);
}

cls_status graph_fuse(const struct command_graph *graph, struct graph_fusion *fusion,
                      struct command_graph **out) {
    struct fuser fuser = {.graph = graph};
    struct detail held;
    *out = NULL;
    cls_status status = run(&fuser, fusion, out);
    error_save(&held);
    if (fuser.nodes)
        nodes_drop(fuser.nodes, graph->n_nodes);
    if (fuser.recorder)
        stream_destroy_owned(fuser.recorder);
    free(fuser.successors);
    free(fuser.next);
    free(fuser.fused);
    return error_restore(&held, status);
}

void fusion_free(struct graph_fusion *fusion) {
    free(fusion->places);
    *fusion = (struct graph_fusion){.n_nodes = 0};
}
