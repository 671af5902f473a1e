/* SPDX-License-Identifier: MIT */
#include "graph/touch.h"

#include <stdlib.h>
#include <string.h>

#include "driver/shareable.h"

/* The nodes of a version with what it has bound: shallow copies, but for the arguments. */
struct view {
    const struct graph_version *version;
    unsigned n_nodes;
    struct graph_node *nodes; /* NULL: no memory */
};

/* A library's call has its memory in arguments that it shares with the original, and touches what is in `args`. */
static bool copy_node(struct graph_node *to, const struct graph_version *version, unsigned i) {
    const struct graph_node *from = version->nodes[i].node;
    const struct place *places = graph_version_places(version, i);
    const size_t bytes = from->n_args * sizeof *from->args;
    *to = *from;
    to->args = malloc(bytes + 1);
    if (to->args && bytes)
        memcpy(to->args, from->args, bytes);
    for (unsigned p = 0; p < node_n_places(from) && to->args; p++)
        if (from->n_args)
            to->args[p].buffer = places[p].buffer;
        else
            command_set_place(&to->command, from, p, &places[p]);
    return to->args;
}

static void close_view(const struct view *view) {
    for (unsigned i = 0; i < view->n_nodes && view->nodes; i++)
        free(view->nodes[i].args);
    free(view->nodes);
}

static bool open_view(struct view *view, const struct graph_version *version) {
    view->version = version;
    view->n_nodes = version->n_nodes;
    view->nodes = calloc((size_t)view->n_nodes + 1, sizeof *view->nodes);
    bool well = view->nodes;
    for (unsigned i = 0; i < view->n_nodes && well; i++)
        well = copy_node(&view->nodes[i], version, i);
    return well;
}

/* --- what nodes touch --- */

static void touch_node(const struct view *view, unsigned i, struct touches *touches,
                       const struct device *device) {
    if (!view->version->nodes[i].disabled)
        node_touch(touches, device, &view->nodes[i]);
}

static void part_place(const struct device *device, struct touches *touches, struct buffer *own) {
    struct memory_place place;
    memory_identify(device, own->memory, &place);
    for (size_t t = 0; t < touches->count; t++) {
        struct touch *touch = &touches->items[t];
        if (touch->root == place.root && touch->origin == place.origin &&
            touch->bytes == place.bytes)
            touch->root = own->memory;
    }
}

/* Private buffers share memory where the plan orders their uses, which the program need not have done: each of them
 * counts as memory of its own. */
static void part_private(const struct view *view, const struct device *device,
                         struct race_node **nodes) {
    for (unsigned i = 0; i < view->n_nodes; i++) {
        const struct graph_node *node = view->version->nodes[i].node;
        const struct place *places = graph_version_places(view->version, i);
        for (unsigned p = 0; p < node_n_places(node); p++) {
            const struct place captured = node_place(node, p);
            if (captured.buffer && captured.buffer->is_private)
                part_place(device, &nodes[i]->touches, places[p].buffer);
        }
    }
}

/* --- comparing nodes with each other --- */

/* The first of the operations that are fused to a node: of a chain all but the last are empty in the fused graph, and each
 * comes after the one before it alone. */
static unsigned first_fused(const struct graph_body *body, unsigned last) {
    const struct graph_node *captured = body->captured->nodes;
    unsigned first = last;
    while (body->graph != body->captured && captured[first].n_deps == 1 &&
           !node_is_empty(&captured[captured[first].deps[0]]) &&
           node_is_empty(&body->graph->nodes[captured[first].deps[0]]))
        first = captured[first].deps[0];
    return first;
}

/* All nodes, the empty ones too; `planned`: of each one in the plan. */
static void describe(const struct view *view, const struct device *device, struct race_node *nodes,
                     struct race_node **planned) {
    const struct graph_body *body = view->version->body;
    unsigned number = 0;
    for (unsigned i = 0; i < body->graph->n_nodes; i++) {
        const struct graph_node *node = &body->graph->nodes[i];
        nodes[i] = (struct race_node){
            .deps = node->deps, .n_deps = node->n_deps, .first = number, .last = number};
        number += !node_is_empty(&body->captured->nodes[i]);
    }
    for (unsigned i = 0; i < view->n_nodes; i++) {
        const unsigned in_graph = body->in_graph[i];
        planned[i] = &nodes[in_graph];
        planned[i]->first = nodes[first_fused(body, in_graph)].last;
        planned[i]->label = command_label(&view->nodes[i].command);
        touch_node(view, i, &planned[i]->touches, device);
    }
    part_private(view, device, planned);
}

static bool compare(const struct graph_exec *exec, const struct view *view,
                    const struct device *device) {
    const unsigned n_nodes = view->version->body->graph->n_nodes;
    struct race_node *nodes = calloc((size_t)n_nodes + 1, sizeof *nodes);
    struct race_node **planned = calloc((size_t)view->n_nodes + 1, sizeof(struct race_node *));
    const bool well = nodes && planned;
    if (well) {
        describe(view, device, nodes, planned);
        race_graph(exec->name, nodes, n_nodes);
    }
    for (unsigned i = 0; i < n_nodes && well; i++)
        touches_free(&nodes[i].touches);
    free(nodes);
    free(planned);
    return well;
}

/* --- launches --- */

void graph_touch(struct touches *touches, const struct device *device,
                 const struct command *command, const struct launch_args *args) {
    const struct graph_run *run = command->u.graph.run;
    struct graph_version *version = run->version;
    struct view view;
    bool well = open_view(&view, version);
    (void)args;
    for (unsigned i = 0; i < view.n_nodes && well; i++)
        touch_node(&view, i, touches, device);
    if (well && !version->compared)
        version->compared = compare(run->exec, &view, device);
    touches->failed = touches->failed || !well || !version->compared;
    close_view(&view);
}
