/* SPDX-License-Identifier: MIT */
/*
 * Sorts rows of at most TILE keys, a row in each work-group, by all digits in one launch. The options are those of
 * cl/sort.cl, and the arguments of `sort_rows` in cl/sort_runs.cl, of which the rooms are not used.
 */
/*
 * Sorts rows of at most TILE keys, a row in each work-group, by all digits in one launch. The options are those of
 * cl/sort.cl; `shape` is (elements of a row, 0, 0, passes), and each pass takes as many bits as the mask of `given` has.
 */
#include "sort_key.cl"
#include "sort_group.cl"

GROUP_KERNEL void sort_rows(global const KEY *keys_in, global KEY *keys_out,
                      global const VALUE_IN *values_in, global VALUE_OUT *values_out,
                      global KEY *key_rooms, global VALUE_IN *value_rooms,
                      global const long *lengths, ulong4 in_at, ulong4 out_at, ulong4 rooms_at,
                      ulong4 shape, ulong4 given) {
    local union {
        ulong rank_room[RANK_BYTES / 8];
        KEY keys[TILE];
        ushort sources[TILE];
    } room;
    local uint starts[RADIX], sums[2 * GROUP];
    const uint me = get_local_id(0), length = length_of(lengths, shape.s1, shape.s0);
    const ulong row = get_group_id(0);
    struct order order = order_of(given, 0);
    const uint all = order.mask;
    KEY keys[ITEMS];
    ushort sources[ITEMS];
    uint digits[ITEMS], places[ITEMS];
    keys_in += in_at.s0 + row * in_at.s1;
#pragma unroll
    for (uint k = 0; k < ITEMS; k++) {
        keys[k] = ELEMENT(k) < length ? keys_in[ELEMENT(k)] : 0;
        sources[k] = (ushort)ELEMENT(k);
    }
    for (uint pass = 0; pass < (uint)shape.s3; pass++) {
        /* What is behind the last key has the highest digit, so that it stays there. */
#pragma unroll
        for (uint k = 0; k < ITEMS; k++)
            digits[k] = ELEMENT(k) < length ? digit_of(keys[k], &order) : RADIX - 1;
        rank_digits(digits, places, (local uint *)room.rank_room, starts, sums);
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint k = 0; k < ITEMS; k++)
            room.keys[places[k]] = keys[k];
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint k = 0; k < ITEMS; k++)
            keys[k] = room.keys[ELEMENT(k)];
        barrier(CLK_LOCAL_MEM_FENCE);
#ifdef VALUES
#pragma unroll
        for (uint k = 0; k < ITEMS; k++)
            room.sources[places[k]] = sources[k];
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint k = 0; k < ITEMS; k++)
            sources[k] = room.sources[ELEMENT(k)];
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
        order.shift += popcount(all);
        /* The last digit may have fewer bits: those of given.s3. */
        if (pass + 2 == (uint)shape.s3)
            order.mask = (uint)given.s3;
    }
#ifdef VALUES
    VALUE_IN values[ITEMS];
    const bool numbers = in_at.s2 == NOWHERE;
    values_in += numbers ? 0 : in_at.s2 + row * in_at.s3;
#pragma unroll
    for (uint k = 0; k < ITEMS; k++)
        if (ELEMENT(k) < length)
            values[k] = numbers ? sources[k] : values_in[sources[k]];
    /* The output may be the input. */
    barrier(CLK_GLOBAL_MEM_FENCE);
    values_out += out_at.s2 + row * out_at.s3;
#pragma unroll
    for (uint k = 0; k < ITEMS; k++)
        if (ELEMENT(k) < length)
            values_out[ELEMENT(k)] = (VALUE_OUT)values[k];
#endif
    if (out_at.s0 == NOWHERE)
        return;
    keys_out += out_at.s0 + row * out_at.s1;
#pragma unroll
    for (uint k = 0; k < ITEMS; k++)
        if (ELEMENT(k) < length)
            keys_out[ELEMENT(k)] = keys[k];
}
