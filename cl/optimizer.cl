/* SPDX-License-Identifier: MIT */
/*
 * Steps of optimizers (clstream/optimizer.h) on lists of arrays. A program holds one of
 *
 *     -DSGD, -DMOMENTUM or -DADAMW  a step of the arrays of one launch
 *     -DSQUARES                     the sum of the squares of their gradients
 *     -DSTATE                       what comes before a step, and what sets the state
 *
 * and knows of arrays
 *
 *     -DTYPE=float     element type of parameters and gradients: float, double, half or bfloat16 (cl/narrow.cl)
 *     -DREAL=float     type of what is calculated, and of the moments: float, or double with -DDOUBLES
 *     -DW=4            elements in a vector
 *     -DALIGNED        parameters and gradients start at multiples of 16 bytes, or of the vector if that is less
 *     -DSLOTS=4        arrays that a launch has arguments for, a power of two: 4 or 32
 *     -DCHUNK=2048     elements of a chunk, a multiple of W; a work-group changes one
 *
 * and of the state
 *
 *     -DCLIP           there are sums of squares
 *     -DDOUBLES        some of the arrays are double
 *
 * The chunks of a launch are those of its first array, of its second, and so on. The table has a row for each
 * array: its first chunk, its elements, where it begins in the parameter's buffer, and where its moments and master weights
 * begin in theirs. Those are padded to vectors, at multiples of 64 bytes.
 */
#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#ifdef DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
/* An element has the same bits by whichever vector it is calculated, and the rounding errors that are caught below are those
 * of separate operations. */
#pragma OPENCL FP_CONTRACT OFF

/* The state: the steps, a word that is free, and the same numbers as floats and as doubles (lib/ops/optimizer.h). */
enum { RATE, DECAY, BETA1, REST1, BETA2, REST2, EPSILON, BIAS1, BIAS2, MAX_NORM, NESTEROV,
       NORM, SCALE, STEP, ROOT, SHRINK, FIRST, NUMBERS = 24 };
#define FLOATS_OF(state) ((global float *)((state) + 2))
#define DOUBLE_BITS_OF(state) ((state) + 2 + NUMBERS / 2)
#define DOUBLES_OF(state) ((global double *)DOUBLE_BITS_OF(state))

/* --- sums of squares --- */

/* The rounding error of every addition is kept beside the sum, and is void once the sum is infinite or NaN. */
#define PARTIAL(partial, merge, group, total, E)                                            \
    typedef struct { E sum, error; } partial;                                               \
    static partial merge(partial to, partial from) {                                        \
        const E sum = to.sum + from.sum;                                                    \
        const E back = sum - to.sum;                                                        \
        to.error += from.error + ((to.sum - (sum - back)) + (from.sum - back));             \
        to.sum = sum;                                                                       \
        return to;                                                                          \
    }                                                                                       \
    /* Of the items of a group, whose number is a power of two. */                          \
    static partial group(partial mine, local partial *shared) {                             \
        const uint me = get_local_id(0);                                                    \
        shared[me] = mine;                                                                  \
        barrier(CLK_LOCAL_MEM_FENCE);                                                       \
        for (uint half_size = (uint)get_local_size(0) / 2; half_size > 0; half_size /= 2) { \
            if (me < half_size)                                                             \
                shared[me] = merge(shared[me], shared[me + half_size]);                     \
            barrier(CLK_LOCAL_MEM_FENCE);                                                   \
        }                                                                                   \
        return shared[0];                                                                   \
    }                                                                                       \
    static E total(partial from) {                                                          \
        return isfinite(from.sum) && isfinite(from.error) ? from.sum + from.error : from.sum; \
    }

#ifdef STATE
PARTIAL(single, merge_singles, group_singles, total_single, float)
#ifdef DOUBLES
PARTIAL(twofold, merge_twofolds, group_twofolds, total_twofold, double)
#endif

/*
 * The numbers of a step. A norm that is NaN stays one. 1 - beta^t is calculated from bias = 1 - beta, which has lost no
 * digits, and is 1 where that is 1, as for SGD.
 */
#define BEGIN_STEP(name, correction, E)                                                       \
    static E correction(E bias, E t) { return -expm1(t * fmax(log1p(-bias), (E)-200)); }      \
    static void name(global E *n, ulong steps, E norm) {                                      \
        const E t = (E)steps, factor = n[MAX_NORM] / (norm + (E)1e-6f);                       \
        n[NORM] = norm;                                                                       \
        n[SCALE] = n[MAX_NORM] == 0 || isinf(n[MAX_NORM]) || factor > (E)1 ? (E)1 : factor;   \
        n[STEP] = n[RATE] / correction(n[BIAS1], t);                                            \
        n[ROOT] = (E)1 / sqrt(correction(n[BIAS2], t));                                         \
        n[SHRINK] = n[RATE] * n[DECAY];                                                       \
        n[FIRST] = steps == 1 ? (E)1 : n[REST1];                                              \
    }
BEGIN_STEP(begin_floats, correction_of_floats, float)
#ifdef DOUBLES
BEGIN_STEP(begin_doubles, correction_of_doubles, double)
#endif

/* Items of one group, of one where there is no clipping. `counts` are the partial sums of doubles and of floats, in this
 * order. The loops are cut where a driver stops counting. */
#define MERGE_ALL(partial, merge, from, count, mine)                                       \
    for (ulong at = 0; at < (count); at += (ulong)4096 * get_local_size(0))                \
        for (ulong i = at + get_local_id(0);                                               \
             i < min(at + (ulong)4096 * get_local_size(0), (ulong)(count)); i += get_local_size(0)) \
            mine = merge(mine, (from)[i]);

#ifdef CLIP
kernel void begin_step(global ulong *state, global const uchar *partials, ulong2 counts,
#ifdef DOUBLES
                       local twofold *shared) {
    global const twofold *twofolds = (global const twofold *)partials;
    global const single *singles = (global const single *)(twofolds + counts.s0);
    twofold mine = {0, 0};
    MERGE_ALL(twofold, merge_twofolds, twofolds, counts.s0, mine)
    for (ulong at = 0; at < counts.s1; at += (ulong)4096 * get_local_size(0))
        for (ulong i = at + get_local_id(0);
             i < min(at + (ulong)4096 * get_local_size(0), counts.s1); i += get_local_size(0)) {
            const single from = singles[i];
            const twofold one = {from.sum, isfinite(from.error) ? from.error : 0};
            mine = merge_twofolds(mine, one);
        }
    const double norm = sqrt(total_twofold(group_twofolds(mine, shared)));
#else
                       local single *shared) {
    global const single *singles = (global const single *)partials;
    single mine = {0, 0};
    MERGE_ALL(single, merge_singles, singles, counts.s1, mine)
    const float norm = sqrt(total_single(group_singles(mine, shared)));
#endif
#else
kernel void begin_step(global ulong *state) {
    const float norm = 0;
#endif
    if (get_local_id(0) == 0) {
        const ulong steps = state[0] + 1;
        state[0] = steps;
        begin_floats(FLOATS_OF(state), steps, (float)norm);
#ifdef DOUBLES
        begin_doubles(DOUBLES_OF(state), steps, norm);
#endif
    }
}

kernel void set_rate(global ulong *state, ulong bits, float rate) {
    DOUBLE_BITS_OF(state)[RATE] = bits;
    FLOATS_OF(state)[RATE] = rate;
}

kernel void set_state(global ulong *state, ulong steps, ulong bits, float rate) {
    state[0] = steps;
    DOUBLE_BITS_OF(state)[RATE] = bits;
    FLOATS_OF(state)[RATE] = rate;
}

#else
/* --- lists of arrays --- */

#if W == 1
#define V(type) type
#else
#define V(type) GLUE(type, W)
#endif
#include "narrow.cl"

#if IS_NARROW(TYPE)
#define MASTER
#endif

typedef REAL E;
typedef V(REAL) T;
typedef MEMORY(TYPE) element;
typedef V(MEMORY(TYPE)) stored STORED_AS(MEMORY(TYPE));
#if W > 1
typedef V(REAL) state_vector __attribute__((aligned(W * sizeof(REAL) < 16 ? W * sizeof(REAL) : 16)));
#else
typedef REAL state_vector;
#endif

/* What is past the array's end is 0. */
static T read(global const element *p, ulong left) {
    if (left >= W)
        return UNPACK(TYPE, *(global const stored *)p);
    union { V(MEMORY(TYPE)) vector; element each[W]; } part = {(V(MEMORY(TYPE)))0};
    for (uint i = 0; i < W; i++)
        if (i < left)
            part.each[i] = p[i];
    return UNPACK(TYPE, part.vector);
}

#ifdef SQUARES
#define WEIGHT(i)
#define TAKE_WEIGHT(i)
#else
#define WEIGHT(i) global element *p##i,
#define TAKE_WEIGHT(i) a.weights = p##i + a.row.s2;
static void write(T value, global element *p, ulong left) {
    if (left >= W) {
        *(global stored *)p = PACK(TYPE, value);
        return;
    }
    union { V(MEMORY(TYPE)) vector; element each[W]; } part = {PACK(TYPE, value)};
    for (uint i = 0; i < W; i++)
        if (i < left)
            p[i] = part.each[i];
}
#endif

/* Arguments of arrays two by two: their parameters, their gradients, and where the gradients begin. */
#define PAIR(i, j) \
    WEIGHT(i) global const element *g##i, WEIGHT(j) global const element *g##j, ulong2 at##i,
#define TAKE(i, j)                       \
    case i:                              \
        TAKE_WEIGHT(i)                   \
        a.gradients = g##i + at##i.s0;   \
        break;                           \
    case j:                              \
        TAKE_WEIGHT(j)                   \
        a.gradients = g##j + at##i.s1;   \
        break;
#if SLOTS == 4
#define EACH_PAIR(X) X(0, 1) X(2, 3)
#else
#define EACH_PAIR(X)                                                                             \
    X(0, 1) X(2, 3) X(4, 5) X(6, 7) X(8, 9) X(10, 11) X(12, 13) X(14, 15) X(16, 17) X(18, 19)    \
    X(20, 21) X(22, 23) X(24, 25) X(26, 27) X(28, 29) X(30, 31)
#endif

/* The array that a chunk is of, and the chunk in it. */
struct array {
    ulong4 row;
    global const element *gradients;
#ifndef SQUARES
    global element *weights;
#endif
    ulong begin, end;
};

/* The last of `used` arrays whose chunks do not begin behind this one: none of them is empty. */
static uint slot_of(global const ulong4 *table, uint used, ulong chunk) {
    uint slot = 0;
    for (uint step = SLOTS / 2; step > 0; step /= 2)
        if (slot + step < used && table[slot + step].s0 <= chunk)
            slot += step;
    return slot;
}

#define FIND_ARRAY(a, chunk)                              \
    const uint slot = slot_of(table, (uint)where.s1, chunk); \
    struct array a;                                       \
    a.row = table[slot];                                  \
    a.begin = ((chunk)-a.row.s0) * CHUNK;                 \
    a.end = min(a.begin + CHUNK, a.row.s1);               \
    switch (slot) { EACH_PAIR(TAKE) }

#ifdef SQUARES
PARTIAL(partial, merge_partials, group_partials, total_partial, REAL)

/* `where` is (the launch's first row of the table, its arrays), and `cut` (its chunks, those of a group). */
kernel void squares(global const ulong4 *table, EACH_PAIR(PAIR) global partial *partials,
                    ulong first_partial, local partial *shared, ulong2 cut, ulong2 where) {
    const ulong first = get_group_id(0) * cut.s1, last = min(first + cut.s1, cut.s0);
    union { T vector; E each[W]; } sum = {(T)0}, error = {(T)0};
    table += where.s0;
    for (ulong chunk = first; chunk < last; chunk++) {
        FIND_ARRAY(a, chunk)
        for (ulong i = a.begin + get_local_id(0) * W; i < a.end; i += get_local_size(0) * W) {
            const T x = read(a.gradients + i, a.end - i);
            const T square = x * x, next = sum.vector + square, back = next - sum.vector;
            error.vector += (sum.vector - (next - back)) + (square - back);
            sum.vector = next;
        }
    }
    partial mine = {sum.each[0], error.each[0]};
    for (uint i = 1; i < W; i++) {
        const partial one = {sum.each[i], error.each[i]};
        mine = merge_partials(mine, one);
    }
    mine = group_partials(mine, shared);
    if (get_local_id(0) == 0)
        partials[first_partial + get_group_id(0)] = mine;
}

#else
struct numbers { E decay, beta1, rest1, beta2, rest2, epsilon, scale, step, root, shrink, first; bool nesterov; };

static struct numbers numbers_of(global const ulong *state) {
#ifdef DOUBLES
    global const E *n = (global const E *)DOUBLE_BITS_OF(state);
#else
    global const E *n = (global const E *)(state + 2);
#endif
    const struct numbers all = {n[DECAY], n[BETA1], n[REST1], n[BETA2], n[REST2], n[EPSILON], n[SCALE],
                                n[STEP], n[ROOT], n[SHRINK], n[FIRST], n[NESTEROV] != 0};
    return all;
}

/* What is taken off the weights. */
#ifdef ADAMW
static T change(const struct numbers *n, T w, T g, T *m, T *v) {
    *m = n->beta1 * *m + n->rest1 * g;
    *v = n->beta2 * *v + n->rest2 * (g * g);
    return n->step * *m / (sqrt(*v) * n->root + n->epsilon) + n->shrink * w;
}
#elif defined(MOMENTUM)
static T change(const struct numbers *n, T w, T g, T *m, T *v) {
    g = g + n->decay * w;
    *m = n->beta1 * *m + n->first * g;
    return n->step * (n->nesterov ? g + n->beta1 * *m : *m);
}
#else
static T change(const struct numbers *n, T w, T g, T *m, T *v) {
    return n->step * (g + n->decay * w);
}
#endif

#define STATE_AT(p) (*(global state_vector *)((p) + a.row.s3 + i))

kernel void update(global const ulong *state, global const ulong4 *table, EACH_PAIR(PAIR)
#if defined(ADAMW) || defined(MOMENTUM)
                   global E *first,
#endif
#ifdef ADAMW
                   global E *second,
#endif
#ifdef MASTER
                   global E *master,
#endif
                   ulong2 where) {
    const struct numbers n = numbers_of(state);
    const ulong chunk = get_group_id(0);
    table += where.s0;
    FIND_ARRAY(a, chunk)
    for (ulong i = a.begin + get_local_id(0) * W; i < a.end; i += get_local_size(0) * W) {
        const T g = read(a.gradients + i, a.end - i) * n.scale;
#ifdef MASTER
        T w = STATE_AT(master), m = 0, v = 0;
#else
        T w = read(a.weights + i, a.end - i), m = 0, v = 0;
#endif
#if defined(ADAMW) || defined(MOMENTUM)
        m = STATE_AT(first);
#endif
#ifdef ADAMW
        v = STATE_AT(second);
#endif
        w -= change(&n, w, g, &m, &v);
        write(w, a.weights + i, a.end - i);
#ifdef MASTER
        STATE_AT(master) = w;
#endif
#if defined(ADAMW) || defined(MOMENTUM)
        STATE_AT(first) = m;
#endif
#ifdef ADAMW
        STATE_AT(second) = v;
#endif
    }
}
#endif
#endif
