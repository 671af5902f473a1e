/* SPDX-License-Identifier: MIT */
/*
 * All that lib/pipeline may use of the rooms below beside the library's public interface. No other file of
 * lib/pipeline includes a header of these rooms.
 *
 *   check/explain.h       says what a wait that timed out waits for
 *   command/copy_call.h   an async coordinator prepares a copy before it enters the stream that submits it
 *   command/kernel.h      likewise a launch
 *   driver/source.h       the text of the kernel that adds up arrays of several devices
 *   memory/buffer.h       buffers that only their owner may destroy; checks of handles
 *   memory/mempool.h      tells a stream's memory that the host has waited
 *   stream/blocking.h     holds CLSTREAM_LAUNCH_BLOCKING's waits while a lock of ours is held
 *   stream/context.h      checks whether a context still lives
 *   stream/event.h        the stream and position of an event's record
 *   stream/failure.h      what has failed, and how others come to
 *   stream/follow.h       makes work of one stream wait for another's
 *   stream/stream.h       streams that only their owner may destroy; positions
 *   stream/submit.h       commands, waits and marks
 *   stream/wait.h         waits of the host
 */
#ifndef CLSTREAM_PIPELINE_INTERNALS_H
#define CLSTREAM_PIPELINE_INTERNALS_H

#include "check/explain.h"
#include "command/copy_call.h"
#include "command/kernel.h"
#include "memory/buffer.h"
#include "memory/mempool.h"
#include "stream/blocking.h"
#include "stream/context.h"
#include "stream/event.h"
#include "stream/failure.h"
#include "stream/follow.h"
#include "stream/stream.h"
#include "stream/submit.h"
#include "stream/wait.h"

#endif
