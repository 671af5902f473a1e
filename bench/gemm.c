/* SPDX-License-Identifier: MIT */
/*
 * Matrix products through clstream against CLBlast alone on an in-order queue: runs of products with one
 * wait at the end, and the first product after the warm-up against later ones.
 */
#include "config.h"

#include <stdio.h>

#include "harness.h"
#include "rig.h"

#ifdef HAVE_CLBLAST

#include <clblast_c.h>

struct gemm {
    size_t n;
    unsigned repeats;
    cls_buffer a, b, c;
    cls_stream stream;
    cl_command_queue queue;
    cl_mem raw_a, raw_b, raw_c;
};

static double gemm_run(void *arg, double *also) {
    const struct gemm *gemm = arg;
    const size_t n = gemm->n;
    const cls_matrix a = cls_matrix_of(gemm->a, CLS_F32, n, n);
    const cls_matrix b = cls_matrix_of(gemm->b, CLS_F32, n, n);
    const cls_matrix c = cls_matrix_of(gemm->c, CLS_F32, n, n);
    const double start = now_seconds();
    for (unsigned i = 0; i < gemm->repeats; i++)
        CLS(cls_gemm_async(a, b, c, NULL, gemm->stream));
    CLS(cls_stream_synchronize(gemm->stream));
    *also = 0;
    return 1e3 * (now_seconds() - start) / gemm->repeats;
}

static double raw_run(void *arg, double *also) {
    const struct gemm *gemm = arg;
    const size_t n = gemm->n;
    cl_command_queue queue = gemm->queue;
    const double start = now_seconds();
    for (unsigned i = 0; i < gemm->repeats; i++)
        CL(CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, n, n, n, 1,
                        gemm->raw_a, 0, n, gemm->raw_b, 0, n, 0, gemm->raw_c, 0, n, &queue, NULL));
    CL(clFinish(queue));
    *also = 0;
    return 1e3 * (now_seconds() - start) / gemm->repeats;
}

static void gemm_open(struct gemm *gemm, const struct rig *rig, size_t n, unsigned repeats) {
    const size_t bytes = n * n * sizeof(float);
    const float value = 1.0f / 64;
    cls_buffer *const buffers[] = {&gemm->a, &gemm->b, &gemm->c};
    gemm->n = n;
    gemm->repeats = repeats;
    for (int i = 0; i < 3; i++) {
        CLS(cls_buffer_create(rig->context, bytes, buffers[i]));
        CLS(cls_fill(*buffers[i], 0, bytes, &value, sizeof value, NULL));
    }
    gemm->raw_a = rig_mem_of(gemm->a);
    gemm->raw_b = rig_mem_of(gemm->b);
    gemm->raw_c = rig_mem_of(gemm->c);
}

static void gemm_close(const struct gemm *gemm) {
    CLS(cls_buffer_destroy(gemm->a));
    CLS(cls_buffer_destroy(gemm->b));
    CLS(cls_buffer_destroy(gemm->c));
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

static void bout(const struct rig *rig, struct gemm *gemm, size_t n) {
    char name[64];
    const bool cpu = rig_is_cpu(rig);
    gemm_open(gemm, rig, n, cpu ? 1 + (unsigned)(1024 / n) : n >= 2048 ? 8 : 64);
    snprintf(name, sizeof name, "gemm %zu", n);
    CLS(cls_blas_warmup(CLS_F32, n, n, n, gemm->stream));
    const struct way raw = {"CLBlast", raw_run, gemm};
    if (bench_wants(name))
        bench_contest(&(struct contest){.name = name,
                                        .unit = "ms",
                                        .ours = {"clstream", gemm_run, gemm},
                                        .rivals = &raw,
                                        .n_rivals = 1,
                                        .bar = n >= 512 ? 1.02 : 0});
    first_against_later(gemm, rig);
    gemm_close(gemm);
}

int main(int argc, char **argv) {
    static const size_t sizes[] = {128, 512, 1024, 2048, 4096};
    struct rig rig;
    struct gemm gemm;
    bench_begin(argc, argv, "gemm");
    rig_open(&rig);
    bench_header(&rig);
    bench_section("matrix products (f32)");
    gemm.stream = rig_stream(&rig, CLS_ORDER_AUTO);
    gemm.queue = rig_queue(&rig, false);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!rig_is_cpu(&rig) || sizes[i] <= (bench_options()->quick ? 512 : 1024))
            bout(&rig, &gemm, sizes[i]);
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
