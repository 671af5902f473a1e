/* SPDX-License-Identifier: MIT */
/*
 * Matrix products of every type against the host's, small ones and ones that are large enough for each way to compute
 * them, with each input as it is and transposed.
 */
#include "check_part.h"

#include <stdlib.h>
#include <string.h>

#include <clstream/blas.h>
#include <clstream/buffer.h>
#include <clstream/device.h>

#include "exact.h"

enum { MOST = 540, SAMPLES = 2000 };

struct product {
    cls_dtype in, out;
    struct exact_product shape;
    cls_buffer a, b, c;
    void *host; /* as large as each of them */
};

static const char *const ways[] = {
    [CLS_GEMM_WAY_NONE] = "none",          [CLS_GEMM_WAY_PANELS] = "packed panels",
    [CLS_GEMM_WAY_TILES] = "matrix units", [CLS_GEMM_WAY_BLOCKS] = "a kernel for GPUs",
    [CLS_GEMM_WAY_CLBLAST] = "CLBlast",
};

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

static cls_status upload(const struct product *p, cls_buffer to, size_t count, unsigned which) {
    for (size_t i = 0; i < count; i++)
        store(p->in, p->host, i, exact_element(i, which));
    return cls_copy_h2d(to, 0, p->host, count * cls_dtype_size(p->in), NULL);
}

/* `told`: how it is computed. */
static cls_status multiply(const struct product *p, cls_gemm_explanation *told) {
    const struct exact_product *s = &p->shape;
    const cls_matrix a = cls_matrix_of(p->a, p->in, s->ta ? s->k : s->m, s->ta ? s->m : s->k);
    const cls_matrix b = cls_matrix_of(p->b, p->in, s->tb ? s->n : s->k, s->tb ? s->k : s->n);
    const cls_matrix c = cls_matrix_of(p->c, p->out, s->m, s->n);
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.transpose_a = s->ta;
    config.transpose_b = s->tb;
    cls_status status = cls_gemm(a, b, c, &config, NULL);
    if (!status)
        status = cls_gemm_explain(a, b, c, &config, NULL, told);
    return status ? status
                  : cls_buffer_to_host(p->c, p->host, s->m * s->n * cls_dtype_size(p->out));
}

/* All four orders. */
static cls_status try_shape(struct product *p, size_t m, size_t n, size_t k, bool *right,
                            cls_gemm_explanation *told) {
    p->shape = (struct exact_product){m, n, k, false, false};
    cls_status status = upload(p, p->a, m * k, 0);
    if (!status)
        status = upload(p, p->b, k * n, 1);
    for (int order = 0; order < 4 && !status && *right; order++) {
        p->shape.ta = order & 1;
        p->shape.tb = order >> 1;
        status = multiply(p, told);
        *right = !status && exact_is_right(&p->shape, p->out, p->host, SAMPLES);
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

/* Not every device has double precision, and none needs it. */
static bool has_type(const struct check *check, cls_dtype dtype) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    if (dtype != CLS_F64 || cls_device_get_info(check->device, &info) || info.has_fp64)
        return true;
    check_say(check, CHECK_INFO, cls_dtype_name(dtype), "%s", "the device has none");
    return false;
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
        if (has_type(check, p.in))
            try_type(check, &p);
    }
    return TOOL_OK;
}
