/* SPDX-License-Identifier: MIT */
/*
 * Elements that are selected, one behind the other, in one pass: `select` takes tiles, whose prefixes cl/look_back.cl
 * gives; the part of a tile is the number of its elements that are selected. `clear` (cl/clear.cl) goes before it.
 *
 *     -DBY_FLAGS        elements are selected whose flag is not 0,
 *     -DBY_VALUE=<      those that compare so with `value`,
 *     -DBY_HEADS        or those that differ in a bit from the element before,
 *     -DBY_ENDS         or from the one behind
 *     -DA=float         type of the elements; half and bfloat16 as cl/narrow.cl has them
 *     -DBESIDE=uint     type of the bits of a second array, of which the same elements are selected
 *     -DNUMBERS         instead of a second array the numbers of the selected elements
 *     -DPARTITION       the others follow behind the array's end, the last one first
 *     -DPART=uint       type that counts elements
 *     -DW=4, -DROWS=12, -DGROUP=128, -DRUNS, -DALIGNED as in cl/scan.cl
 */
#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#define V(type) GLUE(type, W)

#include "narrow.cl"
#include "once.cl"

#ifdef DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define PART_NONE 0
#define NOWHERE 0xffffffffffffffffUL

static PART joined_value(PART a, PART b) { return a + b; }

#include "parts.cl"
#ifndef RUNS
#include "group_scan.cl"
#endif
struct tiled {
    global const MEMORY(A) *in;
    global MEMORY(A) *out;
    global const uchar *flags;
    global const BESIDE *beside;
    global BESIDE *out_beside;
    MEMORY(A) value;
    volatile global uint *states;
    ulong count, tiles, length, room; /* elements, tiles, elements of a tile and of the outputs */
    bool is_reversed;
#ifndef RUNS
    local struct tile_room *room_of_tile;
#endif
};

typedef V(MEMORY(A)) STORED_AS(MEMORY(A)) stored_in;
ONCE(stored_in)
typedef union { V(MEMORY(A)) vector; MEMORY(A) each[W]; } split;

static long left_of(const struct tiled *call, ulong i) { return (long)(call->count - i); }

static split load(const struct tiled *call, ulong i) {
    split x = {(V(MEMORY(A)))0};
    const long left = left_of(call, i);
    if (left >= W) {
        x.vector = *(global const stored_in *)(call->in + i);
        return x;
    }
    for (uint w = 0; w < W; w++)
        if (w < left)
            x.each[w] = call->in[i + w];
    return x;
}

typedef union { V(uchar) vector; uchar each[W]; } split_flags;

/* A bit for each of the `left` elements of a vector that is selected. */
static uint selected_of(const struct tiled *call, ulong i, long left, const split *x,
                        const split_flags *flags) {
    uint bits = 0;
#ifdef BY_VALUE
    union { V(VALUE(A)) vector; VALUE(A) each[W]; } all, with;
    all.vector = UNPACK(A, x->vector);
    with.vector = UNPACK(A, (V(MEMORY(A)))call->value);
#endif
#pragma unroll
    for (uint w = 0; w < W; w++) {
#if defined(BY_FLAGS)
        const bool is_selected = flags->each[w] != 0;
#elif defined(BY_VALUE)
        const bool is_selected = all.each[w] BY_VALUE with.each[w];
#elif defined(BY_HEADS)
        const MEMORY(A) last = w > 0 ? x->each[w - (w > 0)] : call->in[i - (i > 0)];
        const bool is_selected = i + w == 0 || x->each[w] != last;
#else
        const bool is_last = i + w + 1 == call->count;
        const MEMORY(A) next =
            w + 1 < W ? x->each[(w + 1) % W] : call->in[i + w + (i + w + 1 < call->count)];
        const bool is_selected = is_last || x->each[w] != next;
#endif
        bits |= (uint)(w < left && is_selected) << w;
    }
    return bits;
}

static uint selected(const struct tiled *call, ulong i, const split *x) {
    const long left = left_of(call, i);
    split_flags flags;
#ifdef BY_FLAGS
    for (uint w = 0; w < W; w++)
        flags.each[w] = w < left ? call->flags[i + w] : 0;
#endif
    return left > 0 ? selected_of(call, i, left, x, &flags) : 0;
}

#ifdef RUNS
static part tile_part(const struct tiled *call, ulong tile) {
    const ulong first = tile * call->length, end = min(first + call->length, call->count);
    PART all = 0;
    for (ulong i = first; i < end; i += W) {
        const split x = load(call, i);
        all += popcount(selected(call, i, &x));
    }
    return part_of(all, 0);
}

/* Writes the selected elements of a vector from place `to` on. */
static void put(const struct tiled *call, ulong i, const split *x, uint bits, ulong to) {
    const long left = left_of(call, i);
    for (uint w = 0; w < W; w++) {
        const bool is_selected = bits >> w & 1;
        if (w < left && is_selected && to < call->room) {
            call->out[to] = x->each[w];
#if defined(NUMBERS)
            call->out_beside[to] = i + w;
#elif defined(HAS_BESIDE)
            call->out_beside[to] = call->beside[i + w];
#endif
        }
#ifdef PARTITION
        if (w < left && !is_selected)
            call->out[call->count - 1 - (i + w - to)] = x->each[w];
#endif
        to += is_selected;
    }
}

static void tile_put(const struct tiled *call, ulong tile, ulong to) {
    const ulong first = tile * call->length, end = min(first + call->length, call->count);
    for (ulong i = first; i < end; i += W) {
        const split x = load(call, i);
        const uint bits = selected(call, i, &x);
        put(call, i, &x, bits, to);
        to += popcount(bits);
    }
}
#else
typedef V(MEMORY(A)) STAGED;

#define FLAGGED
static STAGED staged_load(const struct tiled *call, ulong i) { return load(call, i).vector; }
static STAGED staged_whole(const struct tiled *call, ulong i) {
    return load_once_stored_in((global const stored_in *)(call->in + i));
}
static uchar flags_of(const struct tiled *call, ulong i, STAGED vector) {
    const split x = {vector};
    return selected(call, i, &x);
}
static uchar flags_whole(const struct tiled *call, ulong i, STAGED vector) {
    const split x = {vector};
    split_flags flags;
#ifdef BY_FLAGS
    flags.vector = *(global const V(uchar) *)(call->flags + i);
#endif
    return selected_of(call, i, W, &x, &flags);
}
static bool flags_are_aligned(const struct tiled *call) {
#ifdef BY_FLAGS
    return (ulong)call->flags % W == 0;
#else
    return true;
#endif
}
static part vector_part(STAGED unused, uint bits) { return part_of(popcount(bits), 0); }
#endif

#include "tile_rows.cl"
#include "look_back.cl"

#ifndef RUNS
/* Writes the selected elements of the staged tile from place `to` on, `count` of them, of which `mine` are before the item's run:
 * they go to their places in local memory, and from there neighbours write neighbours. */
static void tile_put(const struct tiled *call, ulong tile, ulong to, uint count, uint mine) {
    local struct tile_room *room = call->room_of_tile;
    local MEMORY(A) *each = (local MEMORY(A) *)room->vectors;
    const uint me = get_local_id(0), items = get_local_size(0);
#if defined(PARTITION) || defined(NUMBERS) || defined(HAS_BESIDE)
    const ulong first = tile * call->length;
#endif
#ifdef PARTITION
    const uint all = min(call->length, call->count - first);
#endif
    split x[ROWS];
    uint bits[ROWS], rank = mine;
#pragma unroll
    for (uint r = 0; r < ROWS; r++) {
        x[r].vector = room->vectors[in_run(r)];
        bits[r] = run_flags(room, r);
    }
    SYNC();
#pragma unroll
    for (uint r = 0; r < ROWS; r++)
#pragma unroll
        for (uint w = 0; w < W; w++) {
            const uint is_selected = bits[r] >> w & 1;
            if (is_selected)
                each[rank] = x[r].each[w];
#ifdef PARTITION
            else if (in_run(r) * W + w < all)
                each[count + in_run(r) * W + w - rank] = x[r].each[w];
#endif
            rank += is_selected;
        }
    SYNC();
    for (uint k = me; k < count; k += items)
        if (to + k < call->room)
            call->out[to + k] = each[k];
#ifdef PARTITION
    for (uint k = count + me; k < all; k += items)
        call->out[call->count - 1 - (first - to + k - count)] = each[k];
#endif
#if defined(NUMBERS) || defined(HAS_BESIDE)
    /* The numbers of the selected elements in the tile take their place. */
    local ushort *numbers = (local ushort *)room->vectors;
    rank = mine;
    SYNC();
#pragma unroll
    for (uint r = 0; r < ROWS; r++)
        for (uint w = 0; w < W; w++)
            if (bits[r] >> w & 1)
                numbers[rank++] = in_run(r) * W + w;
    SYNC();
    for (uint k = me; k < count; k += items)
        if (to + k < call->room)
#ifdef NUMBERS
            call->out_beside[to + k] = first + numbers[k];
#else
            call->out_beside[to + k] = call->beside[first + numbers[k]];
#endif
#endif
}
#endif

kernel void select_elements(global const MEMORY(A) *in, global MEMORY(A) *out, global const uchar *flags,
                            global const BESIDE *beside, global BESIDE *out_beside, global long *selected_count,
                            global const long *length, volatile global uint *states, ulong8 places,
                            ulong4 shape, MEMORY(A) value, uint is_reversed) {
    struct tiled call = {
        .in = in + places.s0,
        .out = out + places.s1,
        .flags = flags + places.s2,
        .beside = beside + places.s3,
        .out_beside = out_beside + places.s4,
        .value = value,
        .states = states,
        .count = shape.s0,
        .length = shape.s1,
        .room = shape.s2,
        .is_reversed = is_reversed,
    };
#ifndef RUNS
    local struct looked looked;
    local struct tile_room room;
    call.room_of_tile = &room;
#endif
    if (places.s6 != NOWHERE)
        call.count = min(call.count, (ulong)max(length[places.s6], 0L));
    call.tiles = (call.count + call.length - 1) / call.length;
#ifdef RUNS
    const ulong tile = next_tile(&call);
#else
    const ulong tile = next_tile(&call, &looked);
#endif
    if (call.tiles == 0 && get_global_id(0) == 0)
        selected_count[places.s5] = 0;
    if (tile >= call.tiles)
        return;
#ifdef RUNS
    const part mine = tile_part(&call, tile), before = prefix_of(&call, tile, mine);
    tile_put(&call, tile, before.value);
#else
    ulong at = tile;
    part before, mine, run;
    do
        run = tile_stage(&call, at, &mine);
    while (!settle(&call, tile, &at, mine, &before, &looked));
    tile_put(&call, tile, before.value, mine.value, run.value);
#endif
    if (tile + 1 == call.tiles && get_local_id(0) == 0)
        selected_count[places.s5] = before.value + mine.value;
}
