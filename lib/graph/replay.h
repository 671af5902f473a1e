/* SPDX-License-Identifier: MIT */
/*
 * Replay: a launch as one command whose nodes are handed to the driver at once. On an out-of-order queue a graph of one
 * lane goes there, each node behind the event of the one before, as a stream's commands do. Otherwise each lane has an
 * in-order queue, where nodes need no events but those that other lanes wait for; if such a queue runs what follows a
 * failed command, each node waits for the event of the one before there too. The first lane of a launch on an in-order
 * queue goes to that one, the others to the graph's own.
 *
 * In the background a worker hands a launch over, as it runs a library's call.
 */
#ifndef CLSTREAM_GRAPH_REPLAY_H
#define CLSTREAM_GRAPH_REPLAY_H

#include "graph/exec.h"

/* Those of graphs that record events are timed. */
extern const struct command_type type_graph_replay, type_graph_replay_timed;
extern const struct command_type type_graph_background, type_graph_background_timed;

#endif
