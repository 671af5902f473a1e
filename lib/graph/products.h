/* SPDX-License-Identifier: MIT */
/* Small matrix products, which fused graphs launch as kernels of the library's own (ops/blas_product.c). */
#ifndef CLSTREAM_GRAPH_PRODUCTS_H
#define CLSTREAM_GRAPH_PRODUCTS_H

#include "graph/graph.h"

/* Whether the node is the call of CLBlast for a product that is small (blas_product_is_small). */
bool node_is_small_product(const struct graph_node *node);

/* Makes the launch for such a node of the graph, in its place. On failure the caller drops the node. */
cls_status product_node_make(struct graph_node *to, const struct graph_node *from,
                             const struct command_graph *graph, cls_stream *recorder);

#endif
