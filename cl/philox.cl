/* SPDX-License-Identifier: MIT */
/*
 * The generator Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011).
 * It takes COUNTERS at a time: 1, 2, 4 or 8. GLUE is there, and V(type), a vector of elements.
 */
#if COUNTERS == 1
#define L(type) type
#else
#define L(type) GLUE(type, COUNTERS)
#endif

typedef L(uint) word;
typedef L(ulong) wide;

/* --- the generator --- */

typedef struct { word at[4]; } words;

#define LANE_NUMBERS GLUE(LANE_NUMBERS_, COUNTERS)
#define LANE_NUMBERS_1 0ul
#define LANE_NUMBERS_2 ((ulong2)(0, 1))
#define LANE_NUMBERS_4 ((ulong4)(0, 1, 2, 3))
#define LANE_NUMBERS_8 ((ulong8)(0, 1, 2, 3, 4, 5, 6, 7))

static word low_word(wide x) { return GLUE(convert_, L(uint))(x); }
static word high_word(wide x) { return GLUE(convert_, L(uint))(x >> 32); }
static wide to_wide(word x) { return GLUE(convert_, L(ulong))(x); }
static wide two_words(word low, word high) { return to_wide(low) | to_wide(high) << 32; }

/* Number by number but for CPUs: of vectors NVIDIA's compiler makes products of 64 bits. */
#define PRODUCT(x, n) GLUE(PRODUCT_, COUNTERS)(x, n)
#define PRODUCT_1(x, n) ((ulong)(x) * (n))
#define PRODUCT_2(x, n) ((ulong2)(PRODUCT_1((x).s0, n), PRODUCT_1((x).s1, n)))
#define PRODUCT_4(x, n) ((ulong4)(PRODUCT_2((x).lo, n), PRODUCT_2((x).hi, n)))
#define PRODUCT_8(x, n) (to_wide(x) * (wide)(n))

static words philox(wide counter, ulong sequence, ulong seed) {
    words x = {{low_word(counter), high_word(counter), (word)(uint)sequence,
                (word)(uint)(sequence >> 32)}};
    uint key0 = (uint)seed, key1 = (uint)(seed >> 32);
#pragma unroll
    for (uint round = 0; round < 10; round++) {
        const wide first = PRODUCT(x.at[0], 0xd2511f53u);
        const wide second = PRODUCT(x.at[2], 0xcd9e8d57u);
        x.at[0] = high_word(second) ^ x.at[1] ^ (word)key0;
        x.at[1] = low_word(second);
        x.at[2] = high_word(first) ^ x.at[3] ^ (word)key1;
        x.at[3] = low_word(first);
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    return x;
}

/* (a0, b0, a1, b1, ...) */
#define ZIP(n, type, a, b) GLUE(ZIP_, n)(type, a, b)
#define ZIP_1(type, a, b) (GLUE(type, 2))(a, b)
#define ZIP_2(type, a, b) (GLUE(type, 4))((a).s0, (b).s0, (a).s1, (b).s1)
#define ZIP_4(type, a, b) \
    (GLUE(type, 8))((a).s0, (b).s0, (a).s1, (b).s1, (a).s2, (b).s2, (a).s3, (b).s3)
#define ZIP_8(type, a, b)                                                                   \
    (GLUE(type, 16))((a).s0, (b).s0, (a).s1, (b).s1, (a).s2, (b).s2, (a).s3, (b).s3, (a).s4, \
                     (b).s4, (a).s5, (b).s5, (a).s6, (b).s6, (a).s7, (b).s7)
#define TWICE GLUE(TWICE_, COUNTERS)
#define TWICE_1 2
#define TWICE_2 4
#define TWICE_4 8
#define TWICE_8 16

/* All ones where the element stays: its word is not below the threshold. */
static V(long) kept(V(uint) x, ulong threshold) {
    return ~(GLUE(as_, V(long))(GLUE(convert_, V(ulong))(x) - (V(ulong))threshold) >> 63);
}
