/* SPDX-License-Identifier: MIT */
/*
 * All that lib/pipeline may use of the rooms below it, but base/ and driver/: no other file of it includes headers of those,
 * and of the functions of stream/, memory/, command/, check/ and api/ it calls these only:
 *
 *   arg_is_memory blocking_hold blocking_lock blocking_release blocking_unlock buffer_create_owned
 *   buffer_destroy_owned buffer_find buffer_get buffer_is_same_memory buffer_put check_may_block context_check
 *   context_get context_put copy_call_drop copy_call_prepare copy_call_submit_entered copy_is_direct deadline_after
 *   event_own event_refuse_owner event_snapshot explain_timeout host_alloc_owned launch_entered pointer_find_buffer stream_create_owned
 *   stream_destroy_owned stream_enter stream_enter_behind stream_failure_at stream_follow stream_get stream_mark
 *   stream_mark_to_wait stream_memory_waited stream_newest stream_put stream_query stream_wait stream_wait_for
 */
#ifndef CLSTREAM_PIPELINE_INTERNALS_H
#define CLSTREAM_PIPELINE_INTERNALS_H

#include "check/explain.h"
#include "command/copy_call.h"
#include "command/kernel.h"
#include "memory/buffer.h"
#include "memory/mempool.h"
#include "memory/pointers.h"
#include "stream/blocking.h"
#include "stream/context.h"
#include "stream/event.h"
#include "stream/failure.h"
#include "stream/follow.h"
#include "stream/stream.h"
#include "stream/submit.h"
#include "stream/wait.h"

#endif
