/* SPDX-License-Identifier: MIT */
#include "ops/panels.h"

#include "driver/quirk.h"
#include "ops/product_args.h"

enum {
    DEPTH = 256,       /* steps that a work-item packs, as in cl/panels.cl */
    MOST_DIRECT = 192, /* rows, columns or terms: from there on packing pays */
    TILE_ROWS =
        96, /* a multiple of the rows of every block; a part of a of them fits into the second cache */
    TILE_COLUMNS = 128, /* at least, for the same part of a */
    TILES_A_UNIT = 16,  /* so that units end at nearly the same time */
    DIRECT_TILES_A_UNIT = 4,
    LEAST_DIRECT = 1 << 17, /* multiplications, at least, of such a tile: to begin one takes time */
    VECTOR_PART = 1 << 16   /* elements of a matrix that a work-item multiplies by a vector */
};

/* At most: what is packed at a time, of a batch of many matrices. */
static const size_t most_packed = (size_t)64 << 20;

bool panels_suit(const struct device *device) {
    return op_takes_runs(device) && !(device->quirks & QUIRK_SHORT_LOOPS);
}

/* Of a block. */
struct sizes {
    size_t rows, columns;
};

static enum product_variant registers_of(const struct device *device) {
    return device->vector_bytes >= 64   ? REGISTERS_64
           : device->vector_bytes >= 32 ? REGISTERS_32
                                        : REGISTERS_16;
}

static cls_status kernel_of(struct blas_work *work, enum product_kernel which,
                            struct kernel **kernel, struct sizes *block) {
    const struct spec *spec;
    cls_status status = product_kernel(work, which, registers_of(work->op.device), kernel, &spec);
    if (!status)
        *block = (struct sizes){spec->vector >= 16 ? 12 : 6, 2 * (size_t)spec->vector};
    return status;
}

/* Submits a launch with the arguments of a kernel's own, `args`, and those that all have: an item for each tile of
 * `batches` matrices, from `first` on. */
static cls_status launch(struct blas_work *work, struct kernel *kernel, struct op_arg *args,
                         unsigned n_args, struct sizes tile, size_t first, size_t batches) {
    const struct blas_call *x = &work->call;
    const size_t down = parts_of(x->m, tile.rows), across = parts_of(x->n, tile.columns);
    args[n_args++] = operand_arg(work, work->out);
    args[n_args++] = layout_arg(&x->c, false, first, 0, 0);
    args[n_args++] = four_arg(x->m, x->n, x->k, 0);
    args[n_args++] = four_arg(tile.rows, tile.columns, down, across);
    args[n_args++] = blas_factor_arg(x->f64, x->alpha);
    args[n_args++] = blas_factor_arg(x->f64, x->beta);
    n_args = add_bias_args(work, args, n_args);
    return op_launch(&work->op, kernel, args, n_args, batches * down * across, 1);
}

/* --- small products --- */

/* A tile is one block wide, since its panel of b is packed where it is used. */
static struct sizes direct_tile(const struct blas_work *work, struct sizes block) {
    const struct blas_call *x = &work->call;
    const double enough =
        (double)x->m * (double)x->n * (double)x->k * (double)x->batches / LEAST_DIRECT;
    const size_t all = DIRECT_TILES_A_UNIT * work->op.device->info.compute_units;
    const size_t wanted = enough < (double)all ? most((size_t)enough, 1) : all;
    const size_t down = most(wanted / (parts_of(x->n, block.columns) * x->batches), 1);
    return (struct sizes){round_up(parts_of(x->m, down), block.rows), block.columns};
}

static cls_status submit_direct(struct blas_work *work) {
    const struct blas_call *x = &work->call;
    struct op_arg args[OP_MAX_ARGS];
    struct kernel *kernel;
    struct sizes block;
    cls_status status = kernel_of(work, PANEL_DIRECT, &kernel, &block);
    if (status)
        return status;
    args[0] = operand_arg(work, 0);
    args[1] = layout_arg(&x->a, x->a_transposed, 0, 0, 0);
    args[2] = operand_arg(work, 1);
    args[3] = layout_arg(&x->b, x->b_transposed, 0, 0, 0);
    return launch(work, kernel, args, 4, direct_tile(work, block), 0, x->batches);
}

/* --- large products --- */

/* Sums that a set of matrices takes, packed, and behind them what cl/panels.cl adds up an output of 16 bits in. */
static size_t packed_elements(const struct blas_work *work, struct sizes block,
                              const struct product_set *set) {
    const struct blas_call *x = &work->call;
    const bool adds_up = blas_is_narrow(work->op.views[work->out].dtype) && x->k > DEPTH;
    return (set->of_a * round_up(x->m, block.rows) + set->of_b * round_up(x->n, block.columns)) *
               x->k +
           (adds_up ? set->count * x->m * round_up(x->n, block.columns) : 0);
}

static struct sizes packed_tile(const struct blas_work *work, struct sizes block, size_t batches) {
    const struct blas_call *x = &work->call;
    const size_t wanted = TILES_A_UNIT * work->op.device->info.compute_units;
    const size_t rows = least(TILE_ROWS, round_up(x->m, block.rows));
    const size_t across = most(wanted / (parts_of(x->m, rows) * batches), 1);
    const size_t columns = most(TILE_COLUMNS, parts_of(x->n, across));
    return (struct sizes){rows, round_up(columns, block.columns)};
}

static cls_status pack(struct blas_work *work, const struct product_set *set,
                       struct buffer *packed) {
    const struct blas_call *x = &work->call;
    struct kernel *kernel;
    struct sizes block;
    cls_status status = kernel_of(work, PANEL_PACK, &kernel, &block);
    if (status)
        return status;
    const size_t panels =
        set->of_a * parts_of(x->m, block.rows) + set->of_b * parts_of(x->n, block.columns);
    const struct op_arg args[] = {
        operand_arg(work, 0),
        layout_arg(&x->a, x->a_transposed, set->first, 0, 0),
        operand_arg(work, 1),
        layout_arg(&x->b, x->b_transposed, set->first, 0, 0),
        op_arg_out(packed),
        four_arg(x->m, x->n, x->k, 0),
        two_arg(set->of_a, set->of_b),
    };
    return op_launch(&work->op, kernel, args, sizeof args / sizeof *args,
                     panels * parts_of(x->k, DEPTH), 1);
}

static cls_status multiply(struct blas_work *work, const struct product_set *set,
                           struct buffer *packed) {
    const bool adds_up = blas_is_narrow(work->op.views[work->out].dtype);
    struct op_arg args[OP_MAX_ARGS] = {adds_up ? op_arg_out(packed) : op_arg_in(packed),
                                       two_arg(set->of_a, set->of_b)};
    struct kernel *kernel;
    struct sizes block;
    cls_status status = kernel_of(work, PANEL_PACKED, &kernel, &block);
    if (status)
        return status;
    return launch(work, kernel, args, 2, packed_tile(work, block, set->count), set->first,
                  set->count);
}

static cls_status submit_packed(struct blas_work *work) {
    const struct blas_call *x = &work->call;
    const size_t size = x->f64 ? sizeof(double) : sizeof(float);
    const struct sizes block = {12, 2 * ((size_t)16 << registers_of(work->op.device)) / size};
    struct product_set set = product_set(x, 0, 1);
    const size_t together = most(most_packed / (packed_elements(work, block, &set) * size), 1);
    struct buffer *packed;
    set = product_set(x, 0, least(together, x->batches));
    cls_status status = op_scratch(&work->op, packed_elements(work, block, &set) * size, &packed);
    for (size_t first = 0; first < x->batches && !status; first += together) {
        set = product_set(x, first, least(together, x->batches - first));
        status = pack(work, &set, packed);
        if (!status)
            status = multiply(work, &set, packed);
    }
    return status;
}

/* --- matrix by vector --- */

/* y is a matrix of one column. */
static cls_status submit_vector(struct blas_work *work) {
    const struct blas_call *x = &work->call;
    struct op_arg args[OP_MAX_ARGS];
    struct kernel *kernel;
    struct sizes block;
    cls_status status = kernel_of(work, PANEL_VECTOR, &kernel, &block);
    if (status)
        return status;
    args[0] = operand_arg(work, 0);
    args[1] = layout_arg(&x->a, x->a_transposed, 0, 0, 0);
    args[2] = operand_arg(work, 1);
    args[3] = layout_arg(&x->b, false, 0, 0, 0);
    const size_t rows = round_up(most(VECTOR_PART / x->k, 1), block.columns);
    return launch(work, kernel, args, 4, (struct sizes){rows, 1}, 0, 1);
}

cls_status panels_submit(struct blas_work *work) {
    const struct blas_call *x = &work->call;
    const bool narrow = blas_is_narrow(work->op.views[0].dtype);
    if (x->routine == BLAS_GEMV && !narrow)
        return submit_vector(work);
    const bool large = x->m >= MOST_DIRECT && x->n >= MOST_DIRECT && x->k >= MOST_DIRECT;
    return large || narrow ? submit_packed(work) : submit_direct(work);
}
