/* SPDX-License-Identifier: MIT */
/* The words and the picture of a refused cycle. */
#ifndef CLSTREAM_COORDINATOR_DEADLOCK_TEXT_H
#define CLSTREAM_COORDINATOR_DEADLOCK_TEXT_H

#include <clstream/status.h>

#include "coordinator/stall.h"

/* What a need's tag is: a timeline, or NULL for a wait for the stream's position itself. Positions from
 * here on are no command's yet. */
#define STALL_LATER (UINT64_MAX - 1)

/* Reports CLS_ERROR_DEADLOCK with the cycle at the end of `stream`'s waits, beginning with `caller` where
 * that is one of it, and keeps the picture. The stall is solved. */
cls_status deadlock_report(const struct stall *stall, uint32_t stream, const void *caller);

#endif
