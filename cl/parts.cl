/* SPDX-License-Identifier: MIT */
/*
 * Parts of scans: what some elements in a row come to. Included after
 *
 *     PART              the type of what elements come to, of 4 or 8 bytes
 *     PART_NONE         that of no elements
 *     joined_value()    that of elements and of those that follow them
 *     SEGMENTED         where a part may have a head: an element with which a segment begins
 *     RUNS              a group has one work-item, that of a CPU
 */
#ifdef RUNS
#define SYNC()
#else
#define SYNC() barrier(CLK_LOCAL_MEM_FENCE)
#include "lanes.cl"
#endif

/* With a head, the value is that of the elements from the last head on. */
#ifdef SEGMENTED
typedef struct { PART value; uint head; } part;
#define HEAD_OF(part) ((part).head)

static part part_of(PART value, uint head) {
    part made = {value, head};
    return made;
}

static part joined(part a, part b) {
    return part_of(b.head ? b.value : joined_value(a.value, b.value), a.head | b.head);
}
#else
typedef struct { PART value; } part;
#define HEAD_OF(part) 0

static part part_of(PART value, uint head) {
    part made = {value};
    return made;
}

static part joined(part a, part b) { return part_of(joined_value(a.value, b.value), 0); }
#endif

static part part_none(void) { return part_of(PART_NONE, 0); }

#ifdef LANES
OF_LANE_AT(part)
OF_LANE_BEFORE(part)
#endif
