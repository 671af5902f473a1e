/* SPDX-License-Identifier: MIT */
#include "ops/tiles.h"

#include "driver/caps.h"
#include "ops/product_args.h"
#include "ops/spec.h"

enum {
    ROWS = 128, /* of a tile of a; these and those below as in cl/tiles.cl */
    STEPS = 32, /* of the inner length */
    PACKING = 256,
    MULTIPLYING = 384,
    STRIP = 32,       /* rows that a group packs */
    LEAST_SIDE = 96,  /* rows and columns: a tile of fewer is mostly zeros */
    LEAST_TERMS = 64, /* with fewer, packing takes longer than multiplying */
};

/* Multiplications from which on two launches take less time than CLBlast's. */
static const double least_work = 256.0 * 256 * 256;

/* At most: what is packed at a time. Of a longer product parts of the inner length are added up, of a batch matrices are
 * done by and by. */
static const size_t most_packed = (size_t)1 << 30;

/* Of one kind of math. */
struct way {
    unsigned products; /* of parts of the inputs */
    size_t columns;    /* of a tile of b */
    size_t parts;      /* numbers that an input becomes */
};

static const struct way *way_of(const struct blas_work *work) {
    static const struct way ways[] = {{3, 128, 2}, {1, 256, 1}};
    return &ways[work->math == CLS_GEMM_TF32];
}

bool tiles_suit(const struct blas_work *work) {
    const struct blas_call *x = &work->call;
    return work->op.caps->matrix_units && !x->f64 && x->routine != BLAS_GEMV &&
           work->math != CLS_GEMM_PEDANTIC && x->m >= LEAST_SIDE && x->n >= LEAST_SIDE &&
           x->k >= LEAST_TERMS && (double)x->m * (double)x->n * (double)x->k >= least_work;
}

/* A part of the inner length of some matrices of the batch. */
struct piece {
    struct product_set set;
    size_t start, depth;
};

static size_t bytes_of(const struct blas_call *x, const struct way *way,
                       const struct piece *piece) {
    const size_t rows =
        piece->set.of_a * round_up(x->m, ROWS) + piece->set.of_b * round_up(x->n, way->columns);
    return rows * round_up(piece->depth, STEPS) * sizeof(float) * way->parts;
}

/* The largest pieces that most_packed allows, and at least one tile deep. */
static struct piece largest_piece(const struct blas_call *x, const struct way *way) {
    struct piece piece = {.set = product_set(x, 0, 1), .depth = STEPS};
    const size_t steps = most(most_packed / bytes_of(x, way, &piece), 1);
    piece.depth = least(steps * STEPS, x->k);
    if (piece.depth == x->k)
        piece.set =
            product_set(x, 0, least(most(most_packed / bytes_of(x, way, &piece), 1), x->batches));
    return piece;
}

static cls_status kernel_of(struct blas_work *work, enum product_kernel which,
                            const struct way *way, struct kernel **kernel) {
    const struct spec *spec;
    cls_status status = spec_of_product(which, CLS_F32, way->products, &work->epilogue, &spec);
    return status ? status : op_kernel(&work->op, &spec->kernel, kernel);
}

static cls_status pack(struct blas_work *work, const struct way *way, const struct piece *piece,
                       struct buffer *packed) {
    const struct blas_call *x = &work->call;
    const struct op_arg args[] = {
        operand_arg(work, 0),
        layout_arg(&x->a, x->a_transposed, piece->set.first, 0, piece->start),
        operand_arg(work, 1),
        layout_arg(&x->b, x->b_transposed, piece->set.first, piece->start, 0),
        op_arg_out(packed),
        four_arg(x->m, x->n, piece->depth, piece->set.count),
        two_arg(piece->set.of_a, piece->set.of_b)};
    const size_t strips =
        (piece->set.of_a * round_up(x->m, ROWS) + piece->set.of_b * round_up(x->n, way->columns)) /
        STRIP;
    struct kernel *kernel;
    cls_status status = kernel_of(work, TILE_PACK, way, &kernel);
    if (status)
        return status;
    return op_launch(&work->op, kernel, args, sizeof args / sizeof *args,
                     strips * parts_of(piece->depth, STEPS) * PACKING, PACKING);
}

static cls_status multiply(struct blas_work *work, const struct way *way, const struct piece *piece,
                           struct buffer *packed) {
    const struct blas_call *x = &work->call;
    struct op_arg args[OP_MAX_ARGS] = {
        op_arg_in(packed),
        two_arg(piece->set.of_a, piece->set.of_b),
        operand_arg(work, 0),
        layout_arg(&x->a, x->a_transposed, piece->set.first, 0, piece->start),
        operand_arg(work, 1),
        layout_arg(&x->b, x->b_transposed, piece->set.first, piece->start, 0),
        operand_arg(work, work->out),
        layout_arg(&x->c, false, piece->set.first, 0, 0),
        four_arg(x->m, x->n, piece->depth, piece->set.count),
        blas_factor_arg(false, x->alpha),
        blas_factor_arg(false, piece->start ? 1 : x->beta),
        two_arg(piece->start + piece->depth == x->k, 0)};
    const unsigned n_args = add_bias_args(work, args, 12);
    const size_t tiles = piece->set.count * parts_of(x->m, ROWS) * parts_of(x->n, way->columns);
    struct kernel *kernel;
    cls_status status = kernel_of(work, TILE_PRODUCT, way, &kernel);
    if (status)
        return status;
    return op_launch(&work->op, kernel, args, n_args,
                     least(tiles, work->op.device->info.compute_units) * MULTIPLYING, MULTIPLYING);
}

cls_status tiles_submit(struct blas_work *work) {
    const struct blas_call *x = &work->call;
    const struct way *way = way_of(work);
    const struct piece largest = largest_piece(x, way);
    struct buffer *packed;
    cls_status status = op_scratch(&work->op, bytes_of(x, way, &largest), &packed);
    for (size_t set = 0; set < x->batches && !status; set += largest.set.count)
        for (size_t start = 0; start < x->k && !status; start += largest.depth) {
            const struct piece piece = {
                product_set(x, set, least(largest.set.count, x->batches - set)), start,
                least(largest.depth, x->k - start)};
            status = pack(work, way, &piece, packed);
            if (!status)
                status = multiply(work, way, &piece, packed);
        }
    return status;
}
