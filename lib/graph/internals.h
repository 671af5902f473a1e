/* SPDX-License-Identifier: MIT */
/*
 * All that lib/graph may use of the rooms below it, but base/ and driver/: no other file of it includes headers of those,
 * and of the functions of stream/, memory/, command/, check/ and api/ it calls these only:
 *
 *   abandon_command arg_is_memory arg_names_memory arg_uses_all blocking_lock blocking_unlock buffer_abandon buffer_address buffer_allocate buffer_get
 *   buffer_new_uncounted buffer_part_is_aligned buffer_part_new buffer_put check_may_block command_drop command_init command_keep
 *   command_label context_check context_count_graph_memory context_count_memory context_get context_gone
 *   context_put dep_release deps_add deps_items engine_is_down event_enter event_latest event_new_serial
 *   event_set_record event_set_time failure_report flight_event_ref flight_last handover_can_profile
 *   handover_choose_queue handover_cover handover_tail image_get_memory image_of image_sampler kernel_get kernel_give_instance kernel_is_pointed kernel_set_pointed
 *   kernel_take_instance later_add launch_rest_keep object_is_buffer observer op_views_overlap queue_acquire
 *   queue_bury queue_unuse race_graph race_on refs_at refs_keep refs_release refs_use shared_event_wait stream_await
 *   stream_come_after stream_create_owned stream_destroy_owned stream_enter_behind stream_fail_by_locked
 *   stream_fail_locked stream_failure_at stream_flush_locked stream_get stream_new_owned stream_note_hurt
 *   stream_poison stream_poison_status stream_put stream_reset stream_submit stream_submit_entered stream_wait
 *   stream_wait_for stream_want_timing touch_fn touches_add_buffer touches_add_whole touches_free
 */
#ifndef CLSTREAM_GRAPH_INTERNALS_H
#define CLSTREAM_GRAPH_INTERNALS_H

#include "api/reset.h"
#include "api/shared_event.h"
#include "batch/arena.h"
#include "batch/chain.h"
#include "check/race_graph.h"
#include "command/foreign.h"
#include "command/kernel.h"
#include "command/launch_groups.h"
#include "command/op.h"
#include "command/pointed.h"
#include "command/pointer_arg.h"
#include "memory/address.h"
#include "memory/buffer.h"
#include "memory/image.h"
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
