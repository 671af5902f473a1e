/* SPDX-License-Identifier: MIT */
/*
 * BLAS calls whose product is nothing, because its factor or its inner length is 0: BLAS reads no input then. CLBlast
 * multiplies by 0 instead, which makes NaN of NaN and of infinities, so a kernel of the library's own is launched.
 */
#include "memory/buffer.h"
#include "ops/blas.h"

enum { GROUP = 64, MOST_ITEMS = 1 << 20 };

cls_status blas_scale(struct blas_work *work, size_t rows, size_t columns, double factor) {
    static const struct op_kernel_spec specs[] = {
        {"scale.cl", "scale", "-DTYPE=float", "blas_scale_f32"},
        {"scale.cl", "scale", "-DTYPE=double -DDOUBLES", "blas_scale_f64"}};
    const struct blas_call *x = &work->call;
    const size_t count = x->batches * rows * columns;
    const size_t items = (count + GROUP - 1) / GROUP * GROUP;
    const struct op_arg args[] = {
        op_arg_view(&work->op.views[work->op.n_views - 1], true),
        op_arg_u64(x->c.offset),
        op_arg_u64(x->c.stride),
        op_arg_u64(rows),
        op_arg_u64(x->c.step),
        op_arg_u64(columns),
        op_arg_u64(count),
        blas_factor_arg(x->f64, factor),
    };
    struct kernel *kernel;
    if (factor == 1)
        return op_check_stream(&work->op);
    cls_status status = op_kernel(&work->op, &specs[x->f64], &kernel);
    if (status)
        return status;
    return op_launch(&work->op, kernel, args, sizeof args / sizeof *args,
                     items < MOST_ITEMS ? items : MOST_ITEMS, 0);
}
