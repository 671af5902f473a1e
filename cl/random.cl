/* SPDX-License-Identifier: MIT */
/*
 * Random numbers by Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011).
 * A program holds one draw for one type, or what changes the state:
 *
 *     -DUNIFORM, -DNORMAL, -DBITS, -DBELOW, -DBERNOULLI, -DDROPOUT or -DSTATE
 *     -DMASK           of dropout: writes the mask too
 *     -DOUT=float      element type; half and bfloat16 as cl/narrow.cl has them
 *     -DPER=4          elements of a counter: 4, 2 or 1
 *     -DCOUNTERS=1        counters that a work-item takes at a time: 1, 2, 4 or 8
 *     -DW=4            elements of a store: PER * COUNTERS, at most 16
 *     -DSTEPS=4        times that a work-item takes so many counters
 *     -DALIGNED        the arrays start at a multiple of 16 bytes, or of their vectors if that is less
 *
 * Element i is a function of the state and i alone: of words of counter offset + i / PER.
 */
#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)

#ifdef STATE
kernel void advance(global ulong *state, ulong counters) { state[2] += counters; }

/* What draws of so many counters start from. */
kernel void take(global ulong *state, ulong counters, global ulong *out, ulong out_offset) {
    for (uint i = 0; i < 3; i++)
        out[out_offset + i] = state[i];
    state[2] += counters;
}

kernel void set(global ulong *state, ulong seed, ulong sequence, ulong offset) {
    state[0] = seed;
    state[1] = sequence;
    state[2] = offset;
}
#else
#define V(type) GLUE(type, W)
#include "narrow.cl"

#define IS_DOUBLE(type) GLUE(IS_DOUBLE_, type)
#define IS_DOUBLE_double 1
/* What an element is until it is written. */
#define REGISTER(type) GLUE(REGISTER_, type)
#define REGISTER_float float
#define REGISTER_half float
#define REGISTER_bfloat16 float
#define REGISTER_double double
#define REGISTER_char uint
#define REGISTER_uchar uint
#define REGISTER_short uint
#define REGISTER_ushort uint
#define REGISTER_int uint
#define REGISTER_uint uint
#define REGISTER_long ulong
#define IS_LONG(type) GLUE(IS_LONG_, type)
#define IS_LONG_long 1
#define TO_MEMORY(value) GLUE(TO_MEMORY_, OUT)(value)
#define TO_MEMORY_float(value) (value)
#define TO_MEMORY_double(value) (value)
#define TO_MEMORY_half(value) pack_half(value)
#define TO_MEMORY_bfloat16(value) pack_bfloat16(value)
#define TO_MEMORY_uchar(value) GLUE(convert_, V(uchar))((value) & (V(uint))255)
#define TO_MEMORY_char(value) GLUE(as_, V(char))(TO_MEMORY_uchar(value))
#define TO_MEMORY_ushort(value) GLUE(convert_, V(ushort))((value) & (V(uint))65535)
#define TO_MEMORY_short(value) GLUE(as_, V(short))(TO_MEMORY_ushort(value))
#define TO_MEMORY_int(value) GLUE(as_, V(int))(value)
#define TO_MEMORY_uint(value) (value)
#define TO_MEMORY_long(value) GLUE(as_, V(long))(value)

#if IS_DOUBLE(OUT)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
/* No product and sum become one operation but where fma() says so. */
#pragma OPENCL FP_CONTRACT OFF

/* What a draw gives for an element. Dropout compares words. */
#ifdef DROPOUT
#define DRAWN uint
#else
#define DRAWN REGISTER(OUT)
#endif

#include "philox.cl"

/* --- elements of so many counters: at[k] has element k of each --- */

typedef struct { L(DRAWN) at[PER]; } elements;

#if defined(BITS) || defined(DROPOUT)
#define PARAMETERS
#define ARGUMENTS
static elements draw_of(words x) {
#if PER == 2
    elements e = {{two_words(x.at[0], x.at[1]), two_words(x.at[2], x.at[3])}};
#else
    elements e = {{x.at[0], x.at[1], x.at[2], x.at[3]}};
#endif
    return e;
}

#elif defined(BELOW)
/* floor(x n / 2^64) of 64 random bits x, for n up to 2^32; of i64 floor(x n / 2^128) of 128. */
#define PARAMETERS , ulong n
#define ARGUMENTS , n
#if IS_LONG(OUT)
static elements draw_of(words x, ulong n) {
    const wide low = two_words(x.at[0], x.at[1]), high = two_words(x.at[2], x.at[3]);
    const wide sum = high * (wide)n + mul_hi(low, (wide)n);
    const wide carry = sum < high * (wide)n ? (wide)1 : (wide)0;
    elements e = {{mul_hi(high, (wide)n) + carry}};
    return e;
}
#else
static word below(word low, word high, ulong n) {
    return high_word(to_wide(high) * (wide)n + (to_wide(low) * (wide)n >> 32));
}
static elements draw_of(words x, ulong n) {
    elements e = {{below(x.at[0], x.at[1], n), below(x.at[2], x.at[3], n)}};
    return e;
}
#endif

#elif defined(BERNOULLI)
/* Probabilities are multiples of 2^-32, of which 1 is 2^32. */
#define PARAMETERS , ulong threshold
#define ARGUMENTS , threshold
static word is_below(word x, ulong threshold) {
    return low_word((to_wide(x) - (wide)threshold) >> 63);
}
static elements draw_of(words x, ulong threshold) {
    elements e = {{is_below(x.at[0], threshold), is_below(x.at[1], threshold),
                   is_below(x.at[2], threshold), is_below(x.at[3], threshold)}};
    return e;
}

#elif defined(UNIFORM)
/* low + span u, where u has the digits of the type that it is calculated in; rounding may reach the upper end, which
 * `last` is the largest number below. */
#if IS_DOUBLE(OUT)
#define PARAMETERS , double low, double span, double last
static L(double) uniform(word first, word second, double low, double span, double last) {
    const L(double) u =
        GLUE(convert_, L(double))(two_words(first, second) >> 11) * (L(double))0x1p-53;
    return min((L(double))low + u * (L(double))span, (L(double))last);
}
static elements draw_of(words x PARAMETERS) {
    elements e = {{uniform(x.at[0], x.at[1], low, span, last),
                   uniform(x.at[2], x.at[3], low, span, last)}};
    return e;
}
#else
#define PARAMETERS , float low, float span, float last
static L(float) uniform(word x, float low, float span, float last) {
    const L(float) u = GLUE(convert_, L(float))(x >> 8) * (L(float))0x1p-24f;
    return min((L(float))low + u * (L(float))span, (L(float))last);
}
static elements draw_of(words x PARAMETERS) {
    elements e = {{uniform(x.at[0], low, span, last), uniform(x.at[1], low, span, last),
                   uniform(x.at[2], low, span, last), uniform(x.at[3], low, span, last)}};
    return e;
}
#endif
#define ARGUMENTS , low, span, last

#elif defined(NORMAL)
/* Box and Muller: two words give r = sqrt(-2 ln u) and an angle a, and these the independent numbers r cos a, r sin a. */
#if IS_DOUBLE(OUT)
#define PARAMETERS , double mean, double deviation
typedef struct { L(double) at[2]; } pair;

/* The first two bits of the angle's word are its quadrant, the others where it is there, from -pi/4 to pi/4. */
static pair box_muller(wide x, wide angle, double mean, double deviation) {
    const L(double) u = GLUE(convert_, L(double))(x >> 11 | (wide)1) * (L(double))0x1p-53;
    const L(double) r = sqrt((L(double))-2 * log(u)) * (L(double))deviation;
    const L(double) a = GLUE(convert_, L(double))(GLUE(as_, L(long))(angle << 2)) *
                        (L(double))(0x1p-64 * 1.57079632679489661923);
    const wide c = GLUE(as_, L(ulong))(cos(a)), s = GLUE(as_, L(ulong))(sin(a));
    const wide swap = (wide)0 - (angle >> 62 & (wide)1), sign = angle & (wide)0x8000000000000000ul;
    const wide turned = sign ^ (angle << 1 & (wide)0x8000000000000000ul);
    const L(double) x_part = GLUE(as_, L(double))(((c & ~swap) | (s & swap)) ^ turned);
    const L(double) y_part = GLUE(as_, L(double))(((s & ~swap) | (c & swap)) ^ sign);
    const pair z = {{r * x_part + (L(double))mean, r * y_part + (L(double))mean}};
    return z;
}
static elements draw_of(words x PARAMETERS) {
    const pair z = box_muller(two_words(x.at[0], x.at[1]), two_words(x.at[2], x.at[3]), mean,
                              deviation);
    elements e = {{z.at[0], z.at[1]}};
    return e;
}
#else
#define PARAMETERS , float mean, float deviation
typedef L(float) real;
typedef L(int) whole;
typedef struct { real at[2]; } pair;
#define AS_REAL GLUE(as_, L(float))
#define AS_WORD GLUE(as_, L(uint))
#define TO_REAL GLUE(convert_, L(float))
#define STEP(p, x, c) fma(p, x, (real)(c))

/* -2 ln(x 2^-32) for x from 1 to 2^32 = 2^e (1 + f), with 1 + f from sqrt(1/2) to sqrt(2). */
static real minus_two_logarithms(real x) {
    const word exponent = (AS_WORD(x) - (word)0x4f3504f3u) & (word)0xff800000u; /* (e - 32) 2^23 */
    const real f = fma(x, AS_REAL((word)0x2f800000u - exponent), (real)-1);
    real p = STEP((real)0.20164745f, f, -0.323610008f);
    p = STEP(p, f, 0.344864517f);
    p = STEP(p, f, -0.398137659f);
    p = STEP(p, f, 0.499424577f);
    p = STEP(p, f, -0.666694283f);
    p = STEP(p, f, 1.00000644f);
    p = STEP(p, f, -2);
    return fma(p, f, TO_REAL(GLUE(as_, L(int))(exponent)) * (real)(-2 * 0.693147182f * 0x1p-23f));
}

/* From an estimate of 1 / sqrt(x), of its halved exponent, by a step that leaves s = sqrt(d x) with d near 2.02, and a
 * polynomial for 1 / sqrt(d): unlike the compiler's own the same bits everywhere. 0 gives 0. */
static real root_of(real x) {
    const real estimate = AS_REAL((word)0x5f1ffff9u - (AS_WORD(x) >> 1)), near = x * estimate;
    const real step = fma(-near, estimate, (real)2.38924456f);
    const real s = near * step, d = s * (estimate * step);
    return s * STEP(STEP((real)0.0648257583f, d, -0.436053693f), d, 1.319911f);
}

/* sin and cos of a pi/2 for a from -1 to 1; cos as (1 - a^2) by what has no zero there. A bit more is the cosine's sign. */
static pair box_muller(word x, word angle, float mean, float deviation) {
    const real r = root_of(minus_two_logarithms(TO_REAL(x | (word)1))) * (real)deviation;
    const real a = TO_REAL(GLUE(as_, L(int))(angle << 1)) * (real)0x1p-31f, a2 = a * a;
    real s = STEP((real)0.000151485132f, a2, -0.00467376644f);
    s = STEP(s, a2, 0.0796896815f);
    s = STEP(s, a2, -0.645963728f);
    s = STEP(s, a2, 1.57079637f) * a;
    real c = STEP((real)2.3907973e-05f, a2, -0.000894163910f);
    c = STEP(c, a2, 0.019969007f);
    c = STEP(c, a2, -0.233700588f);
    c = STEP(c, a2, 1) * STEP(-a, a, 1);
    c = AS_REAL(AS_WORD(c) ^ (angle & (word)0x80000000u));
    const pair z = {{fma(r, c, (real)mean), fma(r, s, (real)mean)}};
    return z;
}
static elements draw_of(words x PARAMETERS) {
    const pair a = box_muller(x.at[0], x.at[1], mean, deviation);
    const pair b = box_muller(x.at[2], x.at[3], mean, deviation);
    elements e = {{a.at[0], a.at[1], b.at[0], b.at[1]}};
    return e;
}
#endif
#define ARGUMENTS , mean, deviation
#endif

/* --- from elements of counters to those of the array --- */

#define PARTS (PER * COUNTERS / W)
typedef struct { V(DRAWN) at[PARTS]; } parts;

static parts in_order(elements e) {
#if PER == 1
    const parts p = {{e.at[0]}};
#elif PER == 2
    const parts p = {{ZIP(COUNTERS, DRAWN, e.at[0], e.at[1])}};
#else
    const GLUE(DRAWN, TWICE) even = ZIP(COUNTERS, DRAWN, e.at[0], e.at[2]);
    const GLUE(DRAWN, TWICE) odd = ZIP(COUNTERS, DRAWN, e.at[1], e.at[3]);
#if COUNTERS == 8
    const parts p = {{ZIP_8(DRAWN, even.lo, odd.lo), ZIP_8(DRAWN, even.hi, odd.hi)}};
#else
    const parts p = {{ZIP(TWICE, DRAWN, even, odd)}};
#endif
#endif
    return p;
}

/* --- memory: `left` is what is left of the array from p on; below 0 there is nothing --- */

typedef V(MEMORY(OUT)) stored STORED_AS(MEMORY(OUT));

static void write(V(MEMORY(OUT)) value, global MEMORY(OUT) *p, long left) {
    if (left >= W) {
        *(global stored *)p = value;
        return;
    }
    union { V(MEMORY(OUT)) vector; MEMORY(OUT) element[W]; } part = {value};
    for (uint i = 0; i < W; i++)
        if (i < left)
            p[i] = part.element[i];
}

#ifdef DROPOUT
typedef V(REGISTER(OUT)) T;
typedef V(uchar) stored_mask STORED_AS(uchar);

static T read(global const MEMORY(OUT) *p, long left) {
    if (left >= W)
        return UNPACK(OUT, *(global const stored *)p);
    union { V(MEMORY(OUT)) vector; MEMORY(OUT) element[W]; } part = {(V(MEMORY(OUT)))0};
    for (uint i = 0; i < W; i++)
        if (i < left)
            part.element[i] = p[i];
    return UNPACK(OUT, part.vector);
}

static void write_mask(V(uchar) value, global uchar *p, long left) {
    if (left >= W) {
        *(global stored_mask *)p = value;
        return;
    }
    union { V(uchar) vector; uchar element[W]; } part = {value};
    for (uint i = 0; i < W; i++)
        if (i < left)
            p[i] = part.element[i];
}

#if IS_DOUBLE(OUT)
#define KEEP(x, keep) GLUE(as_, V(double))(GLUE(as_, V(long))(x) & (keep))
#else
#define KEEP(x, keep) GLUE(as_, V(float))(GLUE(as_, V(int))(x) & GLUE(convert_, V(int))(keep))
#endif
#endif

/* A work-group takes STEPS rows of counters, COUNTERS a work-item, in which neighbouring work-items take neighbouring ones. */
kernel void draw(global const ulong *state,
#ifdef DROPOUT
                 global const MEMORY(OUT) *in, ulong in_offset,
#ifdef MASK
                 global uchar *mask, ulong mask_offset,
#endif
                 global MEMORY(OUT) *out, ulong out_offset, ulong count, ulong threshold,
                 REGISTER(OUT) scale) {
#else
                 global MEMORY(OUT) *out, ulong out_offset, ulong count PARAMETERS) {
#endif
    const ulong seed = state[0], sequence = state[1], offset = state[2];
    const ulong row = (ulong)get_local_size(0) * COUNTERS;
    ulong i = get_group_id(0) * row * STEPS + get_local_id(0) * COUNTERS;

    for (uint step = 0; step < STEPS && i * PER < count; step++, i += row) {
        const parts p = in_order(draw_of(philox(offset + i + LANE_NUMBERS, sequence, seed) ARGUMENTS));
#pragma unroll
        for (uint k = 0; k < PARTS; k++) {
            const ulong at = i * PER + k * W;
            const long left = (long)(count - at);
#ifdef DROPOUT
            const V(long) keep = kept(p.at[k], threshold);
            const T value = read(in + in_offset + at, left) * (T)scale;
            write(PACK(OUT, KEEP(value, keep)), out + out_offset + at, left);
#ifdef MASK
            write_mask(GLUE(convert_, V(uchar))(keep & (V(long))1), mask + mask_offset + at, left);
#endif
#else
            write(TO_MEMORY(p.at[k]), out + out_offset + at, left);
#endif
        }
    }
}
#endif
