/* SPDX-License-Identifier: MIT */
/*
 * Element-by-element operations of matrices: conversions, copies, and binary operations with a vector for each row or
 * each column. The options and the functions are those of cl/map.cl, so that an element has the same bits as there, and
 *
 *     -DROW or -DCOLUMN   of a binary operation: b is a vector with an element for each column, or for each row
 *     -DREVERSED          and b is the first operand
 *     -DBATCH=4           rows of a work-item, which it reads before it writes any; STEPS has no meaning
 *     -DALIGNED           all rows start at multiples of 16 bytes, or of their vector if that is less; so does b
 *     -DRUNS              the shape of CPUs: a work-item a group, which takes a block row by row
 *
 * Places are (first element, distance between rows, or between elements of b), shape is (rows, columns), and cut is
 * (items of a team, rows of a group's block, columns of it, blocks beside each other). A team goes beside each other
 * through a row.
 *
 * In place is allowed: a work-item reads an element before it writes it, and nobody else touches it.
 */
#define MATRIX
#include "map.cl"

#ifdef ROW
/* Elements of the vector from p on, `left` of them at most. */
static S row_at(global const MEMORY(B) *p, ulong step, long left) {
    if (step == 1)
        return read_b(p, left);
    union { V(MEMORY(B)) vector; MEMORY(B) element[W]; } part = {(V(MEMORY(B)))0};
    for (uint i = 0; i < W; i++)
        if (i < left)
            part.element[i] = p[i * step];
    return UNPACK(B, part.vector);
}
#endif
#ifdef COLUMN
static S column_at(global const MEMORY(B) *p) { return UNPACK(B, (V(MEMORY(B)))*p); }
#endif

#if INPUTS == 1
#define RESULT_OF(x, y) OP(x)
#elif defined(REVERSED)
#define RESULT_OF(x, y) OP(y, x)
#else
#define RESULT_OF(x, y) OP(x, y)
#endif

kernel void map_matrix(global const MEMORY(A) *a, ulong2 a_place,
#if INPUTS == 2
                       global const MEMORY(B) *b, ulong2 b_place,
#endif
                       global MEMORY(OUT) *out, ulong2 out_place, ulong2 shape, uint4 cut) {
    const uint block = (uint)get_group_id(0);
    const ulong top = (ulong)(block / cut.s3) * cut.s1, left = (ulong)(block % cut.s3) * cut.s2;
#ifdef RUNS
    const ulong bottom = min(top + cut.s1, shape.s0), right = min(left + cut.s2, shape.s1);
    for (ulong i = top; i < bottom; i++) {
        global const MEMORY(A) *from = a + a_place.s0 + i * a_place.s1;
        global MEMORY(OUT) *to = out + out_place.s0 + i * out_place.s1;
#ifdef COLUMN
        const S y = column_at(b + b_place.s0 + i * b_place.s1);
#endif
        for (ulong j = left; j < right; j += W) {
            const long rest = (long)(right - j);
#ifdef ROW
            const S y = row_at(b + b_place.s0 + j * b_place.s1, b_place.s1, rest);
#endif
            write_out(RESULT_OF(read_a(from + j, rest), y), to + j, rest);
        }
    }
#else
    const uint lines = (uint)get_local_size(0) / cut.s0;
    const ulong first = top + get_local_id(0) / cut.s0;
    const ulong j = left + (ulong)(get_local_id(0) % cut.s0) * W;
    const long rest = (long)(shape.s1 - j);
    if (j >= shape.s1)
        return;
#ifdef ROW
    const S y = row_at(b + b_place.s0 + j * b_place.s1, b_place.s1, rest);
#endif
    T x[BATCH];
#pragma unroll
    for (uint k = 0; k < BATCH; k++)
        x[k] = first + k * lines < shape.s0
                   ? read_a(a + a_place.s0 + (first + k * lines) * a_place.s1 + j, rest)
                   : (T)0;
#pragma unroll
    for (uint k = 0; k < BATCH; k++) {
        const ulong i = first + k * lines;
        if (i < shape.s0) {
#ifdef COLUMN
            const S y = column_at(b + b_place.s0 + i * b_place.s1);
#endif
            write_out(RESULT_OF(x[k], y), out + out_place.s0 + i * out_place.s1 + j, rest);
        }
    }
#endif
}
