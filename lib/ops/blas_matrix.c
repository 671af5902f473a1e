/* SPDX-License-Identifier: MIT */
/* BLAS products with a matrix: gemm, batched gemm and gemv (clstream/blas.h). */
#include "base/error.h"
#include "base/sized.h"
#include "ops/axpby.h"
#include "ops/blas.h"
#include "ops/product_way.h"
#include "ops/table.h"
#include "stream/context.h"

struct product {
    cls_gemm_config config;
    size_t m, n, k;
};

cls_status blas_read_config(const cls_gemm_config *config, cls_gemm_config *out) {
    *out = (cls_gemm_config)CLS_GEMM_CONFIG_INIT;
    cls_status status = SIZED_IN(cls_gemm_config, out, config);
    if (status)
        return status;
    if ((int)out->math < CLS_GEMM_F32 || out->math > CLS_GEMM_PEDANTIC)
        return error_set(CLS_ERROR_INVALID_VALUE, "gemm: %d is no cls_gemm_math", (int)out->math);
    if (out->activation && !op_row_of(OP_UNARY, (int)out->activation))
        return error_set(CLS_ERROR_INVALID_VALUE, "gemm: %d is no activation",
                         (int)out->activation);
    return CLS_SUCCESS;
}

static bool has_factor_views(const cls_gemm_config *config) {
    return config->alpha_view.buffer || config->beta_view.buffer;
}

/* Fills in the epilogue and the view of its bias, which has `count` elements, each for a row of the output or, unless
 * `by_row`, for a column. */
static cls_status take_epilogue(struct blas_work *work, const cls_gemm_config *config, size_t count,
                                bool by_row, struct blas_view *bias) {
    const size_t step = config->bias.step;
    work->epilogue =
        (struct epilogue){config->bias.buffer != NULL,
                          config->activation ? op_row_of(OP_UNARY, (int)config->activation) : NULL};
    work->bias_row = by_row ? step : 0;
    work->bias_column = by_row ? 0 : step;
    if (!work->epilogue.has_bias)
        return CLS_SUCCESS;
    if (config->bias.count != count)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "%s: a bias of %zu elements for %zu %s",
                         work->name, config->bias.count, count, by_row ? "rows" : "columns");
    return blas_vector_view(work->name, &config->bias, bias);
}

/* --- matrix by matrix --- */

static cls_status gemm_shape(const cls_matrix *a, const cls_matrix *b, const cls_matrix *c,
                             struct product *product) {
    const cls_gemm_config *config = &product->config;
    const size_t a_rows = config->transpose_a ? a->columns : a->rows;
    const size_t a_columns = config->transpose_a ? a->rows : a->columns;
    const size_t b_rows = config->transpose_b ? b->columns : b->rows;
    const size_t b_columns = config->transpose_b ? b->rows : b->columns;
    if (a_columns != b_rows || a_rows != c->rows || b_columns != c->columns)
        return error_set(CLS_ERROR_SIZE_MISMATCH,
                         "gemm: %zu x %zu by %zu x %zu does not give %zu x %zu", a_rows, a_columns,
                         b_rows, b_columns, c->rows, c->columns);
    product->m = a_rows;
    product->n = b_columns;
    product->k = a_columns;
    return CLS_SUCCESS;
}

/* Whether no two of the output's matrices have an element in common: they may lie behind one another, or
 * beside one another in the same rows. Of the matrices that begin in one row only the first and the last are checked,
 * which limits the loop to 46,341 steps: the last element is known to be within the range of int, and with a stride of
 * no more than ld as many rows on, or else as many matrices, one begins where the first one does. */
static bool lie_apart(const cls_matrix *c, size_t batches) {
    for (size_t i = 1, last; i < batches; i = last + 1) {
        const size_t down = i * c->stride / c->ld;
        if (down >= c->rows)
            return true;
        if (i * c->stride % c->ld < c->columns)
            return false;
        last = ((down + 1) * c->ld - 1) / c->stride;
        last = last < batches ? last : batches - 1;
        if (down + 1 < c->rows && c->ld - last * c->stride % c->ld < c->columns)
            return false;
    }
    return true;
}

cls_status blas_check_apart(const char *name, const cls_matrix *c, size_t batches) {
    if (!c->rows || !c->columns || lie_apart(c, batches))
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_OVERLAP, "%s: a stride of %zu makes outputs of %zu x %zu overlap",
                     name, c->stride, c->rows, c->columns);
}

static cls_status gemm_views(const cls_matrix *a, const cls_matrix *b, const cls_matrix *c,
                             size_t batches, struct blas_view views[3]) {
    const cls_matrix *matrices[3] = {a, b, c};
    cls_status status = CLS_SUCCESS;
    for (int i = 0; i < 3 && !status; i++)
        status = blas_matrix_view("gemm", matrices[i], batches, &views[i]);
    return status ? status : blas_check_apart("gemm", c, batches);
}

/* Sets the factors, and submits c = alpha op(a) op(b) + beta c, of `rows` by `columns` elements and an inner length of
 * `inner`. */
static cls_status submit(struct blas_work *work, const cls_gemm_config *config, size_t rows,
                         size_t columns, size_t inner) {
    work->call.alpha = blas_factor(work, config->alpha);
    work->call.beta = blas_factor(work, config->beta);
    if (!rows || !columns)
        return CLS_SUCCESS;
    if (!inner || work->call.alpha == 0)
        return blas_scale(work, rows, columns, work->call.beta);
    return product_submit(work);
}

static cls_status tell_way(const struct blas_work *work, const struct product *product,
                           cls_gemm_explanation *out) {
    const bool is_none = !product->m || !product->n || !product->k || product->config.alpha == 0;
    const struct product_way way =
        is_none ? (struct product_way){CLS_GEMM_WAY_NONE, "there is no product of two elements"}
                : product_way(work);
    const cls_gemm_explanation own = {
        sizeof own, way.way, way.way != CLS_GEMM_WAY_CLBLAST || epilogue_is_none(&work->epilogue),
        way.reason};
    SIZED_OUT(cls_gemm_explanation, out, &own);
    return CLS_SUCCESS;
}

/* By factors of the host's. Says how, in `told`, or where that is NULL does it. */
static cls_status gemm_of_numbers(const cls_matrix *a, const cls_matrix *b, const cls_matrix *c,
                                  struct buffer *const *kept, const cls_gemm_config *config,
                                  cls_stream stream, bool blocking, cls_gemm_explanation *told) {
    struct product product = {.config = *config};
    struct blas_work work = {.name = "gemm", .kept = kept, .waits = blocking};
    struct blas_view views[4];
    cls_status status = gemm_shape(a, b, c, &product);
    if (!status)
        status = gemm_views(a, b, c, product.config.batches, views);
    const bool by_row = product.config.bias_by_row != 0;
    if (!status)
        status = take_epilogue(&work, &product.config, by_row ? product.m : product.n, by_row,
                               &views[3]);
    const bool batched = product.config.batches > 1;
    if (!status)
        status = blas_begin(&work, batched ? BLAS_GEMM_BATCHED : BLAS_GEMM, views, 3, BLAS_LAST_OUT,
                            stream, blocking);
    if (status)
        return status;
    work.math = product.config.math;
    work.call.a_transposed = product.config.transpose_a != 0;
    work.call.b_transposed = product.config.transpose_b != 0;
    work.call.m = product.m;
    work.call.n = product.n;
    work.call.k = product.k;
    work.call.batches = product.config.batches;
    work.call.a = blas_operand(&work, 0, a->ld, a->stride);
    work.call.b = blas_operand(&work, 1, b->ld, b->stride);
    work.call.c = blas_operand(&work, 2, c->ld, c->stride);
    status = told ? tell_way(&work, &product, told)
                  : submit(&work, &product.config, product.m, product.n, product.k);
    return blas_end(&work, status, blocking);
}

/* c takes a product by the factors of `config`. `product` NULL: only checks. */
static cls_status take_product(const char *name, const cls_gemm_config *config,
                               struct buffer *product, const cls_matrix *c, cls_stream stream,
                               bool blocking) {
    const cls_factor alpha = {config->alpha, config->alpha_view};
    const cls_factor beta = {config->beta, config->beta_view};
    return axpby_matrices(name, &alpha, product, &beta, c, config->batches, stream, blocking);
}

/* All but the operands, before a product is submitted. */
static cls_status check_by_views(const char *name, const cls_gemm_config *config, cls_dtype a,
                                 const cls_matrix *c, cls_stream stream) {
    if (config->bias.buffer || config->activation || blas_is_narrow(a) || blas_is_narrow(c->dtype))
        return error_set(CLS_ERROR_UNSUPPORTED,
                         "%s: factors on the device with a bias, an activation or 16 bits", name);
    return take_product(name, config, NULL, c, stream, false);
}

/* The product alone, without factors. */
static cls_gemm_config without_factors(const cls_gemm_config *config) {
    cls_gemm_config plain = *config;
    plain.alpha = 1;
    plain.beta = 0;
    plain.alpha_view = plain.beta_view = (cls_array){0};
    return plain;
}

/* op(a) op(b) goes to the scratch of `work`, from where c takes it by the factors. */
static cls_status gemm_by_scratch(struct blas_work *work, const cls_matrix *a, const cls_matrix *b,
                                  const cls_matrix *c, const cls_gemm_config *config,
                                  cls_stream stream, bool blocking) {
    const cls_gemm_config plain = without_factors(config);
    const cls_matrix product = cls_matrix_of(NULL, c->dtype, c->rows, c->columns);
    struct buffer *buffers[3] = {work->op.views[0].buffer, work->op.views[1].buffer};
    const size_t bytes = config->batches * c->rows * c->columns * cls_dtype_size(c->dtype);
    cls_status status = op_scratch(&work->op, bytes ? bytes : 1, &buffers[2]);
    if (!status)
        status = gemm_of_numbers(a, b, &product, buffers, &plain, stream, false, NULL);
    return status ? status : take_product("gemm", config, buffers[2], c, stream, blocking);
}

static cls_status gemm_by_views(const cls_matrix *a, const cls_matrix *b, const cls_matrix *c,
                                const cls_gemm_config *config, cls_stream stream, bool blocking) {
    const bool batched = config->batches > 1;
    struct product product = {.config = *config};
    struct blas_work work = {.name = "gemm"};
    struct blas_view views[3];
    cls_status status = gemm_shape(a, b, c, &product);
    if (!status)
        status = gemm_views(a, b, c, config->batches, views);
    if (!status)
        status = blas_begin(&work, batched ? BLAS_GEMM_BATCHED : BLAS_GEMM, views, 3, BLAS_LAST_OUT,
                            stream, blocking);
    if (status)
        return status;
    status = gemm_by_scratch(&work, a, b, c, config, stream, blocking);
    return blas_end(&work, status, false);
}

static cls_status gemm(const cls_matrix *a, const cls_matrix *b, const cls_matrix *c,
                       struct buffer *const *kept, const cls_gemm_config *given, cls_stream stream,
                       bool blocking, cls_gemm_explanation *told) {
    cls_gemm_config config;
    cls_status status = blas_read_config(given, &config);
    if (status)
        return status;
    if (!has_factor_views(&config))
        return gemm_of_numbers(a, b, c, kept, &config, stream, blocking, told);
    status = check_by_views("gemm", &config, a->dtype, c, stream);
    if (status)
        return status;
    if (!told)
        return gemm_by_views(a, b, c, &config, stream, blocking);
    const cls_gemm_config plain = without_factors(&config);
    return gemm_of_numbers(a, b, c, kept, &plain, stream, blocking, told);
}

cls_status cls_gemm_explain(cls_matrix a, cls_matrix b, cls_matrix c, const cls_gemm_config *config,
                            cls_stream stream, cls_gemm_explanation *out) {
    cls_status status = SIZED_CHECK(cls_gemm_explanation, out);
    return status ? status : gemm(&a, &b, &c, NULL, config, stream, false, out);
}

cls_status cls_gemm(cls_matrix a, cls_matrix b, cls_matrix c, const cls_gemm_config *config,
                    cls_stream stream) {
    return gemm(&a, &b, &c, NULL, config, stream, true, NULL);
}

cls_status cls_gemm_async(cls_matrix a, cls_matrix b, cls_matrix c, const cls_gemm_config *config,
                          cls_stream stream) {
    return gemm(&a, &b, &c, NULL, config, stream, false, NULL);
}

cls_status blas_gemm_kept(const cls_matrix matrices[3], struct buffer *const buffers[3],
                          const cls_gemm_config *config, cls_stream stream) {
    return gemm(&matrices[0], &matrices[1], &matrices[2], buffers, config, stream, false, NULL);
}

/* --- matrix by vector --- */

static cls_status gemv_check(const cls_matrix *a, const cls_vector *x, const cls_vector *y,
                             const cls_gemm_config *config) {
    const size_t in = config->transpose_a ? a->rows : a->columns;
    const size_t out = config->transpose_a ? a->columns : a->rows;
    if (config->batches != 1 || config->transpose_b)
        return error_set(CLS_ERROR_INVALID_VALUE, "gemv: batches must be 1 and transpose_b 0");
    if (x->count != in || y->count != out)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "gemv: %zu x %zu by %zu does not give %zu", out,
                         in, x->count, y->count);
    return CLS_SUCCESS;
}

static cls_status gemv_views(const cls_matrix *a, const cls_vector *x, const cls_vector *y,
                             const cls_gemm_config *config, struct blas_view views[3]) {
    cls_status status = gemv_check(a, x, y, config);
    if (!status)
        status = blas_matrix_view("gemv", a, 1, &views[0]);
    if (!status)
        status = blas_vector_view("gemv", x, &views[1]);
    if (!status)
        status = blas_vector_view("gemv", y, &views[2]);
    return status;
}

static cls_status gemv_of_numbers(const cls_matrix *a, const cls_vector *x, const cls_vector *y,
                                  struct buffer *const *kept, cls_gemm_config config,
                                  cls_stream stream, bool blocking) {
    struct blas_work work = {.name = "gemv", .kept = kept, .waits = blocking};
    struct blas_view views[4];
    cls_status status = gemv_views(a, x, y, &config, views);
    if (!status)
        status = take_epilogue(&work, &config, y->count, true, &views[3]);
    if (!status)
        status = blas_begin(&work, BLAS_GEMV, views, 3, BLAS_LAST_OUT, stream, blocking);
    if (status)
        return status;
    work.call.a_transposed = config.transpose_a != 0;
    work.call.m = a->rows;
    work.call.n = a->columns;
    work.call.a = blas_operand(&work, 0, a->ld, 0);
    work.call.b = blas_operand(&work, 1, x->step, 0);
    work.call.c = blas_operand(&work, 2, y->step, 0);
    status = submit(&work, &config, y->count, 1, x->count);
    return blas_end(&work, status, blocking);
}

/* A vector as a matrix of one column. */
static cls_matrix column_of(const cls_vector *y) {
    return (cls_matrix){y->buffer, y->dtype, y->offset, y->count, 1, y->step, 0};
}

/* op(a) x goes to the scratch of `work`, from where y takes it by the factors. */
static cls_status gemv_by_scratch(struct blas_work *work, const cls_matrix *a, const cls_vector *x,
                                  const cls_vector *y, const cls_gemm_config *config,
                                  cls_stream stream, bool blocking) {
    const cls_gemm_config plain = without_factors(config);
    const cls_vector product = {NULL, y->dtype, 0, y->count, 1};
    const cls_matrix column = column_of(y);
    struct buffer *buffers[3] = {work->op.views[0].buffer, work->op.views[1].buffer};
    const size_t bytes = y->count * cls_dtype_size(y->dtype);
    cls_status status = op_scratch(&work->op, bytes ? bytes : 1, &buffers[2]);
    if (!status)
        status = gemv_of_numbers(a, x, &product, buffers, plain, stream, false);
    return status ? status : take_product("gemv", config, buffers[2], &column, stream, blocking);
}

static cls_status gemv_by_views(const cls_matrix *a, const cls_vector *x, const cls_vector *y,
                                const cls_gemm_config *config, cls_stream stream, bool blocking) {
    struct blas_work work = {.name = "gemv"};
    struct blas_view views[3];
    const cls_matrix column = column_of(y);
    cls_status status = gemv_views(a, x, y, config, views);
    if (!status)
        status = check_by_views("gemv", config, a->dtype, &column, stream);
    if (!status)
        status = blas_begin(&work, BLAS_GEMV, views, 3, BLAS_LAST_OUT, stream, blocking);
    if (status)
        return status;
    status = gemv_by_scratch(&work, a, x, y, config, stream, blocking);
    return blas_end(&work, status, false);
}

static cls_status gemv(const cls_matrix *a, const cls_vector *x, const cls_vector *y,
                       const cls_gemm_config *given, cls_stream stream, bool blocking) {
    cls_gemm_config config;
    cls_status status = blas_read_config(given, &config);
    if (status)
        return status;
    return has_factor_views(&config) ? gemv_by_views(a, x, y, &config, stream, blocking)
                                     : gemv_of_numbers(a, x, y, NULL, config, stream, blocking);
}

cls_status cls_gemv(cls_matrix a, cls_vector x, cls_vector y, const cls_gemm_config *config,
                    cls_stream stream) {
    return gemv(&a, &x, &y, config, stream, true);
}

cls_status cls_gemv_async(cls_matrix a, cls_vector x, cls_vector y, const cls_gemm_config *config,
                          cls_stream stream) {
    return gemv(&a, &x, &y, config, stream, false);
}
