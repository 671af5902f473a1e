/* SPDX-License-Identifier: MIT */
/*
 * The kernel of an operation on given types, and its launch shape. The strings are made on first use and kept for the
 * life of the process, so that a call finds them with one load.
 */
#ifndef CLSTREAM_OPS_SPEC_H
#define CLSTREAM_OPS_SPEC_H

#include "command/op.h"
#include "ops/table.h"

/* How a launch goes over the elements. */
enum shape {
    /* One vector per work-item, neighbours adjacent; every access aligned to 16 bytes or to the vector if that is
     * smaller. */
    SHAPE_ALIGNED,
    /* The same for arrays that start anywhere. */
    SHAPE_ANYWHERE,
    /* For CPUs: long runs of wide vectors, one work-item per group. */
    SHAPE_RUNS,
    SHAPES
};

/* The macros by which the kernels' sources know it. */
extern const char *const shape_macros[SHAPES];

struct epilogue;

struct spec {
    struct op_kernel_spec kernel;
    unsigned vector; /* elements */
    unsigned batch;  /* vectors that a work-item has under way together */
    unsigned steps;  /* batches a work-item */
    unsigned local;  /* work-items a group */
    char label[40];
    char options[192];
};

/* An element-by-element operation: input type `a`, result type `out` (for where, `a` is the
 * condition's). */
cls_status spec_of_map(const struct op_row *row, cls_dtype a, cls_dtype out, enum shape shape,
                       const struct spec **spec);

/* The two kernels of a reduction, and those of the rows or columns of a matrix, of which the last may be left out. */
enum reduction_stage {
    STAGE_PART,
    STAGE_FINISH,
    STAGE_ROWS,
    STAGE_ACROSS, /* of columns or short rows: `batch` vectors of them a work-item */
    STAGE_LINES_FINISH,
    STAGE_STRIDED_ROWS, /* those of strided views, by cl/strided_reduce.cl */
    STAGE_STRIDED_ACROSS,
    STAGE_STRIDED_FINISH,
    STAGES
};
cls_status spec_of_reduction(const struct op_row *row, cls_dtype a, enum shape shape,
                             enum reduction_stage stage, const struct spec **spec);

/* The kernels of matrix products, by the file of cl/ that they are in. */
enum product_kernel {
    PANEL_PACK,
    PANEL_PACKED,
    PANEL_DIRECT,
    PANEL_VECTOR,
    TILE_PACK,
    MMA_PRODUCT,
    WGMMA_PRODUCT,
    BLOCK_PRODUCT,
    SCALE,
    PRODUCT_KERNELS
};

/* Of panels: vector registers of 16, 32 or 64 bytes. Of tiles: three products of inputs that are split, or one, of packed
 * inputs or of those in their place: + 2 if rows of a are neighbours in memory, + 1 if columns of b are; inputs are packed
 * for tiles of 128 columns, split or not, or of 256. Of blocks: tiles of 32, 64 or 128 rows. */
enum product_variant {
    REGISTERS_16 = 0,
    REGISTERS_32 = 1,
    REGISTERS_64 = 2,
    SPLIT_INPUTS = 0,
    WHOLE_INPUTS = 1,
    WIDE_INPUTS = 2,
    INPUTS_IN_PLACE = 2,
    TILES_OF_32 = 0,
    TILES_OF_64 = 1,
    TILES_OF_128 = 2,
    PRODUCT_VARIANTS = 6
};

/* For inputs and output of f32, f64, f16 or bf16. Of panels `vector` is the sums of a register. */
cls_status spec_of_product(enum product_kernel which, enum product_variant variant, cls_dtype in,
                           cls_dtype out, const struct epilogue *epilogue,
                           const struct spec **spec);

/* What cl/rows.cl does with the rows of a matrix. */
enum row_op {
    ROW_SOFTMAX,
    ROW_LOG_SOFTMAX,
    ROW_SOFTMAX_GRADIENT,
    ROW_LOG_SOFTMAX_GRADIENT,
    ROW_CROSS_ENTROPY,
    ROW_CROSS_ENTROPY_GRADIENT,
    ROW_LAYER_NORM,
    ROW_RMS_NORM,
    ROW_LAYER_NORM_GRADIENT,
    ROW_RMS_NORM_GRADIENT,
    ROW_OPS
};

/* Who goes over a row: an item of a CPU; items of a group of 256 or 512, which keep it in registers; those of a group of
 * 1,024, which keep it in 64 or 128 KiB of local memory, while the next one is under way; those of a group of 1,024 or
 * 256, which read it twice. */
enum row_way {
    ROWS_BY_ITEM,
    ROWS_KEPT, /* half as much of it, by teams of 1 to 256 items */
    ROWS_KEPT_256,
    ROWS_RING_64,
    ROWS_RING_128,
    ROWS_KEPT_512,
    ROWS_READ_TWICE_1024,
    ROWS_READ_TWICE,
    ROW_WAYS
};

static inline bool row_way_is_ring(enum row_way way) {
    return way == ROWS_RING_64 || way == ROWS_RING_128;
}

/* The local memory that its groups take; 0: it is no such way. */
size_t row_ring_bytes(enum row_way way);

/* For matrices of f32, f64, f16 or bf16, whose rows are all `aligned`, vectors of 16 bytes, or not. `batch` is the elements
 * that an item keeps; 0: it keeps none. `steps` is not 0 where a team goes on to further rows. */
cls_status spec_of_rows(enum row_op op, cls_dtype dtype, enum row_way way, bool aligned,
                        const struct spec **spec);

/* Merges `n_sums` sums of each column, 1 or 2, whose results are f32, f64, f16 or bf16: cl/row_sums.cl. */
cls_status spec_of_row_sums(cls_dtype dtype, unsigned n_sums, const struct spec **spec);

/* A binary operation's vector of a matrix: with an element for each column, or for each row. */
enum matrix_vector { VECTOR_NONE, VECTOR_ROW, VECTOR_COLUMN, MATRIX_VECTORS };

/* A cast or a copy of a matrix, or a binary operation with a vector. */
struct matrix_op {
    const struct op_row *row;
    cls_dtype a, out;
    enum matrix_vector vector;
    bool is_reversed; /* the vector is the first operand */
};

/* Of the shapes of GPUs `batch` is the rows of a work-item; of CPUs rows of few columns are taken element by element. */
cls_status spec_of_matrix(const struct matrix_op *op, enum shape shape, size_t columns,
                          const struct spec **spec);

/* An element-by-element operation of strided views, as spec_of_map has them, in lines of `length` elements. */
cls_status spec_of_strided(const struct op_row *row, cls_dtype a, cls_dtype out, enum shape shape,
                           size_t length, const struct spec **spec);

/* Transposition, by items of a CPU (SHAPE_RUNS) or by groups; `vector` is the rows and columns of a block. */
cls_status spec_of_transpose(cls_dtype dtype, enum shape shape, const struct spec **spec);

/* Draws of random numbers: the macros of cl/random.cl. Words as they are, and integers below n, are two. */
enum draw {
    DRAW_BITS,
    DRAW_BELOW,
    DRAW_UNIFORM,
    DRAW_NORMAL,
    DRAW_BERNOULLI,
    DRAW_DROPOUT,
    DRAW_DROPOUT_MASK,
    DRAWS
};

/* The elements that a counter gives. */
unsigned spec_draw_per(enum draw draw, cls_dtype dtype);

/* The elements that a work-item writes at a time: `vector` of the spec. */
unsigned spec_draw_vector(enum draw draw, cls_dtype dtype, enum shape shape);

cls_status spec_of_draw(enum draw draw, cls_dtype dtype, enum shape shape,
                        const struct spec **spec);

/* What cl/indices.cl does with the rows, or the elements, that indices name. */
enum index_op { INDEX_SELECT, INDEX_SCATTER, INDEX_ADD, INDEX_OPS };

/* The kernel for matrices of `dtype` and indices of `index`, a vector for rows or a matrix for elements. `batch` is the
 * entries that an item has under way together. */
struct index_kind {
    enum index_op op;
    bool of_rows;
    cls_dtype dtype, index;
};
cls_status spec_of_indices(const struct index_kind *kind, enum shape shape,
                           const struct spec **spec);

/* The kernel of cl/spmv.cl for values of f32 or f64, offsets and numbers of columns of i32 or i64: a row to an item of a
 * CPU, or to a team. */
struct spmv_kind {
    cls_dtype value, offset, index;
    bool runs;
};
cls_status spec_of_spmv(const struct spmv_kind *kind, const struct spec **spec);

/* That of cl/axpby.cl, for vectors of f32 or f64, or for matrices. */
cls_status spec_of_axpby(cls_dtype dtype, bool matrices, const struct spec **spec);

/* That of cl/trsm.cl, for matrices of f32 or f64, and the most unknowns of a block. */
enum { TRSM_BLOCK = 32 };
cls_status spec_of_trsm(cls_dtype dtype, const struct spec **spec);

/* The kernels of sorts, by the bits of a digit that they look at: all; those of keys that may be the one that is looked for;
 * before that one, equal to it, or behind it (cl/sort_key.cl). */
enum sort_kernel { SORT_COUNT, SORT_OFFSETS, SORT_SCATTER, SORT_PICK, SORT_ROWS, SORT_KERNELS };
enum sort_digit_kind { SORT_PLAIN, SORT_PICKS, SORT_COLLECTS, SORT_DIGIT_KINDS };

/* A work-item takes a long run; a group has counters for each item; teams of a group's items agree by ballots. */
enum sort_way { SORT_BY_RUNS, SORT_BY_COUNTERS, SORT_BY_LANES, SORT_WAYS };

/* Bytes of the values of keys, as they are read and as they are written: 4 or 8; 0: there are none. */
struct sort_values {
    unsigned in, out;
};

struct sort_kind {
    enum sort_kernel kernel;
    cls_dtype key;
    struct sort_values values;
    enum sort_digit_kind digits;
    enum sort_way way;
    unsigned group_log; /* items of a group: its logarithm */
    unsigned items;     /* keys of an item: 8 or 16 */
};
cls_status spec_of_sort(const struct sort_kind *kind, const struct spec **spec);

/* Bits of a digit, keys of an item, and items of a group: logarithms. */
unsigned spec_sort_radix_log(enum sort_way way, enum sort_digit_kind digits);
unsigned spec_sort_items(enum sort_way way, cls_dtype key, const struct sort_values *values);
unsigned spec_sort_most_group_log(enum sort_way way);
unsigned spec_sort_least_group_log(enum sort_way way);

/* Steps of optimizers: what cl/optimizer.cl does with the arrays of a launch. */
enum optimizer_kernel {
    OPTIMIZER_SGD,
    OPTIMIZER_MOMENTUM,
    OPTIMIZER_ADAMW,
    OPTIMIZER_SQUARES,
    OPTIMIZER_KERNELS
};

/* Arrays that a launch has arguments for: few, or as many as all devices have room for. */
enum { OPTIMIZER_FEW_SLOTS = 4, OPTIMIZER_SLOTS = 32 };

/* The elements that a work-group changes. */
size_t spec_optimizer_chunk(bool runs);

/* For arrays of f32, f64, f16 or bf16; `many` of OPTIMIZER_SLOTS. */
cls_status spec_of_optimizer(enum optimizer_kernel which, cls_dtype dtype, enum shape shape,
                             bool many, const struct spec **spec);

/* The alignment in bytes that an array needs for accesses of `vector` elements of `size` bytes. ALIGN in the
 * kernels says the same. */
static inline size_t spec_alignment(unsigned vector, size_t size) {
    return vector * size < 16 ? vector * size : 16;
}

/* Elements per vector in an aligned launch: 16-byte stores, and at most 64 bytes of any input. */
unsigned spec_aligned_vector(size_t largest, size_t out);

#endif
