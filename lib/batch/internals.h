/* SPDX-License-Identifier: MIT */
/*
 * All that lib/batch may use of stream/, memory/, command/ and check/. No other file of lib/batch includes a
 * header of these rooms.
 *
 *   check/race.h          tells the race checker of waits that were skipped because the work was done
 *   command/copy_call.h   downloads from buffers without a handle
 *   command/kernel.h      kernels of regions
 *   command/op.h          launches with prepared arguments
 *   command/op_kernel.h   builds generated kernels
 *   memory/buffer.h       buffers for values; checks of the caller's arrays
 *   memory/mempool.h      stream-ordered memory for the arena
 *   stream/blocking.h     holds CLSTREAM_LAUNCH_BLOCKING's waits while a batch is locked
 *   stream/context.h      contexts and their devices
 *   stream/failure.h      what has failed, and how others come to
 *   stream/follow.h       makes work of one stream wait for another's
 *   stream/stream.h       positions of streams
 *   stream/submit.h       commands, waits and marks
 *   stream/wait.h         waits of the host
 */
#ifndef CLSTREAM_BATCH_INTERNALS_H
#define CLSTREAM_BATCH_INTERNALS_H

#include "check/race.h"
#include "command/copy_call.h"
#include "command/kernel.h"
#include "command/op.h"
#include "command/op_kernel.h"
#include "memory/buffer.h"
#include "memory/mempool.h"
#include "stream/blocking.h"
#include "stream/context.h"
#include "stream/failure.h"
#include "stream/follow.h"
#include "stream/stream.h"
#include "stream/submit.h"
#include "stream/wait.h"

#endif
