/* SPDX-License-Identifier: MIT */
/*
 * Reductions, in two stages: every work-group of `reduce_part` leaves one partial result, and the
 * one work-group of `reduce_finish` merges those. Which work-item takes which element depends on
 * the sizes alone, so a result is the same from run to run.
 *
 *     -DOP_sum, OP_mean, OP_dot, OP_min, OP_max, OP_argmax, OP_argmin, OP_any or OP_all
 *     -DA=float        element type; half and bfloat16 as cl/narrow.cl has them
 *     -DOUT=float      type of the result
 *     -DFLOATS         A is a floating-point type
 *     -DDOUBLES        A or OUT is double
 *     -DW=4            elements in a vector: 1 (for argmax and argmin, but in a fused kernel), 2, 4, 8 or 16
 *     -DALIGNED        the inputs start at multiples of 16 bytes, or of the vector if that is less
 *     -DLINES=1        instead of the two: of the rows or columns of a matrix; vectors of lines that a work-item takes
 *                      beside each other
 *     -DSTRIDED        with LINES: none of these kernels, for cl/strided_reduce.cl has its own
 *
 * A fused kernel (lib/batch/generate.c) includes this file last, with FUSED, with RUNS where it has the
 * shape of CPUs, and two macros of its own: INPUTS, the parameters that its values are made from, and
 * VALUES(i, left, x, y), which makes the vectors from element i on, y for dot only; what is past the
 * array's end is any value.
 */
#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#if W == 1
#define V(type) type
#else
#define V(type) GLUE(type, W)
#endif

#include "narrow.cl"

#ifdef DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
/* The rounding errors that are caught below are those of separate operations. */
#pragma OPENCL FP_CONTRACT OFF

/* An element and a vector of them in registers. */
typedef VALUE(A) E;
typedef V(VALUE(A)) T;

/*
 * Each operation defines `lanes`, what a work-item accumulates into, with lanes_start() (from any
 * element of the input) and lanes_take(); and `partial`, what one lane comes to, with partial_at(),
 * partial_merge() and partial_result().
 */
#if defined(OP_sum) || defined(OP_mean) || defined(OP_dot)

#ifdef FLOATS
/* The rounding error of every addition is kept beside the sum and added at the end, so that the
 * result is nearly as if summed with twice the digits. Once the sum is infinite or NaN the error
 * is void. So it is, a NaN beside a good sum, once a largest finite element was added to a sum of the
 * other sign and their sum rounded up: taking it apart again passes the range. */
typedef struct { E sum, error; } partial;
typedef struct { T sum, error; } lanes;
typedef union { lanes all; E element[2 * W]; } split;

partial partial_at(const split *from, uint i) {
    partial one = {from->element[i], from->element[W + i]};
    return one;
}

lanes lanes_start(E any) {
    lanes start = {(T)0, (T)0};
    return start;
}

lanes lanes_take(lanes to, T x, ulong index) {
    const T sum = to.sum + x;
    const T back = sum - to.sum;
    to.error += (to.sum - (sum - back)) + (x - back);
    to.sum = sum;
    return to;
}

#ifdef OP_dot
lanes lanes_take_product(lanes to, T x, T y) {
    const T product = x * y;
    to.error += fma(x, y, -product);
    return lanes_take(to, product, 0);
}
#endif

partial partial_merge(partial to, partial from) {
    const E sum = to.sum + from.sum;
    const E back = sum - to.sum;
    to.error += from.error + ((to.sum - (sum - back)) + (from.sum - back));
    to.sum = sum;
    return to;
}

VALUE(OUT) partial_result(partial from, ulong count) {
    const E total = isfinite(from.sum) && isfinite(from.error) ? from.sum + from.error : from.sum;
#ifdef OP_mean
    return total / (E)count;
#else
    return total;
#endif
}

#else /* integers: 64 bits, wrapping around */
typedef ulong partial;
typedef V(ulong) lanes;
typedef union { lanes all; ulong element[W]; } split;
#define WIDEN(x) GLUE(as_, V(ulong))(GLUE(convert_, V(long))(x))

partial partial_at(const split *from, uint i) { return from->element[i]; }

lanes lanes_start(E any) { return (lanes)0; }

lanes lanes_take(lanes to, T x, ulong index) { return to + WIDEN(x); }

#ifdef OP_dot
lanes lanes_take_product(lanes to, T x, T y) { return to + WIDEN(x) * WIDEN(y); }
#endif

partial partial_merge(partial to, partial from) { return to + from; }

VALUE(OUT) partial_result(partial from, ulong count) {
#ifdef OP_mean
    return (VALUE(OUT))as_long(from) / (VALUE(OUT))count;
#else
    return as_long(from);
#endif
}
#endif

#elif defined(OP_min) || defined(OP_max)
/* NaN wins and stays. Taking an element twice changes nothing, so any element can start. */
#ifdef OP_min
#define BEFORE(x, y) ((x) < (y))
#else
#define BEFORE(x, y) ((x) > (y))
#endif
#ifdef FLOATS
#define BEATS(x, y) (BEFORE(x, y) || (x) != (x))
#else
#define BEATS(x, y) BEFORE(x, y)
#endif
typedef struct { E best; } partial;
typedef struct { T best; } lanes;
typedef union { lanes all; E element[W]; } split;

partial partial_at(const split *from, uint i) {
    partial one = {from->element[i]};
    return one;
}

lanes lanes_start(E any) {
    lanes start = {(T)any};
    return start;
}

lanes lanes_take(lanes to, T x, ulong index) {
    to.best = BEATS(x, to.best) ? x : to.best;
    return to;
}

partial partial_merge(partial to, partial from) {
    return BEATS(from.best, to.best) ? from : to;
}

VALUE(OUT) partial_result(partial from, ulong count) { return from.best; }

#elif defined(OP_any) || defined(OP_all)
/* 0 or 1. Taking an element twice changes nothing, and a NaN is not 0. */
typedef struct { E truth; } partial;
typedef struct { T truth; } lanes;
typedef union { lanes all; E element[W]; } split;

partial partial_at(const split *from, uint i) {
    partial one = {from->element[i]};
    return one;
}

#ifdef OP_any
#define NEUTRAL 0
#define DECIDES(x, zero) ((x) != (zero))
#else
#define NEUTRAL 1
#define DECIDES(x, zero) ((x) == (zero))
#endif

lanes lanes_start(E any_element) {
    lanes start = {(T)NEUTRAL};
    return start;
}

lanes lanes_take(lanes to, T x, ulong index) {
    to.truth = DECIDES(x, (T)0) ? (T)(1 - NEUTRAL) : to.truth;
    return to;
}

partial partial_merge(partial to, partial from) { return DECIDES(from.truth, (E)0) ? from : to; }

VALUE(OUT) partial_result(partial from, ulong count) { return from.truth != (E)0; }

#else /* argmax and argmin: the first NaN, or else the first extreme */
#define INDEXED
typedef struct { E best; ulong index; } partial;
typedef partial lanes;
typedef union { lanes all; } split;

partial partial_at(const split *from, uint i) { return from->all; }
#define NOWHERE 0xfffffffffffffffful
#ifdef OP_argmin
#define BEFORE(x, y) ((x) < (y))
#else
#define BEFORE(x, y) ((x) > (y))
#endif
#ifdef FLOATS
#define BEATS(x, y) (BEFORE(x, y) || ((x) != (x) && (y) == (y)))
#else
#define BEATS(x, y) BEFORE(x, y)
#endif

lanes lanes_start(E any) {
    lanes start = {any, NOWHERE};
    return start;
}

lanes lanes_take(lanes to, E x, ulong index) {
    if (to.index == NOWHERE || BEATS(x, to.best)) {
        to.best = x;
        to.index = index;
    }
    return to;
}

partial partial_merge(partial to, partial from) {
    if (from.index == NOWHERE)
        return to;
    if (to.index == NOWHERE || BEATS(from.best, to.best))
        return from;
    return BEATS(to.best, from.best) || to.index < from.index ? to : from;
}

VALUE(OUT) partial_result(partial from, ulong count) { return (VALUE(OUT))from.index; }
#endif

/* By way of a vector, since the functions of 16-bit types take those. */
MEMORY(OUT) packed(VALUE(OUT) value) {
    union { V(MEMORY(OUT)) vector; MEMORY(OUT) element[W]; } result = {
        PACK(OUT, (V(VALUE(OUT)))value)};
    return result.element[0];
}

#if defined(FUSED) || defined(STRIDED)
/* A vector whose elements from `left` on change no result: 0 for sums, an element taken before
 * else. */
#if defined(OP_sum) || defined(OP_mean) || defined(OP_dot)
#define PADDING(x) ((E)0)
#else
#define PADDING(x) (x).element[0]
#endif
T padded(T x, long left) {
    union { T vector; E element[W]; } part = {x};
    const E padding = PADDING(part);
    for (uint i = 0; i < W; i++)
        if (i >= left)
            part.element[i] = padding;
    return part.vector;
}
#endif

#ifndef FUSED
E element_at(global const MEMORY(A) *from, ulong i) {
    union { T vector; E element[W]; } one = {UNPACK(A, (V(MEMORY(A)))from[i])};
    return one.element[0];
}

typedef V(MEMORY(A)) stored_a STORED_AS(MEMORY(A));

#ifdef OP_dot
#define INPUTS global const MEMORY(A) *a, ulong a_offset, global const MEMORY(A) *b, ulong b_offset
#else
#define INPUTS global const MEMORY(A) *a, ulong a_offset
#endif
#endif

/* Merges the partials of the group's first `active` work-items into its first's. The group's size
 * is a power of two. */
partial group_merge(partial mine, uint active, local partial *shared) {
    const uint me = get_local_id(0);
    shared[me] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {
        if (me < half_size && me + half_size < active)
            shared[me] = partial_merge(shared[me], shared[me + half_size]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return shared[0];
}

#ifndef FUSED
/* Of `steps` vectors of a work-item, each a `team` of them behind the last; what is left of a vector at the end of the
 * array goes element by element. */
#ifdef OP_dot
partial items_part(global const MEMORY(A) *a, global const MEMORY(A) *b, ulong count, ulong first,
                   uint team, uint steps) {
#else
partial items_part(global const MEMORY(A) *a, ulong count, ulong first, uint team, uint steps) {
#endif
    const ulong row = (ulong)team * W;
    const ulong whole = first + W <= count ? min((count - W - first) / row + 1, (ulong)steps) : 0;
    const E any = count > 0 ? element_at(a, 0) : (E)0;
    split mine;
    mine.all = lanes_start(any);
    for (uint k = 0; k < (uint)whole; k++) {
        const ulong i = first + k * row;
        const T x = UNPACK(A, *(global const stored_a *)(a + i));
#ifdef OP_dot
        mine.all = lanes_take_product(mine.all, x, UNPACK(A, *(global const stored_a *)(b + i)));
#else
        mine.all = lanes_take(mine.all, x, i);
#endif
    }

    partial total = partial_at(&mine, 0);
    for (uint i = 1; i < W && whole; i++)
        total = partial_merge(total, partial_at(&mine, i));
#if W > 1
    const ulong rest = first + whole * row;
    for (uint i = 0; i < W; i++)
        if (whole < steps && rest + i < count) {
            split one;
#ifdef OP_dot
            one.all = lanes_take_product(lanes_start(any), (T)element_at(a, rest + i),
                                         (T)element_at(b, rest + i));
#else
            one.all = lanes_take(lanes_start(any), (T)element_at(a, rest + i), rest + i);
#endif
            total = partial_merge(total, partial_at(&one, 0));
        }
#endif
    return total;
}

#ifndef LINES
/* Neighbours beside each other. */
kernel void reduce_part(INPUTS, global partial *partials, local partial *shared, ulong count,
                        uint steps) {
    const uint team = (uint)get_local_size(0);
    const ulong first = (get_group_id(0) * (ulong)team * steps + get_local_id(0)) * W;
#ifdef OP_dot
    partial total = items_part(a + a_offset, b + b_offset, count, first, team, steps);
#else
    partial total = items_part(a + a_offset, count, first, team, steps);
#endif
    total = group_merge(total, team, shared);
    if (get_local_id(0) == 0)
        partials[get_group_id(0)] = total;
}
#else
#ifndef STRIDED
/*
 * Lines: places are (first element, distance between rows, or of the results between two), shape is (lines, elements of
 * a line), and cut is (parts of a line, steps of an item, items of a team, lines of a team). A part is the part'th
 * of each line. Where there is one, its result is written at once.
 */
void put_part(partial total, ulong line, uint part, global partial *partials, global MEMORY(OUT) *out,
              ulong2 out_place, ulong2 shape, uint4 cut) {
    if (cut.s0 > 1)
        partials[part * shape.s0 + line] = total;
    else
        out[out_place.s0 + line * out_place.s1] = packed(partial_result(total, shape.s1));
}
#endif

#include "lanes.cl"
#ifdef LANES
OF_LANE(partial)
#endif

/* Merges the partials of each team of the group, a power of two, into its first's. */
partial team_merge(partial mine, uint team, local partial *shared) {
    const uint me = get_local_id(0), rank = me & (team - 1);
    uint width = 1; /* items whose partials are in that of their first */
#ifdef LANES
    for (; width < team && width < LANES; width *= 2)
        mine = partial_merge(mine, of_lane(mine, width));
#endif
    if (width == team)
        return mine;
    barrier(CLK_LOCAL_MEM_FENCE); /* an earlier line has been read */
    shared[me] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = team / 2; half_size >= width; half_size /= 2) {
        if (rank < half_size)
            shared[me] = partial_merge(shared[me], shared[me + half_size]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return shared[me];
}

/* Of a group, which takes neighbouring lines, cut.s2 items merge the parts of each: into its first's, which `line` tells the
 * number of; the others get one beyond the last. */
partial parts_merge(global const partial *partials, local partial *shared, ulong2 shape, uint4 cut,
                    ulong *line) {
    const uint me = get_local_id(0), lines = (uint)get_local_size(0) / cut.s2, rank = me / lines;
    const ulong its = get_group_id(0) * (ulong)lines + me % lines;
    const ulong at = its < shape.s0 ? its : 0;
    partial total = partials[rank * shape.s0 + at];
    for (uint part = rank + cut.s2; part < cut.s0; part += cut.s2)
        total = partial_merge(total, partials[part * shape.s0 + at]);
    for (uint half_size = cut.s2 / 2; half_size > 0; half_size /= 2) {
        shared[me] = total;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (rank < half_size)
            total = partial_merge(total, shared[me + half_size * lines]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    *line = rank == 0 ? its : shape.s0;
    return total;
}

#ifndef STRIDED
kernel void reduce_rows(global const MEMORY(A) *a, ulong2 a_place, global MEMORY(OUT) *out,
                        ulong2 out_place, global partial *partials, local partial *shared,
                        ulong2 shape, uint4 cut) {
    const uint part = get_group_id(0) % cut.s0, team = cut.s2;
    const uint turn = 31 - clz(team), teams = (uint)get_local_size(0) >> turn;
    const uint rank = get_local_id(0) & (team - 1);
    const ulong first = ((ulong)part * team * cut.s1 + rank) * W;
    ulong line = get_group_id(0) / cut.s0 * teams * cut.s3 + (get_local_id(0) >> turn);
    for (uint k = 0; k < cut.s3; k++, line += teams) {
        const bool is_there = line < shape.s0;
        const ulong count = is_there ? shape.s1 : 0;
        global const MEMORY(A) *row = a + a_place.s0 + (is_there ? line : 0) * a_place.s1;
        const partial total = team_merge(items_part(row, count, first, team, cut.s1), team, shared);
        if (is_there && rank == 0)
            put_part(total, line, part, partials, out, out_place, shape, cut);
    }
}
#endif

/* An element of each of W lines, of which `left` are there. */
T across(global const MEMORY(A) *from, ulong stride, long left) {
    union { T vector; E element[W]; } each = {(T)0};
    for (uint i = 0; i < W; i++)
        if (i < left)
            each.element[i] = element_at(from, i * stride);
    return each.vector;
}

lanes take_across(lanes to, T x, ulong index, bool is_first) {
#if defined(OP_min) || defined(OP_max)
    if (is_first)
        to.best = x;
#endif
    return lanes_take(to, x, index);
}

#ifndef STRIDED
#define AHEAD 4

/* LINES vectors of lines beside each other, and of each of these its part. */
void reduce_block(global const MEMORY(A) *a, ulong2 a_place, ulong a_stride, global MEMORY(OUT) *out,
                  ulong2 out_place, global partial *partials, ulong2 shape, uint4 cut, ulong first,
                  uint part) {
    const ulong begin = (ulong)part * cut.s1, end = min(begin + cut.s1, shape.s1);
    const ulong vectors = min((shape.s0 - first + W - 1) / W, (ulong)LINES);
    lanes mine[LINES];
    a += a_place.s0 + first * a_stride;
#pragma unroll
    for (uint j = 0; j < LINES; j++)
        mine[j] = lanes_start((E)0);
    if (a_stride == 1 && first + LINES * W <= shape.s0) {
        ulong k = begin;
#if LINES == 1
        /* A GPU's item has several vectors under way. */
        for (; k + AHEAD <= end; k += AHEAD) {
            T x[AHEAD];
#pragma unroll
            for (uint j = 0; j < AHEAD; j++)
                x[j] = UNPACK(A, *(global const stored_a *)(a + (k + j) * a_place.s1));
#pragma unroll
            for (uint j = 0; j < AHEAD; j++)
                mine[0] = take_across(mine[0], x[j], k + j, k + j == begin);
        }
#endif
        for (; k < end; k++)
#pragma unroll
            for (uint j = 0; j < LINES; j++) {
                const T x = UNPACK(A, *(global const stored_a *)(a + k * a_place.s1 + j * W));
                mine[j] = take_across(mine[j], x, k, k == begin);
            }
    } else {
        for (ulong k = begin; k < end; k++)
            for (uint j = 0; j < vectors; j++) {
                const long left = (long)(shape.s0 - first) - (long)(j * W);
                const T x = across(a + k * a_place.s1 + j * W * a_stride, a_stride, left);
                mine[j] = take_across(mine[j], x, k, k == begin);
            }
    }
    for (uint j = 0; j < vectors; j++) {
        split each;
        each.all = mine[j];
        for (uint i = 0; i < W; i++)
            if (first + j * W + i < shape.s0)
                put_part(partial_at(&each, i), first + j * W + i, part, partials, out, out_place,
                         shape, cut);
    }
}

/* For columns, and for short rows: a_place has the distance between elements of a line, and a_stride is that between
 * lines. The last of `cut` is the blocks of an item. */
kernel void reduce_across(global const MEMORY(A) *a, ulong2 a_place, ulong a_stride,
                          global MEMORY(OUT) *out, ulong2 out_place, global partial *partials,
                          ulong2 shape, uint4 cut) {
    const ulong blocks = (shape.s0 + LINES * W - 1) / (LINES * W);
    const ulong items = (blocks + cut.s3 - 1) / cut.s3;
    const uint part = get_global_id(0) / items;
    const ulong begin = get_global_id(0) % items * cut.s3, end = min(begin + cut.s3, blocks);
    for (ulong block = begin; part < cut.s0 && block < end; block++)
        reduce_block(a, a_place, a_stride, out, out_place, partials, shape, cut,
                     block * (LINES * W), part);
}

kernel void reduce_lines_finish(global const partial *partials, local partial *shared,
                                global MEMORY(OUT) *out, ulong2 out_place, ulong2 shape, uint4 cut) {
    ulong line;
    const partial total = parts_merge(partials, shared, shape, cut, &line);
    if (line < shape.s0)
        out[out_place.s0 + line * out_place.s1] = packed(partial_result(total, shape.s1));
}
#endif
#endif
#else
lanes lanes_begun(T x) {
    union { T vector; E element[W]; } each = {x};
    return lanes_start(each.element[0]);
}

/* The elements before `left` of vectors that begin at element i; what is behind them is padding. */
lanes lanes_with(lanes to, T x, T y, ulong i, long left) {
#if defined(INDEXED)
    union { T vector; E element[W]; } each = {x};
    for (uint j = 0; j < W; j++)
        if (j < left)
            to = lanes_take(to, each.element[j], i + j);
    return to;
#elif defined(OP_dot)
    return lanes_take_product(to, x, y);
#else
    return lanes_take(to, x, i);
#endif
}

/*
 * `steps` vectors a work-item, neighbours beside each other. A CPU's groups have their rows in one run
 * each. A GPU's, which are all under way together, are dealt them in turn, so that they end together.
 */
kernel void reduce_part(INPUTS, global uchar *arena, ulong arena_offset, local partial *shared,
                        ulong count, uint steps) {
    global partial *partials = (global partial *)(arena + arena_offset);
    const ulong row = (ulong)get_local_size(0) * W;
#ifdef RUNS
    const ulong start = get_group_id(0) * row * steps, next = row;
#else
    const ulong start = get_group_id(0) * row, next = get_num_groups(0) * row;
#endif
    ulong i = start + get_local_id(0) * W;
    uint k = 0;
    split mine;
    mine.all = lanes_start((E)0);
#ifndef RUNS
    /* Two steps at once while the group's rows are whole: no read waits for a sum or asks for the end. */
    const ulong rows = start + row <= count ? (count - start - row) / next + 1 : 0;
    const uint whole = (uint)min(rows, (ulong)steps);
    for (; k + 2 <= whole; k += 2, i += 2 * next) {
        T x, y, x_next, y_next;
        VALUES(i, (long)W, x, y);
        VALUES(i + next, (long)W, x_next, y_next);
        if (k == 0)
            mine.all = lanes_begun(x);
        mine.all = lanes_with(mine.all, x, y, i, W);
        mine.all = lanes_with(mine.all, x_next, y_next, i + next, W);
    }
#endif
    for (; k < steps && i < count; k++, i += next) {
        const long left = (long)(count - i);
        T x, y;
        VALUES(i, left, x, y);
        if (left < W) {
            x = padded(x, left);
#ifdef OP_dot
            y = padded(y, left);
#endif
        }
        if (k == 0)
            mine.all = lanes_begun(x);
        mine.all = lanes_with(mine.all, x, y, i, left);
    }

    partial total = partial_at(&mine, 0);
#ifndef INDEXED
    for (uint j = 1; j < W; j++)
        total = partial_merge(total, partial_at(&mine, j));
#endif
    const ulong vectors = start < count ? (count - start + W - 1) / W : 0;
    total = group_merge(total, (uint)min(vectors, (ulong)get_local_size(0)), shared);
    if (get_local_id(0) == 0)
        partials[get_group_id(0)] = total;
}
#endif

#ifndef LINES
/* One group, of at most `n_partials` work-items. */
kernel void reduce_finish(
#ifdef FUSED
    global const uchar *arena, ulong arena_offset,
#else
    global const partial *partials,
#endif
    uint n_partials, global MEMORY(OUT) *out, ulong out_offset, local partial *shared, ulong count) {
#ifdef FUSED
    global const partial *partials = (global const partial *)(arena + arena_offset);
#endif
    const uint me = get_local_id(0), size = get_local_size(0);
    partial total = partials[me];
    for (uint i = me + size; i < n_partials; i += size)
        total = partial_merge(total, partials[i]);
    total = group_merge(total, (uint)size, shared);
    if (me == 0)
        out[out_offset] = packed(partial_result(total, count));
}
#endif
