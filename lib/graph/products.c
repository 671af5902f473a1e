/* SPDX-License-Identifier: MIT */
#include "graph/products.h"

#include "graph/record.h"
#include "ops/blas.h"

bool node_is_small_product(const struct graph_node *node) {
    return node_is_library_call(node) &&
           blas_product_is_small(node->command.u.library.of, node->command.u.library.arguments);
}

static cls_status submit(const void *call, cls_stream recorder) {
    const struct graph_node *node = call;
    struct buffer *const buffers[3] = {node->args[0].buffer, node->args[1].buffer,
                                       node->args[2].buffer};
    return blas_product_kept(node->command.u.library.arguments, buffers, recorder);
}

cls_status product_node_make(struct graph_node *to, const struct graph_node *from,
                             const struct command_graph *graph, cls_stream *recorder) {
    struct command_graph *recorded;
    cls_status status =
        graph_record(graph->context, graph->name, recorder, submit, from, &recorded);
    if (status)
        return status;
    status = node_copy(to, &recorded->nodes[0]);
    object_release(&recorded->object);
    if (!status)
        status = node_set_deps(to, from->deps, from->n_deps);
    if (!status)
        status = node_ranges_join(NULL, from->ranges, &to->ranges);
    return status;
}
