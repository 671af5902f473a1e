/* SPDX-License-Identifier: MIT */
/*
 * The order of elements (clstream/sort.h), as that of unsigned numbers.
 *
 *     -DKEY=uint        the unsigned type of an element's bits; LONG_KEYS: ulong
 *     -DSIGNED          elements are signed integers
 *     -DINFINITE=...    elements are floats: the bits of infinity
 */
#define SIGN ((rank)1 << (8 * (uint)sizeof(KEY) - 1))

/* The place of a key in the order, in as many bits as a key has; those above are anything. */
#ifdef LONG_KEYS
typedef ulong rank;
#else
typedef uint rank;
#endif

static rank rank_of(KEY key, rank flip) {
    rank bits = key;
#ifdef INFINITE
    const rank size = bits & (SIGN - 1);
    if (size > INFINITE)
        bits = SIGN - 1; /* becomes all ones */
    else if (size == 0)
        bits = 0;
    bits ^= bits & SIGN ? ~(rank)0 : SIGN;
#elif defined(SIGNED)
    bits ^= SIGN;
#endif
    return bits ^ flip;
}
