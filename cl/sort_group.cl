/* SPDX-License-Identifier: MIT */
/*
 * How a work-group of GROUP items, a power of two and at least RADIX, puts TILE keys, ITEMS for each, in the order of their
 * digits: rank_digits. Included after cl/sort_key.cl.
 *
 * Teams of LANES items that run in step agree by ballots, if there are such (RANK_LANES; with LANES_BY_MEMORY they go
 * through local memory, so that this way can be tested on every device). Elsewhere each item counts for itself.
 */
#define TILE (GROUP * ITEMS)
/* Compilers that know the group's size give items more registers. */
#define GROUP_KERNEL kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))

/* The sum of the numbers of the items before this one. `sums` has 2 GROUP elements; all items call it together. */
static uint sum_before(uint mine, local uint *sums) {
    const uint me = get_local_id(0);
    uint from = 0, sum = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    sums[me] = mine;
    for (uint apart = 1; apart < GROUP; apart *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me >= apart)
            sum += sums[from + me - apart];
        from = GROUP - from;
        sums[from + me] = sum;
    }
    return sum - mine;
}

#ifdef RANK_LANES
#define LANES 32
#define TEAMS (GROUP / LANES)
/* Item k of an item's keys: a team's keys follow each other, and are read side by side. */
#define ELEMENT(k) ((me / LANES * ITEMS + (k)) * LANES + me % LANES)
/* Bytes of local memory that rank_digits takes. */
#define RANK_BYTES (TEAMS * RADIX * 4)

#ifdef LANES_BY_MEMORY
#define team_barrier() barrier(CLK_LOCAL_MEM_FENCE)

static uint ballot(uint vote, local uint *votes) {
    const uint me = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (me % LANES == 0)
        votes[me / LANES] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (vote)
        atomic_or(votes + me / LANES, 1u << me % LANES);
    barrier(CLK_LOCAL_MEM_FENCE);
    return votes[me / LANES];
}
#else
#define team_barrier() asm volatile("bar.warp.sync 0xffffffff;" ::: "memory")

static uint ballot(uint vote, local uint *votes) {
    uint all;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
                 : "=r"(all)
                 : "r"(vote));
    return all;
}
#endif

/* The items of the team that have the same digit. */
static uint same_digit(uint digit, local uint *votes) {
    uint same = ~0u;
#pragma unroll
    for (uint i = 0; i < RADIX_LOG; i++) {
        const uint bit = digit >> i & 1;
        same &= ballot(bit, votes) ^ (bit - 1);
    }
    return same;
}

/* Keys of a team with the digits of its items, so far. */
static uint count_digit(uint digit, volatile local uint *counters, local uint *votes) {
    const uint same = same_digit(digit, votes);
    const uint before = popcount(same & ((1u << get_local_id(0) % LANES) - 1));
    const uint old = counters[digit];
    team_barrier();
    if (before == 0)
        counters[digit] = old + popcount(same);
    team_barrier();
    return old + before;
}

/* Makes the teams' counts those of the teams before, and puts where digits start. */
static void add_teams(local uint *counters, local uint *starts, local uint *sums) {
    const uint me = get_local_id(0);
    uint sum = 0;
    if (me < RADIX)
        for (uint team = 0; team < TEAMS; team++) {
            const uint mine = counters[team * RADIX + me];
            counters[team * RADIX + me] = sum;
            sum += mine;
        }
    sum = sum_before(sum, sums);
    if (me < RADIX)
        starts[me] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Puts into `places` where each of the item's keys goes within the tile, and into `starts` where each digit starts. The
 * caller has a barrier before it uses `room` again, of RANK_BYTES. */
static void rank_digits(const uint digits[ITEMS], uint places[ITEMS], local uint *room,
                        local uint *starts, local uint *sums) {
    const uint me = get_local_id(0);
    local uint *counters = room + me / LANES * RADIX;
    for (uint i = me % LANES; i < RADIX; i += LANES)
        counters[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint k = 0; k < ITEMS; k++)
        places[k] = count_digit(digits[k], counters, sums);
    barrier(CLK_LOCAL_MEM_FENCE);
    add_teams(room, starts, sums);
#pragma unroll
    for (uint k = 0; k < ITEMS; k++)
        places[k] += counters[digits[k]] + starts[digits[k]];
}
#else
#define ELEMENT(k) (me * ITEMS + (k))
#define RANK_BYTES (GROUP * RADIX * 2)

/* The counters of an item lie GROUP apart, so that those of a digit follow each other: RADIX in a row are added up by one
 * item. */
static void add_items(local ushort *counters, local uint *starts, local uint *sums) {
    const uint me = get_local_id(0);
    uint sum = 0;
    for (uint i = me * RADIX; i < (me + 1) * RADIX; i++) {
        const uint mine = counters[i];
        counters[i] = (ushort)sum;
        sum += mine;
    }
    sum = sum_before(sum, sums);
    for (uint i = me * RADIX; i < (me + 1) * RADIX; i++)
        counters[i] = (ushort)(counters[i] + sum);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (me < RADIX)
        starts[me] = counters[me * GROUP];
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* As above. */
static void rank_digits(const uint digits[ITEMS], uint places[ITEMS], local uint *room,
                        local uint *starts, local uint *sums) {
    const uint me = get_local_id(0);
    local ushort *counters = (local ushort *)room;
    for (uint i = 0; i < RADIX; i++)
        counters[i * GROUP + me] = 0;
#pragma unroll
    for (uint k = 0; k < ITEMS; k++)
        places[k] = counters[digits[k] * GROUP + me]++;
    barrier(CLK_LOCAL_MEM_FENCE);
    add_items(counters, starts, sums);
#pragma unroll
    for (uint k = 0; k < ITEMS; k++)
        places[k] += counters[digits[k] * GROUP + me];
}
#endif
