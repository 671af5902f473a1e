/* SPDX-License-Identifier: MIT */
/*
 * Softmax and norms of rows that registers do not keep, in the shape of GPUs; a part of rows.cl. A team goes over a row once
 * for what its output is calculated with, and once to write it: from memory again, or with -DRING=n from the n elements of
 * each item that local memory keeps. There the team's next row takes the place of what is written, so that its loads are
 * under way meanwhile.
 */
/* Vectors that an item has under way, and takes as one. */
#if defined(RING) && RING < 16
#define AHEAD (RING / W)
#else
#define AHEAD (16 / W)
#endif

/* --- what an item finds in the elements that it goes over --- */

#ifdef ROW_layer_norm
/* How many elements, their mean, and the sum of the squared distances from it. Merged as by Chan, Golub and LeVeque:
 * "Updating formulae and a pairwise algorithm for computing sample variances", 1979. */
struct found {
    E n, mean, squares;
};
#define NOTHING {0, 0, 0}
#define PADDING 0

static void take(struct found *all, const T *x, const bool *is_there) {
    T sum = 0, squares = 0;
    E n = 0;
    for (uint j = 0; j < AHEAD; j++) {
        sum += x[j];
        n += is_there[j] ? W : 0;
    }
    const E mean = sum_of(sum) / greater(n, 1);
    for (uint j = 0; j < AHEAD; j++) {
        const T away = is_there[j] ? x[j] - mean : (T)0;
        squares += away * away;
    }
    const E away = mean - all->mean, part = n / greater(all->n + n, 1);
    all->squares += sum_of(squares) + away * away * all->n * part;
    all->mean += away * part;
    all->n += n;
}

static void merge(struct row *row, const struct found *its SHARED) {
    row->m = TEAM_SUM(its->n * its->mean) / (E)row->columns;
    const E away = its->mean - row->m;
    take_squares(row, TEAM_SUM(its->squares + its->n * away * away));
}

#elif defined(ROW_rms_norm)
struct found {
    E squares;
};
#define NOTHING {0}
#define PADDING 0

static void take(struct found *all, const T *x, const bool *is_there) {
    T squares = 0;
    for (uint j = 0; j < AHEAD; j++)
        squares += x[j] * x[j];
    all->squares += sum_of(squares);
}

static void merge(struct row *row, const struct found *its SHARED) {
    row->m = 0;
    take_squares(row, TEAM_SUM(its->squares));
}

#else
/* The greatest element so far and the sum for it, which is taken along when there is a greater one. */
struct found {
    E m, s;
};
#define NOTHING {-INFINITY, 0}
#define PADDING (-INFINITY)

static void take(struct found *all, const T *x, const bool *is_there) {
    T best = x[0], sum = 0;
    for (uint j = 1; j < AHEAD; j++)
        best = x[j] > best ? x[j] : best;
    const E now = greater(all->m, greatest(best)), base = base_of(now);
    for (uint j = 0; j < AHEAD; j++)
        sum += exp_of(x[j] - base);
    all->s = all->s * exp(all->m - base) + sum_of(sum);
    all->m = now;
}

static void merge(struct row *row, const struct found *its SHARED) {
    row->m = TEAM_GREATEST(its->m);
    row->s = TEAM_SUM(its->s * exp(its->m - base_of(row->m)));
    row->s = row->m == -INFINITY ? (E)NAN : row->s;
}
#endif

/* What is written of an element. */
static T value_of(T x, const struct row *row) {
#if defined(ROW_log_softmax) || defined(NORM)
    return x;
#else
    return exp_of(x - row->m);
#endif
}

/* --- memory --- */

/* AHEAD vectors of a row from the item's element `at` on. */
static void load(elements *x, global const element *in, place at, place columns OF_TEAM) {
#pragma unroll
    for (uint j = 0; j < AHEAD; j++) {
        const place i = at + (place)j * STEP;
        x[j] = i < columns ? *(global const stored *)(in + i) : (elements)0;
    }
}

static void take_loaded(struct found *found, const elements *loaded, place at, place columns OF_TEAM) {
    T x[AHEAD];
    bool is_there[AHEAD];
#pragma unroll
    for (uint j = 0; j < AHEAD; j++) {
        is_there[j] = at + (place)j * STEP < columns;
        x[j] = is_there[j] ? UNPACK(TYPE, loaded[j]) : (T)PADDING;
    }
    take(found, x, is_there);
}

#ifdef RING
/* Writes a row, and looks over the next one, which has `more` columns: as many, or none. Of an item every GROUPth vector
 * is kept, from `ring` on. */
static void pass(const struct row *row, struct found *found, local elements *ring,
                 global const element *next, place more, global element *out OF_TEAM) {
#pragma unroll
    for (uint k = 0; k < RING / W; k += AHEAD) {
        const place at = PLACE(k);
        elements loaded[AHEAD];
        load(loaded, next, at, more ITS_TEAM);
#pragma unroll
        for (uint j = 0; j < AHEAD; j++) {
            const place i = PLACE(k + j);
            if (i < row->columns)
                write(written(value_of(UNPACK(TYPE, ring[(k + j) * GROUP]), row), row, i), out + i, W);
        }
        take_loaded(found, loaded, at, more ITS_TEAM);
#pragma unroll
        for (uint j = 0; j < AHEAD; j++)
            ring[(k + j) * GROUP] = loaded[j];
    }
}
#else
static void go_over(struct row *row, global const element *in, global element *out SHARED) {
    const place columns = row->columns;
    struct found found = NOTHING;
    for (place at = me * W; at < columns; at += AHEAD * STEP) {
        elements loaded[AHEAD];
        load(loaded, in, at, columns ITS_TEAM);
        take_loaded(&found, loaded, at, columns ITS_TEAM);
    }
    merge(row, &found SHARE);
#ifdef WRITES
    for (place i = me * W; i < columns; i += STEP) {
        const T x = read(in + i, LEFT(columns, i), 0);
        write(written(value_of(x, row), row, i), out + i, LEFT(columns, i));
    }
#endif
}
#endif
