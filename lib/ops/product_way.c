/* SPDX-License-Identifier: MIT */
#include "ops/product_way.h"

#include "ops/blocks.h"
#include "ops/panels.h"
#include "ops/product_wish.h"
#include "ops/tiles.h"

/* Looks a record up the first time, so it is asked for where CLBlast comes into question. */
static const char *refusal_of(const struct blas_work *work) {
    return blas_refusal(work->op.device, work->call.f64);
}

struct product_way product_way(const struct blas_work *work) {
    const bool narrow = blas_is_narrow(work->op.views[0].dtype);
    const bool f32 = work->op.views[0].dtype == CLS_F32;
    if (product_wish() == WISH_CLBLAST && !narrow && !refusal_of(work))
        return (struct product_way){CLS_GEMM_WAY_CLBLAST, "CLSTREAM_GEMM says so"};
    if (panels_suit(work->op.device))
        return (struct product_way){CLS_GEMM_WAY_PANELS, "the device is a CPU"};
    if (tiles_suit(work) && (!f32 || product_wish() != WISH_PEDANTIC))
        return (struct product_way){
            CLS_GEMM_WAY_TILES, "the product is large, and a trial of the device's matrix units "
                                "found right values"};
    if (narrow)
        return (struct product_way){CLS_GEMM_WAY_BLOCKS, "the elements have 16 bits"};
    if (!blas_available())
        return (struct product_way){CLS_GEMM_WAY_BLOCKS, "this library was built without CLBlast"};
    if (refusal_of(work))
        return (struct product_way){CLS_GEMM_WAY_BLOCKS, refusal_of(work)};
    if (blocks_suit(work))
        return (struct product_way){CLS_GEMM_WAY_BLOCKS,
                                    "the product takes less time than a call of CLBlast"};
    return (struct product_way){CLS_GEMM_WAY_CLBLAST,
                                tiles_suit(work) ? "CLSTREAM_GEMM rules matrix units out"
                                                 : "the library has nothing faster for it"};
}

/* Of a matrix by a vector: that of op(a) by a matrix of one column. */
static void see_product(struct blas_call *x) {
    if (x->routine != BLAS_GEMV)
        return;
    const size_t rows = x->a_transposed ? x->n : x->m;
    x->k = x->a_transposed ? x->m : x->n;
    x->m = rows;
    x->n = 1;
}

static cls_status submit_clblast(struct blas_work *work) {
    const struct blas_call *x = &work->call;
    const bool vector = x->routine == BLAS_GEMV;
    const size_t rows = vector && x->a_transposed ? x->n : x->m, columns = vector ? 1 : x->n;
    cls_status status = blas_submit(work);
    return status || epilogue_is_none(&work->epilogue) ? status
                                                       : blas_scale(work, rows, columns, 1);
}

/* A caller that waits anyway has CLBlast tried ahead; else the product's own command does that, and fails where CLBlast
 * is wrong. */
static cls_gemm_way choose_way(const struct blas_work *work) {
    const cls_gemm_way way = product_way(work).way;
    cl_command_queue queue;
    if (way != CLS_GEMM_WAY_CLBLAST || !work->waits || work->call.routine == BLAS_GEMV ||
        op_any_queue(&work->op, &queue))
        return way;
    blas_try(work->op.device, queue, work->call.f64);
    return product_way(work).way;
}

cls_status product_submit(struct blas_work *work) {
    const cls_gemm_way way = choose_way(work);
    if (way == CLS_GEMM_WAY_CLBLAST)
        return submit_clblast(work);
    see_product(&work->call);
    if (way == CLS_GEMM_WAY_PANELS)
        return panels_submit(work);
    return way == CLS_GEMM_WAY_TILES ? tiles_submit(work) : blocks_submit(work);
}
