/* SPDX-License-Identifier: MIT */
/*
 * Matrix products of random numbers through clstream, of f32 (and with TF32) and of f64, against CLBlast alone on an in-order
 * queue and, on a CPU where libopenblas.so.0 is found, against OpenBLAS: runs of products with one wait at the end. On a GPU
 * those of bf16 against those of f32. A layer in one call, sizes that are no multiples, and the first product after the
 * warm-up against later ones.
 * peers/torch_gemm.py has PyTorch's times of the same products, by cuBLAS.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "rig.h"

#ifdef HAVE_CLBLAST

#include <clblast_c.h>
#include <dlfcn.h>
#include <stdlib.h>

/* cblas_sgemm and cblas_dgemm, row-major. */
typedef void (*sgemm_fn)(int order, int ta, int tb, int m, int n, int k, float alpha,
                         const float *a, int lda, const float *b, int ldb, float beta, float *c,
                         int ldc);
typedef void (*dgemm_fn)(int order, int ta, int tb, int m, int n, int k, double alpha,
                         const double *a, int lda, const double *b, int ldb, double beta, double *c,
                         int ldc);

struct gemm {
    cls_dtype dtype;
    size_t n;
    unsigned repeats;
    cls_gemm_math math;
    sgemm_fn sgemm; /* OpenBLAS's; NULL: none */
    dgemm_fn dgemm;
    void *host[3]; /* its matrices */
    cls_buffer a, b, c;
    cls_stream stream;
    cl_command_queue queue;
    cl_mem raw_a, raw_b, raw_c;
};

static double gemm_run(void *arg, double *also) {
    const struct gemm *gemm = arg;
    const size_t n = gemm->n;
    const cls_matrix a = cls_matrix_of(gemm->a, gemm->dtype, n, n);
    const cls_matrix b = cls_matrix_of(gemm->b, gemm->dtype, n, n);
    const cls_matrix c = cls_matrix_of(gemm->c, gemm->dtype, n, n);
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.math = gemm->math;
    const double start = now_seconds();
    for (unsigned i = 0; i < gemm->repeats; i++)
        CLS(cls_gemm_async(a, b, c, &config, gemm->stream));
    CLS(cls_stream_synchronize(gemm->stream));
    *also = 0;
    return 1e3 * (now_seconds() - start) / gemm->repeats;
}

static cl_int clblast_f32(const struct gemm *x, cl_command_queue *queue) {
    return (cl_int)CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, x->n,
                                x->n, x->n, 1, x->raw_a, 0, x->n, x->raw_b, 0, x->n, 0, x->raw_c, 0,
                                x->n, queue, NULL);
}

static cl_int clblast_f64(const struct gemm *x, cl_command_queue *queue) {
    return (cl_int)CLBlastDgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, x->n,
                                x->n, x->n, 1, x->raw_a, 0, x->n, x->raw_b, 0, x->n, 0, x->raw_c, 0,
                                x->n, queue, NULL);
}

static double raw_run(void *arg, double *also) {
    const struct gemm *gemm = arg;
    cl_command_queue queue = gemm->queue;
    const double start = now_seconds();
    for (unsigned i = 0; i < gemm->repeats; i++)
        CL((gemm->dtype == CLS_F64 ? clblast_f64 : clblast_f32)(gemm, &queue));
    CL(clFinish(queue));
    *also = 0;
    return 1e3 * (now_seconds() - start) / gemm->repeats;
}

static double openblas_run(void *arg, double *also) {
    enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111 };
    const struct gemm *gemm = arg;
    const int n = (int)gemm->n;
    const double start = now_seconds();
    for (unsigned i = 0; i < gemm->repeats; i++)
        if (gemm->dtype == CLS_F64)
            gemm->dgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, n, n, n, 1, gemm->host[0], n,
                        gemm->host[1], n, 0, gemm->host[2], n);
        else
            gemm->sgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, n, n, n, 1, gemm->host[0], n,
                        gemm->host[1], n, 0, gemm->host[2], n);
    *also = 0;
    return 1e3 * (now_seconds() - start) / gemm->repeats;
}

static void find_openblas(struct gemm *gemm) {
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    void *const symbols[] = {library ? dlsym(library, "cblas_sgemm") : NULL,
                             library ? dlsym(library, "cblas_dgemm") : NULL};
    memcpy(&gemm->sgemm, &symbols[0], sizeof gemm->sgemm);
    memcpy(&gemm->dgemm, &symbols[1], sizeof gemm->dgemm);
}

/* From -1 to 1: what multiplies zeros, or one number, takes a GPU less power and so less time. */
static void fill(const struct gemm *gemm, void *to) {
    uint32_t seed = 1;
    for (size_t i = 0; i < gemm->n * gemm->n; i++) {
        seed = seed * 1664525u + 1013904223u;
        const float value = (float)(int32_t)seed * 0x1p-31f;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        if (gemm->dtype == CLS_F64)
            ((double *)to)[i] = (double)value;
        else if (gemm->dtype == CLS_F32)
            ((float *)to)[i] = value;
        else
            ((uint16_t *)to)[i] = (uint16_t)(bits >> 16);
    }
}

static void gemm_open(struct gemm *gemm, const struct rig *rig, cls_dtype dtype, size_t n,
                      unsigned repeats) {
    const size_t bytes = n * n * cls_dtype_size(dtype);
    cls_buffer *const buffers[] = {&gemm->a, &gemm->b, &gemm->c};
    gemm->dtype = dtype;
    gemm->n = n;
    gemm->repeats = repeats;
    for (int i = 0; i < 3; i++) {
        gemm->host[i] = malloc(bytes);
        if (!gemm->host[i]) {
            fputs("bench/gemm: no memory\n", stderr);
            exit(1);
        }
        fill(gemm, gemm->host[i]);
        CLS(cls_buffer_create(rig->context, bytes, buffers[i]));
        CLS(cls_copy_h2d(*buffers[i], 0, gemm->host[i], bytes, NULL));
    }
    gemm->raw_a = rig_mem_of(gemm->a);
    gemm->raw_b = rig_mem_of(gemm->b);
    gemm->raw_c = rig_mem_of(gemm->c);
}

static void gemm_close(const struct gemm *gemm) {
    CLS(cls_buffer_destroy(gemm->a));
    CLS(cls_buffer_destroy(gemm->b));
    CLS(cls_buffer_destroy(gemm->c));
    for (int i = 0; i < 3; i++)
        free(gemm->host[i]);
}

/* Each time on a stream that is new, so that nothing of it was warm before. */
static double first_over_later(struct gemm *fresh, const struct rig *rig) {
    enum { LATER = 9 };
    double later[LATER], also;
    fresh->stream = rig_stream(rig, CLS_ORDER_AUTO);
    CLS(cls_blas_warmup(CLS_F32, fresh->n, fresh->n, fresh->n, fresh->stream));
    const double first = gemm_run(fresh, &also);
    for (int i = 0; i < LATER; i++)
        later[i] = gemm_run(fresh, &also);
    CLS(cls_stream_destroy(fresh->stream));
    return first / median(later, LATER);
}

static void first_against_later(const struct gemm *gemm, const struct rig *rig) {
    enum { ROUNDS = 9 };
    struct gemm fresh = *gemm;
    double ratios[ROUNDS];
    char name[64];
    snprintf(name, sizeof name, "gemm %zu: first after warm-up over later", gemm->n);
    if (!bench_wants(name))
        return;
    fresh.repeats = 1;
    for (int i = 0; i < ROUNDS; i++)
        ratios[i] = first_over_later(&fresh, rig);
    bench_values(name, "x", ratios, ROUNDS, gemm->n >= 512 ? 1.1 : 0);
}

/* At least 0.8 of OpenBLAS's rate on a CPU, and half of it where a launch costs as much as the product; no slower than CLBlast
 * elsewhere. */
static double bar_of(const struct rig *rig, const struct gemm *gemm) {
    if (rig_is_cpu(rig))
        return gemm->n >= 256 ? 1.25 : gemm->n >= 64 ? 2 : 0;
    return gemm->n >= 512 ? 1.02 : 0;
}

static void contest(const struct rig *rig, struct gemm *gemm, cls_gemm_math math) {
    const struct way rivals[] = {{"CLBlast", raw_run, gemm}, {"OpenBLAS", openblas_run, gemm}};
    const bool openblas = gemm->sgemm && gemm->dgemm;
    /* Not by CLBlast where it takes minutes. */
    const unsigned first = openblas && gemm->n > 1024;
    char name[64];
    snprintf(name, sizeof name, "gemm %zu%s%s", gemm->n, gemm->dtype == CLS_F64 ? " f64" : "",
             math == CLS_GEMM_TF32 ? " TF32" : "");
    gemm->math = math;
    if (bench_wants(name))
        bench_contest(&(struct contest){.name = name,
                                        .unit = "ms",
                                        .ours = {"clstream", gemm_run, gemm},
                                        .rivals = rivals + first,
                                        .n_rivals = 1 + openblas - first,
                                        .bar = bar_of(rig, gemm)});
}

/* A layer of `n` rows, inputs and outputs in one call, and in three: the product, the bias as a product with ones, gelu. */
static double layer_run(void *arg, double *also) {
    const struct gemm *gemm = arg;
    const size_t n = gemm->n;
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.bias = cls_vector_of(gemm->b, CLS_F32, n);
    config.activation = CLS_UNARY_GELU;
    const double start = now_seconds();
    for (unsigned i = 0; i < gemm->repeats; i++)
        CLS(cls_gemm_async(cls_matrix_of(gemm->a, CLS_F32, n, n),
                           cls_matrix_of(gemm->b, CLS_F32, n, n),
                           cls_matrix_of(gemm->c, CLS_F32, n, n), &config, gemm->stream));
    CLS(cls_stream_synchronize(gemm->stream));
    *also = 0;
    return 1e3 * (now_seconds() - start) / gemm->repeats;
}

static double three_calls_run(void *arg, double *also) {
    const struct gemm *gemm = arg;
    const size_t n = gemm->n;
    const cls_array c = cls_array_of(gemm->c, CLS_F32, n * n);
    cls_gemm_config add = CLS_GEMM_CONFIG_INIT;
    add.beta = 1;
    const double start = now_seconds();
    for (unsigned i = 0; i < gemm->repeats; i++) {
        CLS(cls_gemm_async(cls_matrix_of(gemm->a, CLS_F32, n, n),
                           cls_matrix_of(gemm->b, CLS_F32, n, n),
                           cls_matrix_of(gemm->c, CLS_F32, n, n), NULL, gemm->stream));
        CLS(cls_gemm_async(cls_matrix_of(gemm->a, CLS_F32, n, 1),
                           cls_matrix_of(gemm->b, CLS_F32, 1, n),
                           cls_matrix_of(gemm->c, CLS_F32, n, n), &add, gemm->stream));
        CLS(cls_unary_async(CLS_UNARY_GELU, c, c, gemm->stream));
    }
    CLS(cls_stream_synchronize(gemm->stream));
    *also = 0;
    return 1e3 * (now_seconds() - start) / gemm->repeats;
}

/* On a CPU the product alone takes more than 0.9 of the three. */
static void layer(const struct rig *rig, struct gemm *gemm) {
    const struct way rivals[] = {{"three calls", three_calls_run, gemm}};
    if (bench_wants("layer 1024, bias and gelu"))
        bench_contest(&(struct contest){.name = "layer 1024, bias and gelu",
                                        .unit = "ms",
                                        .ours = {"one call", layer_run, gemm},
                                        .rivals = rivals,
                                        .n_rivals = 1,
                                        .bar = rig_is_cpu(rig) ? 0 : 0.9});
}

/* Sizes of which no vector is a part, within the matrices, and sizes of which each is. */
static double sizes_run(const struct gemm *gemm, size_t rows, size_t columns, size_t inner) {
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.math = gemm->math;
    const double start = now_seconds();
    for (unsigned i = 0; i < gemm->repeats; i++)
        CLS(cls_gemm_async(cls_matrix_of(gemm->a, gemm->dtype, rows, inner),
                           cls_matrix_of(gemm->b, gemm->dtype, inner, columns),
                           cls_matrix_of(gemm->c, gemm->dtype, rows, columns), &config,
                           gemm->stream));
    CLS(cls_stream_synchronize(gemm->stream));
    return 1e3 * (now_seconds() - start) / gemm->repeats;
}

static double odd_run(void *arg, double *also) {
    *also = 0;
    return sizes_run(arg, 1000, 1001, 1003);
}

static double even_run(void *arg, double *also) {
    *also = 0;
    return sizes_run(arg, 1000, 1000, 1000);
}

/* At least 0.6 of the rate, of 1.004 times the work. */
static void odd_sizes(struct gemm *gemm, cls_gemm_math math) {
    const struct way rivals[] = {{"1000 x 1000 x 1000", even_run, gemm}};
    char name[64];
    snprintf(name, sizeof name, "gemm 1000 x 1001 x 1003 %s",
             math == CLS_GEMM_TF32 ? "TF32" : cls_dtype_name(gemm->dtype));
    gemm->math = math;
    if (bench_wants(name))
        bench_contest(&(struct contest){.name = name,
                                        .unit = "ms",
                                        .ours = {"odd", odd_run, gemm},
                                        .rivals = rivals,
                                        .n_rivals = 1,
                                        .bar = 1.004 / 0.6});
}

/* Of bf16 against f32, which need not be of more than the bytes. */
static void narrow(const struct rig *rig, struct gemm *wide) {
    struct gemm gemm = *wide;
    const struct way rivals[] = {{"f32", gemm_run, wide}};
    char name[64];
    snprintf(name, sizeof name, "gemm %zu bf16, against f32", wide->n);
    if (!bench_wants(name))
        return;
    gemm_open(&gemm, rig, CLS_BF16, wide->n, wide->repeats);
    gemm.math = wide->math = CLS_GEMM_F32;
    bench_contest(&(struct contest){.name = name,
                                    .unit = "ms",
                                    .ours = {"bf16", gemm_run, &gemm},
                                    .rivals = rivals,
                                    .n_rivals = 1});
    gemm_close(&gemm);
}

static void odd_sizes_of(const struct rig *rig, struct gemm *gemm, cls_dtype dtype) {
    gemm_open(gemm, rig, dtype, 1024, rig_is_cpu(rig) ? 2 : 64);
    odd_sizes(gemm, CLS_GEMM_F32);
    if (dtype == CLS_F32 && !rig_is_cpu(rig))
        odd_sizes(gemm, CLS_GEMM_TF32);
    gemm_close(gemm);
}

static void bout(const struct rig *rig, struct gemm *gemm, size_t n) {
    const bool cpu = rig_is_cpu(rig);
    const unsigned repeats = cpu ? 1 + (unsigned)(1024 / n) : n >= 2048 ? 8 : 64;
    gemm_open(gemm, rig, CLS_F32, n, repeats);
    CLS(cls_blas_warmup(CLS_F32, n, n, n, gemm->stream));
    contest(rig, gemm, CLS_GEMM_F32);
    if (!cpu) {
        contest(rig, gemm, CLS_GEMM_TF32);
        narrow(rig, gemm);
    }
    if (n == 1024)
        layer(rig, gemm);
    if (n <= 1024)
        first_against_later(gemm, rig);
    gemm_close(gemm);
    if (!rig->info.has_fp64 || n > 4096)
        return;
    gemm_open(gemm, rig, CLS_F64, n, repeats);
    contest(rig, gemm, CLS_GEMM_F32);
    gemm_close(gemm);
}

int main(int argc, char **argv) {
    static const size_t sizes[] = {64, 128, 256, 512, 1024, 2048, 4096, 8192};
    struct rig rig;
    struct gemm gemm = {0};
    bench_begin(argc, argv, "gemm");
    rig_open(&rig);
    bench_header(&rig);
    bench_section("matrix products");
    if (rig_is_cpu(&rig))
        find_openblas(&gemm);
    const size_t most = bench_options()->quick ? 512 : gemm.sgemm && gemm.dgemm ? 4096 : 1024;
    gemm.stream = rig_stream(&rig, CLS_ORDER_AUTO);
    gemm.queue = rig_queue(&rig, false);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!rig_is_cpu(&rig) || sizes[i] <= most)
            bout(&rig, &gemm, sizes[i]);
    odd_sizes_of(&rig, &gemm, CLS_F32);
    odd_sizes_of(&rig, &gemm, CLS_BF16);
    CLS(cls_stream_destroy(gemm.stream));
    CL(clReleaseCommandQueue(gemm.queue));
    rig_close(&rig);
    return bench_end();
}

#else

int main(void) {
    puts("bench/gemm: this build has no CLBlast");
    return 0;
}

#endif
