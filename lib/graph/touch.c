/* SPDX-License-Identifier: MIT */
#include "graph/touch.h"

#include <stdlib.h>
#include <string.h>

#include "driver/shareable.h"

/* The nodes of a body as a launch will find them, whose changes may be still to be made: shallow copies, but for the
 * arguments. Everything that they refer to is kept by the body and the changes. */
struct view {
    const struct graph_body *body;
    unsigned n_nodes;
    struct exec_node *nodes; /* NULL: no memory */
};

static bool copy_args(struct node *to, const struct node *from) {
    const size_t bytes = from->n_args * sizeof *from->args;
    *to = *from;
    to->args = malloc(bytes + 1);
    if (to->args && bytes)
        memcpy(to->args, from->args, bytes);
    return to->args;
}

static void close_view(struct view *view) {
    for (unsigned i = 0; i < view->n_nodes && view->nodes; i++)
        free(view->nodes[i].node.args);
    free(view->nodes);
    view->nodes = NULL;
}

static bool open_view(struct view *view, const struct graph_body *body) {
    bool well;
    view->body = body;
    view->n_nodes = body->plan->n_nodes;
    view->nodes = calloc((size_t)view->n_nodes + 1, sizeof *view->nodes);
    well = view->nodes;
    for (unsigned i = 0; i < view->n_nodes && well; i++) {
        view->nodes[i].has_args = body->nodes[i].has_args;
        view->nodes[i].disabled = body->nodes[i].disabled;
        well = copy_args(&view->nodes[i].node, &body->nodes[i].node);
    }
    return well;
}

/* --- changes that are not made yet --- */

static void bind_buffer(struct view *view, const struct change *change) {
    for (unsigned i = 0; i < change->uses.count; i++) {
        const struct use *use = &change->uses.items[i];
        struct exec_node *node = &view->nodes[use->node];
        if (node->has_args)
            node->node.args[use->arg].buffer = change->buffer;
        else
            exec_node_bind(node, use->arg, change->buffer, change->buffer->memory);
    }
}

static bool replace(struct view *view, const struct change *change) {
    struct node *node = &view->nodes[change->number].node;
    free(node->args);
    return copy_args(node, &change->node);
}

static bool preview(struct view *view, const struct change *change) {
    switch (change->kind) {
    case CHANGE_BUFFER:
        bind_buffer(view, change);
        return true;
    case CHANGE_HOST:
        for (unsigned i = 0; i < change->uses.count; i++)
            exec_node_bind_host(&view->nodes[change->uses.items[i].node], change->uses.items[i].arg,
                                change->host);
        return true;
    case CHANGE_NODE:
        return replace(view, change);
    case CHANGE_ENABLED:
        view->nodes[change->number].disabled = change->disabled;
        return true;
    default:
        close_view(view);
        return open_view(view, change->body);
    }
}

/* --- what nodes touch --- */

static void touch_node(const struct view *view, unsigned i, struct touches *touches,
                       const struct device *device) {
    if (!view->nodes[i].disabled)
        node_touch(touches, device, &view->nodes[i].node);
}

/* Private buffers share memory where the plan orders their uses, which the program need not have done: each of them
 * counts as memory of its own. */
static void part_private(const struct view *view, const struct device *device,
                         struct race_node **nodes) {
    for (unsigned s = 0; s < view->body->n_slots; s++) {
        const struct slot *slot = &view->body->slots[s];
        struct memory_place place;
        if (!slot->is_private || !slot->current)
            continue;
        memory_identify(device, slot->current->memory, &place);
        for (unsigned u = 0; u < slot->uses.count; u++) {
            struct touches *touches = &nodes[slot->uses.items[u].node]->touches;
            for (size_t t = 0; t < touches->count; t++) {
                struct touch *touch = &touches->items[t];
                if (touch->root == place.root && touch->origin == place.origin &&
                    touch->bytes == place.bytes)
                    touch->root = slot->current->memory;
            }
        }
    }
}

/* --- comparing nodes with each other --- */

/* The first of the operations that are fused to a node: of a chain all but the last are empty in the fused graph, and each
 * comes after the one before it alone. */
static unsigned first_fused(const struct graph_body *body, unsigned last) {
    const struct node *captured = body->captured->nodes;
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
    const struct graph_body *body = view->body;
    unsigned number = 0;
    for (unsigned i = 0; i < body->graph->n_nodes; i++) {
        const struct node *node = &body->graph->nodes[i];
        nodes[i] = (struct race_node){
            .deps = node->deps, .n_deps = node->n_deps, .first = number, .last = number};
        number += !node_is_empty(&body->captured->nodes[i]);
    }
    for (unsigned i = 0; i < view->n_nodes; i++) {
        const unsigned place = body->places[i];
        planned[i] = &nodes[place];
        planned[i]->first = nodes[first_fused(body, place)].last;
        planned[i]->label = command_label(&view->nodes[i].node.command);
        touch_node(view, i, &planned[i]->touches, device);
    }
    part_private(view, device, planned);
}

static bool compare(const struct graph_exec *exec, const struct view *view,
                    const struct device *device) {
    const unsigned n_nodes = view->body->graph->n_nodes;
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

static void touch_all(struct graph_exec *exec, uint64_t number, struct touches *touches,
                      const struct device *device) {
    struct view view;
    bool well = open_view(&view, exec->body);
    for (const struct change *change = exec->changes.first;
         change && change->after < number && well; change = change->next)
        well = preview(&view, change);
    for (unsigned i = 0; i < view.n_nodes && well; i++)
        touch_node(&view, i, touches, device);
    if (well && !exec->compared)
        exec->compared = compare(exec, &view, device);
    touches->failed = touches->failed || !well || !exec->compared;
    close_view(&view);
}

void graph_touch(struct touches *touches, const struct device *device,
                 const struct command *command, const struct launch_args *args) {
    const struct graph_run *run = command->u.graph.run;
    (void)args;
    pthread_mutex_lock(&run->exec->lock);
    touch_all(run->exec, run->number, touches, device);
    pthread_mutex_unlock(&run->exec->lock);
}
