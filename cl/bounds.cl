/* SPDX-License-Identifier: MIT */
/*
 * Binary search of many values in a sorted array (clstream/bounds.h): the number of elements whose rank (cl/rank.cl) is less
 * than that of the value, or with -DUPPER not greater. An item takes `run` values, one after the other.
 *
 * Arguments: `places` is (first element, first value, first position, length), `shape` (elements, values).
 */
#include "rank.cl"

#define NOWHERE 0xfffffffffffffffful

static ulong bound_of(global const KEY *sorted, ulong count, KEY value) {
    ulong low = 0;
    while (count > 0) {
        const ulong before = count / 2;
        const KEY place = (KEY)rank_of(sorted[low + before], 0);
#ifdef UPPER
        const bool is_before = place <= value;
#else
        const bool is_before = place < value;
#endif
        low = is_before ? low + before + 1 : low;
        count = is_before ? count - before - 1 : before;
    }
    return low;
}

kernel void bounds(global const KEY *sorted, global const KEY *values, global long *positions,
                   global const long *length, ulong4 places, ulong2 shape, ulong run) {
    const ulong count =
        places.s3 == NOWHERE ? shape.s0 : (ulong)clamp(length[places.s3], 0L, (long)shape.s0);
    const ulong first = get_global_id(0) * run, end = min(first + run, shape.s1);
    for (ulong i = first; i < end; i++)
        positions[places.s2 + i] =
            bound_of(sorted + places.s0, count, (KEY)rank_of(values[places.s1 + i], 0));
}
