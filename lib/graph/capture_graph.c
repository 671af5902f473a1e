/* SPDX-License-Identifier: MIT */
/* Launches of executable graphs in a capture: copies of their nodes. */
#include "base/array.h"
#include "base/error.h"
#include "graph/capture.h"
#include "graph/capture_state.h"
#include "graph/exec.h"

/* Under the capture's lock: the copy of node `i`, whose graph begins at node `first` of the capture. */
static cls_status append_copy(struct capture *capture, const struct capture_member *member,
                              const struct graph_exec *exec, const struct graph_version *version,
                              unsigned i, unsigned first, const struct node_ranges *open) {
    const struct planned_node *planned = &exec->plan.nodes[i];
    const bool disabled = version->nodes[i].disabled;
    struct graph_node node = {.n_args = 0};
    unsigned deps[PLAN_LANES];
    if (!capture_has_room(capture))
        return error_no_memory("for capture '%s'", capture->name);
    cls_status status = disabled ? CLS_SUCCESS : graph_version_copy(version, i, &node);
    free(node.deps);
    free(node.ranges);
    node.deps = NULL;
    node.ranges = NULL;
    for (unsigned d = 0; d < planned->n_deps; d++)
        deps[d] = first + planned_deps(exec, i)[d];
    if (!status)
        status = node_ranges_join(open, graph_body_ranges(version->body, i), &node.ranges);
    if (!status)
        status = planned->n_deps
                     ? node_set_deps(&node, deps, planned->n_deps)
                     : node_set_deps(&node, member->frontier.nodes, member->frontier.count);
    if (status)
        node_drop(&node);
    else
        capture_push(capture, &node);
    return status;
}

/* Under the capture's lock; NULL without memory. */
static struct launched *launched_of(struct capture *capture, cls_graph_exec exec) {
    for (unsigned i = 0; i < capture->n_launched; i++)
        if (capture->launched[i].exec == exec)
            return &capture->launched[i];
    if (!ARRAY_ROOM(capture->launched, capture->n_launched, capture->launched_room, 4))
        return NULL;
    capture->launched[capture->n_launched] = (struct launched){.exec = exec};
    return &capture->launched[capture->n_launched++];
}

/* Under the capture's lock: the copy is the member's frontier afterwards. */
static cls_status append_copies(struct capture *capture, struct capture_member *member,
                                const struct graph_exec *exec,
                                const struct graph_version *version) {
    const unsigned first = capture->n_nodes;
    struct node_ranges *open;
    cls_status status = node_ranges_open(capture->since, &open);
    for (unsigned i = 0; i < exec->plan.n_nodes && !status; i++)
        status = append_copy(capture, member, exec, version, i, first, open);
    free(open);
    member->frontier.count = 0;
    for (unsigned i = 0; i < exec->plan.n_nodes && !status; i++)
        if (!exec->plan.nodes[i].n_successors && !frontier_add(&member->frontier, first + i))
            status = error_no_memory("for capture '%s'", capture->name);
    return status;
}

/* Under the capture's lock. Copies of one executable graph use the same memory, so they keep their order, as
 * launches do. */
static cls_status append_graph(struct capture *capture, struct capture_member *member,
                               const struct graph_exec *exec, const struct graph_version *version) {
    if (!exec->plan.n_nodes)
        return CLS_SUCCESS;
    struct launched *launched = launched_of(capture, object_handle(&exec->object));
    cls_status status = launched && frontier_join(&member->frontier, &launched->ends)
                            ? append_copies(capture, member, exec, version)
                            : error_no_memory("for capture '%s'", capture->name);
    if (!status) {
        launched->ends.count = 0;
        if (!frontier_join(&launched->ends, &member->frontier))
            status = error_no_memory("for capture '%s'", capture->name);
    }
    if (status)
        capture_invalidate(capture, "is invalid: there was no memory for graph '%s'", exec->name);
    return status;
}

cls_status capture_graph(struct stream *stream, const struct graph_exec *exec,
                         const struct graph_version *version) {
    struct capture *capture = stream->capture;
    pthread_mutex_lock(&capture->lock);
    struct capture_member *member = capture_find_member(capture, stream);
    cls_status status = capture->state == CLS_CAPTURE_ACTIVE && member
                            ? append_graph(capture, member, exec, version)
                            : capture_refusal(capture);
    pthread_mutex_unlock(&capture->lock);
    return status;
}
