/* SPDX-License-Identifier: MIT */
/* How another graph differs in shape from the one that an executable graph was made of, or was last updated to. */
#ifndef CLSTREAM_GRAPH_DIFFERENCE_H
#define CLSTREAM_GRAPH_DIFFERENCE_H

#include "graph/exec.h"

/* The first difference between the graphs as they were captured. Under `launching`. */
cls_status graph_compare(const struct graph_exec *exec, const struct command_graph *graph,
                         cls_graph_difference *out);

/* Of graphs without one: the first difference in what their operations are fused to. `parts` are the other graph's. */
void graph_compare_fused(const struct graph_exec *exec, const struct exec_parts *parts,
                         cls_graph_difference *out);

/* CLS_ERROR_INVALID_VALUE, with the difference in words; CLS_SUCCESS where there is none. */
cls_status graph_difference_report(const struct graph_exec *exec, const struct command_graph *graph,
                                   const cls_graph_difference *difference);

#endif
