/* SPDX-License-Identifier: MIT */
/*
 * Element-by-element operations of views with strides. The options and the functions are those of cl/map.cl, so that an
 * element has the same bits as there, but for BATCH and STEPS, and
 *
 *     -DALIGNED           elements next to each other in a line start at multiples of 16 bytes, or of their vector if that
 *                         is less
 *     -DRUNS              the shape of CPUs: a work-item a group, which takes a block line by line
 *
 * A line goes along the last dimension. A place is (first element, stride along a line); the other strides, and the other
 * lengths, stand in the last numbers of a vector of eight, of which the last of all is not used: lengths before them are 1.
 * shape is (lines, their length), and cut is that of cl/matrix.cl.
 *
 * In place is allowed: a work-item reads an element before it writes it, and nobody else touches it.
 */
#define MATRIX
#include "map.cl"
#include "quotient.cl"

/* The first element of a line, in each view. */
struct place {
    long a;
#if INPUTS > 1
    long b;
#endif
#if INPUTS > 2
    long c;
#endif
    long out;
};

#if INPUTS > 2
#define EACH_VIEW(DO, d) DO(a, d) DO(b, d) DO(c, d) DO(out, d)
#elif INPUTS > 1
#define EACH_VIEW(DO, d) DO(a, d) DO(b, d) DO(out, d)
#else
#define EACH_VIEW(DO, d) DO(a, d) DO(out, d)
#endif

/* Elements of a line from p on, `left` of them at most. */
#define READER(name, TYPE, reader)                                                     \
    static V(VALUE(TYPE)) name(global const MEMORY(TYPE) *p, long stride, long left) { \
        if (stride == 1)                                                               \
            return reader(p, left);                                                    \
        if (stride == 0)                                                               \
            return UNPACK(TYPE, (V(MEMORY(TYPE)))*p);                                  \
        union {                                                                        \
            V(MEMORY(TYPE)) vector;                                                    \
            MEMORY(TYPE) element[W];                                                   \
        } part = {(V(MEMORY(TYPE)))0};                                                 \
        for (uint i = 0; i < W; i++)                                                   \
            if (i < left)                                                              \
                part.element[i] = p[i * stride];                                       \
        return UNPACK(TYPE, part.vector);                                              \
    }

READER(line_a, A, read_a)
#if INPUTS > 1
READER(line_b, B, read_b)
#define line_c line_b
#endif

static void write_line(R value, global MEMORY(OUT) *p, long stride, long left) {
    if (stride == 1) {
        write_out(value, p, left);
        return;
    }
    union { V(MEMORY(OUT)) vector; MEMORY(OUT) element[W]; } part = {PACK(OUT, value)};
    for (uint i = 0; i < W; i++)
        if (i < left)
            p[i * stride] = part.element[i];
}

#define READ(x) line_##x(x + at.x + j * x##_place.s1, x##_place.s1, left)
#if defined(UNARY_PARAM)
#define RESULT_OF(x) OP(x, UNPACK(A, (V(MEMORY(A)))param))
#elif INPUTS == 1
#define RESULT_OF(x) OP(x)
#elif INPUTS == 2
#define RESULT_OF(x) OP(x, READ(b))
#else
#define RESULT_OF(x) OP(x, READ(b), READ(c))
#endif

/* Where a line begins: its number is taken apart from the innermost dimension outwards, until nothing is left of it. */
#define BEGIN(x, d) at.x = x##_place.s0;
#define ADVANCE(x, d) at.x += index * x##_strides.s##d;
#define OUTWARDS(d)                                            \
    if (rest) {                                                \
        const ulong next = quotient(rest, lengths.s##d);       \
        const long index = (long)(rest - next * lengths.s##d); \
        EACH_VIEW(ADVANCE, d)                                  \
        rest = next;                                           \
    }
#define FIND_PLACE(line)                                                                \
    struct place at;                                                                    \
    ulong rest = line;                                                                  \
    EACH_VIEW(BEGIN, 0)                                                                 \
    OUTWARDS(6) OUTWARDS(5) OUTWARDS(4) OUTWARDS(3) OUTWARDS(2) OUTWARDS(1) OUTWARDS(0)

kernel void map_strided(global const MEMORY(A) *a, long2 a_place, long8 a_strides,
#if INPUTS > 1
                        global const MEMORY(B) *b, long2 b_place, long8 b_strides,
#endif
#if INPUTS > 2
                        global const MEMORY(B) *c, long2 c_place, long8 c_strides,
#endif
                        global MEMORY(OUT) *out, long2 out_place, long8 out_strides, ulong8 lengths,
                        ulong2 shape, uint4 cut
#ifdef UNARY_PARAM
                        , MEMORY(A) param
#endif
                        ) {
    const uint block = (uint)get_group_id(0);
    const ulong top = (ulong)(block / cut.s3) * cut.s1, first = (ulong)(block % cut.s3) * cut.s2;
#ifdef RUNS
    const ulong bottom = min(top + cut.s1, shape.s0), end = min(first + cut.s2, shape.s1);
    for (ulong i = top; i < bottom; i++) {
        FIND_PLACE(i)
        for (long j = (long)first; j < (long)end; j += W) {
            const long left = (long)end - j;
            write_line(RESULT_OF(READ(a)), out + at.out + j * out_place.s1, out_place.s1, left);
        }
    }
#else
    const ulong line = top + get_local_id(0) / cut.s0;
    const long j = (long)(first + (ulong)(get_local_id(0) % cut.s0) * W);
    const long left = (long)shape.s1 - j;
    if (line >= shape.s0 || left <= 0)
        return;
    FIND_PLACE(line)
    write_line(RESULT_OF(READ(a)), out + at.out + j * out_place.s1, out_place.s1, left);
#endif
}
