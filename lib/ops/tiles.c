/* SPDX-License-Identifier: MIT */
#include "ops/tiles.h"

#include "driver/units.h"
#include "ops/product_args.h"
#include "ops/product_wish.h"

enum {
    ROWS = 128,     /* of a tile of a; these and those below as in cl/tiles.cl */
    TILE_ROW = 128, /* bytes of a row of a tile: its steps of the inner length */
    PACKING = 256,
    MMA_GROUP = 128,
    WGMMA_GROUP = 384,
    STRIP = 32,       /* rows that a group packs */
    LEAST_SIDE = 96,  /* rows and columns: a tile of fewer is mostly zeros */
    LEAST_TERMS = 64, /* with fewer, a launch takes longer than multiplying */
};

/* Multiplications of floats from which on packing and multiplying take less time than other kernels. */
static const double least_of_floats = 1.2e8;

/* At most: what is packed at a time. Of a longer product parts of the inner length are added up, of a batch matrices are
 * done by and by. */
static const size_t most_packed = (size_t)1 << 30;

/* Of one kind of inputs. */
struct way {
    enum product_kernel kernel;
    size_t columns; /* of a tile of b */
    size_t parts;   /* numbers that an input becomes */
    size_t steps;   /* of a tile */
    double least;   /* multiplications from which on it takes less time than other kernels */
};

static bool has_wgmma(const struct blas_work *work) {
    return device_units(work->op.device)->wgmma && product_wish() != WISH_MMA;
}

static const struct way *way_of(const struct blas_work *work) {
    static const struct way ways[2][3] = {{{MMA_PRODUCT, 128, 2, 32, 2e9},
                                           {MMA_PRODUCT, 128, 1, 32, 0},
                                           {MMA_PRODUCT, 128, 1, 64, 0}},
                                          {{WGMMA_PRODUCT, 128, 2, 32, 1.5e8},
                                           {WGMMA_PRODUCT, 256, 1, 32, 0},
                                           {WGMMA_PRODUCT, 256, 1, 64, 0}}};
    const struct way *const own = ways[has_wgmma(work)];
    return &own[blas_is_narrow(work->op.views[0].dtype) ? 2 : work->math == CLS_GEMM_TF32];
}

/* Asks for the units, whose trial takes time, last. */
static bool pays(const struct blas_work *work) {
    const struct blas_call *x = &work->call;
    const bool narrow = blas_is_narrow(work->op.views[0].dtype);
    const double multiplications = (double)x->m * (double)x->n * (double)x->k;
    return x->m >= LEAST_SIDE && x->n >= LEAST_SIDE && x->k >= LEAST_TERMS &&
           (narrow || multiplications >= least_of_floats) &&
           (narrow || work->math == CLS_GEMM_TF32 || device_units(work->op.device)->split_f32) &&
           multiplications >= way_of(work)->least;
}

bool tiles_suit(const struct blas_work *work) {
    const bool wanted = product_wish() == WISH_UNITS || product_wish() == WISH_MMA;
    return !work->call.f64 && work->call.routine != BLAS_GEMV &&
           (work->math != CLS_GEMM_PEDANTIC || blas_is_narrow(work->op.views[0].dtype)) &&
           (wanted || pays(work)) && (device_units(work->op.device)->mma || has_wgmma(work));
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
    return rows * parts_of(piece->depth, way->steps) * TILE_ROW * way->parts;
}

/* The largest pieces that most_packed allows, and at least one tile deep. An output of 16 bits holds no parts of sums. */
static struct piece largest_piece(const struct blas_work *work, const struct way *way) {
    const struct blas_call *x = &work->call;
    struct piece piece = {.set = product_set(x, 0, 1), .depth = way->steps};
    const size_t tiles = most(most_packed / bytes_of(x, way, &piece), 1);
    piece.depth =
        blas_is_narrow(work->op.views[work->out].dtype) ? x->k : least(tiles * way->steps, x->k);
    if (piece.depth == x->k)
        piece.set =
            product_set(x, 0, least(most(most_packed / bytes_of(x, way, &piece), 1), x->batches));
    return piece;
}

static enum product_variant packed_variant(const struct way *way) {
    return way->parts == 2 ? SPLIT_INPUTS : WHOLE_INPUTS;
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
    const enum product_variant variant = way->columns > ROWS ? WIDE_INPUTS : packed_variant(way);
    cls_status status = product_kernel(work, TILE_PACK, variant, &kernel, NULL);
    if (status)
        return status;
    return op_launch(&work->op, kernel, args, sizeof args / sizeof *args,
                     strips * parts_of(piece->depth, way->steps) * PACKING, PACKING);
}

/* The inputs are `packed`, or in their place if that is NULL. */
static cls_status multiply(struct blas_work *work, const struct way *way, const struct piece *piece,
                           struct buffer *packed) {
    const struct blas_call *x = &work->call;
    const unsigned in_place = INPUTS_IN_PLACE + 2u * x->a_transposed + !x->b_transposed;
    const enum product_variant variant =
        packed ? packed_variant(way) : (enum product_variant)in_place;
    struct op_arg args[OP_MAX_ARGS] = {
        packed ? op_arg_in(packed) : (struct op_arg){0},
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
    const unsigned n_args = add_bias_args(work, args, 12), first = packed ? 0 : 2;
    const size_t tiles = piece->set.count * parts_of(x->m, ROWS) * parts_of(x->n, way->columns);
    struct kernel *kernel;
    const bool is_mma = way->kernel == MMA_PRODUCT; /* of which a group has one tile */
    const size_t group = is_mma ? MMA_GROUP : WGMMA_GROUP;
    const size_t groups = is_mma ? tiles : least(tiles, work->op.device->info.compute_units);
    cls_status status = product_kernel(work, way->kernel, variant, &kernel, NULL);
    return status
               ? status
               : op_launch(&work->op, kernel, args + first, n_args - first, groups * group, group);
}

/* Whether elements of 16 bits can be copied eight at a time from where they are. */
static bool is_even(const struct blas_operand *operand) {
    return operand->offset % 8 == 0 && operand->step % 8 == 0 && operand->stride % 8 == 0;
}

cls_status tiles_submit(struct blas_work *work) {
    const struct blas_call *x = &work->call;
    const struct way *way = way_of(work);
    if (blas_is_narrow(work->op.views[0].dtype) && is_even(&x->a) && is_even(&x->b)) {
        const struct piece all = {product_set(x, 0, x->batches), 0, x->k};
        return multiply(work, way, &all, NULL);
    }
    const struct piece largest = largest_piece(work, way);
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
