/* SPDX-License-Identifier: MIT */
/*
 * The keys of sorts (clstream/sort.h), their digits, and what the kernels of cl/sort.cl and cl/sort_runs.cl share.
 *
 *     -DKEY=uint, -DLONG_KEYS, -DSIGNED, -DINFINITE as in cl/rank.cl
 *     -DVALUES          keys have values, of VALUE_IN, the type of the input's bits, and of VALUE_OUT
 *     -DRADIX_LOG=8     bits of a digit, at most
 *     -DPICKS           digits of those keys that may be the one that is looked for (lib/ops/top_k.c)
 *     -DCOLLECTS        0 for a key before that one, 1 for one that is equal to it, 2 for the others
 *
 * Arguments: `shape` is (elements of a row, tiles of a row, elements of a tile, 0). A place is (first element, elements
 * from row to row), and NOWHERE if there is no such operand. `order` is (flip, shift, mask of a digit, mask of higher
 * bits): `flip` inverts the order of keys.
 */
#include "rank.cl"

#define NOWHERE 0xfffffffffffffffful
#define RADIX (1u << RADIX_LOG)
#ifndef VALUES
#define VALUE_IN uint
#define VALUE_OUT uint
#endif

struct order {
    rank flip;
    uint shift, mask;
    rank higher, digits;
};

/* What is known of key k: its digits so far, how many keys are before those with such digits, and its number among
 * those. */
struct chosen {
    ulong digits;
    uint before, k;
};

/* Key k's digits are read where they are used. */
static struct order order_of(ulong4 given, global const struct chosen *chosen) {
    struct order order = {(rank)given.s0, (uint)given.s1, (uint)given.s2, (rank)given.s3, 0};
#if defined(PICKS) || defined(COLLECTS)
    order.digits = (rank)chosen->digits;
#endif
    return order;
}

/* Of a key that does not take part, RADIX. */
static uint digit_of(KEY key, const struct order *order) {
    const rank bits = rank_of(key, order->flip);
#ifdef COLLECTS
    const rank known = bits & order->higher;
    return known < order->digits ? 0 : known == order->digits ? 1 : 2;
#else
#ifdef PICKS
    if ((bits ^ order->digits) & order->higher)
        return RADIX;
#endif
    return (uint)(bits >> order->shift) & order->mask;
#endif
}

/* The elements of a row that count. */
static uint length_of(global const long *lengths, ulong at, ulong count) {
    if (at == NOWHERE)
        return (uint)count;
    return (uint)clamp(lengths[at], 0l, (long)count);
}
