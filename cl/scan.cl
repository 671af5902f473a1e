/* SPDX-License-Identifier: MIT */
/*
 * Scans in one pass: `scan` takes tiles, whose prefixes cl/look_back.cl gives. `clear` goes before it.
 *
 *     -DOP_sum, OP_product, OP_min or OP_max
 *     -DA=float         type of the elements; half and bfloat16 as cl/narrow.cl has them
 *     -DOUT=float       type of the results: A, or of integers another one
 *     -DPART=float      as cl/parts.cl has it
 *     -DPART_NONE=0
 *     -DFLOATS          A is a floating-point type
 *     -DHEADS_FLAGS, HEADS_KEYS or HEADS_EVERY  what begins a segment, if there are any: flags that are not 0, keys that
 *                       differ in a bit from the one before, or each element whose number `every` divides
 *     -DKEY=uint        type of the flags or of the keys' bits
 *     -DW=4             elements of a vector
 *     -DROWS=4          vectors of a work-item in a tile; of a CPU's work-item tiles are as long as the call says
 *     -DGROUP=256       work-items of a group at most
 *     -DRUNS, ALIGNED or neither, as in cl/map.cl
 *
 */
#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#define V(type) GLUE(type, W)

#include "narrow.cl"
#include "once.cl"

#ifdef DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF

#if defined(HEADS_FLAGS) || defined(HEADS_KEYS) || defined(HEADS_EVERY)
#define SEGMENTED
#endif

/* Of scalars and of vectors. */
#if defined(OP_sum)
#define JOINED(a, b) ((a) + (b))
#elif defined(OP_product)
#define JOINED(a, b) ((a) * (b))
#elif !defined(FLOATS)
#ifdef OP_min
#define JOINED(a, b) min(a, b)
#else
#define JOINED(a, b) max(a, b)
#endif
#elif defined(OP_min) /* NaN wins */
#define JOINED(a, b) ((((a) < (b)) | ((a) != (a))) ? (a) : (b))
#else
#define JOINED(a, b) ((((a) > (b)) | ((a) != (a))) ? (a) : (b))
#endif

static PART joined_value(PART a, PART b) { return JOINED(a, b); }

#define NOWHERE 0xffffffffffffffffUL

#include "parts.cl"
#ifndef RUNS
#include "group_scan.cl"
#endif

struct tiled {
    global const MEMORY(A) *in;
    global MEMORY(OUT) *out;
    global const KEY *keys;
    volatile global uint *states;
    ulong count, tiles, length, every; /* elements, tiles, elements of a tile and of a segment */
    bool is_reversed, is_exclusive;
#ifndef RUNS
    local struct tile_room *room_of_tile;
#endif
};

typedef V(MEMORY(A)) STORED_AS(MEMORY(A)) stored_in;
typedef V(MEMORY(OUT)) STORED_AS(MEMORY(OUT)) stored_out;

ONCE(stored_in)
ONCE(stored_out)

typedef union { V(PART) vector; PART each[W]; } split;

static V(PART) load_vector(const struct tiled *call, ulong i) {
    const stored_in bits = load_once_stored_in((global const stored_in *)(call->in + i));
    return GLUE(convert_, V(PART))(UNPACK(A, bits));
}

static void store_vector(const struct tiled *call, ulong i, V(PART) value) {
    store_once_stored_out((global stored_out *)(call->out + i),
                          PACK(OUT, GLUE(convert_, V(VALUE(OUT)))(value)));
}

/* --- vectors --- */

static long left_of(const struct tiled *call, ulong i) { return (long)(call->count - i); }

/* The vector from element i on, and none where there is no element. */
static split load(const struct tiled *call, ulong i) {
    union { V(MEMORY(A)) vector; MEMORY(A) each[W]; } raw = {(V(MEMORY(A)))0};
    split x;
    const long left = left_of(call, i);
    if (left >= W) {
        x.vector = load_vector(call, i);
        return x;
    }
    for (uint w = 0; w < W; w++)
        if (w < left)
            raw.each[w] = call->in[i + w];
    x.vector = GLUE(convert_, V(PART))(UNPACK(A, raw.vector));
    for (uint w = 0; w < W; w++)
        x.each[w] = w < left ? x.each[w] : PART_NONE;
    return x;
}

static void store(const struct tiled *call, ulong i, const split *x) {
    union { V(MEMORY(OUT)) vector; MEMORY(OUT) each[W]; } raw;
    const long left = left_of(call, i);
    if (left >= W) {
        store_vector(call, i, x->vector);
        return;
    }
    raw.vector = PACK(OUT, GLUE(convert_, V(VALUE(OUT)))(x->vector));
    for (uint w = 0; w < W; w++)
        if (w < left)
            call->out[i + w] = raw.each[w];
}

/* A bit for each of the `left` elements of a vector with which a segment begins. */
#ifdef SEGMENTED
typedef union { V(KEY) vector; KEY each[W]; } split_keys;

static uint heads_among(const struct tiled *call, ulong i, uint left, const split_keys *keys) {
    uint heads = 0;
#if defined(HEADS_EVERY)
    const ulong next = (call->every - i % call->every) % call->every;
    for (ulong w = next; w < W; w += call->every)
        heads |= 1u << w;
#elif defined(HEADS_FLAGS)
#pragma unroll
    for (uint w = 0; w < W; w++)
        heads |= (uint)(w < left && keys->each[w] != 0) << w;
#else
    KEY last = i > 0 ? call->keys[i - 1] : keys->each[0];
#pragma unroll
    for (uint w = 0; w < W; w++) {
        heads |= (uint)(w < left && keys->each[w] != last) << w;
        last = keys->each[w];
    }
#endif
    return heads;
}

static uint heads_of(const struct tiled *call, ulong i) {
    const uint left = (uint)clamp(left_of(call, i), 0L, (long)W);
    split_keys keys;
#ifndef HEADS_EVERY
    for (uint w = 0; w < W; w++)
        keys.each[w] = w < left ? call->keys[i + w] : 0;
#endif
    return left > 0 ? heads_among(call, i, left, &keys) : 0;
}
#else
static uint heads_of(const struct tiled *call, ulong i) { return 0; }
#endif

/* Scans a vector, inclusive; returns what it comes to. */
static part vector_scan(split *x, uint heads) {
    part to_here = part_of(x->each[0], heads & 1);
#pragma unroll
    for (uint w = 1; w < W; w++) {
        to_here = joined(to_here, part_of(x->each[w], heads >> w & 1));
        x->each[w] = to_here.value;
    }
    return to_here;
}

/* The results of a vector that has been scanned, behind `before`. */
static split results(const struct tiled *call, const split *scanned, uint heads, part before) {
    split to;
    PART last = before.value;
    bool has_head = false;
#pragma unroll
    for (uint w = 0; w < W; w++) {
        const bool is_head = heads >> w & 1;
        has_head |= is_head;
        const PART to_here =
            has_head ? scanned->each[w] : joined_value(before.value, scanned->each[w]);
        to.each[w] = !call->is_exclusive ? to_here : is_head ? PART_NONE : last;
        last = to_here;
    }
    return to;
}

/* --- tiles --- */

#ifdef RUNS

static part tile_part(const struct tiled *call, ulong tile) {
    const ulong first = tile * call->length, end = min(first + call->length, call->count);
#ifdef SEGMENTED
    part all = part_none();
    for (ulong i = first; i < end; i += W) {
        split x = load(call, i);
        all = joined(all, vector_scan(&x, heads_of(call, i)));
    }
    return all;
#else
    split all;
    ulong i = first;
    all.vector = (V(PART))PART_NONE;
    for (; i + W <= end; i += W)
        all.vector = JOINED(all.vector, load_vector(call, i));
    if (i < end)
        all.vector = JOINED(all.vector, load(call, i).vector);
    return vector_scan(&all, 0);
#endif
}

#ifndef SEGMENTED
#define NONE PART_NONE
/* Behind one, two and four elements of none. */
#define BEHIND_1(x) ((V(PART))(NONE, (x).s0, (x).s12, (x).s3456, (x).s789a, (x).sbcde))
#define BEHIND_2(x) ((V(PART))(NONE, NONE, (x).s01, (x).s2345, (x).s6789, (x).sabcd))
#define BEHIND_4(x) ((V(PART))(NONE, NONE, NONE, NONE, (x).s01234567, (x).s89ab))
#define BEHIND_8(x) ((V(PART))(NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, (x).s01234567))

/* Scans a vector and puts it behind `before`, to which it is joined. */
static V(PART) scanned(V(PART) x, PART *before, bool is_exclusive) {
    x = JOINED(BEHIND_1(x), x);
    x = JOINED(BEHIND_2(x), x);
    x = JOINED(BEHIND_4(x), x);
    x = JOINED(BEHIND_8(x), x);
    const PART last = x.sf;
    if (is_exclusive)
        x = BEHIND_1(x);
    x = JOINED((V(PART))*before, x);
    *before = joined_value(*before, last);
    return x;
}

static void tile_scan(const struct tiled *call, ulong tile, part start) {
    const ulong first = tile * call->length, end = min(first + call->length, call->count);
    PART before = start.value;
    ulong i = first;
    if (call->is_exclusive)
        for (; i + W <= end; i += W)
            store_vector(call, i, scanned(load_vector(call, i), &before, true));
    else
        for (; i + W <= end; i += W)
            store_vector(call, i, scanned(load_vector(call, i), &before, false));
    if (i < end) {
        split x;
        x.vector = scanned(load(call, i).vector, &before, call->is_exclusive);
        store(call, i, &x);
    }
}
#else
static void tile_scan(const struct tiled *call, ulong tile, part before) {
    const ulong first = tile * call->length, end = min(first + call->length, call->count);
    for (ulong i = first; i < end; i += W) {
        split x = load(call, i);
        const uint heads = heads_of(call, i);
        const part mine = vector_scan(&x, heads);
        const split to = results(call, &x, heads, before);
        store(call, i, &to);
        before = joined(before, mine);
    }
}
#endif
#endif

#ifndef RUNS
typedef V(PART) STAGED;

static STAGED staged_load(const struct tiled *call, ulong i) { return load(call, i).vector; }
static STAGED staged_whole(const struct tiled *call, ulong i) { return load_vector(call, i); }
#ifdef SEGMENTED
#define FLAGGED
static uchar flags_of(const struct tiled *call, ulong i, STAGED unused) { return heads_of(call, i); }
static uchar flags_whole(const struct tiled *call, ulong i, STAGED unused) {
    split_keys keys;
#ifndef HEADS_EVERY
    keys.vector = *(global const V(KEY) *)(call->keys + i);
#endif
    return heads_among(call, i, W, &keys);
}
static bool flags_are_aligned(const struct tiled *call) {
#ifndef HEADS_EVERY
    return (ulong)call->keys % (W * sizeof(KEY)) == 0;
#else
    return true;
#endif
}
#endif
static part vector_part(STAGED vector, uint heads) {
    split x = {vector};
    return vector_scan(&x, heads);
}
#endif

#include "tile_rows.cl"
#include "look_back.cl"

kernel void scan(global const MEMORY(A) *in, global MEMORY(OUT) *out, global const KEY *keys,
                 global const long *length, volatile global uint *states, ulong4 places,
                 ulong4 shape, uint2 how) {
    struct tiled call = {
        .in = in + places.s0,
        .out = out + places.s1,
        .keys = keys + places.s2,
        .states = states,
        .count = shape.s0,
        .length = shape.s1,
        .every = shape.s2,
        .is_exclusive = how.s0,
        .is_reversed = how.s1,
    };
#ifndef RUNS
    local struct looked looked;
    local struct tile_room room;
    call.room_of_tile = &room;
#endif
    if (places.s3 != NOWHERE)
        call.count = min(call.count, (ulong)max(length[places.s3], 0L));
    call.tiles = (call.count + call.length - 1) / call.length;
#ifdef RUNS
    const ulong tile = next_tile(&call);
#else
    const ulong tile = next_tile(&call, &looked);
#endif
    if (tile >= call.tiles)
        return;
#ifdef RUNS
    const part mine = tile_part(&call, tile), before = prefix_of(&call, tile, mine);
    tile_scan(&call, tile, before);
#else
    ulong at = tile;
    part before, mine, run;
    do
        run = tile_stage(&call, at, &mine);
    while (!settle(&call, tile, &at, mine, &before, &looked));
    run = joined(before, run);
#pragma unroll
    for (uint r = 0; r < ROWS; r++) {
        const uint heads = run_flags(&room, r);
        split x = {room.vectors[in_run(r)]};
        const part next = joined(run, vector_scan(&x, heads));
        room.vectors[in_run(r)] = results(&call, &x, heads, run).vector;
        run = next;
    }
    SYNC();
    if (tile_is_whole(&call, tile))
#pragma unroll
        for (uint r = 0; r < ROWS; r++)
            store_vector(&call, element_of(&call, tile, in_row(r)), room.vectors[in_row(r)]);
    else
        for (uint r = 0; r < ROWS; r++) {
            const split x = {room.vectors[in_row(r)]};
            store(&call, element_of(&call, tile, in_row(r)), &x);
        }
#endif
}
