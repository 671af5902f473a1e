/* SPDX-License-Identifier: MIT */
/* Where records lie in a picture: a lane a thread with ranges, one for the caller's own records, and one a
 * stream. */
#ifndef CLSTREAM_TRACE_LAYOUT_H
#define CLSTREAM_TRACE_LAYOUT_H

#include "trace/profile.h"

struct lane {
    char name[LABEL_BYTES];
    uint32_t stream; /* NO_INDEX: of ranges or the caller's own */
    uint64_t thread;
    unsigned rows; /* ranges that nest, and records that overlap, lie below each other */
};

struct place {
    uint32_t lane;
    uint32_t row;
};

struct layout {
    struct lane *items;
    size_t count;
    struct place *places; /* of each record */
};

/* False without memory. */
bool layout_make(struct layout *lanes, const struct profile *profile);
void layout_free(struct layout *lanes);

#endif
