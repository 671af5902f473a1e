/* SPDX-License-Identifier: MIT */
/*
 * Rows and elements by their numbers. An entry is what one index belongs to: a row of the matrix on the indices' side
 * (-DROWS), or an element of it; its target is the row, or the element of the same line, that the index names.
 *
 *     -DSELECT          entry = target; entries without a target become 0
 *     -DSCATTER         target = entry
 *     -DADD             target += entry
 *     -DROWS            indices are a vector, entries rows; else both are matrices, and each row is a line of entries
 *     -DINDEX=int       element type of the indices: uchar, int, uint or long
 *     -DTYPE=float      element type of the matrices: float, double, half, bfloat16 (cl/narrow.cl) or an unsigned
 *                       integer, for all types of that size where elements only move
 *     -DDOUBLES         TYPE is double
 *     -DW=4             elements in a vector
 *     -DALIGNED         rows of both matrices start at multiples of a vector's alignment
 *     -DEACH=4          entries that a work-item has under way together
 *     -DRUNS            an item's entries are neighbours; else they lie as far apart as there are items
 *
 * Places are (first element, distance between rows, or between indices of a vector), extent is (lines, columns of an
 * entry), shape is (entries of a line, targets of a line). A work-item takes a chunk of the columns, so that cut begins
 * with (chunks of a row, columns of a chunk). Indices without a target are counted in missed[missed_at], unless that is
 * NOWHERE.
 */
#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#if W == 1
#define V(type) type
#else
#define V(type) GLUE(type, W)
#endif
#ifdef DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#include "narrow.cl"
#include "quotient.cl"

typedef MEMORY(TYPE) element;
typedef V(MEMORY(TYPE)) elements;
typedef elements stored STORED_AS(element);

#ifdef ROWS
#define AT(place, line, entry) ((place).s0 + (entry) * (place).s1)
#else
#define AT(place, line, entry) ((place).s0 + (line) * (place).s1 + (entry))
#endif

#define NOWHERE 0xfffffffffffffffful

static void count_missed(global uint *missed, ulong missed_at, uint count) {
    if (missed_at != NOWHERE)
        atomic_add(missed + missed_at, count);
}

/* Negative indices come out above all targets. */
static ulong index_at(global const INDEX *restrict indices, ulong i) { return (ulong)(long)indices[i]; }

#ifndef ADD
/*
 * An item's entries of all lines are cut.s2 neighbours, a multiple of EACH, or EACH. Indices are read before any element,
 * and elements before any is written, so that as many accesses are under way.
 */
#ifdef SELECT
#define FROM(target, entry) (target)
#define TO(target, entry) (entry)
#else
#define FROM(target, entry) (entry)
#define TO(target, entry) (target)
#endif

static void move_columns(global const element *restrict in, global element *restrict out,
                         const ulong *from, const ulong *to, ulong column, ulong end) {
    for (; column + W <= end; column += W) {
        elements x[EACH];
#pragma unroll
        for (uint k = 0; k < EACH; k++)
            x[k] = from[k] == NOWHERE ? (elements)0 : *(global const stored *)(in + from[k] + column);
#pragma unroll
        for (uint k = 0; k < EACH; k++)
            if (to[k] != NOWHERE)
                *(global stored *)(out + to[k] + column) = x[k];
    }
#if W > 1
    for (; column < end; column++)
        for (uint k = 0; k < EACH; k++)
            if (to[k] != NOWHERE)
                out[to[k] + column] = from[k] == NOWHERE ? (element)0 : in[from[k] + column];
#endif
}

kernel void move(global const element *restrict in, ulong2 in_place,
                 global const INDEX *restrict indices, ulong2 index_place,
                 global element *restrict out, ulong2 out_place, global uint *missed,
                 ulong missed_at, ulong2 extent, ulong2 shape, uint4 cut) {
    const ulong entries = extent.s0 * shape.s0, item = quotient(get_global_id(0), cut.s0);
    const ulong column = (get_global_id(0) - item * cut.s0) * (ulong)cut.s1;
    const ulong end = min(column + cut.s1, extent.s1);
#ifdef RUNS
    const ulong begin = item * cut.s2, step = 1;
#else
    const ulong begin = item, step = (entries + EACH - 1) / EACH;
#endif
    if (begin >= (step == 1 ? entries : step))
        return;
    for (uint done = 0; done < cut.s2; done += EACH) {
        ulong from[EACH], to[EACH];
#pragma unroll
        for (uint k = 0; k < EACH; k++) {
            const ulong i = begin + (done + k) * step;
            const ulong line = extent.s0 > 1 ? quotient(i, shape.s0) : 0, entry = i - line * shape.s0;
            const bool is_there = i < entries;
            const ulong target =
                is_there ? index_at(indices, AT(index_place, line, entry)) : NOWHERE;
            const bool hits = target < shape.s1;
            if (is_there && !hits && column == 0)
                count_missed(missed, missed_at, 1);
            from[k] = hits ? AT(in_place, line, FROM(target, entry)) : NOWHERE;
            to[k] = hits ? AT(out_place, line, TO(target, entry)) : NOWHERE;
#ifdef SELECT
            if (is_there)
                to[k] = AT(out_place, line, entry);
#endif
        }
        move_columns(in, out, from, to, column, end);
    }
}

#else
static void add_columns(global const element *restrict from, global element *restrict to,
                        ulong column, ulong end) {
    for (; column + W <= end; column += W) {
        global stored *const sum = (global stored *)(to + column);
        *sum = PACK(TYPE, UNPACK(TYPE, *sum) + UNPACK(TYPE, *(global const stored *)(from + column)));
    }
#if W > 1
    for (; column < end; column++) {
        union { elements vector; element each[W]; } x, y;
        x.vector = (elements)to[column];
        y.vector = (elements)from[column];
        x.vector = PACK(TYPE, UNPACK(TYPE, x.vector) + UNPACK(TYPE, y.vector));
        to[column] = x.each[0];
    }
#endif
}

#if defined(ROWS) && !defined(RUNS)
/*
 * A group owns a block of the targets, cut.s2 blocks in all. It looks at as many entries as it has items, from range.s0 up
 * to range.s1, and adds those that are its own, in order: each of its teams, of cut.s0 items, has targets of its own, and
 * each item of a team vectors of them. Nobody else touches what an item adds to, so that no atomic operation is needed.
 */
enum { MOST_ITEMS = 256 };

kernel void add(global const element *restrict in, ulong2 in_place,
                global const INDEX *restrict indices, ulong2 index_place,
                global element *restrict out, ulong2 out_place, global uint *missed,
                ulong missed_at, ulong2 extent, ulong2 shape, uint4 cut, ulong2 range) {
    local ulong target[MOST_ITEMS];
    local uint hits[MOST_ITEMS / 32]; /* a bit for each entry that is the group's own */
    const uint me = get_local_id(0), size = get_local_size(0), words = (size + 31) / 32;
    const uint turn = 31 - clz(cut.s0), teams = size >> turn, team = me >> turn;
    const ulong targets = (shape.s1 + cut.s2 - 1) / cut.s2, first = get_group_id(0) * targets;
    const ulong owned = first < shape.s1 ? min(targets, shape.s1 - first) : 0;
    uint missed_here = 0;
    if (me < words)
        hits[me] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (ulong start = range.s0; start < range.s1; start += size) {
        const bool is_there = start + me < range.s1;
        const ulong named =
            is_there ? index_at(indices, AT(index_place, 0, start + me)) : shape.s1;
        target[me] = named - first;
        missed_here += is_there && named >= shape.s1;
        if (named - first < owned)
            atomic_or(&hits[me / 32], 1u << me % 32);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint word = 0; word < words; word++)
            for (uint left = hits[word]; left; left &= left - 1) {
                const uint k = word * 32 + 31 - clz(left & -left);
                global const element *from = in + AT(in_place, 0, start + k);
                global element *to = out + AT(out_place, 0, first + target[k]);
                if ((target[k] & (teams - 1)) == team)
                    for (ulong i = (me & (cut.s0 - 1)) * W; i < extent.s1; i += cut.s0 * W)
                        add_columns(from, to, i, min(i + W, extent.s1));
            }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < words)
            hits[me] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (missed_here && first == 0)
        count_missed(missed, missed_at, missed_here);
}

#else
/*
 * An item owns a block of the targets of a line, cut.s2 blocks in all, and a chunk of their columns: it goes through the
 * line's entries from range.s0 up to range.s1 and adds those that are its own, in order, as a group does above. Most
 * entries are another's: AT_ONCE are looked at before any is added.
 */
enum { AT_ONCE = 8 };

kernel void add(global const element *restrict in, ulong2 in_place,
                global const INDEX *restrict indices, ulong2 index_place,
                global element *restrict out, ulong2 out_place, global uint *missed,
                ulong missed_at, ulong2 extent, ulong2 shape, uint4 cut, ulong2 range) {
    const ulong rest = quotient(get_global_id(0), cut.s0), line = quotient(rest, cut.s2);
    const ulong column = (get_global_id(0) - rest * cut.s0) * (ulong)cut.s1;
    const ulong end = min(column + cut.s1, extent.s1);
    const ulong targets = (shape.s1 + cut.s2 - 1) / cut.s2, first = (rest - line * cut.s2) * targets;
    uint missed_here = 0;
    if (line >= extent.s0)
        return;
    const ulong owned = first < shape.s1 ? min(targets, shape.s1 - first) : 0;
    for (ulong entry = range.s0; entry < range.s1; entry += AT_ONCE) {
        ulong target[AT_ONCE];
        bool any = false;
#pragma unroll
        for (uint k = 0; k < AT_ONCE; k++) {
            const bool is_there = entry + k < range.s1;
            target[k] = is_there ? index_at(indices, AT(index_place, line, entry + k)) : shape.s1;
            any |= target[k] - first < owned;
            missed_here += is_there && target[k] >= shape.s1;
        }
        if (any)
#pragma unroll
            for (uint k = 0; k < AT_ONCE; k++)
                if (target[k] - first < owned)
                    add_columns(in + AT(in_place, line, entry + k),
                                out + AT(out_place, line, target[k]), column, end);
    }
    if (missed_here && first == 0 && column == 0)
        count_missed(missed, missed_at, missed_here);
}
#endif
#endif
