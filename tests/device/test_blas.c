/* SPDX-License-Identifier: MIT */
/* Matrix products and vector operations against sums in double precision. */
#include <stdio.h>
#include <string.h>

#include "../support/effort.h"
#include "blas_values.h"

/* --- matrix by matrix --- */

struct shape {
    size_t m, n, k;
};

struct product {
    cls_dtype type;
    struct shape shape;
    bool ta, tb;
    size_t pad;     /* of each ld above the columns */
    size_t offset;  /* of each matrix */
    size_t batches; /* and a gap of 3 elements between its matrices */
    bool shared_b;  /* one b for all */
    bool beside;    /* the outputs lie beside one another, in the same rows */
    double alpha, beta;
};

static cls_matrix matrix_of(const struct product *p, const struct values *v, size_t rows,
                            size_t columns, bool shared) {
    cls_matrix matrix = cls_matrix_at(v->buffer, p->type, p->offset, rows, columns);
    matrix.ld = columns + p->pad;
    matrix.stride = shared ? 0 : rows * matrix.ld + 3;
    return matrix;
}

static size_t elements(const struct product *p, size_t rows, size_t columns) {
    return p->offset + p->batches * (rows * (columns + p->pad) + 3);
}

static double at(const struct values *v, const cls_matrix *m, size_t batch, size_t i, size_t j,
                 bool transposed) {
    const size_t row = transposed ? j : i, column = transposed ? i : j;
    return v->x[m->offset + batch * m->stride + row * m->ld + column];
}

static void expect_product(const struct product *p, const struct values v[3],
                           const cls_matrix m[3]) {
    for (size_t batch = 0; batch < p->batches; batch++)
        for (size_t i = 0; i < p->shape.m; i++)
            for (size_t j = 0; j < p->shape.n; j++) {
                double sum = 0;
                for (size_t k = 0; k < p->shape.k; k++)
                    sum +=
                        at(&v[0], &m[0], batch, i, k, p->ta) * at(&v[1], &m[1], batch, k, j, p->tb);
                double *c = &v[2].x[m[2].offset + batch * m[2].stride + i * m[2].ld + j];
                *c = (p->alpha != 0 ? p->alpha * sum : 0) + (p->beta != 0 ? p->beta * *c : 0);
            }
}

/* NaN wherever the product reads nothing. */
static void poison_unread(const struct product *p, const struct values v[3], const cls_matrix *c) {
    for (int i = 0; i < 2 && p->alpha == 0; i++) {
        for (size_t j = 0; j < v[i].count; j++)
            v[i].x[j] = NAN;
        upload(&v[i]);
    }
    if (p->beta != 0)
        return;
    for (size_t batch = 0; batch < p->batches; batch++)
        for (size_t i = 0; i < c->rows; i++)
            for (size_t j = 0; j < c->columns; j++)
                v[2].x[c->offset + batch * c->stride + i * c->ld + j] = NAN;
    upload(&v[2]);
}

static void check_product(const struct product *p, cls_stream stream, bool async) {
    const size_t m = p->shape.m, n = p->shape.n, k = p->shape.k;
    const size_t ar = p->ta ? k : m, ac = p->ta ? m : k, br = p->tb ? n : k, bc = p->tb ? k : n;
    char what[120];
    struct values v[3] = {values_make(p->type, elements(p, ar, ac), 1),
                          values_make(p->type, elements(p, br, bc), 2),
                          values_make(p->type, elements(p, m, n), 3)};
    cls_matrix view[3] = {matrix_of(p, &v[0], ar, ac, false),
                          matrix_of(p, &v[1], br, bc, p->shared_b),
                          matrix_of(p, &v[2], m, n, false)};
    if (p->beside) {
        view[2].stride = view[2].ld;
        view[2].ld *= p->batches;
    }
    poison_unread(p, v, &view[2]);
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.transpose_a = p->ta;
    config.transpose_b = p->tb;
    config.alpha = p->alpha;
    config.beta = p->beta;
    config.batches = p->batches;
    snprintf(what, sizeof what, "gemm %s %zux%zux%zu%s%s, %zu of them", cls_dtype_name(p->type), m,
             n, k, p->ta ? " T" : "", p->tb ? " .T" : "", p->batches);
    OK((async ? cls_gemm_async : cls_gemm)(view[0], view[1], view[2], &config, stream));
    if (async)
        OK(cls_stream_synchronize(stream));
    expect_product(p, v, view);
    check_values(what, &v[2], unit(p->type) * (double)(k + 4) * 8);
    for (int i = 0; i < 3; i++)
        values_free(&v[i]);
}

static void every_transpose(const struct product *given) {
    struct product p = *given;
    for (int i = 0; i < 4; i++) {
        p.ta = i & 1;
        p.tb = i & 2;
        check_product(&p, NULL, i % 2);
    }
}

static const struct shape shapes[] = {
    {1, 1, 1}, {3, 5, 7}, {64, 64, 64}, {33, 130, 70}, {1, 200, 9}};

static void products(cls_dtype type) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        every_transpose(&(struct product){type, shapes[i], .batches = 1, .alpha = 1});
        every_transpose(&(struct product){type, shapes[i], .pad = 5, .offset = 11, .batches = 1,
                                          .alpha = -0.5, .beta = 2});
    }
}

/* Big enough for the kernels with temporary memory, which copy and pad first. */
static void large_products(cls_dtype type) {
    every_transpose(&(struct product){type, {520, 300, 641}, .batches = 1, .alpha = 1, .beta = 1});
}

static void batches(cls_dtype type) {
    every_transpose(&(struct product){type, {17, 9, 31}, .batches = 5, .alpha = 1, .beta = 1});
    every_transpose(&(struct product){
        type, {32, 16, 8}, .pad = 2, .offset = 3, .batches = 3, .shared_b = true, .alpha = 2});
    every_transpose(&(struct product){
        type, {32, 16, 8}, .offset = 3, .batches = 4, .beside = true, .alpha = 1, .beta = 1});
}

/* Nothing is multiplied, because a factor or the inner length is 0. */
static void products_of_nothing(cls_dtype type) {
    static const double betas[] = {0, 1, -2};
    for (size_t i = 0; i < sizeof betas / sizeof *betas; i++) {
        const double beta = betas[i];
        every_transpose(&(struct product){
            type, {3, 5, 7}, .pad = 2, .offset = 3, .batches = 1, .alpha = 0, .beta = beta});
        every_transpose(&(struct product){
            type, {17, 9, 31}, .pad = 1, .offset = 3, .batches = 5, .alpha = 0, .beta = beta});
        every_transpose(&(struct product){
            type, {32, 16, 8}, .batches = 4, .beside = true, .alpha = 0, .beta = beta});
        every_transpose(&(struct product){type, {3, 5, 0}, .batches = 1, .alpha = 1, .beta = beta});
        every_transpose(&(struct product){
            type, {3, 5, 0}, .pad = 4, .offset = 1, .batches = 3, .alpha = 1, .beta = beta});
    }
}

/* --- the rest --- */

/* nrm2 and asum of a vector, to the host and to the device. */
static void check_norms(cls_dtype type, const struct values *x, cls_vector view) {
    struct values out = values_make(type, 2, 8);
    union {
        float f;
        double d;
    } results[2];
    double squares = 0, sum = 0;
    for (size_t i = 0; i < view.count; i++) {
        const double value = x->x[view.offset + i * view.step];
        squares += value * value;
        sum += fabs(value);
    }
    OK(cls_nrm2(view, &results[0], NULL));
    OK(cls_asum(view, &results[1], NULL));
    out.x[0] = type == CLS_F64 ? results[0].d : (double)results[0].f;
    out.x[1] = type == CLS_F64 ? results[1].d : (double)results[1].f;
    assert_true(fabs(out.x[0] - sqrt(squares)) <= unit(type) * sqrt(squares) * (double)view.count);
    assert_true(fabs(out.x[1] - sum) <= unit(type) * sum * (double)view.count);
    OK(cls_nrm2_async(view, cls_array_at(out.buffer, type, 0, 1), NULL));
    OK(cls_asum_async(view, cls_array_at(out.buffer, type, 1, 1), NULL));
    check_values("norms", &out, 0);
    view.count = 0;
    OK(cls_nrm2(view, &results[0], NULL));
    assert_true(results[0].f == 0);
    OK(cls_asum_async(view, cls_array_at(out.buffer, type, 1, 1), NULL));
    out.x[1] = 0;
    check_values("the sum of nothing", &out, 0);
    values_free(&out);
}

static void vectors(cls_dtype type) {
    enum { N = 1000, STEP = 3 };
    struct values x = values_make(type, N * STEP, 5), y = values_make(type, N + 20, 6);
    const cls_vector vx = {x.buffer, type, 1, N, STEP}, vy = {y.buffer, type, 7, N, 1};
    double dot = 0;
    uint32_t index = 0;
    union {
        float f;
        double d;
    } result;
    x.x[1 + 417 * STEP] = -5;
    upload(&x);
    for (size_t i = 0; i < N; i++)
        dot += x.x[1 + i * STEP] * y.x[7 + i];
    OK(cls_blas_dot(vx, vy, &result, NULL));
    const double got = type == CLS_F64 ? result.d : (double)result.f;
    assert_true(fabs(got - dot) <= unit(type) * N * 8);
    check_norms(type, &x, vx);
    OK(cls_amax(vx, &index, NULL));
    assert_int_equal(index, 417);
    OK(cls_axpy(0.25, vx, vy, NULL));
    for (size_t i = 0; i < N; i++)
        y.x[7 + i] += 0.25 * x.x[1 + i * STEP];
    check_values("axpy", &y, 4 * unit(type));
    OK(cls_scal(-2, vx, NULL));
    for (size_t i = 0; i < N; i++)
        x.x[1 + i * STEP] *= -2;
    check_values("scal", &x, unit(type));
    values_free(&x);
    values_free(&y);
}

/* The results of dot and amax in device memory, in stream order. */
static void results_on_the_device(cls_dtype type) {
    struct values x = values_make(type, 100, 7), out = values_make(type, 4, 8);
    cls_buffer index;
    uint32_t found[3] = {9, 9, 9};
    const cls_vector vx = cls_vector_of(x.buffer, type, 100);
    OK(cls_buffer_from_host(NULL, found, sizeof found, &index));
    OK(cls_scal_async(0, cls_vector_from(cls_array_at(x.buffer, type, 0, 99)), NULL));
    OK(cls_blas_dot_async(vx, vx, cls_array_at(out.buffer, type, 2, 1), NULL));
    OK(cls_amax_async(vx, cls_array_at(index, CLS_U32, 1, 1), NULL));
    out.x[2] = x.x[99] * x.x[99];
    check_values("dot", &out, 4 * unit(type));
    OK(cls_copy_d2h(found, index, 0, sizeof found, NULL));
    assert_int_equal(found[0], 9);
    assert_int_equal(found[1], 99);
    assert_int_equal(found[2], 9);
    OK(cls_buffer_destroy(index));
    values_free(&x);
    values_free(&out);
}

static void matrix_by_vector(cls_dtype type) {
    enum { ROWS = 37, COLUMNS = 150, LD = 160 };
    for (int transposed = 0; transposed < 2; transposed++) {
        const size_t in = transposed ? ROWS : COLUMNS, out = transposed ? COLUMNS : ROWS;
        struct values a = values_make(type, ROWS * LD, 9), x = values_make(type, in * 2, 10);
        struct values y = values_make(type, out * 3 + 1, 11);
        cls_matrix va = cls_matrix_of(a.buffer, type, ROWS, COLUMNS);
        const cls_vector vx = {x.buffer, type, 0, in, 2}, vy = {y.buffer, type, 1, out, 3};
        cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
        config.transpose_a = transposed;
        config.alpha = 3;
        config.beta = -1;
        va.ld = LD;
        OK(cls_gemv(va, vx, vy, &config, NULL));
        for (size_t i = 0; i < out; i++) {
            double sum = 0;
            for (size_t j = 0; j < in; j++)
                sum += a.x[transposed ? j * LD + i : i * LD + j] * x.x[j * 2];
            y.x[1 + i * 3] = 3 * sum - y.x[1 + i * 3];
        }
        check_values("gemv", &y, unit(type) * COLUMNS * 16);
        values_free(&a);
        values_free(&x);
        values_free(&y);
    }
}

/* beta 0 is no multiplication: NaN in the output goes. */
static void output_is_only_written(cls_dtype type) {
    static const struct shape sizes[] = {{8, 8, 8}, {520, 300, 641}};
    for (int i = 0; i < 2; i++) {
        const struct shape s = sizes[i];
        struct values a = values_make(type, s.m * s.k, 1), b = values_make(type, s.k * s.n, 2);
        struct values c = values_make(type, s.m * s.n, 3);
        for (size_t j = 0; j < c.count; j++)
            c.x[j] = NAN;
        upload(&c);
        OK(cls_gemm(cls_matrix_of(a.buffer, type, s.m, s.k),
                    cls_matrix_of(b.buffer, type, s.k, s.n),
                    cls_matrix_of(c.buffer, type, s.m, s.n), NULL, NULL));
        double *got = download(&c);
        for (size_t j = 0; j < c.count; j++)
            assert_false(isnan(got[j]));
        free(got);
        values_free(&a);
        values_free(&b);
        values_free(&c);
    }
}

static void vector_is_only_written(cls_dtype type) {
    enum { ROWS = 70, COLUMNS = 64, PLACES = 3 };
    static const struct {
        size_t offset, step;
        int transposed;
    } places[PLACES] = {{0, 1, 0}, {5, 1, 1}, {2, 3, 0}};
    for (int i = 0; i < PLACES; i++) {
        const size_t n = places[i].transposed ? COLUMNS : ROWS;
        const size_t offset = places[i].offset, step = places[i].step;
        struct values a = values_make(type, ROWS * COLUMNS, 1), x = values_make(type, ROWS, 2);
        struct values y = values_make(type, 3 * ROWS + 5, 3);
        cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
        config.transpose_a = places[i].transposed;
        for (size_t j = 0; j < y.count; j++)
            y.x[j] = j % 2 ? NAN : INFINITY;
        upload(&y);
        OK(cls_gemv(cls_matrix_of(a.buffer, type, ROWS, COLUMNS),
                    cls_vector_of(x.buffer, type, ROWS + COLUMNS - n),
                    (cls_vector){y.buffer, type, offset, n, step}, &config, NULL));
        double *got = download(&y);
        for (size_t j = 0; j < y.count; j++) {
            const bool written = j >= offset && (j - offset) % step == 0 && (j - offset) / step < n;
            assert_int_equal(isfinite(got[j]) != 0, written);
        }
        free(got);
        values_free(&a);
        values_free(&x);
        values_free(&y);
    }
}

/* With inputs of NaN. The vectors lie apart from one another, and what lies between their elements stays. */
static void vectors_of_nothing(cls_dtype type) {
    enum { ROWS = 70, COLUMNS = 30, STEP = 3 };
    static const double betas[] = {0, 1, -2};
    struct values a = values_make(type, ROWS * COLUMNS, 1), y = values_make(type, 3 * ROWS, 2);
    const cls_vector vy = {y.buffer, type, 2, ROWS, STEP};
    const cls_vector nans = cls_vector_of(a.buffer, type, ROWS),
                     none = cls_vector_of(a.buffer, type, 0);
    union {
        float f;
        double d;
    } result = {.d = 1};
    for (size_t i = 0; i < a.count; i++)
        a.x[i] = NAN;
    upload(&a);
    for (int i = 0; i < 6; i++) {
        const size_t inner = i < 3 ? COLUMNS : 0;
        cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
        config.alpha = inner ? 0 : 1;
        config.beta = betas[i % 3];
        OK(cls_gemv(cls_matrix_of(a.buffer, type, ROWS, inner),
                    cls_vector_of(a.buffer, type, inner), vy, &config, NULL));
        for (size_t j = 0; j < ROWS; j++)
            y.x[2 + j * STEP] = config.beta != 0 ? config.beta * y.x[2 + j * STEP] : 0;
        check_values("gemv of nothing", &y, 0);
        for (size_t j = 0; j < ROWS; j++)
            y.x[2 + j * STEP] = (double)j;
        upload(&y);
    }
    OK(cls_axpy(0, nans, vy, NULL));
    if (type == CLS_F32)
        OK(cls_axpy(1e-60, nans, vy, NULL));
    check_values("axpy of nothing", &y, 0);
    OK(cls_scal(0, nans, NULL));
    for (size_t i = 0; i < ROWS; i++)
        a.x[i] = 0;
    OK(cls_axpy(1, nans, vy, NULL));
    check_values("axpy of zeros", &y, 0);
    OK(cls_blas_dot(none, none, &result, NULL));
    assert_true(type == CLS_F64 ? result.d == 0 : result.f == 0);
    OK(cls_blas_dot_async(none, none, cls_array_at(y.buffer, type, 1, 1), NULL));
    y.x[1] = 0;
    check_values("dot of nothing", &y, 0);
    values_free(&a);
    values_free(&y);
}

/* A product between two operations of the library's own, on streams of either order, over and over: each
 * step reads what the one before it wrote. */
static void products_keep_the_order(cls_dtype type) {
    enum { N = 48, ROUNDS = 30 };
    for (int order = CLS_ORDER_AUTO; order <= CLS_ORDER_IN_ORDER; order++) {
        cls_stream_config config = CLS_STREAM_CONFIG_INIT;
        cls_stream stream;
        double one = 1, two = 2;
        struct values a = values_make(type, N * N, 1), b = values_make(type, N * N, 2);
        config.order = (cls_order)order;
        const cls_status made = cls_stream_create(NULL, &config, &stream);
        if (made == CLS_ERROR_UNSUPPORTED)
            continue;
        OK(made);
        memset(a.x, 0, N * N * sizeof *a.x);
        for (size_t i = 0; i < N; i++)
            a.x[i * N + i] = 1;
        upload(&a);
        const cls_array all = cls_array_of(b.buffer, type, N * N);
        for (int i = 0; i < ROUNDS; i++) {
            struct values *from = &b;
            cls_buffer temporary;
            OK(cls_buffer_create(NULL, N * N * cls_dtype_size(type), &temporary));
            OK(cls_gemm_async(cls_matrix_of(a.buffer, type, N, N),
                              cls_matrix_of(from->buffer, type, N, N),
                              cls_matrix_of(temporary, type, N, N), NULL, stream));
            OK(cls_unary_param_async(CLS_UNARY_ADD_SCALAR, cls_array_of(temporary, type, N * N),
                                     all, one, stream));
            OK(cls_gemm_async(cls_matrix_of(a.buffer, type, N, N),
                              cls_matrix_of(b.buffer, type, N, N),
                              cls_matrix_of(temporary, type, N, N), NULL, stream));
            OK(cls_unary_param_async(CLS_UNARY_SCALE, cls_array_of(temporary, type, N * N), all,
                                     i % 2 ? 1 / two : two, stream));
            OK(cls_buffer_destroy(temporary));
            for (size_t j = 0; j < N * N; j++)
                b.x[j] = (b.x[j] + one) * (i % 2 ? 1 / two : two);
        }
        OK(cls_stream_synchronize(stream));
        check_values("a chain", &b, 0);
        OK(cls_stream_destroy(stream));
        values_free(&a);
        values_free(&b);
    }
}

/* --- operands between each other's elements --- */

static void operands_lie_between_each_other(cls_dtype type) {
    enum { N = 8, LD = 3 * N + 1, COUNT = LD * N };
    struct values v = values_make(type, COUNT, 7);
    cls_matrix m[3];
    for (size_t i = 0; i < 3; i++)
        m[i] = (cls_matrix){v.buffer, type, i * N, N, N, LD, 0};
    OK(cls_gemm(m[0], m[1], m[2], NULL, NULL));
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            double sum = 0;
            for (size_t k = 0; k < N; k++)
                sum += v.x[i * LD + k] * v.x[k * LD + N + j];
            v.x[i * LD + 2 * N + j] = sum;
        }
    check_values("side by side", &v, 100 * unit(type));
    upload(&v);
    OK(cls_axpy(2, (cls_vector){v.buffer, type, 0, N, 2}, (cls_vector){v.buffer, type, 1, N, 2},
                NULL));
    for (size_t i = 0; i < N; i++)
        v.x[2 * i + 1] += 2 * v.x[2 * i];
    check_values("every other one", &v, 100 * unit(type));
    values_free(&v);
}

/* --- bad input --- */

static void bad_input_is_refused(void **state) {
    (void)state;
    NEED_BLAS(CLS_F32);
    struct values a = values_make(CLS_F32, 64, 1), b = values_make(CLS_F32, 64, 2);
    const cls_matrix ma = cls_matrix_of(a.buffer, CLS_F32, 4, 4);
    const cls_matrix mb = cls_matrix_of(b.buffer, CLS_F32, 4, 4);
    const cls_vector va = cls_vector_of(a.buffer, CLS_F32, 4),
                     vb = cls_vector_of(b.buffer, CLS_F32, 4);
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    cls_matrix bad = mb;
    cls_vector worse = vb;
    uint32_t index = 77;
    bad.buffer = NULL;
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_gemm_async(ma, bad, mb, NULL, NULL));
    bad = mb, bad.dtype = CLS_I32;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_gemm_async(ma, ma, bad, NULL, NULL));
    bad = mb, bad.rows = 3;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_gemm_async(ma, ma, bad, NULL, NULL));
    bad = mb, bad.ld = 3;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_gemm_async(ma, ma, bad, NULL, NULL));
    bad = mb, bad.ld = 40;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_gemm_async(ma, ma, bad, NULL, NULL));
    bad = mb, bad.ld = SIZE_MAX / 2;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_gemm_async(ma, ma, bad, NULL, NULL));
    bad = mb, bad.offset = SIZE_MAX;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_gemm_async(ma, ma, bad, NULL, NULL));
    bad = ma, bad.offset = 15;
    EXPECT(CLS_ERROR_OVERLAP, cls_gemm_async(ma, mb, bad, NULL, NULL));
    EXPECT(CLS_ERROR_OVERLAP, cls_gemm_async(ma, mb, ma, NULL, NULL));
    config.size = 1;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_gemm_async(ma, ma, mb, &config, NULL));
    config = (cls_gemm_config)CLS_GEMM_CONFIG_INIT, config.batches = 0;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_gemm_async(ma, ma, mb, &config, NULL));
    config.batches = 2, bad = mb, bad.stride = 15;
    EXPECT(CLS_ERROR_OVERLAP, cls_gemm_async(ma, ma, bad, &config, NULL));
    bad.ld = 7, bad.stride = 4; /* the second begins in the first's gap and ends in its next row */
    EXPECT(CLS_ERROR_OVERLAP, cls_gemm_async(ma, ma, bad, &config, NULL));
    bad.ld = 7, bad.stride = 8; /* it begins in the first's second row */
    EXPECT(CLS_ERROR_OVERLAP, cls_gemm_async(ma, ma, bad, &config, NULL));
    config.batches = 5;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_gemm_async(ma, ma, mb, &config, NULL));
    cls_matrix one = ma; /* of a thousand million, each beside the one before */
    one.rows = one.columns = one.stride = 1, one.ld = 1 << 30, config.batches = 1 << 30;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_gemm_async(one, one, one, &config, NULL));
    cls_matrix flat = ma;
    flat.rows = 0;
    OK(cls_gemm_async(flat, ma, (cls_matrix){b.buffer, CLS_F32, 0, 0, 4, 4, 0}, NULL, NULL));
    worse.step = 0;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_axpy_async(1, va, worse, NULL));
    worse = vb, worse.step = 22;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_axpy_async(1, va, worse, NULL));
    worse = vb, worse.count = 3;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_axpy_async(1, va, worse, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_gemv_async(ma, va, worse, NULL, NULL));
    EXPECT(CLS_ERROR_OVERLAP, cls_gemv_async(ma, va, va, NULL, NULL));
    assert_non_null(strstr(cls_last_error_detail(), "not work in place"));
    worse.count = 0;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_amax(worse, &index, NULL));
    OK(cls_scal_async(2, worse, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_amax(va, NULL, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_blas_dot(va, vb, NULL, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_amax_async(va, cls_array_of(b.buffer, CLS_F32, 1), NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_amax_async(va, cls_array_of(b.buffer, CLS_U32, 2), NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_blas_warmup(CLS_F32, 4, 0, 4, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_blas_warmup(CLS_U8, 0, 0, 0, NULL));
    assert_int_equal(index, 77);
    check_values("an untouched buffer", &b, 0);
    values_free(&a);
    values_free(&b);
}

/* Wherever it lies, and with the leading dimension of cls_matrix_of, which is then 0. */
static void empty_output_is_a_no_op(void **state) {
    (void)state;
    NEED_BLAS(CLS_F32);
    struct values v = values_make(CLS_F32, 64, 1);
    const cls_matrix m = cls_matrix_of(v.buffer, CLS_F32, 4, 4);
    const cls_matrix no_rows = cls_matrix_at(v.buffer, CLS_F32, 3, 0, 4);
    const cls_matrix no_columns = cls_matrix_at(v.buffer, CLS_F32, 3, 4, 0);
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    OK(cls_gemm(no_rows, m, no_rows, NULL, NULL));
    OK(cls_gemm(m, no_columns, no_columns, NULL, NULL));
    config.batches = 2;
    OK(cls_gemm(m, no_columns, no_columns, &config, NULL));
    config.batches = 1;
    config.transpose_a = 1;
    OK(cls_gemv(no_columns, cls_vector_of(v.buffer, CLS_F32, 4),
                (cls_vector){v.buffer, CLS_F32, 1, 0, 1}, &config, NULL));
    check_values("an empty output", &v, 0);
    values_free(&v);
}

static void without_clblast_vectors_are_unsupported(void **state) {
    (void)state;
    if (cls_blas_available())
        SKIP_BECAUSE("this library has CLBlast");
    struct values values = values_make(CLS_F32, 2, 1);
    const cls_vector x = {values.buffer, CLS_F32, 0, 1, 1}, y = {values.buffer, CLS_F32, 1, 1, 1};
    float result;
    uint32_t index;
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_axpy_async(1, x, y, NULL));
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_scal_async(1, x, NULL));
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_blas_dot(x, y, &result, NULL));
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_amax(x, &index, NULL));
    values_free(&values);
}

static void warms_up(cls_dtype type) {
    OK(cls_blas_warmup(type, 0, 0, 0, NULL));
    OK(cls_blas_warmup(type, 70, 80, 90, NULL));
}

/* --- */

struct work {
    const char *name;
    void (*run)(cls_dtype type);
    cls_dtype type;
};

static void run(void **state) {
    const struct work *work = *state;
    NEED_BLAS(work->type);
    work->run(work->type);
}

#define WORK(name, fn) \
    {name " f32", fn, CLS_F32}, { name " f64", fn, CLS_F64 }
static struct work works[] = {
    WORK("products", products),
    WORK("large products", large_products),
    WORK("batches", batches),
    WORK("products of nothing", products_of_nothing),
    WORK("vectors with steps", vectors),
    WORK("vectors of nothing", vectors_of_nothing),
    WORK("results on the device", results_on_the_device),
    WORK("matrix by vector", matrix_by_vector),
    WORK("with beta 0 the output is only written", output_is_only_written),
    WORK("with beta 0 the vector is only written", vector_is_only_written),
    WORK("products keep the order of their stream", products_keep_the_order),
    WORK("operands lie between each other's elements", operands_lie_between_each_other),
    WORK("warm-up", warms_up),
};

/* The rest is left to TEST_EFFORT=long: a CPU driver's compiler takes long for each routine on each type, a quarter of a
 * minute for the programs of products, and half of one for all that a warm-up makes. */
static bool is_chosen(const struct work *work) {
    return effort_is_long() || work->run == vectors || work->run == products_of_nothing ||
           (work->type == CLS_F32 && work->run != batches && work->run != warms_up);
}

enum { WORKS = sizeof works / sizeof *works };

int main(void) {
    enum { OTHERS = 3 };
    struct CMUnitTest tests[WORKS + OTHERS] = {
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(empty_output_is_a_no_op),
        cmocka_unit_test(without_clblast_vectors_are_unsupported),
    };
    size_t n = OTHERS;
    prepare_tests();
    for (int i = 0; i < WORKS; i++)
        if (is_chosen(&works[i]))
            tests[n++] = (struct CMUnitTest){works[i].name, run, NULL, NULL, &works[i]};
    return _cmocka_run_group_tests("blas", tests, n, NULL, NULL);
}
