/* SPDX-License-Identifier: MIT */
/* Captures of the library's own: what a call would submit, as the nodes of a graph. */
#ifndef CLSTREAM_GRAPH_RECORD_H
#define CLSTREAM_GRAPH_RECORD_H

#include "graph/graph.h"

/* Captures what `submit` submits to the recorder, a stream that has no other work: so its arguments are checked as any.
 * The recorder is NULL at first and made here; stream_destroy_owned destroys it. The graph is retained for the caller;
 * on failure there is none. */
cls_status graph_record(struct context *context, const char *name, cls_stream *recorder,
                        cls_status (*submit)(const void *call, cls_stream recorder),
                        const void *call, struct command_graph **out);

#endif
