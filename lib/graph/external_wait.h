/* SPDX-License-Identifier: MIT */
/*
 * External waits: nodes that stand for an event which is recorded outside of their capture. The launch as a whole comes after
 * the event's latest record, as of its call; the node itself only keeps its place among the others.
 */
#ifndef CLSTREAM_GRAPH_EXTERNAL_WAIT_H
#define CLSTREAM_GRAPH_EXTERNAL_WAIT_H

#include "graph/version.h"

extern const struct command_type type_external_wait; /* its event is that of `marker` */

/* Has the stream, which no lock is held of, wait for what the version's nodes wait for, but those that are left out. */
cls_status graph_wait_external(const struct graph_version *version, struct stream *stream);

#endif
