/* SPDX-License-Identifier: MIT */
/*
 * Captures: what is submitted to their streams becomes nodes. Each stream has a frontier, the nodes that its next one comes
 * after; a wait for a captured event adds a node to it. An event stands for one node: where the frontier has more, or none,
 * an empty node joins it.
 *
 * A stream refers to its capture, and `capturing` says so, under the stream's lock; the capture's members refer to the
 * streams until it ends. A capture's lock is taken inside those of streams and events. All of these functions but
 * capture_graph are hooks of stream/hooks.h, which has the contract.
 *
 *   capture.c        submissions, events and refusals
 *   capture_graph.c  launches of graphs
 *   capture_nodes.c  what a stream's next node comes after
 *   capture_span.c   the beginning, the end and inquiries
 *   capture_state.c  its nodes, streams and validity
 */
#ifndef CLSTREAM_GRAPH_CAPTURE_H
#define CLSTREAM_GRAPH_CAPTURE_H

#include <clstream/graph.h>

#include "graph/internals.h"

cls_status capture_submit(struct stream *stream, struct command *command,
                          const struct launch_args *args, uint64_t *position);
cls_status capture_refuse(struct stream *stream, const char *call);
cls_status capture_record(struct stream *stream, struct event *event, struct captured_record *out);
bool capture_is_over(const struct object *capture);
cls_status capture_wait(cls_stream stream, struct object *capture, unsigned node);
cls_status capture_refuse_event(struct object *capture, const char *call);
void capture_leave(struct stream *stream);

/* Adds the nodes of an executable graph, as of that version, to the stream's capture. Under the stream's lock. */
struct graph_exec;
struct graph_version;
cls_status capture_graph(struct stream *stream, const struct graph_exec *exec,
                         const struct graph_version *version);

#endif
