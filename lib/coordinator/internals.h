/* SPDX-License-Identifier: MIT */
/*
 * All that lib/coordinator may use of stream/, memory/ and check/. No other file of lib/coordinator includes
 * a header of these rooms.
 *
 *   check/explain.h       says what a wait that timed out waits for
 *   check/race.h          tells the race checker of signals of timelines
 *   memory/mempool.h      tells a stream's memory that the host has waited
 *   stream/context.h      contexts of pools
 *   stream/dep.h          dependencies on timelines
 *   stream/engine.h       wakes the engine when a gate may have opened
 *   stream/event.h        records in captures
 *   stream/failure.h      what has failed, and how others come to
 *   stream/follow.h       makes work of one stream wait for another's
 *   stream/gate.h         timelines are gates
 *   stream/stream.h       positions of streams, and their queued commands
 *   stream/submit.h       commands, waits and marks
 *   stream/wait.h         waits of the host
 *   stream/wait_check.h   installs the deadlock check
 *   stream/worker.h       whether this thread runs code of a stream
 */
#ifndef CLSTREAM_COORDINATOR_INTERNALS_H
#define CLSTREAM_COORDINATOR_INTERNALS_H

#include "check/explain.h"
#include "check/race.h"
#include "memory/mempool.h"
#include "stream/context.h"
#include "stream/dep.h"
#include "stream/engine.h"
#include "stream/event.h"
#include "stream/failure.h"
#include "stream/follow.h"
#include "stream/gate.h"
#include "stream/stream.h"
#include "stream/submit.h"
#include "stream/wait.h"
#include "stream/wait_check.h"
#include "stream/worker.h"

#endif
