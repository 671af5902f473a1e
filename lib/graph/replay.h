/* SPDX-License-Identifier: MIT */
/*
 * Replay: a launch as one command whose nodes are handed to the driver at once. Each lane has an in-order queue, where
 * nodes need no events but those that other lanes wait for, unless the driver runs what follows a failed command; on PoCL
 * a node there costs two thirds as much as on an out-of-order queue. The first lane of a launch on an in-order queue goes to
 * that one, the others to the graph's own.
 *
 * Handing over takes a driver's time for each node, 3.6 us on an H200. Where that adds up, a worker does it, as it runs
 * a library's call, and the caller goes on.
 */
#ifndef CLSTREAM_GRAPH_REPLAY_H
#define CLSTREAM_GRAPH_REPLAY_H

#include "graph/exec.h"

/* The second is of a graph that records events. The third is handed over by a worker, on in-order queues only. */
extern const struct command_type type_graph_replay, type_graph_replay_timed,
    type_graph_replay_by_worker;

#endif
