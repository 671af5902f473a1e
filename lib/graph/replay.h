/* SPDX-License-Identifier: MIT */
/*
 * Replay: a launch as one command whose nodes are handed to the driver at once. On an out-of-order queue all nodes go
 * there, each behind the events of its dependencies. On an in-order queue the first lane goes there, and each other lane to
 * an in-order queue of the graph's, with events where one waits for another.
 */
#ifndef CLSTREAM_GRAPH_REPLAY_H
#define CLSTREAM_GRAPH_REPLAY_H

#include "graph/exec.h"

extern const struct command_type type_graph_replay;

#endif
