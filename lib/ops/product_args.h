/* SPDX-License-Identifier: MIT */
/* What the kernels of products take alike. */
#ifndef CLSTREAM_OPS_PRODUCT_ARGS_H
#define CLSTREAM_OPS_PRODUCT_ARGS_H

#include "ops/blas.h"
#include "ops/spec.h"

static inline size_t parts_of(size_t n, size_t unit) { return (n + unit - 1) / unit; }
static inline size_t round_up(size_t n, size_t unit) { return parts_of(n, unit) * unit; }
static inline size_t least(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t most(size_t a, size_t b) { return a > b ? a : b; }

static inline struct op_arg four_arg(size_t x, size_t y, size_t z, size_t w) {
    const uint32_t numbers[] = {(uint32_t)x, (uint32_t)y, (uint32_t)z, (uint32_t)w};
    return op_arg_value(numbers, sizeof numbers);
}

static inline struct op_arg two_arg(size_t x, size_t y) {
    const uint32_t numbers[] = {(uint32_t)x, (uint32_t)y};
    return op_arg_value(numbers, sizeof numbers);
}

static inline struct op_arg operand_arg(const struct blas_work *work, unsigned view) {
    return op_arg_span(work->op.views[view].buffer, view == work->out, &work->views[view].span);
}

/* The kernel of a product's call, and its spec unless that is NULL. */
static inline cls_status product_kernel(struct blas_work *work, enum product_kernel which,
                                        enum product_variant variant, struct kernel **kernel,
                                        const struct spec **made) {
    const struct spec *spec;
    cls_status status = spec_of_product(which, variant, work->op.views[0].dtype,
                                        work->op.views[work->out].dtype, &work->epilogue, &spec);
    if (status)
        return status;
    if (made)
        *made = spec;
    return op_kernel(&work->op, &spec->kernel, kernel);
}

/* Adds the arguments of the bias, if there is one, to those of a kernel; returns their number. */
static inline unsigned add_bias_args(const struct blas_work *work, struct op_arg *args,
                                     unsigned n) {
    if (!work->epilogue.has_bias)
        return n;
    args[n] = operand_arg(work, work->out + 1);
    args[n + 1] =
        four_arg(work->op.views[work->out + 1].offset, work->bias_row, work->bias_column, 0);
    return n + 2;
}

/* The layout of an operand from matrix `set` of the batch on, and from row `row` or column `column` on. */
static inline struct op_arg layout_arg(const struct blas_operand *operand, bool transposed,
                                       size_t set, size_t row, size_t column) {
    const size_t by_row = transposed ? 1 : operand->step,
                 by_column = transposed ? operand->step : 1;
    return four_arg(operand->offset + set * operand->stride + row * by_row + column * by_column,
                    by_row, by_column, operand->stride);
}

/* Matrices of a batch that are packed together. An input that is the same for all is packed once. */
struct product_set {
    size_t first, count; /* of c */
    size_t of_a, of_b;
};

static inline struct product_set product_set(const struct blas_call *x, size_t first,
                                             size_t count) {
    return (struct product_set){first, count, x->a.stride ? count : 1, x->b.stride ? count : 1};
}

#endif
