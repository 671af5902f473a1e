/* SPDX-License-Identifier: MIT */
/*
 * All that lib/batch may use of the rooms below it, but base/ and driver/: no other file of it includes headers of those,
 * and of the functions of stream/, memory/, command/, check/ and api/ it calls these only:
 *
 *   blocking_hold blocking_release buffer_allocate buffer_check buffer_find buffer_is_same_memory buffer_put
 *   check_may_block check_uncaptured context_check context_get context_put copy_call_read_kept failure_report
 *   op_arg_local op_arg_pair op_arg_part op_arg_u64 op_arg_value op_check_range op_kernel_generate op_launch_repeat race_on
 *   race_waits stream_await stream_captured_by stream_come_after stream_failure_at stream_follow stream_free stream_get
 *   stream_malloc stream_mark stream_newest stream_poison stream_put stream_wait stream_wait_for
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
