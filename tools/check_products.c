/* SPDX-License-Identifier: MIT */
/*
 * Matrix products of every type against the host's, small ones and ones that are large enough for each way to compute
 * them, with each input as it is and transposed. Elements are small integers, whose sums are exact in every order.
 */
#include "check_part.h"

#include <stdlib.h>
#include <string.h>

#include <clstream/blas.h>
#include <clstream/buffer.h>

enum { MOST = 540, SAMPLES = 2000 };

struct product {
    cls_dtype in, out;
    size_t m, n, k;
    bool ta, tb;
    cls_buffer a, b, c;
    void *host; /* as large as each of them */
};

static const char *const ways[] = {
    [CLS_GEMM_WAY_NONE] = "none",          [CLS_GEMM_WAY_PANELS] = "packed panels",
    [CLS_GEMM_WAY_TILES] = "matrix units", [CLS_GEMM_WAY_BLOCKS] = "a kernel for GPUs",
    [CLS_GEMM_WAY_CLBLAST] = "CLBlast",
};

/* -4 to 3 */
static int element(size_t i, unsigned which) {
    return (int)((uint32_t)(i + which) * 2654435769u >> 29) - 4;
}

static void store(cls_dtype dtype, void *to, size_t i, int x) {
    static const uint16_t f16[] = {0xc400, 0xc200, 0xc000, 0xbc00, 0, 0x3c00, 0x4000, 0x4200};
    const float value = (float)x;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (dtype == CLS_F64)
        ((double *)to)[i] = x;
    else if (dtype == CLS_F32)
        ((float *)to)[i] = value;
    else
        ((uint16_t *)to)[i] = dtype == CLS_F16 ? f16[x + 4] : (uint16_t)(bits >> 16);
}

static double load(const struct product *p, size_t i) {
    return p->out == CLS_F64 ? ((const double *)p->host)[i] : (double)((const float *)p->host)[i];
}

static cls_status upload(const struct product *p, cls_buffer to, size_t count, unsigned which) {
    for (size_t i = 0; i < count; i++)
        store(p->in, p->host, i, element(i, which));
    return cls_copy_h2d(to, 0, p->host, count * cls_dtype_size(p->in), NULL);
}

static bool is_right(const struct product *p) {
    for (size_t s = 0; s < SAMPLES; s++) {
        const size_t i = s % 3 ? s * 7919 % p->m : p->m - 1,
                     j = s % 5 ? s * 104729 % p->n : p->n - 1;
        int sum = 0;
        for (size_t l = 0; l < p->k; l++)
            sum += element(p->ta ? l * p->m + i : i * p->k + l, 0) *
                   element(p->tb ? j * p->k + l : l * p->n + j, 1);
        if (load(p, i * p->n + j) != sum)
            return false;
    }
    return true;
}

/* `told`: how it is computed. */
static cls_status multiply(const struct product *p, cls_gemm_explanation *told) {
    const cls_matrix a = cls_matrix_of(p->a, p->in, p->ta ? p->k : p->m, p->ta ? p->m : p->k);
    const cls_matrix b = cls_matrix_of(p->b, p->in, p->tb ? p->n : p->k, p->tb ? p->k : p->n);
    const cls_matrix c = cls_matrix_of(p->c, p->out, p->m, p->n);
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.transpose_a = p->ta;
    config.transpose_b = p->tb;
    cls_status status = cls_gemm(a, b, c, &config, NULL);
    if (!status)
        status = cls_gemm_explain(a, b, c, &config, NULL, told);
    return status ? status
                  : cls_buffer_to_host(p->c, p->host, p->m * p->n * cls_dtype_size(p->out));
}

/* All four orders. */
static cls_status try_shape(struct product *p, size_t m, size_t n, size_t k, bool *right,
                            cls_gemm_explanation *told) {
    p->m = m;
    p->n = n;
    p->k = k;
    cls_status status = upload(p, p->a, m * k, 0);
    if (!status)
        status = upload(p, p->b, k * n, 1);
    for (int order = 0; order < 4 && !status && *right; order++) {
        p->ta = order & 1;
        p->tb = order >> 1;
        status = multiply(p, told);
        *right = !status && is_right(p);
    }
    return status;
}

static void try_type(const struct check *check, struct product *p) {
    cls_gemm_explanation small = CLS_GEMM_EXPLANATION_INIT, large = CLS_GEMM_EXPLANATION_INIT;
    bool right = true;
    const char *name = cls_dtype_name(p->in);
    cls_status status = try_shape(p, 60, 70, 50, &right, &small);
    if (!status && right)
        status = try_shape(p, 531, 540, 530, &right, &large);
    if (status)
        check_say_status(check, name, "unsupported here", status);
    else if (!right)
        check_say(check, CHECK_FAILED, name, "%s", "wrong data");
    else
        check_say(check, CHECK_PASSED, name, "small ones by %s, large ones by %s", ways[small.way],
                  ways[large.way]);
}

static cls_status open_product(const struct check *check, struct product *p) {
    const size_t bytes = sizeof(double) * MOST * MOST;
    p->host = malloc(bytes);
    if (!p->host)
        return CLS_ERROR_OUT_OF_MEMORY;
    cls_status status = cls_buffer_create(check->context, bytes, &p->a);
    if (!status)
        status = cls_buffer_create(check->context, bytes, &p->b);
    return status ? status : cls_buffer_create(check->context, bytes, &p->c);
}

int check_products(struct check *check) {
    static const cls_dtype types[][2] = {
        {CLS_F32, CLS_F32}, {CLS_F64, CLS_F64}, {CLS_F16, CLS_F32}, {CLS_BF16, CLS_F32}};
    struct product p = {.host = NULL};
    cls_status status = open_product(check, &p);
    if (status)
        check_say_status(check, "products", "cannot begin", status);
    for (size_t i = 0; i < sizeof types / sizeof types[0] && !status; i++) {
        p.in = types[i][0];
        p.out = types[i][1];
        try_type(check, &p);
    }
    return TOOL_OK;
}
