/* SPDX-License-Identifier: MIT */
/*
 * The bins of elements (clstream/histogram.h), and how histograms read elements.
 *
 *     -DBY_SCALE        even bins of floats: `how` has the bits of (lower, upper, scale), each of the type that they are in registers
 *     -DBY_WORDS        even bins of integers, at most 2^32 from the first to the last: (lower, width, q, m), where
 *                       bins = q width + r with r < width, and m = r 2^64 / width, rounded up
 *     -DBY_LONGS        those that are wider: (lower, width, bins, m), where m = bins 2^64 / width, rounded down
 *     -DBY_EDGES        bins between edges, in the order of cl/rank.cl
 *     -DA=float         type of the elements; half and bfloat16 as cl/narrow.cl has them; of edges that of their bits
 *     -DDOUBLES         elements are double
 *     -DOF_BYTES        elements are bytes, of which each value is counted by itself first
 *     -DLOCAL_EDGES     the ranks of edges are in local memory
 *     -DW=4, -DRUNS, -DALIGNED as in cl/scan.cl
 */
#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#define V(type) GLUE(type, W)

#ifdef DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define REAL_OF(bits) as_double(bits)
#else
#define REAL_OF(bits) as_float((uint)(bits))
#endif

#include "narrow.cl"

#define NOWHERE 0xfffffffffffffffful

#ifdef OF_BYTES
#define IN uchar
#else
#define IN MEMORY(A)
#endif

#ifdef BY_EDGES
#include "rank.cl"
typedef KEY edge;
#else
typedef uchar edge;
#endif

struct bins {
    ulong4 how;
    uint count;
#if defined(LOCAL_EDGES)
    local const edge *ranks;
#elif defined(BY_EDGES)
    global const edge *edges;
#endif
};

#if defined(BY_EDGES)
/* NaN has the bits of the greatest rank. */
static bool is_nan(KEY x) {
#ifdef INFINITE
    return (x & (SIGN - 1)) > INFINITE;
#else
    return false;
#endif
}

static KEY rank_of_edge(const struct bins *bins, uint i) {
#ifdef LOCAL_EDGES
    return bins->ranks[i];
#else
    return (KEY)rank_of(bins->edges[i], 0);
#endif
}

/* The bin of an element behind `before` edges, of those up to and with itself. */
static uint bin_behind(uint before, uint count) { return before == 0 ? count : before - 1; }

static uint bin_of(const struct bins *bins, A x) {
    const KEY place = (KEY)rank_of(x, 0);
    uint low = 0, high = bins->count + 1;
    while (low < high) {
        const uint middle = low + (high - low) / 2;
        if (rank_of_edge(bins, middle) <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return is_nan(x) ? bins->count : bin_behind(low, bins->count);
}
#elif defined(BY_SCALE)
typedef VALUE(A) real;

static uint bin_of(const struct bins *bins, real x) {
    const real lower = REAL_OF(bins->how.s0), upper = REAL_OF(bins->how.s1), scale = REAL_OF(bins->how.s2);
    const bool is_inside = x >= lower && x < upper;
    const real at = is_inside ? (x - lower) * scale : (real)0;
    return is_inside ? min((uint)at, bins->count - 1) : bins->count;
}
#elif defined(BY_WORDS)
/* m exceeds r 2^64 / width by less than 1, so that the quotient is too great by less than x / 2^64 < 1 / width, and its
 * integer is right. */
static uint bin_of(const struct bins *bins, A x) {
    const ulong from_lower = (ulong)(long)x - bins->how.s0;
    const uint at = (uint)from_lower;
    const ulong m = bins->how.s3;
    const ulong of_part = (ulong)at * (uint)(m >> 32) + ((ulong)at * (uint)m >> 32);
    const uint bin = at * (uint)bins->how.s2 + (uint)(of_part >> 32);
    return from_lower < bins->how.s1 ? bin : bins->count;
}
#else
/* The quotient by m is right, or too small by 1: then the remainder, of 65 bits, is not below the width. */
static uint bin_of(const struct bins *bins, A x) {
    const ulong at = (ulong)(long)x - bins->how.s0, width = bins->how.s1, count = bins->how.s2;
    const ulong quotient = mul_hi(at, bins->how.s3);
    const ulong product = at * count, known = quotient * width;
    const ulong rest = product - known;
    const ulong above = mul_hi(at, count) - mul_hi(quotient, width) - (product < known);
    const uint bin = (uint)quotient + (above != 0 || rest >= width);
    return at < width ? bin : bins->count;
}
#endif

typedef union { V(IN) vector; IN each[W]; } loaded;
typedef V(IN) STORED_AS(IN) stored;

static loaded load_vector(global const IN *in) {
    loaded x;
    x.vector = *(global const stored *)in;
    return x;
}

static loaded load_some(global const IN *in, uint count) {
    loaded x;
    x.vector = (V(IN))0;
    for (uint w = 0; w < W; w++)
        if (w < count)
            x.each[w] = in[w];
    return x;
}

/* By which counters elements are counted: those of bytes, or of bins. */
#ifdef OF_BYTES
enum { BYTES = 256 };
#define IN_BINS(bins) (bins)

static uint bin_of_byte(const struct bins *bins, uint byte) { return bin_of(bins, (A)(uchar)byte); }

static uint counters_of(const struct bins *bins) { return BYTES; }

static void find_counters(const struct bins *bins, const loaded *x, uint *counters) {
#pragma unroll
    for (uint w = 0; w < W; w++)
        counters[w] = x->each[w];
}
#else
#define IN_BINS(bins) 0

static uint counters_of(const struct bins *bins) { return bins->count; }

static void find_counters(const struct bins *bins, const loaded *x, uint *counters) {
    union { V(VALUE(A)) vector; VALUE(A) each[W]; } all;
    all.vector = UNPACK(A, x->vector);
#pragma unroll
    for (uint w = 0; w < W; w++)
        counters[w] = bin_of(bins, all.each[w]);
}
#endif

/* The elements that count. */
static ulong length_of(global const long *length, ulong at, ulong count) {
    return at == NOWHERE ? count : (ulong)clamp(length[at], 0L, (long)count);
}
