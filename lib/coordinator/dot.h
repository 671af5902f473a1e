/* SPDX-License-Identifier: MIT */
/* The dependency graph as Graphviz DOT. */
#ifndef CLSTREAM_COORDINATOR_DOT_H
#define CLSTREAM_COORDINATOR_DOT_H

#include <stdio.h>

#include "base/text.h"
#include "coordinator/wait_graph.h"

/* Appends a digraph called `name`. Its arrows point from a dependent to a prerequisite. In red: the
 * cycles of the graph, or if it has none the last cycle, with edges that are not in the graph dashed.
 * Names and labels may hold any bytes. CLS_ERROR_OUT_OF_MEMORY, and then the text may be cut. */
cls_status wait_graph_write_dot(struct text *text, struct wait_graph *graph, const char *name);

/* The last cycle alone. CLS_ERROR_NOT_FOUND where there is none. */
cls_status wait_graph_write_cycle_dot(struct text *text, struct wait_graph *graph,
                                      const char *name);

/* Either of the two. */
typedef cls_status dot_writer(struct text *text, struct wait_graph *graph, const char *name);

/* A drawing in memory, so that a graph need not stay locked while a file is written. On success the caller frees its bytes. */
cls_status dot_draw(struct wait_graph *graph, const char *name, dot_writer *writer,
                    struct text *out);

/* Writes it to the file, flushes that, and frees the text. CLS_ERROR_IO. */
cls_status dot_write(struct text *text, FILE *file);

#endif
