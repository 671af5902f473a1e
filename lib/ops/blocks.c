/* SPDX-License-Identifier: MIT */
#include "ops/blocks.h"

#include "ops/product_args.h"
#include "ops/spec.h"

enum {
    GROUP = 256,     /* work-items that tiles of 64 and 128 take, as in cl/blocks.cl */
    SMALL_GROUP = 64 /* of 32 */
};

/* Multiplications up to which one launch takes less time than CLBlast's call. */
static const double most_work = 256.0 * 256 * 256;

/* On NVIDIA's devices, for whose later generations CLBlast has no parameters, f32 takes less time at almost all sizes. */
bool blocks_suit(const struct blas_work *work) {
    const struct blas_call *x = &work->call;
    return x->routine != BLAS_GEMV && ((double)x->m * (double)x->n * (double)x->k <= most_work ||
                                       (!x->f64 && work->op.device->compute_capability));
}

static size_t tiles_of(const struct blas_call *x, size_t side) {
    return x->batches * parts_of(x->m, side) * parts_of(x->n, side);
}

/* The largest tiles that leave no multiprocessor idle, as far as groups and registers allow. */
static enum product_variant variant_of(const struct blas_work *work) {
    const struct blas_call *x = &work->call;
    const size_t wanted = work->op.device->info.compute_units;
    if (device_max_line(work->op.device) < GROUP)
        return TILES_OF_32;
    if (!x->f64 && tiles_of(x, 128) >= wanted)
        return TILES_OF_128;
    return tiles_of(x, 64) >= wanted ? TILES_OF_64 : TILES_OF_32;
}

cls_status blocks_submit(struct blas_work *work) {
    const struct blas_call *x = &work->call;
    const enum product_variant variant = variant_of(work);
    const size_t side = (size_t)32 << variant;
    struct op_arg args[OP_MAX_ARGS] = {operand_arg(work, 0),
                                       layout_arg(&x->a, x->a_transposed, 0, 0, 0),
                                       operand_arg(work, 1),
                                       layout_arg(&x->b, x->b_transposed, 0, 0, 0),
                                       operand_arg(work, work->out),
                                       layout_arg(&x->c, false, 0, 0, 0),
                                       four_arg(x->m, x->n, x->k, 0),
                                       blas_factor_arg(x->f64, x->alpha),
                                       blas_factor_arg(x->f64, x->beta)};
    const unsigned n_args = add_bias_args(work, args, 9);
    const size_t group = variant == TILES_OF_32 ? SMALL_GROUP : GROUP;
    struct kernel *kernel;
    cls_status status = product_kernel(work, BLOCK_PRODUCT, variant, &kernel, NULL);
    return status ? status
                  : op_launch(&work->op, kernel, args, n_args, tiles_of(x, side) * group, group);
}
