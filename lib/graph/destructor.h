/* SPDX-License-Identifier: MIT */
/* Functions of the program that are called when a graph is gone (cls_graph_add_destructor). */
#ifndef CLSTREAM_GRAPH_DESTRUCTOR_H
#define CLSTREAM_GRAPH_DESTRUCTOR_H

#include <stdatomic.h>

#include <clstream/graph.h>

struct graph_destructor;

/* Those of one graph. */
typedef _Atomic(struct graph_destructor *) graph_destructors;

/* Any number of threads may add some at the same time. */
cls_status graph_destructors_add(graph_destructors *list, cls_graph_destructor fn, void *arg);

/* Has a thread call each of them once, and empties the list. May be called with locks. */
void graph_destructors_run(graph_destructors *list);

#endif
