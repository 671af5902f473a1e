/* SPDX-License-Identifier: MIT */
/* The commands among records, sorted for searching. */
#ifndef CLSTREAM_TRACE_LINEUP_H
#define CLSTREAM_TRACE_LINEUP_H

#include <stdbool.h>

#include "trace/profile.h"

struct lineup {
    uint32_t *items; /* indices of records; the caller frees them */
    size_t count;
};

/* By stream and position. False without memory. */
bool lineup_by_place(struct lineup *lineup, const cls_profile_record *records, size_t count);

/* Those of `from` by the time of submission. */
bool lineup_by_submission(struct lineup *lineup, const cls_profile_record *records,
                          const struct lineup *from);

/* In a lineup by place: the last recorded command of a stream up to a position (the command that a wait for this
 * position waits for), or NO_INDEX. */
uint32_t lineup_find(const struct lineup *lineup, const cls_profile_record *records,
                     uint64_t stream, uint64_t position);

#endif
