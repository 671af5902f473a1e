/* SPDX-License-Identifier: MIT */
/*
 * All that lib/coordinator may use of the rooms below it, but base/ and driver/: no other file of it includes headers of those,
 * and of the functions of stream/, memory/, command/, check/ and api/ it calls these only:
 *
 *   check_may_block command_label context_check context_get context_put deadline_after dep_failure dep_release
 *   dep_take_work deps_items engine_is_down engine_kick explain_all explain_also explain_free explain_timeout
 *   explain_timeout_all explain_timeout_of failure_report failure_text failures_record fifo_visit gate_failure
 *   gate_failure_since gate_failures pool_grow priority_clamp race_forget_signals race_observed_signal race_on
 *   race_signals race_waits_signal stream_add_callback_once stream_add_wait stream_await stream_captured_by
 *   stream_create_owned stream_dep stream_destroy_owned stream_failure_at stream_get stream_inherit stream_is_over
 *   stream_mark stream_mark_for stream_mark_to_wait stream_memory_waited stream_newest stream_outstanding stream_poison
 *   stream_poll stream_put stream_query stream_wait stream_wait_any stream_wait_for wait_check_install wait_check_lock
 *   wait_check_unlock worker_is_in_code_of
 */
#ifndef CLSTREAM_COORDINATOR_INTERNALS_H
#define CLSTREAM_COORDINATOR_INTERNALS_H

#include "check/explain.h"
#include "check/race.h"
#include "command/user_code.h"
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
