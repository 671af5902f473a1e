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
 * Inputs of 16 bits become floats as they are packed. Where the output has 16 bits, what the parts of the inner length give
 * is added up in floats, behind the panels.
 *
 *     -DTYPE=float      element type of the output and the bias: float, double, half or bfloat16 (cl/narrow.cl)
 *     -DIN=float        that of the inputs
 *     -DSUM=float       type of sums: float, or double with -DDOUBLES
 *     -DW=8             sums of a vector register
 *     -DBIAS            the product has a bias
 *     -DOP=op_relu -DUSES_relu   an operation of map.cl, on what is written
 *
 * Element (i, j) of matrix s of a batch is at x + i y + j z + s w of its buffer, where (x, y, z, w) is the operand's
 * layout. All places are below 2^31; a distance that is not has the factor 0.
 */
#ifdef DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#define V(type) GLUE(type, W)
#include "narrow.cl"

typedef MEMORY(IN) input;
typedef MEMORY(TYPE) output;
typedef SUM number;
typedef V(SUM) vector;

#ifdef OP
#define UNARY
#define RUNS
#define FUSED
#define A SUM
#define B SUM
#define OUT SUM
#include "map.cl"
#else
#define OP(v) (v)
#endif

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

#if IS_NARROW(IN)
/* `count` elements, at most COLUMNS, `step` apart. */
static void gather(global const input *restrict in, size_t step, uint count, global number *out) {
    input bits[COLUMNS];
    number values[COLUMNS];
    for (uint i = 0; i < COLUMNS; i++)
        bits[i] = i < count ? in[i * step] : (input)0;
    KEEP(UNPACK(IN, LOAD(0, bits)), 0, values);
    KEEP(UNPACK(IN, LOAD(1, bits)), 1, values);
    for (uint i = 0; i < count; i++)
        out[i] = values[i];
}
#else
static void gather(global const input *restrict in, size_t step, uint count, global number *out) {
    for (uint i = 0; i < count; i++)
        out[i] = in[i * step];
}
#endif

/* `width` rows, of which those past the first `rows` are zeros. */
static void pack_panel(global const input *restrict in, size_t row, size_t step, uint rows,
                       uint width, uint depth, global number *restrict out) {
    for (uint l = 0; l < depth; l++, out += width) {
        gather(in + l * step, row, rows, out);
        for (uint r = rows; r < width; r++)
            out[r] = 0;
    }
}

static void pack_rows(global const input *restrict in, size_t row, size_t step, uint depth,
                      global number *restrict out) {
    for (uint l = 0; l < depth; l++)
        gather(in + l * step, row, ROWS, out + l * ROWS);
}

static void pack_columns(global const input *restrict in, size_t step, uint depth,
                         global number *restrict out) {
    for (uint l = 0; l < depth; l++, in += step, out += COLUMNS) {
        KEEP(UNPACK(IN, LOAD(0, in)), 0, out);
        KEEP(UNPACK(IN, LOAD(1, in)), 1, out);
    }
}

/*
 * Makes the panels of sets.x matrices of a, and behind them those of sets.y matrices of b. `shape` is m, n, k. A work-item
 * packs DEPTH steps of a panel.
 */
kernel void pack(global const input *restrict a, uint4 a_at, global const input *restrict b,
                 uint4 b_at, global number *restrict packed, uint4 shape, uint2 sets) {
    const uint k = shape.z, parts = panels(k, DEPTH);
    const uint of_a = panels(shape.x, ROWS), of_b = panels(shape.y, COLUMNS);
    const uint start = get_global_id(0) % parts * DEPTH, depth = min(k - start, (uint)DEPTH);
    uint panel = get_global_id(0) / parts;
    if (panel < sets.x * of_a) {
        const uint first = panel % of_a * ROWS, rows = min(shape.x - first, (uint)ROWS);
        global const input *in = a + a_at.x + (size_t)(panel / of_a) * a_at.w +
                                (size_t)first * a_at.y + (size_t)start * a_at.z;
        global number *out = packed + ((size_t)panel * k + start) * ROWS;
        if (rows == ROWS)
            pack_rows(in, a_at.y, a_at.z, depth, out);
        else
            pack_panel(in, a_at.y, a_at.z, rows, ROWS, depth, out);
        return;
    }
    panel -= sets.x * of_a;
    const uint first = panel % of_b * COLUMNS, columns = min(shape.y - first, (uint)COLUMNS);
    global const input *in = b + b_at.x + (size_t)(panel / of_b) * b_at.w +
                            (size_t)first * b_at.z + (size_t)start * b_at.y;
    global number *out =
        packed + (size_t)sets.x * of_a * ROWS * k + ((size_t)panel * k + start) * COLUMNS;
    if (columns == COLUMNS && b_at.z == 1)
        pack_columns(in, b_at.y, depth, out);
    else
        pack_panel(in, b_at.z, b_at.y, columns, COLUMNS, depth, out);
}

/* --- a block --- */

/* Where sums go. In the last part of the inner length bias and operation follow. */
struct target {
    global output *c;
    uint m, n, row;
#ifdef BIAS
    global const output *bias; /* that of (i, j) is at i bias_row + j bias_column */
    uint bias_row, bias_column;
#endif
#if IS_NARROW(TYPE)
    global number *partial; /* sums of the parts before, in rows of whole blocks */
#endif
    number alpha, old; /* c = alpha sum + old c; with `old` 0, c is not read */
    bool first, last;  /* part of the inner length */
};

#ifdef BIAS
static void read_bias(const struct target *t, uint i, uint j, uint columns, output *bias) {
    for (uint l = 0; l < columns && t->last; l++)
        bias[l] = t->bias[(size_t)i * t->bias_row + (size_t)(j + l) * t->bias_column];
}
#endif

/* Ends a row of a block, of which `columns` elements lie in c. */
static void end_row(const struct target *t, const number *sums, uint i, uint j, uint columns) {
    global output *c = t->c + (size_t)i * t->row + j;
    output part[COLUMNS];
    const bool whole = columns == COLUMNS;
    for (uint l = 0; l < columns && !whole && t->old != 0; l++)
        part[l] = c[l];
#ifdef BIAS
    output bias[COLUMNS];
    read_bias(t, i, j, columns, bias);
#endif
    for (uint h = 0; h < 2; h++) {
        vector v = LOAD(h, sums);
#if IS_NARROW(TYPE)
        global number *partial = t->partial + (size_t)i * panels(t->n, COLUMNS) * COLUMNS + j;
        if (!t->first)
            v += LOAD(h, partial);
        if (!t->last) {
            KEEP(v, h, partial);
            continue;
        }
#endif
        v *= (vector)t->alpha;
        if (t->old != 0)
            v += (vector)t->old * UNPACK(TYPE, whole ? LOAD(h, c) : LOAD(h, part));
#ifdef BIAS
        if (t->last)
            v += UNPACK(TYPE, LOAD(h, bias));
#endif
        if (t->last)
            v = OP(v);
        if (whole)
            KEEP(PACK(TYPE, v), h, c);
        else
            KEEP(PACK(TYPE, v), h, part);
    }
    for (uint l = 0; l < columns && !whole && (t->last || !IS_NARROW(TYPE)); l++)
        c[l] = part[l];
}

static void end_block(const struct target *t, const number *sums, uint i, uint j) {
    const uint rows = min(t->m - i, (uint)ROWS), columns = min(t->n - j, (uint)COLUMNS);
    for (uint r = 0; r < rows; r++)
        end_row(t, sums + r * COLUMNS, i + r, j, columns);
}

#define BEGIN_ROW(r) vector x##r = 0, y##r = 0;
#define ADD_ROW(r)                    \
    {                                 \
        const number factor = A_OF(r);  \
        x##r += factor * first;       \
        y##r += factor * second;      \
    }
#define KEEP_ROW(r)                             \
    KEEP(x##r, 2 * r, sums);                    \
    KEEP(y##r, 2 * r + 1, sums);

/* The sums of a block: of panels, and of a in its place, of whose rows those past `rows` are any. Each is a function of its
 * own, because in the middle of others LLVM keeps sums in memory, which takes three times as long. */
__attribute__((noinline)) static void add_panels(global const number *restrict a, global const number *restrict b, uint depth,
                       number *sums) {
#define A_OF(r) a[r]
    EACH_ROW(BEGIN_ROW)
    for (uint l = 0; l < depth; l++, a += ROWS, b += COLUMNS) {
        const vector first = LOAD(0, b), second = LOAD(1, b);
        EACH_ROW(ADD_ROW)
    }
    EACH_ROW(KEEP_ROW)
#undef A_OF
}

__attribute__((noinline)) static void add_rows(global const number *restrict a, size_t row, size_t step, uint rows,
                     const number *restrict b, uint depth, number *sums) {
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
#define BIAS_PARAMETERS , global const output *restrict bias, uint4 bias_at
#else
#define BIAS_PARAMETERS
#endif
#define OUTPUT \
    global output *restrict c, uint4 c_at, uint4 shape, uint4 tile, number alpha, number beta BIAS_PARAMETERS

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

#if IS_NARROW(TYPE)
#define PACKED global number *packed
#else
#define PACKED global const number *restrict packed
#endif

kernel void product_packed(PACKED, uint2 sets, OUTPUT) {
    const uint3 at = tile_of(tile);
    const uint m = shape.x, n = shape.y, k = shape.z;
    const size_t of_a = (size_t)panels(m, ROWS) * ROWS * k;
    const size_t of_b = (size_t)panels(n, COLUMNS) * COLUMNS * k;
    global const number *a = packed + (sets.x > 1 ? at.x : 0) * of_a;
    global const number *b = packed + sets.x * of_a + (sets.y > 1 ? at.x : 0) * of_b;
    const uint below = min(at.y + tile.x, m), beyond = min(at.z + tile.y, n);
    BEGIN_TARGET(at.x)
#if IS_NARROW(TYPE)
    target.partial = packed + sets.x * of_a + sets.y * of_b +
                     (size_t)at.x * m * panels(n, COLUMNS) * COLUMNS;
#endif
    for (uint l = 0; l < k; l += DEPTH) {
        const uint depth = min(k - l, (uint)DEPTH);
        target.first = l == 0;
        target.last = l + depth == k;
        target.old = target.first || IS_NARROW(TYPE) ? beta : (number)1;
        for (uint j = at.z; j < beyond; j += COLUMNS)
            for (uint i = at.y; i < below; i += ROWS) {
                number sums[ROWS * COLUMNS];
                add_panels(a + (size_t)i * k + (size_t)l * ROWS,
                           b + (size_t)j * k + (size_t)l * COLUMNS, depth, sums);
                end_block(&target, sums, i, j);
            }
    }
}

#if !IS_NARROW(IN) && !IS_NARROW(TYPE)
kernel void product(global const number *restrict a, uint4 a_at, global const number *restrict b,
                    uint4 b_at, OUTPUT) {
    const uint3 at = tile_of(tile);
    const uint k = shape.z;
    const uint below = min(at.y + tile.x, shape.x), columns = min(shape.y - at.z, (uint)COLUMNS);
    BEGIN_TARGET(at.x)
    number panel[DEPTH * COLUMNS];
    a += a_at.x + (size_t)at.x * a_at.w;
    b += b_at.x + (size_t)at.x * b_at.w + (size_t)at.z * b_at.z;
    for (uint l = 0; l < k; l += DEPTH) {
        const uint depth = min(k - l, (uint)DEPTH);
        target.old = l ? (number)1 : beta;
        target.last = l + depth == k;
        for (uint s = 0; s < depth; s++)
            for (uint j = 0; j < COLUMNS; j++)
                panel[s * COLUMNS + j] =
                    j < columns ? b[(size_t)(l + s) * b_at.y + (size_t)j * b_at.z] : (number)0;
        for (uint i = at.y; i < below; i += ROWS) {
            number sums[ROWS * COLUMNS];
            add_rows(a + (size_t)i * a_at.y + (size_t)l * a_at.z, a_at.y, a_at.z,
                     min(shape.x - i, (uint)ROWS), panel, depth, sums);
            end_block(&target, sums, i, at.z);
        }
    }
}

/* --- matrix by vector --- */

static number sum_of(vector v) {
    number part[W], sum = 0;
    KEEP(v, 0, part);
    for (uint h = 0; h < W; h++)
        sum += part[h];
    return sum;
}

/* A row of a, whose elements lie side by side, by x. */
static number row_by_vector(global const number *restrict row, global const number *restrict x,
                          size_t step, uint k) {
    vector u = 0, v = 0;
    number sum = 0;
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
static void rows_by_vector(global const number *restrict a, size_t step,
                           global const number *restrict x, size_t x_step, uint rows, uint k,
                           number *sums) {
    vector u = 0, v = 0;
    for (uint l = 0; l < k; l++, a += step, x += x_step) {
        if (rows == COLUMNS) {
            u += (vector)*x * LOAD(0, a);
            v += (vector)*x * LOAD(1, a);
        } else {
            number part[COLUMNS];
            for (uint r = 0; r < COLUMNS; r++)
                part[r] = r < rows ? a[r] : (number)0;
            u += (vector)*x * LOAD(0, part);
            v += (vector)*x * LOAD(1, part);
        }
    }
    KEEP(u, 0, sums);
    KEEP(v, 1, sums);
}

/* c = op(alpha a x + beta c + bias) for vectors x and c, as matrices of one column, and a whose rows or columns lie side by
 * side. A work-item computes tile.x elements. */
kernel void product_by_vector(global const number *restrict a, uint4 a_at,
                              global const number *restrict x, uint4 x_at, OUTPUT) {
    const uint m = shape.x, k = shape.z, first = get_global_id(0) * tile.x;
    BEGIN_TARGET(0)
    target.old = beta;
    target.last = true;
    a += a_at.x;
    x += x_at.x;
    for (uint i = first; i < min(first + tile.x, m); i += COLUMNS) {
        const uint rows = min(m - i, (uint)COLUMNS);
        number sums[2 * COLUMNS]; /* end_row reads as many from each */
        if (a_at.z == 1)
            for (uint r = 0; r < rows; r++)
                sums[r] = row_by_vector(a + (size_t)(i + r) * a_at.y, x, x_at.y, k);
        else
            rows_by_vector(a + i, a_at.z, x, x_at.y, rows, k, sums);
        for (uint r = 0; r < rows; r++)
            end_row(&target, sums + r, i + r, 0, 1);
    }
}
#endif
