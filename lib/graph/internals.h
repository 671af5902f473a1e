/* SPDX-License-Identifier: MIT */
/*
 * All that lib/graph may use of stream/, memory/, command/, check/, api/ and batch/. No other file of lib/graph includes a
 * header of these rooms.
 *
 *   batch/arena.h             the layout of memory by lifetimes
 *   batch/chain.h             batches of element-wise operations, which are fused
 *   check/race_graph.h        the race checker's comparison of nodes
 *   api/reset.h               makes the streams of a failed launch usable again
 *   command/foreign.h         calls of libraries
 *   command/kernel.h          instances of kernels
 *   command/launch_groups.h   launches that are cut in two
 *   command/op.h              arguments of typed operations
 *   memory/buffer.h           buffers that nodes use
 *   memory/part.h             parts of buffers as arguments
 *   stream/abandoned.h        commands whose end cannot be known
 *   stream/blocking.h         holds CLSTREAM_LAUNCH_BLOCKING's waits while a graph is locked
 *   stream/context.h          contexts, their devices and queues
 *   stream/event.h            records in captures and by launches
 *   stream/failure.h          what has failed, and how others come to
 *   stream/flush.h            has the driver start what it was given
 *   stream/follow.h           makes a launch wait for the one before it
 *   stream/handover.h         whether a stream can be timed
 *   stream/hooks.h            the race checker
 *   stream/observe.h          whether commands are observed
 *   stream/later.h            ends what must not end under a stream's lock
 *   stream/stream.h           streams, and commands that they hold
 *   stream/submit.h           commands, waits and marks
 *   stream/touch.h            which bytes a node uses
 *   stream/wait.h             waits of the host
 */
#ifndef CLSTREAM_GRAPH_INTERNALS_H
#define CLSTREAM_GRAPH_INTERNALS_H

#include "api/reset.h"
#include "batch/arena.h"
#include "batch/chain.h"
#include "check/race_graph.h"
#include "command/foreign.h"
#include "command/kernel.h"
#include "command/launch_groups.h"
#include "command/op.h"
#include "memory/buffer.h"
#include "memory/part.h"
#include "stream/abandoned.h"
#include "stream/blocking.h"
#include "stream/context.h"
#include "stream/event.h"
#include "stream/failure.h"
#include "stream/flush.h"
#include "stream/follow.h"
#include "stream/handover.h"
#include "stream/hooks.h"
#include "stream/later.h"
#include "stream/observe.h"
#include "stream/stream.h"
#include "stream/submit.h"
#include "stream/touch.h"
#include "stream/wait.h"

#endif
