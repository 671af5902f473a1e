/* SPDX-License-Identifier: MIT */
/* The error message and the drawing of a refused cycle. */
#ifndef CLSTREAM_COORDINATOR_DEADLOCK_TEXT_H
#define CLSTREAM_COORDINATOR_DEADLOCK_TEXT_H

#include <clstream/status.h>

#include "coordinator/stall.h"

/* What a need's tag is: a timeline, or NULL for a wait for the stream's position itself. Positions from
 * here on are no command's yet. */
#define STALL_LATER (UINT64_MAX - 1)

/* Reports CLS_ERROR_DEADLOCK with the cycle that `stream`'s waits lead to, beginning with `caller` where it
 * is part of the cycle, and keeps the drawing for cls_timeline_export_cycle. For a solved stall. */
cls_status deadlock_report(const struct stall *stall, uint32_t stream, const void *caller);

#endif
