/* SPDX-License-Identifier: MIT */
/*
 * BLAS calls whose product is nothing, because its factor or its inner length is 0: BLAS reads no input then. CLBlast
 * multiplies by 0 instead, which makes NaN of NaN and of infinities, so a kernel of the library's own is launched. It is
 * also what follows CLBlast's products.
 */
#include "memory/buffer.h"
#include "ops/product_args.h"

enum { GROUP = 64, MOST_ITEMS = 1 << 20 };

cls_status blas_scale(struct blas_work *work, size_t rows, size_t columns, double factor) {
    const struct blas_call *x = &work->call;
    const size_t count = x->batches * rows * columns;
    const size_t items = (count + GROUP - 1) / GROUP * GROUP;
    struct op_arg args[OP_MAX_ARGS] = {
        op_arg_view(&work->op.views[work->out], true),
        op_arg_u64(x->c.offset),
        op_arg_u64(x->c.stride),
        op_arg_u64(rows),
        op_arg_u64(x->c.step),
        op_arg_u64(columns),
        op_arg_u64(count),
        blas_factor_arg(x->f64, factor),
    };
    const unsigned n_args = add_bias_args(work, args, 8);
    struct kernel *kernel;
    if (factor == 1 && epilogue_is_none(&work->epilogue))
        return op_check_stream(&work->op);
    cls_status status = product_kernel(work, SCALE, 0, &kernel, NULL);
    if (status)
        return status;
    return op_launch(&work->op, kernel, args, n_args, items < MOST_ITEMS ? items : MOST_ITEMS, 0);
}
