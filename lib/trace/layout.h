/* SPDX-License-Identifier: MIT */
/* Places records in a picture: a lane per thread with ranges, one for records added by the program, and one per
 * stream. */
#ifndef CLSTREAM_TRACE_LAYOUT_H
#define CLSTREAM_TRACE_LAYOUT_H

#include "trace/profile.h"

struct trace_lane {
    char name[LABEL_BYTES];
    uint32_t stream; /* NO_INDEX: of ranges or the caller's own */
    uint64_t thread;
    unsigned rows; /* nested and overlapping records lie below each other */
};

struct record_place {
    uint32_t lane;
    uint32_t row;
};

struct trace_layout {
    struct trace_lane *items;
    size_t count;
    struct record_place *places; /* of each record */
};

/* False without memory. */
bool layout_make(struct trace_layout *lanes, const struct profile *profile);
void layout_free(struct trace_layout *lanes);

#endif
