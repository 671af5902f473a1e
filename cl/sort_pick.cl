/* SPDX-License-Identifier: MIT */
/*
 * One work-item finds the next digit of key k in the order (lib/ops/top_k.c) from how many of the keys that may be it have
 * each digit: those totals lie at counts_at.s1, and what is known of the key at counts_at.s3. With `first`, (the key's
 * number, 1), nothing is known; a number past the last key's becomes that one's.
 */
#include "sort_key.cl"

kernel void pick(global const uint *counts, global struct chosen *chosen, ulong4 counts_at,
                 ulong4 given, ulong2 first) {
    global const uint *totals = counts + counts_at.s1;
    struct chosen known = chosen[counts_at.s3];
    uint all = 0, sum = 0;
    if (first.s1) {
#pragma unroll 8
        for (uint i = 0; i < RADIX; i++)
            all += totals[i];
        known.digits = 0;
        known.before = 0;
        known.k = min((uint)first.s0, all - (all > 0));
    }
    const uint k = known.k;
#pragma unroll 8
    for (uint i = 0; i < RADIX; i++) {
        const uint mine = totals[i];
        if (k >= sum && k - sum < mine) {
            known.digits |= (ulong)i << given.s1;
            known.before += sum;
            known.k = k - sum;
        }
        sum += mine;
    }
    chosen[counts_at.s3] = known;
}
