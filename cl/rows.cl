/* SPDX-License-Identifier: MIT */
/*
 * Operations along the rows of a matrix. A team of work-items goes over a row, each item taking every vector that is a
 * team's size behind its last one.
 *
 *     -DROW_softmax, ROW_log_softmax, ROW_softmax_gradient, ROW_log_softmax_gradient, ROW_cross_entropy,
 *      ROW_cross_entropy_gradient, ROW_layer_norm, ROW_rms_norm, ROW_layer_norm_gradient or ROW_rms_norm_gradient
 *     -DTYPE=float      element type of the matrices: float, double, half or bfloat16 (cl/narrow.cl)
 *     -DSUM=float       type of what is calculated: float, or double with -DDOUBLES
 *     -DW=4             elements in a vector
 *     -DRUNS            the shape of CPUs: a team is one item, which takes several rows, one after the other
 *     -DGROUP=256       otherwise the work-items of a group, which has teams of one size, a power of two
 *     -DEACH=16         and the elements of a row that an item keeps in registers; 0: it keeps none
 *     -DRING=32         with these, those that it keeps in local memory; the team is the group (long_rows.cl)
 *
 * In the shape of GPUs a row is whole vectors, aligned as such. So are the numbers for columns, with a step of 1; where W is
 * 1 with any.
 *
 * Places are (first element, distance between rows), shape is (rows, columns), and split is (items of a team, rows that
 * follow one another of an item of a CPU, or of a team, each in a round of all teams).
 *
 * In place is allowed: an item writes the elements that it reads itself, and those of other items that it reads, that of
 * a label, it has read before the team's first barrier, behind which the first element is written.
 */
#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#if defined(ROW_cross_entropy) || defined(ROW_cross_entropy_gradient)
#define LABELS
#endif
#if defined(ROW_softmax_gradient) || defined(ROW_log_softmax_gradient)
#define TWO_INPUTS
#endif
#if defined(ROW_layer_norm_gradient) || defined(ROW_rms_norm_gradient)
#define NORM_GRADIENT
#endif
#if defined(ROW_layer_norm) || defined(ROW_layer_norm_gradient)
#define BY_MEAN
#endif
#if defined(ROW_layer_norm) || defined(ROW_rms_norm) || defined(NORM_GRADIENT)
#define NORM
#endif
#ifndef ROW_cross_entropy
#define WRITES
#endif

#define UNARY
#define FUSED
#define USES_exp
#define A SUM
#define B SUM
#define OUT SUM
#include "map.cl"

typedef SUM E;
typedef V(SUM) T;
typedef MEMORY(TYPE) element;
typedef V(MEMORY(TYPE)) elements;
#ifdef RUNS
/* Vectors aligned as their elements: PoCL's vload would go element by element. */
typedef elements stored __attribute__((aligned(sizeof(element))));
#else
typedef elements stored;
#endif
typedef union { T vector; E each[W]; } split_value;
typedef union { elements vector; element each[W]; } split_elements;
/* An element's number in its row, and how many there are from one on. Rows that an item keeps its part of are short. */
#if !defined(RUNS) && (EACH > 0 || defined(RING))
typedef int place;
typedef int count;
#else
typedef ulong place;
typedef long count;
#endif
#define LEFT(columns, i) ((count)(columns) - (count)(i))

/* --- vectors of a row, of which `left` elements are left from p on, which may be none --- */

#ifdef RUNS

static T part_of(global const element *p, count left, E padding) {
    split_elements part = {(elements)0};
    for (uint i = 0; i < W; i++)
        if (i < left)
            part.each[i] = p[i];
    split_value value = {UNPACK(TYPE, part.vector)};
    for (uint i = 0; i < W; i++)
        if (i >= left)
            value.each[i] = padding;
    return value.vector;
}

/* What is past the row's end is `padding`. */
static T read(global const element *p, count left, E padding) {
    return left >= W ? UNPACK(TYPE, *(global const stored *)p) : part_of(p, left, padding);
}

static void write(T value, global element *p, count left) {
    if (left >= W) {
        *(global stored *)p = PACK(TYPE, value);
        return;
    }
    split_elements part = {PACK(TYPE, value)};
    for (uint i = 0; i < W; i++)
        if (i < left)
            p[i] = part.each[i];
}
#else
static T read(global const element *p, count left, E padding) {
    return left > 0 ? UNPACK(TYPE, *(global const stored *)p) : (T)padding;
}

static void write(T value, global element *p, count left) {
    if (left > 0)
        *(global stored *)p = PACK(TYPE, value);
}
#endif

static E greater(E a, E b) { return a > b ? a : b; }

static E greatest(T x) {
    split_value value = {x};
    E best = value.each[0];
    for (uint i = 1; i < W; i++)
        best = greater(best, value.each[i]);
    return best;
}

static E sum_of(T x) {
    split_value value = {x};
    E sum = value.each[0];
    for (uint i = 1; i < W; i++)
        sum += value.each[i];
    return sum;
}

/* What is taken off before an exponential: rows that have begun with -infinity are no NaN yet. */
static E base_of(E m) { return m == -INFINITY ? (E)0 : m; }

/* --- what the items of a team have together --- */

#ifdef NORM_GRADIENT
typedef GLUE(SUM, 2) merged; /* two sums at once */
#else
typedef E merged;
#endif

#ifndef RUNS
#include "lanes.cl"
#ifdef LANES
OF_LANE(merged)

/* Of all lanes, then of the results for these. */
#define MERGE(name, merge)                                                                       \
    static merged name(merged mine, uint team, local merged *shared) {                           \
        const uint parts = team / LANES, here = get_local_id(0);                                 \
        for (uint mask = min(team, (uint)LANES) / 2; mask; mask /= 2)                            \
            mine = merge(mine, of_lane(mine, mask));                                             \
        if (parts < 2)                                                                           \
            return mine;                                                                         \
        barrier(CLK_LOCAL_MEM_FENCE);                                                            \
        if (here % LANES == 0)                                                                   \
            shared[here / LANES] = mine;                                                         \
        barrier(CLK_LOCAL_MEM_FENCE);                                                            \
        mine = shared[(here & ~(team - 1)) / LANES + (here & (parts - 1))];                      \
        for (uint mask = parts / 2; mask; mask /= 2)                                             \
            mine = merge(mine, of_lane(mine, mask));                                             \
        return mine;                                                                             \
    }
#else
/*
 * By way of as many partial results as each is made of, so that two barriers are enough. The first half of `shared` is
 * read between the two, the second behind them: the next call may write to either half.
 */
#define MERGE(name, merge)                                                                       \
    static merged name(merged mine, uint team, local merged *shared) {                           \
        const uint me = get_local_id(0) & (team - 1);                                            \
        local merged *const all = shared + (get_local_id(0) - me), *const parts = all + GROUP;   \
        uint few = 1;                                                                            \
        while (few * few < team)                                                                 \
            few *= 2;                                                                            \
        all[me] = mine;                                                                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                                            \
        if (me < few)                                                                            \
            for (uint i = me + few; i < team; i += few)                                          \
                mine = merge(mine, all[i]);                                                      \
        if (me < few)                                                                            \
            parts[me] = mine;                                                                    \
        barrier(CLK_LOCAL_MEM_FENCE);                                                            \
        merged total = parts[0];                                                                 \
        for (uint i = 1; i < few; i++)                                                           \
            total = merge(total, parts[i]);                                                      \
        return total;                                                                            \
    }
#endif
#define ADD(a, b) ((a) + (b))
MERGE(team_sum, ADD)
#if !defined(TWO_INPUTS) && !defined(NORM)
MERGE(team_greatest, greater)
#endif
#define TEAM_SUM(x) team_sum(x, team, shared)
#define TEAM_GREATEST(x) team_greatest(x, team, shared)
#define OF_TEAM , uint me, uint team
#define SHARED , local merged *shared OF_TEAM
#define SHARE , shared, me, team
#define ITS_TEAM , me, team
#else
#define TEAM_SUM(x) (x)
#define TEAM_GREATEST(x) (x)
#define OF_TEAM
#define SHARED
#define SHARE
#define ITS_TEAM
#define me 0
#define team 1
#endif
#define STEP ((place)team * W)
/* Where an item's vector j begins. Signed where rows are short, so that a compiler may put j into an instruction's offset. */
#define PLACE(j) ((place)me * W + (place)(j)*STEP)

/* --- what is written of a row --- */

/* m and s are the greatest element and the sum of exponentials; with two inputs s is the sum of the terms; of a norm m is
 * the mean, or 0, and s what the elements are multiplied by. */
struct row {
    E m, s;
    place columns;
#ifdef NORM
    E epsilon;
    ulong gain_step;
    global const element *gain;
#ifdef NORM_GRADIENT
    E mean, slope; /* of the gradient times the gain, h: its mean, and that of h times the normalized elements */
#endif
#ifdef ROW_layer_norm
    ulong shift_step;
    global const element *shift;
#endif
#endif
#ifdef LABELS
    uint label;
    E score, factor; /* the label's score; the gradient's factor */
#endif
};

#ifdef LABELS
#define NO_LABEL 0xffffffffu

/* Before the row is written, in place. */
static void take_label(struct row *row, uint label, global const element *in) {
    row->label = label;
    row->score = NAN;
    if (label < (ulong)row->columns) {
        split_value value = {UNPACK(TYPE, (elements)in[label])};
        row->score = value.each[0];
    }
}

static E loss_of(const struct row *row) {
    return row->label == NO_LABEL ? (E)0 : log(row->s) - (row->score - row->m);
}
#endif

#ifdef WRITES
#ifdef TWO_INPUTS
static T term_of(T y, T g) {
#ifdef ROW_softmax_gradient
    return y * g;
#else
    return g;
#endif
}

static T written(T y, T g, const struct row *row) {
#ifdef ROW_softmax_gradient
    return y * (g - row->s);
#else
    return g - exp_of(y) * row->s;
#endif
}
#elif defined(NORM)
/* W numbers for columns, of which `left` are left. */
static T weights(global const element *from, ulong step, place column, count left) {
#ifdef RUNS
    if (step != 1) {
        split_elements part = {(elements)0};
        for (uint i = 0; i < W; i++)
            if (i < left)
                part.each[i] = from[(column + i) * step];
        return UNPACK(TYPE, part.vector);
    }
#endif
    return read(from + (W == 1 ? column * step : column), left, 0);
}

static void take_squares(struct row *row, E sum) {
    row->s = (E)1 / sqrt(sum / (E)row->columns + row->epsilon);
}

#ifndef NORM_GRADIENT
static T written(T x, const struct row *row, place column) {
    const count left = LEFT(row->columns, column);
    const T gain = weights(row->gain, row->gain_step, column, left);
#ifdef ROW_layer_norm
    return (x - row->m) * row->s * gain + weights(row->shift, row->shift_step, column, left);
#else
    return x * row->s * gain;
#endif
}
#endif
#elif defined(ROW_log_softmax)
static T written(T x, const struct row *row, place column) { return (x - row->m) - log(row->s); }
#elif defined(ROW_softmax)
/* Of exponentials, as of cross entropy's gradient. */
static T written(T power, const struct row *row, place column) { return power * ((E)1 / row->s); }
#else
static T written(T power, const struct row *row, place column) {
    split_value value = {power * ((E)1 / row->s)};
    if (row->label >= (ulong)row->columns)
        return row->label == NO_LABEL ? (T)0 : (T)NAN;
    for (uint i = 0; i < W; i++)
        if (column + i == row->label)
            value.each[i] -= (E)1;
    return value.vector * row->factor;
}
#endif
#endif

/* --- one row --- */

#define PART (64 * STEP) /* elements of which an item makes a sum by itself, before it is added to the row's */

#ifdef NORM_GRADIENT
#include "norm_gradient.cl"
#else
#ifdef TWO_INPUTS
#if EACH > 0
static void go_over(struct row *row, global const element *y, global const element *g,
                    global element *out SHARED) {
    T ys[EACH / W], gs[EACH / W], sum = 0;
#pragma unroll
    for (uint j = 0; j < EACH / W; j++) {
        const place i = PLACE(j);
        ys[j] = read(y + i, LEFT(row->columns, i), 0);
        gs[j] = read(g + i, LEFT(row->columns, i), 0);
    }
#pragma unroll
    for (uint j = 0; j < EACH / W; j++)
        sum += term_of(ys[j], gs[j]);
    row->s = TEAM_SUM(sum_of(sum));
#pragma unroll
    for (uint j = 0; j < EACH / W; j++) {
        const place i = PLACE(j);
        write(written(ys[j], gs[j], row), out + i, LEFT(row->columns, i));
    }
}
#else
static void go_over(struct row *row, global const element *y, global const element *g,
                    global element *out SHARED) {
    T total = 0;
    for (ulong i = me * W; i < row->columns;) {
        const ulong end = min(i + PART, row->columns);
        T sum = 0;
        for (; i < end; i += STEP)
            sum += term_of(read(y + i, LEFT(row->columns, i), 0),
                           read(g + i, LEFT(row->columns, i), 0));
        total += sum;
    }
    row->s = TEAM_SUM(sum_of(total));
    for (ulong i = me * W; i < row->columns; i += STEP) {
        const T x = read(y + i, LEFT(row->columns, i), 0);
        const T gradient = read(g + i, LEFT(row->columns, i), 0);
        write(written(x, gradient, row), out + i, LEFT(row->columns, i));
    }
}
#endif

#elif defined(NORM) && EACH > 0
/* The sum of the elements is that of all items before any distance from the mean is squared. */
static void go_over(struct row *row, global const element *in, global element *out SHARED) {
    T x[EACH / W], sum = 0;
#pragma unroll
    for (uint j = 0; j < EACH / W; j++) {
        const place i = PLACE(j);
        x[j] = read(in + i, LEFT(row->columns, i), 0);
    }
    /* One of the loops is left for compilers to unroll, as in the sums of exponentials. */
#ifdef ROW_layer_norm
    for (uint j = 0; j < EACH / W; j++)
        sum += x[j];
    row->m = TEAM_SUM(sum_of(sum)) / (E)row->columns;
    sum = 0;
#pragma unroll
    for (uint j = 0; j < EACH / W; j++) {
        const place i = PLACE(j);
        const T away = i < row->columns ? x[j] - row->m : (T)0;
        sum += away * away;
    }
#else
    row->m = 0;
    for (uint j = 0; j < EACH / W; j++)
        sum += x[j] * x[j];
#endif
    take_squares(row, TEAM_SUM(sum_of(sum)));
#pragma unroll
    for (uint j = 0; j < EACH / W; j++) {
        const place i = PLACE(j);
        if (i < row->columns)
            write(written(x[j], row, i), out + i, LEFT(row->columns, i));
    }
}

#elif defined(NORM) && defined(RUNS)
/* The sum of the elements less `base`, or of the squares of these. */
static E sum_over(const struct row *row, global const element *in, E base, bool squares) {
    T total = 0;
    for (ulong i = 0; i < row->columns;) {
        const ulong end = min(i + PART, row->columns);
        T sum = 0;
        for (; i < end; i += W) {
            const T away = read(in + i, LEFT(row->columns, i), base) - base;
            sum += squares ? away * away : away;
        }
        total += sum;
    }
    return sum_of(total);
}

static void go_over(struct row *row, global const element *in, global element *out) {
    row->m = 0;
#ifdef ROW_layer_norm
    row->m = sum_over(row, in, 0, false) / (E)row->columns;
#endif
    take_squares(row, sum_over(row, in, row->m, true));
    for (ulong i = 0; i < row->columns; i += W)
        write(written(read(in + i, LEFT(row->columns, i), 0), row, i), out + i,
              LEFT(row->columns, i));
}

#elif defined(RUNS)
/* Powers that lose no digits in memory are kept in the output's row. */
#if defined(WRITES) && !defined(ROW_log_softmax) && !IS_NARROW(TYPE)
#define KEEPS_POWERS
#endif

static void find_sum(struct row *row, global const element *in, global element *out) {
    const ulong columns = row->columns;
    T best = -INFINITY, total = 0;
    for (ulong i = 0; i < columns; i += W) {
        const T x = read(in + i, LEFT(columns, i), -INFINITY);
        best = x > best ? x : best;
    }
    row->m = greatest(best);
    for (ulong i = 0; i < columns;) {
        const ulong end = min(i + PART, columns);
        T sum = 0;
        for (; i < end; i += W) {
            const T power = exp_of(read(in + i, LEFT(columns, i), -INFINITY) - row->m);
            sum += power;
#ifdef KEEPS_POWERS
            write(power, out + i, LEFT(columns, i));
#endif
        }
        total += sum;
    }
    row->s = sum_of(total);
}

static void go_over(struct row *row, global const element *in, global element *out) {
    find_sum(row, in, out);
#ifdef WRITES
    const ulong columns = row->columns;
    for (ulong i = 0; i < columns; i += W) {
#if defined(KEEPS_POWERS)
        const T x = read(out + i, LEFT(columns, i), 0);
#elif defined(ROW_log_softmax)
        const T x = read(in + i, LEFT(columns, i), 0);
#else
        const T x = exp_of(read(in + i, LEFT(columns, i), 0) - row->m);
#endif
        write(written(x, row, i), out + i, LEFT(columns, i));
    }
#endif
}

#elif EACH > 0
static void go_over(struct row *row, global const element *in, global element *out SHARED) {
    T x[EACH / W], best = -INFINITY, sum = 0;
#pragma unroll
    for (uint j = 0; j < EACH / W; j++) {
        const place i = PLACE(j);
        x[j] = read(in + i, LEFT(row->columns, i), -INFINITY);
    }
    /* Unrolled by any compiler. Told to, PoCL 3.1's gives wrong numbers of 16 bits in the second of two vectors. */
    for (uint j = 0; j < EACH / W; j++)
        best = x[j] > best ? x[j] : best;
    row->m = TEAM_GREATEST(greatest(best));
#pragma unroll
    for (uint j = 0; j < EACH / W; j++) {
        const T power = exp_of(x[j] - row->m);
        sum += power;
#ifndef ROW_log_softmax
        x[j] = power;
#endif
    }
    row->s = TEAM_SUM(sum_of(sum));
#ifdef WRITES
#pragma unroll
    for (uint j = 0; j < EACH / W; j++) {
        const place i = PLACE(j);
        write(written(x[j], row, i), out + i, LEFT(row->columns, i));
    }
#endif
}

#else
#include "long_rows.cl"
#endif

/* --- the launch --- */

#ifndef RUNS
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
#endif
kernel void rows(global const element *in, ulong2 in_at,
#ifdef TWO_INPUTS
                 global const element *gradient, ulong2 gradient_at,
#endif
#ifdef NORM
                 global const element *gain, ulong2 gain_at,
#endif
#ifdef ROW_layer_norm
                 global const element *shift, ulong2 shift_at,
#endif
#ifdef LABELS
                 global const uint *labels, ulong2 labels_at, global E *losses, ulong2 losses_at,
#endif
#ifdef WRITES
                 global element *out, ulong2 out_at,
#endif
#if defined(ROW_cross_entropy_gradient) || defined(NORM)
                 E number, /* the gradient's factor, a norm's epsilon */
#endif
                 ulong2 shape, uint2 split) {
#ifdef RUNS
    const ulong first = get_global_id(0) * (ulong)split.y, step = 1;
    const ulong end = min(first + split.y, shape.x);
#else
    local merged shared[2 * GROUP];
#ifdef RING
    const uint team = GROUP;
#else
    const uint team = split.x;
#endif
    const uint me = get_local_id(0) & (team - 1), turn = 31 - clz(team);
    const ulong first = (get_group_id(0) * (ulong)GROUP + get_local_id(0)) >> turn;
    const ulong step = (get_num_groups(0) * (ulong)GROUP) >> turn;
    /* Behind the last row too: all items of the group come to its barriers. */
    const ulong end = first + split.y * step;
#endif
#define ROW_AT(i) (in + in_at.x + ((i) < shape.x ? (i) : 0) * in_at.y)
#define COLUMNS_AT(i) ((i) < shape.x ? (place)shape.y : 0)
#ifdef RING
    local elements rings[RING / W * GROUP], *const ring = rings + get_local_id(0);
    struct row none;
    const struct found nothing = NOTHING;
    struct found found = nothing;
    none.columns = 0;
    pass(&none, &found, ring, ROW_AT(first), COLUMNS_AT(first), 0 ITS_TEAM);
#endif
    for (ulong i = first; i < end; i += step) {
        struct row row;
        row.columns = COLUMNS_AT(i);
        const ulong at = i < shape.x ? i : 0;
#ifdef LABELS
        take_label(&row, labels[labels_at.x + at * labels_at.y], ROW_AT(i));
#endif
#ifdef ROW_cross_entropy_gradient
        row.factor = number;
#endif
#ifdef NORM
        row.epsilon = number;
        row.gain = gain + gain_at.x;
        row.gain_step = gain_at.y;
#endif
#ifdef ROW_layer_norm
        row.shift = shift + shift_at.x;
        row.shift_step = shift_at.y;
#endif
#ifdef WRITES
        global element *const to = out + out_at.x + at * out_at.y;
#else
        global element *const to = 0;
#endif
#ifdef TWO_INPUTS
        go_over(&row, ROW_AT(i), gradient + gradient_at.x + at * gradient_at.y, to SHARE);
#elif defined(RING)
        merge(&row, &found SHARE);
        found = nothing;
        pass(&row, &found, ring, ROW_AT(i + step), COLUMNS_AT(i + step), to ITS_TEAM);
#else
        go_over(&row, ROW_AT(i), to SHARE);
#endif
#ifdef LABELS
        if (me == 0 && i < shape.x)
            losses[losses_at.x + i * losses_at.y] = loss_of(&row);
#endif
    }
}
#endif
