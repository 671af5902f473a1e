/* SPDX-License-Identifier: MIT */
/*
 * Adds up the parts of a histogram: `shape` is (first of `counts`, bins, parts, words of a part). With -DTEAMS the items of a group
 * have COLUMNS bins, and add up parts beside each other, in `sums`; otherwise an item has a bin.
 */
enum { COLUMNS = 8 };

#ifdef TEAMS
kernel void add_counts(global const uint *parts, global long *counts, ulong4 shape, local ulong *sums) {
    const uint me = get_local_id(0), column = me % COLUMNS;
    const ulong bin = get_group_id(0) * COLUMNS + column;
    ulong sum = 0;
    if (bin < shape.s1) {
#pragma unroll 4
        for (ulong part = me / COLUMNS; part < shape.s2; part += get_local_size(0) / COLUMNS)
            sum += parts[part * shape.s3 + bin];
    }
    sums[me] = sum;
    for (uint merged = get_local_size(0) / 2; merged >= COLUMNS; merged /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < merged)
            sums[me] += sums[me + merged];
    }
    if (me < COLUMNS && bin < shape.s1)
        counts[shape.s0 + bin] = sums[me];
}
#else
kernel void add_counts(global const uint *parts, global long *counts, ulong4 shape) {
    const ulong bin = get_global_id(0);
    ulong sum = 0;
    if (bin >= shape.s1)
        return;
    for (ulong part = 0; part < shape.s2; part++)
        sum += parts[part * shape.s3 + bin];
    counts[shape.s0 + bin] = sum;
}
#endif
