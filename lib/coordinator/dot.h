/* SPDX-License-Identifier: MIT */
/* The dependency graph as Graphviz DOT. */
#ifndef CLSTREAM_COORDINATOR_DOT_H
#define CLSTREAM_COORDINATOR_DOT_H

#include <stdio.h>

#include "coordinator/graph.h"

/* Writes a digraph called `name` whose arrows point from a dependent to what it waits for. In red: the
 * cycles that the graph has, or else the last cycle, whose edges that are not in the graph are dashed.
 * Names and labels may hold any bytes. CLS_ERROR_OUT_OF_MEMORY before anything was written;
 * CLS_ERROR_IO when the stream failed, which is not flushed. */
cls_status graph_write_dot(FILE *file, struct graph *graph, const char *name);

#endif
