/* SPDX-License-Identifier: MIT */
/* The table of hooks (stream/hooks.h): the functions of higher folders that lib/stream calls. The only file that knows
 * all folders; it also links the parts that start by themselves. */
#include "stream/hooks.h"

#include "api/exit.h"
#include "api/leak.h"
#include "check/race.h"
#include "command/kernel_slots.h"
#include "command/op_kernel.h"
#include "coordinator/timeline.h"
#include "graph/capture.h"
#include "graph/exec.h"
#include "memory/buffer.h"
#include "memory/magazine.h"
#include "memory/mempool.h"
#include "memory/pinned_pool.h"
#include "stream/context.h"
#include "trace/environment.h"

/* trace/environment.c starts by itself and nothing calls it: this reference links it into programs that use the static
 * library. */
#ifndef CLS_WITHOUT_TRACE
__attribute__((used)) static const char *const linked = &observer_environment;
#endif

/* Parts that a build leaves out (doc/embedding.md). No stream is captured then; what the hooks for all streams do
 * without captures stands here. */
#ifdef CLS_WITHOUT_GRAPH
static void leave_no_capture(struct stream *stream) { (void)stream; }

static bool no_graph_uses(const struct refs *refs,
                          bool (*uses)(const struct refs *, const void *, const void *),
                          const void *arg) {
    (void)refs;
    (void)uses;
    (void)arg;
    return false;
}

static bool no_graph_has_failed(const struct refs *refs) {
    (void)refs;
    return false;
}

#define graph_abandon buffer_abandon
#endif
#ifdef CLS_WITHOUT_COORDINATOR
static void update_no_timelines(void) {}

#define timelines_update update_no_timelines
#endif

static void context_ends(struct context *context) {
    op_kernels_free(context->op_kernels);
    pinned_pool_end(context);
}

const struct hooks hooks = {
    .memory =
        {
            .hold = stream_memory_hold,
            .drop_fence = fence_drop,
            .is_held = stream_memory_is_held,
            .is_owed = stream_memory_is_owed,
            .return_held = stream_memory_return_held,
            .shed = stream_memory_shed,
            .leave = stream_memory_leave,
            .abandon = graph_abandon,
        },
    .race =
        {
            .prepare = checks_prepare,
            .meet_stream = race_meet_stream,
            .forget_stream = race_forget_stream,
            .submits = race_submits,
            .submitted = race_submitted,
            .waits = race_waits,
            .waits_open = race_waits_open,
            .observed = race_observed,
            .retired = race_retired,
            .was_read = race_was_read,
            .enter = race_enter,
            .leave = race_leave,
            .part_of = race_part_of,
            .begins = race_begins,
            .ends = race_ends,
            .frees_wait = race_frees_wait,
            .forget_memory = race_forget_memory,
            .forget_host = race_forget_host,
        },
    .capture =
        {
#ifdef CLS_WITHOUT_GRAPH
            .leave = leave_no_capture,
            .uses = no_graph_uses,
            .has_failed = no_graph_has_failed,
#else
            .submit = capture_submit,
            .refuse = capture_refuse,
            .record = capture_record,
            .is_over = capture_is_over,
            .wait = capture_wait,
            .refuse_event = capture_refuse_event,
            .leave = capture_leave,
            .uses = graph_uses,
            .has_failed = graph_has_failed,
#endif
        },
    .forget_kernels = kernel_slots_clear,
    .context_ends = context_ends,
    .work_fails = timelines_update,
    .at_exit = exit_run,
};
