/* SPDX-License-Identifier: MIT */
/*
 * Small matrix products as launches of a kernel of the library's own. CLBlast creates a kernel and sets its arguments
 * at every call, which takes the host longer than a small product takes the device. A graph sets the arguments of a
 * launch once.
 */
#include "memory/buffer.h"
#include "ops/blas.h"

enum { GROUP = 64, MOST_OUTPUTS = 65536, MOST_TERMS = 160 };

/* One work-item adds all terms of an output, one after the other. So the product is CLBlast's where there are many
 * terms, or so many outputs that its tiles pay. */
bool blas_product_is_small(const struct foreign_library *library, const void *arguments) {
    const struct blas_call *x = arguments;
    if (library != &blas_library || x->routine != BLAS_GEMM)
        return false;
    return x->m * x->n <= MOST_OUTPUTS && x->k <= MOST_TERMS;
}

static cls_matrix matrix_of(const struct blas_call *x, const struct blas_operand *operand,
                            size_t rows, size_t columns, bool transposed) {
    return (cls_matrix){.dtype = x->f64 ? CLS_F64 : CLS_F32,
                        .offset = operand->offset,
                        .rows = transposed ? columns : rows,
                        .columns = transposed ? rows : columns,
                        .ld = operand->step};
}

static cls_status views_of(const struct blas_call *x, struct blas_view views[3]) {
    const cls_matrix matrices[3] = {matrix_of(x, &x->a, x->m, x->k, x->a_transposed),
                                    matrix_of(x, &x->b, x->k, x->n, x->b_transposed),
                                    matrix_of(x, &x->c, x->m, x->n, false)};
    cls_status status = CLS_SUCCESS;
    for (int i = 0; i < 3 && !status; i++)
        status = blas_matrix_view("gemm", &matrices[i], 1, &views[i]);
    return status;
}

/* An index or a distance. Where a distance passes 2^31 there is only one row, and the kernel multiplies it by 0. */
static struct op_arg number_arg(size_t value) {
    const uint32_t number = (uint32_t)value;
    return op_arg_value(&number, sizeof number);
}

static cls_status launch(struct blas_work *work, const struct blas_view views[3]) {
    static const struct op_kernel_spec specs[] = {
        {"product.cl", "product", "-DTYPE=float", "gemm_f32"},
        {"product.cl", "product", "-DTYPE=double -DDOUBLES", "gemm_f64"}};
    const struct blas_call *x = &work->call;
    const size_t items = x->m * x->n;
    const struct op_arg args[] = {
        op_arg_span(work->op.views[0].buffer, false, &views[0].span),
        number_arg(x->a.offset),
        number_arg(x->a_transposed ? 1 : x->a.step),
        number_arg(x->a_transposed ? x->a.step : 1),
        op_arg_span(work->op.views[1].buffer, false, &views[1].span),
        number_arg(x->b.offset),
        number_arg(x->b_transposed ? 1 : x->b.step),
        number_arg(x->b_transposed ? x->b.step : 1),
        op_arg_span(work->op.views[2].buffer, true, &views[2].span),
        number_arg(x->c.offset),
        number_arg(x->c.step),
        number_arg(items),
        number_arg(x->n),
        number_arg(x->k),
        blas_factor_arg(x->f64, x->alpha),
        blas_factor_arg(x->f64, x->beta),
    };
    struct kernel *kernel;
    cls_status status = op_kernel(&work->op, &specs[x->f64], &kernel);
    if (status)
        return status;
    return op_launch(&work->op, kernel, args, sizeof args / sizeof *args,
                     (items + GROUP - 1) / GROUP * GROUP,
                     op_max_group(&work->op, kernel) < GROUP ? 0 : GROUP);
}

cls_status blas_product_kept(const void *arguments, struct buffer *const buffers[3],
                             cls_stream stream) {
    struct blas_work work = {.name = "gemm", .kept = buffers};
    struct blas_view views[3];
    cls_status status = views_of(arguments, views);
    if (!status)
        status = blas_begin(&work, BLAS_GEMM, views, 3, BLAS_LAST_OUT, stream, false);
    if (status)
        return status;
    work.call = *(const struct blas_call *)arguments;
    return blas_end(&work, launch(&work, views), false);
}
