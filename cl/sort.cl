/* SPDX-License-Identifier: MIT */
/*
 * A radix sort by work-groups (lib/ops/sort_pass.c). The options and arguments are those of cl/sort_key.cl; also
 *
 *     -DGROUP=256       items of a group
 *     -DITEMS=16        keys of an item
 *
 * A pass is `count`, a group for each tile; `offsets`, a group for each digit of a row; and `scatter`, a group for each tile.
 * counts[row][digit][tile] lie at counts_at.s0, the totals [row][digit] at counts_at.s1; the length of rows is at
 * counts_at.s2, and what is known of a key at counts_at.s3.
 */
#include "sort_key.cl"
#include "sort_group.cl"

enum { COUNTERS = 4 /* of each digit: fewer items of a group add to the same one */ };

/* The tile of a group: `here` elements from `first` on, which is one of its row. */
struct tile {
    uint row, number, first, here;
};

static struct tile tile_of(ulong4 shape, uint length) {
    const uint group = get_group_id(0), tiles = (uint)shape.s1;
    struct tile tile = {group / tiles, group % tiles, group % tiles * TILE, 0};
    if (tile.first < length)
        tile.here = min((uint)TILE, length - tile.first);
    return tile;
}

GROUP_KERNEL void count(global const KEY *keys, global uint *counts, global const long *lengths,
                  global const struct chosen *chosen, ulong2 keys_at, ulong4 counts_at,
                  ulong4 shape, ulong4 given) {
    local uint counters[COUNTERS * RADIX];
    const uint me = get_local_id(0);
    const struct tile tile = tile_of(shape, length_of(lengths, counts_at.s2, shape.s0));
    const struct order order = order_of(given, chosen + counts_at.s3);
    local uint *own = counters + me % COUNTERS * RADIX;
    for (uint i = me; i < COUNTERS * RADIX; i += GROUP)
        counters[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    keys += keys_at.s0 + tile.row * keys_at.s1 + tile.first;
    /* All loads are under way before the first is waited for. */
    KEY mine[ITEMS];
#pragma unroll
    for (uint k = 0; k < ITEMS; k++)
        mine[k] = k * GROUP + me < tile.here ? keys[k * GROUP + me] : 0;
#pragma unroll
    for (uint k = 0; k < ITEMS; k++) {
        const uint digit = digit_of(mine[k], &order);
        if (k * GROUP + me < tile.here && digit < RADIX)
            atomic_inc(own + digit);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (me < RADIX) {
        uint sum = 0;
        for (uint i = 0; i < COUNTERS; i++)
            sum += counters[i * RADIX + me];
        counts[counts_at.s0 + ((ulong)tile.row * RADIX + me) * shape.s1 + tile.number] = sum;
    }
}

enum { ADDED = 4 /* counts that an item adds up at a time */ };

/* Makes the counts of a digit those of the tiles before. */
GROUP_KERNEL void offsets(global uint *counts, ulong4 counts_at, ulong4 shape) {
    local uint sums[2 * GROUP], total;
    const uint me = get_local_id(0), tiles = (uint)shape.s1;
    global uint *row = counts + counts_at.s0 + (ulong)get_group_id(0) * tiles;
    uint before = 0;
    for (uint first = 0; first < tiles; first += ADDED * GROUP) {
        uint mine[ADDED], sum = 0;
        for (uint i = 0; i < ADDED; i++) {
            const uint at = first + me * ADDED + i;
            mine[i] = sum;
            if (at < tiles)
                sum += row[at];
        }
        const uint start = before + sum_before(sum, sums);
        for (uint i = 0; i < ADDED; i++) {
            const uint at = first + me * ADDED + i;
            if (at < tiles)
                row[at] = start + mine[i];
        }
        if (me == GROUP - 1)
            total = start + sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        before = total;
    }
    if (me == 0)
        counts[counts_at.s1 + get_group_id(0)] = before;
}

/* Where key 0 of the tile would lie in the row if all had the digit of item `me`. */
static uint base_of(global const uint *counts, ulong4 counts_at, ulong4 shape,
                    const struct tile *tile, local const uint *starts, local uint *sums) {
    const uint me = get_local_id(0);
    const ulong digit = (ulong)tile->row * RADIX + me;
    const uint before = sum_before(me < RADIX ? counts[counts_at.s1 + digit] : 0, sums);
    if (me >= RADIX)
        return 0;
    return before + counts[counts_at.s0 + digit * shape.s1 + tile->number] - starts[me];
}

/* Elements from `window`.s0 up to .s1 of the row are written, from the output's first on. */
GROUP_KERNEL void scatter(global const KEY *keys_in, global KEY *keys_out,
                    global const VALUE_IN *values_in, global VALUE_OUT *values_out,
                    global const uint *counts, global const long *lengths,
                    global const struct chosen *chosen, ulong4 in_at, ulong4 out_at,
                    ulong4 counts_at, ulong4 shape, ulong4 given, ulong2 window) {
    local union {
        ulong rank_room[RANK_BYTES / 8];
        KEY keys[TILE];
#ifdef VALUES
        VALUE_IN values[TILE];
#endif
    } room;
    local uint starts[RADIX], bases[RADIX], sums[2 * GROUP];
    const uint me = get_local_id(0);
    const struct tile tile = tile_of(shape, length_of(lengths, counts_at.s2, shape.s0));
    const struct order order = order_of(given, chosen + counts_at.s3);
    KEY keys[ITEMS];
    uint digits[ITEMS], places[ITEMS], to[ITEMS];
    keys_in += in_at.s0 + tile.row * in_at.s1 + tile.first;
    /* What is behind the last key has the highest digit, so that it stays there. */
#pragma unroll
    for (uint k = 0; k < ITEMS; k++) {
        const bool is_key = ELEMENT(k) < tile.here;
        keys[k] = is_key ? keys_in[ELEMENT(k)] : 0;
        digits[k] = is_key ? digit_of(keys[k], &order) : RADIX - 1;
    }
    rank_digits(digits, places, (local uint *)room.rank_room, starts, sums);
    const uint base = base_of(counts, counts_at, shape, &tile, starts, sums);
    if (me < RADIX)
        bases[me] = base;
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint k = 0; k < ITEMS; k++)
        room.keys[places[k]] = keys[k];
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool has_keys = out_at.s0 != NOWHERE;
    keys_out += has_keys ? out_at.s0 + tile.row * out_at.s1 : 0;
#pragma unroll
    for (uint k = 0; k < ITEMS; k++) {
        const uint i = k * GROUP + me;
        to[k] = ~0u;
        if (i < tile.here) {
            const KEY key = room.keys[i];
            const uint at = bases[digit_of(key, &order)] + i;
            if (at >= (uint)window.s0 && at < (uint)window.s1) {
                to[k] = at - (uint)window.s0;
                if (has_keys)
                    keys_out[to[k]] = key;
            }
        }
    }
#ifdef VALUES
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool numbers = in_at.s2 == NOWHERE;
    values_in += numbers ? 0 : in_at.s2 + tile.row * in_at.s3 + tile.first;
#pragma unroll
    for (uint k = 0; k < ITEMS; k++)
        if (ELEMENT(k) < tile.here)
            room.values[places[k]] = numbers ? (VALUE_IN)(tile.first + ELEMENT(k)) : values_in[ELEMENT(k)];
    barrier(CLK_LOCAL_MEM_FENCE);
    values_out += out_at.s2 + tile.row * out_at.s3;
#pragma unroll
    for (uint k = 0; k < ITEMS; k++)
        if (to[k] != ~0u)
            values_out[to[k]] = (VALUE_OUT)room.values[k * GROUP + me];
#endif
}
