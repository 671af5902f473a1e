/* SPDX-License-Identifier: MIT */
/*
 * Reductions of views with strides, by the options and the operations of cl/reduce.cl. A line is what comes to one
 * result; its elements are numbered, and so are the lines, by their indices, of which the last changes first.
 *
 * `lengths` are those of the dimensions that stay, and `steps` and `out_steps` their strides in input and output: the last
 * of eight is the innermost, and lengths before the first are 1. run_lengths and run_steps are those of the dimensions
 * that go, of which the innermost is a run: run is (its length, its stride, its vectors), and not among them. Offsets are
 * (of the input, of the output), shape is (lines, elements of a line), and cut is that of cl/reduce.cl.
 */
#define STRIDED
#include "reduce.cl"
#include "quotient.cl"

/* The place of an element by its number, which is taken apart from the innermost dimension outwards. */
#define OUTWARDS(d)                                              \
    if (rest) {                                                  \
        const ulong next = quotient(rest, lengths.s##d);         \
        at += (long)(rest - next * lengths.s##d) * strides.s##d; \
        rest = next;                                             \
    }
static long place_of(ulong rest, ulong8 lengths, long8 strides) {
    long at = 0;
    OUTWARDS(7) OUTWARDS(6) OUTWARDS(5) OUTWARDS(4) OUTWARDS(3) OUTWARDS(2) OUTWARDS(1) OUTWARDS(0)
    return at;
}

/* Elements of a run, `left` of them at most. */
static T read_run(global const MEMORY(A) *from, long stride, ulong left) {
    if (stride == 1 && left >= W)
        return UNPACK(A, *(global const stored_a *)from);
    union { V(MEMORY(A)) vector; MEMORY(A) element[W]; } part = {(V(MEMORY(A)))0};
    for (uint i = 0; i < W; i++)
        if (i < left)
            part.element[i] = from[i * stride];
    const T x = UNPACK(A, part.vector);
    return left < W ? padded(x, (long)left) : x;
}

/* Of `steps` vectors of a work-item from number `first` on, each a `team` of them behind the last, of `runs` runs. */
static partial runs_part(global const MEMORY(A) *line, ulong8 run_lengths, long8 run_steps, ulong4 run,
                         ulong runs, ulong first, uint team, uint steps) {
    const long stride = (long)run.s1;
    ulong r = quotient(first, run.s2), j = first - r * run.s2;
    split mine;
    mine.all = lanes_start(r < runs ? element_at(line, 0) : (E)0);
    for (uint k = 0; k < steps && r < runs;) {
        global const MEMORY(A) *from = line + place_of(r, run_lengths, run_steps);
        for (; j < run.s2 && k < steps; j += team, k++)
            mine.all = lanes_take(mine.all, read_run(from + (long)(j * W) * stride, stride, run.s0 - j * W),
                                  r * run.s0 + j * W);
        const ulong on = quotient(j, run.s2);
        r += on;
        j -= on * run.s2;
    }
    partial total = partial_at(&mine, 0);
#ifndef INDEXED
    for (uint i = 1; i < W; i++)
        total = partial_merge(total, partial_at(&mine, i));
#endif
    return total;
}

static void put_strided(partial total, ulong line, uint part, global partial *partials,
                        global MEMORY(OUT) *out, ulong8 lengths, long8 out_steps, ulong2 shape, uint4 cut) {
    if (cut.s0 > 1)
        partials[part * shape.s0 + line] = total;
    else
        out[place_of(line, lengths, out_steps)] = packed(partial_result(total, shape.s1));
}

/* A team of items for each line, as reduce_rows has them. */
kernel void reduce_strided_rows(global const MEMORY(A) *a, global MEMORY(OUT) *out, ulong2 offsets,
                                ulong8 lengths, long8 steps, long8 out_steps, ulong8 run_lengths,
                                long8 run_steps, ulong4 run, global partial *partials,
                                local partial *shared, ulong2 shape, uint4 cut) {
    const uint part = get_group_id(0) % cut.s0, team = cut.s2;
    const uint turn = 31 - clz(team), teams = (uint)get_local_size(0) >> turn;
    const uint rank = get_local_id(0) & (team - 1);
    const ulong first = (ulong)part * team * cut.s1 + rank;
    const ulong runs = shape.s1 ? quotient(shape.s1, run.s0) : 0;
    ulong line = get_group_id(0) / cut.s0 * teams * cut.s3 + (get_local_id(0) >> turn);
    for (uint k = 0; k < cut.s3; k++, line += teams) {
        const bool is_there = line < shape.s0;
        global const MEMORY(A) *from = a + offsets.s0 + (is_there ? place_of(line, lengths, steps) : 0);
        const partial mine =
            runs_part(from, run_lengths, run_steps, run, is_there ? runs : 0, first, team, cut.s1);
        const partial total = team_merge(mine, team, shared);
        if (is_there && rank == 0)
            put_strided(total, line, part, partials, out + offsets.s1, lengths, out_steps, shape, cut);
    }
}

/* LINES vectors of lines that are neighbours, `left` of them at most, and of each of these its part; `from` is the
 * first element of the first. */
static void take_block(lanes *mine, global const MEMORY(A) *from, long stride, ulong left,
                       ulong8 run_lengths, long8 run_steps, ulong4 run, ulong begin, ulong end) {
    const uint vectors = (uint)min((left + W - 1) / W, (ulong)LINES);
    ulong r = quotient(begin, run.s0), k = begin - r * run.s0;
    for (ulong e = begin; e < end; r++, k = 0) {
        global const MEMORY(A) *at =
            from + place_of(r, run_lengths, run_steps) + (long)k * (long)run.s1;
        const ulong stop = min(e + (run.s0 - k), end);
        if (stride == 1 && left >= LINES * W)
            for (; e < stop; e++, at += (long)run.s1)
#pragma unroll
                for (uint j = 0; j < LINES; j++)
                    mine[j] = take_across(mine[j], UNPACK(A, *(global const stored_a *)(at + j * W)),
                                          e, e == begin);
        else
            for (; e < stop; e++, at += (long)run.s1)
                for (uint j = 0; j < vectors; j++)
                    mine[j] = take_across(mine[j],
                                          across(at + (long)(j * W) * stride, (ulong)stride,
                                                 (long)left - (long)(j * W)),
                                          e, e == begin);
    }
}

/* For lines whose neighbours in the innermost dimension lie closest: the last of `cut` is the blocks of an item. */
kernel void reduce_strided_across(global const MEMORY(A) *a, global MEMORY(OUT) *out, ulong2 offsets,
                                  ulong8 lengths, long8 steps, long8 out_steps, ulong8 run_lengths,
                                  long8 run_steps, ulong4 run, global partial *partials, ulong2 shape,
                                  uint4 cut) {
    const ulong side = LINES * W, row = (lengths.s7 + side - 1) / side;
    const ulong blocks = quotient(shape.s0, lengths.s7) * row;
    const ulong items = (blocks + cut.s3 - 1) / cut.s3;
    const uint part = (uint)quotient(get_global_id(0), items);
    const ulong first = (get_global_id(0) - part * items) * cut.s3, last = min(first + cut.s3, blocks);
    const ulong begin = (ulong)part * cut.s1, end = min(begin + cut.s1, shape.s1);
    for (ulong block = first; part < cut.s0 && block < last; block++) {
        const ulong outer = quotient(block, row), j = (block - outer * row) * side;
        const ulong line = outer * lengths.s7 + j, left = min(lengths.s7 - j, side);
        lanes mine[LINES];
#pragma unroll
        for (uint i = 0; i < LINES; i++)
            mine[i] = lanes_start((E)0);
        take_block(mine, a + offsets.s0 + place_of(line, lengths, steps), steps.s7, left, run_lengths,
                   run_steps, run, begin, end);
        for (uint i = 0; i < LINES && i * W < left; i++) {
            split each;
            each.all = mine[i];
            for (uint w = 0; w < W && i * W + w < left; w++)
                put_strided(partial_at(&each, w), line + i * W + w, part, partials, out + offsets.s1,
                            lengths, out_steps, shape, cut);
        }
    }
}

kernel void reduce_strided_finish(global const partial *partials, local partial *shared,
                                  global MEMORY(OUT) *out, ulong2 offsets, ulong8 lengths,
                                  long8 out_steps, ulong2 shape, uint4 cut) {
    ulong line;
    const partial total = parts_merge(partials, shared, shape, cut, &line);
    if (line < shape.s0)
        out[offsets.s1 + place_of(line, lengths, out_steps)] = packed(partial_result(total, shape.s1));
}
