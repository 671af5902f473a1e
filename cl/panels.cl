/* SPDX-License-Identifier: MIT */
/*
 * Matrix products on CPUs: c = op(alpha a b + beta c + bias), for every matrix of a batch.
 *
 * A work-item, a group of its own, computes a tile of c. It goes over the tile by blocks of ROWS rows and COLUMNS columns,
 * whose sums stay in registers, and over the inner length by parts of DEPTH, so that what it reads again and again stays
 * in the caches (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34, 2008). It reads
 * panels: ROWS rows of a, or COLUMNS columns of b, with what one step of the sums needs side by side. `pack` makes the
 * panels of a whole product, for `product_packed`. `product` packs b as it goes and reads a in its place, which takes less
 * time where the matrices are small.
 *
 *     -DTYPE=float      element type; for double -DDOUBLES too
 *     -DW=8             elements of a vector register
 *     -DBIAS            the product has a bias
 *     -DOP=op_relu -DUSES_relu   an operation of map.cl, on what is written
 *
 * Element (i, j) of matrix s of a batch is at x + i y + j z + s w of its buffer, where (x, y, z, w) is the operand's
 * layout. All places are below 2^31; a distance that is not has the factor 0.
 */
#ifdef DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef OP
#define UNARY
#define RUNS
#define FUSED
#define A TYPE
#define B TYPE
#define OUT TYPE
#include "map.cl"
#else
#define OP(v) (v)
#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#define V(type) GLUE(type, W)
#endif

typedef V(TYPE) vector;
#define LOAD(i, p) GLUE(vload, W)(i, p)
#define KEEP(v, i, p) GLUE(vstore, W)(v, i, p)

#define DEPTH 256
#define COLUMNS (2 * W)
#if W >= 16
#define ROWS 12
#define EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#else
#define ROWS 6
#define EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5)
#endif

static uint panels(uint n, uint width) { return (n + width - 1) / width; }

/* --- packing --- */

/* `width` rows, of which those past the first `rows` are zeros. */
static void pack_panel(global const TYPE *restrict in, size_t row, size_t step, uint rows,
                       uint width, uint depth, global TYPE *restrict out) {
    for (uint l = 0; l < depth; l++)
        for (uint r = 0; r < width; r++)
            out[l * width + r] = r < rows ? in[r * row + l * step] : (TYPE)0;
}

static void pack_rows(global const TYPE *restrict in, size_t row, size_t step, uint depth,
                      global TYPE *restrict out) {
    for (uint l = 0; l < depth; l++)
#pragma unroll
        for (uint r = 0; r < ROWS; r++)
            out[l * ROWS + r] = in[r * row + l * step];
}

static void pack_columns(global const TYPE *restrict in, size_t step, uint depth,
                         global TYPE *restrict out) {
    for (uint l = 0; l < depth; l++, in += step, out += COLUMNS) {
        KEEP(LOAD(0, in), 0, out);
        KEEP(LOAD(1, in), 1, out);
    }
}

/*
 * Makes the panels of sets.x matrices of a, and behind them those of sets.y matrices of b. `shape` is m, n, k. A work-item
 * packs DEPTH steps of a panel.
 */
kernel void pack(global const TYPE *restrict a, uint4 a_at, global const TYPE *restrict b,
                 uint4 b_at, global TYPE *restrict packed, uint4 shape, uint2 sets) {
    const uint k = shape.z, parts = panels(k, DEPTH);
    const uint of_a = panels(shape.x, ROWS), of_b = panels(shape.y, COLUMNS);
    const uint start = get_global_id(0) % parts * DEPTH, depth = min(k - start, (uint)DEPTH);
    uint panel = get_global_id(0) / parts;
    if (panel < sets.x * of_a) {
        const uint first = panel % of_a * ROWS, rows = min(shape.x - first, (uint)ROWS);
        global const TYPE *in = a + a_at.x + (size_t)(panel / of_a) * a_at.w +
                                (size_t)first * a_at.y + (size_t)start * a_at.z;
        global TYPE *out = packed + ((size_t)panel * k + start) * ROWS;
        if (rows == ROWS)
            pack_rows(in, a_at.y, a_at.z, depth, out);
        else
            pack_panel(in, a_at.y, a_at.z, rows, ROWS, depth, out);
        return;
    }
    panel -= sets.x * of_a;
    const uint first = panel % of_b * COLUMNS, columns = min(shape.y - first, (uint)COLUMNS);
    global const TYPE *in = b + b_at.x + (size_t)(panel / of_b) * b_at.w +
                            (size_t)first * b_at.z + (size_t)start * b_at.y;
    global TYPE *out =
        packed + (size_t)sets.x * of_a * ROWS * k + ((size_t)panel * k + start) * COLUMNS;
    if (columns == COLUMNS && b_at.z == 1)
        pack_columns(in, b_at.y, depth, out);
    else
        pack_panel(in, b_at.z, b_at.y, columns, COLUMNS, depth, out);
}

/* --- a block --- */

/* Where sums go. In the last part of the inner length bias and operation follow. */
struct target {
    global TYPE *c;
    uint m, n, row;
#ifdef BIAS
    global const TYPE *bias; /* that of (i, j) is at i bias_row + j bias_column */
    uint bias_row, bias_column;
#endif
    TYPE alpha, old; /* c = alpha sum + old c; with `old` 0, c is not read */
    bool last;
};

/* Ends a row of a block, of which `columns` elements lie in c. */
static void end_row(const struct target *t, const TYPE *sums, uint i, uint j, uint columns) {
    global TYPE *c = t->c + (size_t)i * t->row + j;
    TYPE part[COLUMNS];
    const bool whole = columns == COLUMNS;
    for (uint l = 0; l < columns && !whole && t->old != 0; l++)
        part[l] = c[l];
#ifdef BIAS
    TYPE bias[COLUMNS];
    for (uint l = 0; l < columns && t->last; l++)
        bias[l] = t->bias[(size_t)i * t->bias_row + (size_t)(j + l) * t->bias_column];
#endif
    for (uint h = 0; h < 2; h++) {
        vector v = (vector)t->alpha * LOAD(h, sums);
        if (t->old != 0)
            v += (vector)t->old * (whole ? LOAD(h, c) : LOAD(h, part));
#ifdef BIAS
        if (t->last)
            v += LOAD(h, bias);
#endif
        if (t->last)
            v = OP(v);
        if (whole)
            KEEP(v, h, c);
        else
            KEEP(v, h, part);
    }
    for (uint l = 0; l < columns && !whole; l++)
        c[l] = part[l];
}

static void end_block(const struct target *t, const TYPE *sums, uint i, uint j) {
    const uint rows = min(t->m - i, (uint)ROWS), columns = min(t->n - j, (uint)COLUMNS);
    for (uint r = 0; r < rows; r++)
        end_row(t, sums + r * COLUMNS, i + r, j, columns);
}

#define BEGIN_ROW(r) vector x##r = 0, y##r = 0;
#define ADD_ROW(r)                    \
    {                                 \
        const TYPE factor = A_OF(r);  \
        x##r += factor * first;       \
        y##r += factor * second;      \
    }
#define KEEP_ROW(r)                             \
    KEEP(x##r, 2 * r, sums);                    \
    KEEP(y##r, 2 * r + 1, sums);

/* The sums of a block: of panels, and of a in its place, of whose rows those past `rows` are any. Each is a function of its
 * own, because in the middle of others LLVM keeps sums in memory, which takes three times as long. */
__attribute__((noinline)) static void add_panels(global const TYPE *restrict a, global const TYPE *restrict b, uint depth,
                       TYPE *sums) {
#define A_OF(r) a[r]
    EACH_ROW(BEGIN_ROW)
    for (uint l = 0; l < depth; l++, a += ROWS, b += COLUMNS) {
        const vector first = LOAD(0, b), second = LOAD(1, b);
        EACH_ROW(ADD_ROW)
    }
    EACH_ROW(KEEP_ROW)
#undef A_OF
}

__attribute__((noinline)) static void add_rows(global const TYPE *restrict a, size_t row, size_t step, uint rows,
                     const TYPE *restrict b, uint depth, TYPE *sums) {
#define A_OF(r) a[at##r]
#define PLACE_ROW(r) const size_t at##r = r < rows ? r * row : 0;
    EACH_ROW(PLACE_ROW)
    EACH_ROW(BEGIN_ROW)
    for (uint l = 0; l < depth; l++, a += step, b += COLUMNS) {
        const vector first = LOAD(0, b), second = LOAD(1, b);
        EACH_ROW(ADD_ROW)
    }
    EACH_ROW(KEEP_ROW)
#undef A_OF
}

/* --- products --- */

/* A tile is rows and columns, and how many there are down and across a matrix; bias_at is offset, row, column. */
#ifdef BIAS
#define BIAS_PARAMETERS , global const TYPE *restrict bias, uint4 bias_at
#else
#define BIAS_PARAMETERS
#endif
#define OUTPUT \
    global TYPE *restrict c, uint4 c_at, uint4 shape, uint4 tile, TYPE alpha, TYPE beta BIAS_PARAMETERS

#define BEGIN_TARGET(set)                                                               \
    struct target target = {.c = c + c_at.x + (size_t)(set)*c_at.w,                     \
                            .m = shape.x,                                               \
                            .n = shape.y,                                               \
                            .row = c_at.y,                                              \
                            .alpha = alpha};                                            \
    BEGIN_BIAS
#ifdef BIAS
#define BEGIN_BIAS                   \
    target.bias = bias + bias_at.x;  \
    target.bias_row = bias_at.y;     \
    target.bias_column = bias_at.z;
#else
#define BEGIN_BIAS
#endif

/* The tile of a work-item: matrix, first row, first column. */
static uint3 tile_of(uint4 tile) {
    const uint item = get_global_id(0), set = item / (tile.z * tile.w), rest = item % (tile.z * tile.w);
    return (uint3)(set, rest / tile.w * tile.x, rest % tile.w * tile.y);
}

kernel void product_packed(global const TYPE *restrict packed, uint2 sets, OUTPUT) {
    const uint3 at = tile_of(tile);
    const uint m = shape.x, n = shape.y, k = shape.z;
    const size_t of_a = (size_t)panels(m, ROWS) * ROWS * k;
    const size_t of_b = (size_t)panels(n, COLUMNS) * COLUMNS * k;
    global const TYPE *a = packed + (sets.x > 1 ? at.x : 0) * of_a;
    global const TYPE *b = packed + sets.x * of_a + (sets.y > 1 ? at.x : 0) * of_b;
    const uint below = min(at.y + tile.x, m), beyond = min(at.z + tile.y, n);
    BEGIN_TARGET(at.x)
    for (uint l = 0; l < k; l += DEPTH) {
        const uint depth = min(k - l, (uint)DEPTH);
        target.old = l ? (TYPE)1 : beta;
        target.last = l + depth == k;
        for (uint j = at.z; j < beyond; j += COLUMNS)
            for (uint i = at.y; i < below; i += ROWS) {
                TYPE sums[ROWS * COLUMNS];
                add_panels(a + (size_t)i * k + (size_t)l * ROWS,
                           b + (size_t)j * k + (size_t)l * COLUMNS, depth, sums);
                end_block(&target, sums, i, j);
            }
    }
}

kernel void product(global const TYPE *restrict a, uint4 a_at, global const TYPE *restrict b,
                    uint4 b_at, OUTPUT) {
    const uint3 at = tile_of(tile);
    const uint k = shape.z;
    const uint below = min(at.y + tile.x, shape.x), columns = min(shape.y - at.z, (uint)COLUMNS);
    BEGIN_TARGET(at.x)
    TYPE panel[DEPTH * COLUMNS];
    a += a_at.x + (size_t)at.x * a_at.w;
    b += b_at.x + (size_t)at.x * b_at.w + (size_t)at.z * b_at.z;
    for (uint l = 0; l < k; l += DEPTH) {
        const uint depth = min(k - l, (uint)DEPTH);
        target.old = l ? (TYPE)1 : beta;
        target.last = l + depth == k;
        for (uint s = 0; s < depth; s++)
            for (uint j = 0; j < COLUMNS; j++)
                panel[s * COLUMNS + j] =
                    j < columns ? b[(size_t)(l + s) * b_at.y + (size_t)j * b_at.z] : (TYPE)0;
        for (uint i = at.y; i < below; i += ROWS) {
            TYPE sums[ROWS * COLUMNS];
            add_rows(a + (size_t)i * a_at.y + (size_t)l * a_at.z, a_at.y, a_at.z,
                     min(shape.x - i, (uint)ROWS), panel, depth, sums);
            end_block(&target, sums, i, at.z);
        }
    }
}

/* --- matrix by vector --- */

static TYPE sum_of(vector v) {
    TYPE part[W], sum = 0;
    KEEP(v, 0, part);
    for (uint h = 0; h < W; h++)
        sum += part[h];
    return sum;
}

/* A row of a, whose elements lie side by side, by x. */
static TYPE row_by_vector(global const TYPE *restrict row, global const TYPE *restrict x,
                          size_t step, uint k) {
    vector u = 0, v = 0;
    TYPE sum = 0;
    uint l = 0;
    for (; step == 1 && l + COLUMNS <= k; l += COLUMNS) {
        u += LOAD(0, row + l) * LOAD(0, x + l);
        v += LOAD(1, row + l) * LOAD(1, x + l);
    }
    for (; l < k; l++)
        sum += row[l] * x[l * step];
    return sum + sum_of(u + v);
}

/* COLUMNS rows of a, which lie side by side, by x. */
static void rows_by_vector(global const TYPE *restrict a, size_t step,
                           global const TYPE *restrict x, size_t x_step, uint rows, uint k,
                           TYPE *sums) {
    vector u = 0, v = 0;
    for (uint l = 0; l < k; l++, a += step, x += x_step) {
        if (rows == COLUMNS) {
            u += (vector)*x * LOAD(0, a);
            v += (vector)*x * LOAD(1, a);
        } else {
            TYPE part[COLUMNS];
            for (uint r = 0; r < COLUMNS; r++)
                part[r] = r < rows ? a[r] : (TYPE)0;
            u += (vector)*x * LOAD(0, part);
            v += (vector)*x * LOAD(1, part);
        }
    }
    KEEP(u, 0, sums);
    KEEP(v, 1, sums);
}

/* c = op(alpha a x + beta c + bias) for vectors x and c, as matrices of one column, and a whose rows or columns lie side by
 * side. A work-item computes tile.x elements. */
kernel void product_by_vector(global const TYPE *restrict a, uint4 a_at,
                              global const TYPE *restrict x, uint4 x_at, OUTPUT) {
    const uint m = shape.x, k = shape.z, first = get_global_id(0) * tile.x;
    BEGIN_TARGET(0)
    target.old = beta;
    target.last = true;
    a += a_at.x;
    x += x_at.x;
    for (uint i = first; i < min(first + tile.x, m); i += COLUMNS) {
        const uint rows = min(m - i, (uint)COLUMNS);
        TYPE sums[2 * COLUMNS]; /* end_row reads as many from each */
        if (a_at.z == 1)
            for (uint r = 0; r < rows; r++)
                sums[r] = row_by_vector(a + (size_t)(i + r) * a_at.y, x, x_at.y, k);
        else
            rows_by_vector(a + i, a_at.z, x, x_at.y, rows, k, sums);
        for (uint r = 0; r < rows; r++)
            end_row(&target, sums + r, i + r, 0, 1);
    }
}
