/* SPDX-License-Identifier: MIT */
/*
 * The gradients of norms; a part of rows.cl. With h = g gain, where g is the gradient of the norm's output, and x^ the
 * normalized elements (x - m) s, that of the input is (h - mean of h - x^ mean of (h x^)) s, where rms_norm has 0 as m
 * and as the mean of h.
 *
 * A team takes up to 64 rows and leaves the sums over these of g x^, that gain's gradient is made of, and for layer_norm of
 * g, shift's: a part, of which row_sums.cl makes the sums over all rows. A part has PITCH numbers for each vector. They
 * stay in registers where the rows do, else in a cache: an item adds to those that it has written itself.
 *
 * In place is allowed: an item writes an element behind the last time that it reads it, and no other item reads it.
 */
#ifdef BY_MEAN
#define SUMS 2
#else
#define SUMS 1
#endif
#define PITCH(columns) (((columns) + 15) / 16 * 16) /* no vector passes the end */
#ifdef RUNS
typedef T stored_sums __attribute__((aligned(sizeof(E))));
#else
typedef T stored_sums;
#endif

/* From the sums over the row of (x - m)^2 and of h (x - m). */
static void take_products(struct row *row, merged sums) {
    take_squares(row, sums.x);
    row->slope = sums.y / (E)row->columns * row->s;
}

static T in_gradient(T normal, T h, const struct row *row) {
#ifdef BY_MEAN
    h -= row->mean;
#endif
    return (h - normal * row->slope) * row->s;
}

static void put_sums(global E *sums, ulong pitch, T of_gain, T of_shift) {
    *(global stored_sums *)sums = of_gain;
#ifdef BY_MEAN
    *(global stored_sums *)(sums + pitch) = of_shift;
#endif
}

#if EACH > 0
#define VECTORS (EACH / W)

static void go_over(struct row *row, global const element *in, global const element *gradient,
                    global element *out, const T *gain, T *of_gain, T *of_shift SHARED) {
    T x[VECTORS], g[VECTORS], first = 0, second = 0;
#pragma unroll
    for (uint j = 0; j < VECTORS; j++) {
        const place i = PLACE(j);
        x[j] = read(in + i, LEFT(row->columns, i), 0);
        g[j] = read(gradient + i, LEFT(row->columns, i), 0);
    }
#ifdef BY_MEAN
#pragma unroll
    for (uint j = 0; j < VECTORS; j++) {
        first += x[j];
        second += g[j] * gain[j];
    }
    const merged means = TEAM_SUM((merged)(sum_of(first), sum_of(second))) / (E)row->columns;
    row->m = means.x;
    row->mean = means.y;
    first = second = 0;
#pragma unroll
    for (uint j = 0; j < VECTORS; j++)
        x[j] = PLACE(j) < row->columns ? x[j] - row->m : (T)0;
#endif
#pragma unroll
    for (uint j = 0; j < VECTORS; j++) {
        first += x[j] * x[j];
        second += g[j] * gain[j] * x[j];
    }
    take_products(row, TEAM_SUM((merged)(sum_of(first), sum_of(second))));
#pragma unroll
    for (uint j = 0; j < VECTORS; j++) {
        const place i = PLACE(j);
        const T normal = x[j] * row->s;
        if (i >= row->columns)
            continue;
        write(in_gradient(normal, g[j] * gain[j], row), out + i, LEFT(row->columns, i));
        of_gain[j] += g[j] * normal;
        of_shift[j] += g[j];
    }
}

#else
/* An item's sums of the elements less `base`, or of the squares of these, and of h, or of h times these. Without the team's
 * barriers, as the sums of norms. */
static merged sums_over(const struct row *row, global const element *in,
                        global const element *gradient, E base, bool squares OF_TEAM) {
    T total = 0, total_h = 0;
    for (ulong i = me * W; i < row->columns;) {
        const ulong end = min(i + PART, row->columns);
        T sum = 0, sum_h = 0;
        for (; i < end; i += STEP) {
            const count left = LEFT(row->columns, i);
            const T away = read(in + i, left, base) - base;
            const T h = read(gradient + i, left, 0) * weights(row->gain, row->gain_step, i, left);
            sum += squares ? away * away : away;
            sum_h += squares ? h * away : h;
        }
        total += sum;
        total_h += sum_h;
    }
    return (merged)(sum_of(total), sum_of(total_h));
}

static void go_over(struct row *row, global const element *in, global const element *gradient,
                    global element *out, global E *sums, bool is_first SHARED) {
    const ulong pitch = PITCH(row->columns);
    row->m = 0;
#ifdef BY_MEAN
    const merged means =
        TEAM_SUM(sums_over(row, in, gradient, 0, false ITS_TEAM)) / (E)row->columns;
    row->m = means.x;
    row->mean = means.y;
#endif
    take_products(row, TEAM_SUM(sums_over(row, in, gradient, row->m, true ITS_TEAM)));
    for (ulong i = me * W; i < row->columns; i += STEP) {
        const count left = LEFT(row->columns, i);
        const T normal = (read(in + i, left, 0) - row->m) * row->s;
        const T g = read(gradient + i, left, 0);
        T of_gain = g * normal, of_shift = g;
        write(in_gradient(normal, g * weights(row->gain, row->gain_step, i, left), row), out + i, left);
        if (!is_first) {
            of_gain += *(global const stored_sums *)(sums + i);
#ifdef BY_MEAN
            of_shift += *(global const stored_sums *)(sums + pitch + i);
#endif
        }
        put_sums(sums + i, pitch, of_gain, of_shift);
    }
}
#endif

#ifndef RUNS
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
#endif
kernel void rows(global const element *in, ulong2 in_at, global const element *gradient,
                 ulong2 gradient_at, global const element *gain, ulong2 gain_at,
                 global element *out, ulong2 out_at, global E *sums, E epsilon, ulong2 shape,
                 uint2 split) {
    const place columns = (place)shape.y;
#ifdef RUNS
    const ulong part = get_global_id(0), first = part * split.y;
#define teams 1
#else
    local merged shared[2 * GROUP];
    const uint team = split.x, turn = 31 - clz(team), teams = GROUP >> turn;
    const uint me = get_local_id(0) & (team - 1), its = get_local_id(0) >> turn;
    const ulong part = get_group_id(0) * (ulong)teams + its;
    const ulong first = get_group_id(0) * (ulong)teams * split.y + its;
#endif
    struct row row;
    row.epsilon = epsilon;
    row.gain = gain + gain_at.x;
    row.gain_step = gain_at.y;
    sums += part * SUMS * PITCH(columns);
#if EACH > 0
    T gains[VECTORS], of_gain[VECTORS], of_shift[VECTORS];
#pragma unroll
    for (uint j = 0; j < VECTORS; j++) {
        const place i = PLACE(j);
        gains[j] = i < columns ? weights(row.gain, row.gain_step, i, LEFT(columns, i)) : (T)0;
        of_gain[j] = of_shift[j] = 0;
    }
#endif
    /* Behind the last row too: all items of the group come to its barriers. */
    for (uint k = 0; k < split.y; k++) {
        const ulong i = first + k * (ulong)teams, at = i < shape.x ? i : 0;
        row.columns = i < shape.x ? columns : 0;
        global const element *const from = in + in_at.x + at * in_at.y;
        global const element *const its_gradient = gradient + gradient_at.x + at * gradient_at.y;
        global element *const to = out + out_at.x + at * out_at.y;
#if EACH > 0
        go_over(&row, from, its_gradient, to, gains, of_gain, of_shift SHARE);
#else
        go_over(&row, from, its_gradient, to, sums, k == 0 SHARE);
#endif
    }
#if EACH > 0
#pragma unroll
    for (uint j = 0; j < VECTORS; j++) {
        const place i = PLACE(j);
        if (i < columns)
            put_sums(sums + i, PITCH(columns), of_gain[j], of_shift[j]);
    }
#endif
}
