/* SPDX-License-Identifier: MIT */
/*
 * What the work-items of a group before one of them come to, in parts of cl/parts.cl. GROUP, a power of two, is the
 * most items of a group.
 */
#ifdef LANES
enum { WARPS = (GROUP + LANES - 1) / LANES };
struct group_parts { part of_warp[WARPS]; };

/* Of all items of a group; `total` gets what all of them come to. */
static part group_before(part mine, part *total, local struct group_parts *shared) {
    const uint me = get_local_id(0), lane = me % LANES, warps = get_local_size(0) / LANES;
    part to_here = mine;
#pragma unroll
    for (uint apart = 1; apart < LANES; apart *= 2) {
        const part other = of_lane_before(to_here, apart);
        if (lane >= apart)
            to_here = joined(other, to_here);
    }
    if (lane == LANES - 1)
        shared->of_warp[me / LANES] = to_here;
    SYNC();
    part before = part_none(), all = part_none();
    for (uint warp = 0; warp < warps; warp++) {
        if (warp == me / LANES)
            before = all;
        all = joined(all, shared->of_warp[warp]);
    }
    *total = all;
    const part beside = of_lane_before(to_here, 1);
    return lane > 0 ? joined(before, beside) : before;
}
#else
struct group_parts { part to[2][GROUP]; };

static part group_before(part mine, part *total, local struct group_parts *shared) {
    const uint me = get_local_id(0), items = get_local_size(0);
    uint from = 0;
    shared->to[0][me] = mine;
    SYNC();
    for (uint apart = 1; apart < items; apart *= 2) {
        part to_here = shared->to[from][me];
        if (me >= apart)
            to_here = joined(shared->to[from][me - apart], to_here);
        from ^= 1;
        shared->to[from][me] = to_here;
        SYNC();
    }
    *total = shared->to[from][items - 1];
    return me > 0 ? shared->to[from][me - 1] : part_none();
}
#endif
