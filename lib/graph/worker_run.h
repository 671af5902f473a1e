/* SPDX-License-Identifier: MIT */
/* Worker runs: a launch whose nodes a worker submits as commands of their own (exec.h). */
#ifndef CLSTREAM_GRAPH_WORKER_RUN_H
#define CLSTREAM_GRAPH_WORKER_RUN_H

#include "graph/exec.h"

/* The second is of graphs with user code. The third is of those with callbacks, which are called where the launch is
 * dropped too. */
extern const struct command_type type_graph_run, type_graph_run_user, type_graph_run_calling;

#endif
