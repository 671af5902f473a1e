/* SPDX-License-Identifier: MIT */
/*
 * Triangular systems (cls_trsm), by blocks: a kernel solves for the unknowns of a block on the diagonal, and a product
 * subtracts their contributions from the right-hand sides of the remaining ones. A system from the right, X op(a) = alpha b,
 * is the transpose of one from the left, m X = alpha b.
 */
#include "base/error.h"
#include "memory/buffer.h"
#include "ops/blas.h"
#include "ops/reduction_cut.h"
#include "ops/spec.h"

enum { A, B };
enum { FROM_LAST = 1, UNIT = 2 }; /* as in cl/trsm.cl */
enum { TRSM_GROUP = 64 };

struct trsm {
    const cls_matrix *a, *b;
    cls_gemm_config config;
    bool right, unit;
    bool swapped;   /* m is the transpose of a */
    bool from_last; /* m is upper triangular */
    size_t n;       /* unknowns of a system, of which b has one for each column, or row */
    struct blas_view views[2];
    struct op_call op;
    struct kernel *kernel;
    cls_stream stream;
};

static cls_status trsm_read(struct trsm *t, unsigned triangle, const cls_gemm_config *given) {
    const unsigned known = CLS_TRIANGLE_RIGHT | CLS_TRIANGLE_UPPER | CLS_TRIANGLE_UNIT;
    cls_status status = blas_read_config(given, &t->config);
    if (status)
        return status;
    if (triangle & ~known)
        return error_set(CLS_ERROR_INVALID_VALUE, "trsm: %#x is no cls_triangle", triangle);
    const cls_gemm_config *config = &t->config;
    if (config->transpose_b || config->beta != 0 || config->bias_by_row || config->bias.buffer ||
        config->activation || config->alpha_view.buffer || config->beta_view.buffer)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "trsm has no options but transpose_a, alpha, batches and math");
    t->right = triangle & CLS_TRIANGLE_RIGHT;
    t->unit = triangle & CLS_TRIANGLE_UNIT;
    t->swapped = !config->transpose_a != !t->right;
    t->from_last = !(triangle & CLS_TRIANGLE_UPPER) != !t->swapped;
    return CLS_SUCCESS;
}

static cls_status trsm_shape(struct trsm *t) {
    const cls_matrix *a = t->a, *b = t->b;
    t->n = t->right ? b->columns : b->rows;
    if (a->rows != a->columns || a->rows != t->n)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "trsm: %zu x %zu for %zu x %zu", a->rows,
                         a->columns, b->rows, b->columns);
    cls_status status = blas_matrix_view("trsm", a, t->config.batches, &t->views[A]);
    if (!status)
        status = blas_matrix_view("trsm", b, t->config.batches, &t->views[B]);
    return status ? status : blas_check_apart("trsm", b, t->config.batches);
}

static cls_status trsm_check(const struct trsm *t) {
    const cls_dtype dtype = t->op.views[B].dtype;
    if (dtype != CLS_F32 && dtype != CLS_F64)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "trsm does not support %s",
                         cls_dtype_name(dtype));
    if (t->op.views[A].dtype != dtype)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "trsm: matrices of %s and of %s",
                         cls_dtype_name(t->op.views[A].dtype), cls_dtype_name(dtype));
    if (buffer_spans_overlap(t->op.views[A].buffer, t->views[A].span, t->op.views[B].buffer,
                             t->views[B].span))
        return error_set(CLS_ERROR_OVERLAP, "trsm: the output overlaps the triangle");
    return op_check_dtype(&t->op, dtype);
}

static cls_matrix part_of_matrix(const cls_matrix *whole, size_t row, size_t rows, size_t column,
                                 size_t columns) {
    cls_matrix part = *whole;
    part.offset += row * whole->ld + column;
    part.rows = rows;
    part.columns = columns;
    return part;
}

/* Of a, the elements of m in these rows and columns. */
static cls_matrix part_of_a(const struct trsm *t, size_t row, size_t rows, size_t column,
                            size_t columns) {
    return t->swapped ? part_of_matrix(t->a, column, columns, row, rows)
                      : part_of_matrix(t->a, row, rows, column, columns);
}

/* `n` unknowns of every system, from `first` on. */
static cls_matrix part_of_b(const struct trsm *t, size_t first, size_t n) {
    return t->right ? part_of_matrix(t->b, 0, t->b->rows, first, n)
                    : part_of_matrix(t->b, first, n, 0, t->b->columns);
}

static cls_status solve_block(struct trsm *t, size_t first, size_t n, double alpha) {
    const bool f64 = t->b->dtype == CLS_F64;
    const cls_matrix a = part_of_a(t, first, n, first, n), b = part_of_b(t, first, n);
    const size_t systems = t->right ? b.rows : b.columns, batches = t->config.batches;
    const uint64_t a_at[] = {a.offset, t->swapped ? 1 : a.ld, t->swapped ? a.ld : 1, a.stride};
    const uint64_t b_at[] = {b.offset, t->right ? 1 : b.ld, t->right ? b.ld : 1, b.stride};
    const uint32_t unknowns = (uint32_t)n;
    const uint32_t flags = (t->from_last ? FROM_LAST : 0) | (t->unit ? UNIT : 0);
    struct blas_view views[2];
    cls_status status = blas_matrix_view("trsm", &a, batches, &views[A]);
    if (!status)
        status = blas_matrix_view("trsm", &b, batches, &views[B]);
    if (status)
        return status;
    const struct op_arg args[] = {
        op_arg_span(t->op.views[A].buffer, false, &views[A].span),
        op_arg_span(t->op.views[B].buffer, true, &views[B].span),
        op_arg_value(a_at, sizeof a_at),
        op_arg_value(b_at, sizeof b_at),
        op_arg_pair(systems, batches),
        op_arg_value(&unknowns, sizeof unknowns),
        op_arg_value(&flags, sizeof flags),
        blas_factor_arg(f64, alpha),
    };
    const size_t items = divide_up(systems * batches, TRSM_GROUP) * TRSM_GROUP;
    return op_launch(&t->op, t->kernel, args, sizeof args / sizeof *args, items, 0);
}

/* Subtracts the contributions of a block's unknowns from the right-hand sides of `n` others, times `beta`. */
static cls_status subtract_block(const struct trsm *t, size_t first, size_t block, size_t other,
                                 size_t n, double beta) {
    const cls_matrix found = part_of_b(t, first, block), rest = part_of_b(t, other, n),
                     factors = part_of_a(t, other, n, first, block);
    const cls_matrix matrices[3] = {t->right ? found : factors, t->right ? factors : found, rest};
    struct buffer *const a = t->op.views[A].buffer, *const b = t->op.views[B].buffer;
    struct buffer *const buffers[3] = {t->right ? b : a, t->right ? a : b, b};
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.transpose_a = !t->right && t->config.transpose_a;
    config.transpose_b = t->right && t->config.transpose_a;
    config.alpha = -1;
    config.beta = beta;
    config.batches = t->config.batches;
    config.math = t->config.math;
    return blas_gemm_kept(matrices, buffers, &config, t->stream);
}

/* b = 0, and nothing is read: a product of no terms. */
static cls_status clear_systems(const struct trsm *t) {
    const cls_matrix *b = t->b;
    const cls_matrix matrices[3] = {part_of_matrix(b, 0, b->rows, 0, 0),
                                    part_of_matrix(b, 0, 0, 0, b->columns), *b};
    struct buffer *const memory = t->op.views[B].buffer, *const buffers[3] = {memory, memory,
                                                                              memory};
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.batches = t->config.batches;
    return blas_gemm_kept(matrices, buffers, &config, t->stream);
}

static cls_status solve(struct trsm *t) {
    const struct spec *spec;
    cls_status status = spec_of_trsm(t->b->dtype, &spec);
    if (!status)
        status = op_kernel(&t->op, &spec->kernel, &t->kernel);
    for (size_t done = 0; done < t->n && !status; done += TRSM_BLOCK) {
        const size_t block = lesser(t->n - done, TRSM_BLOCK), left = t->n - done - block;
        const size_t first = t->from_last ? left : done;
        const double factor = done ? 1 : t->config.alpha;
        status = solve_block(t, first, block, factor);
        if (!status && left)
            status = subtract_block(t, first, block, t->from_last ? 0 : done + block, left, factor);
    }
    return status;
}

static cls_status trsm(const cls_matrix *a, const cls_matrix *b, unsigned triangle,
                       const cls_gemm_config *config, cls_stream stream, bool blocking) {
    struct trsm t = {.a = a, .b = b, .stream = stream};
    const cls_array *const arrays[2] = {&t.views[A].array, &t.views[B].array};
    cls_status status = trsm_read(&t, triangle, config);
    if (!status)
        status = trsm_shape(&t);
    if (!status)
        status = op_begin(&t.op, stream, arrays, 2, blocking);
    if (status)
        return status;
    status = trsm_check(&t);
    const bool is_zero = b->dtype == CLS_F64 ? t.config.alpha == 0 : (float)t.config.alpha == 0;
    if (!status && (!b->rows || !b->columns))
        status = op_check_stream(&t.op);
    else if (!status)
        status = is_zero ? clear_systems(&t) : solve(&t);
    return op_end(&t.op, status, blocking);
}

cls_status cls_trsm(cls_matrix a, cls_matrix b, unsigned triangle, const cls_gemm_config *config,
                    cls_stream stream) {
    return trsm(&a, &b, triangle, config, stream, true);
}

cls_status cls_trsm_async(cls_matrix a, cls_matrix b, unsigned triangle,
                          const cls_gemm_config *config, cls_stream stream) {
    return trsm(&a, &b, triangle, config, stream, false);
}
