/* SPDX-License-Identifier: MIT */
/* (t) Draws of random numbers against a fill of the same memory, in bytes written a second. */
#include "harness.h"
#include "rig.h"

static const double GPU_BAR = 0.70;

struct draws {
    const struct rig *rig;
    cls_random random;
    cls_stream stream;
    cls_buffer out;
    cl_command_queue queue;
    cl_mem filled;
    size_t bytes;
    unsigned batch; /* draws, or fills, of one measurement */
};

struct draw {
    const struct draws *draws;
    const char *name;
    cls_dtype dtype;
    cls_status (*submit)(const struct draws *draws, cls_array out);
};

static cls_status integers(const struct draws *draws, cls_array out) {
    return cls_random_integers_async(draws->random, out, 0, draws->stream);
}

static cls_status below(const struct draws *draws, cls_array out) {
    return cls_random_integers_async(draws->random, out, 100, draws->stream);
}

static cls_status uniform(const struct draws *draws, cls_array out) {
    return cls_random_uniform_async(draws->random, out, 0, 1, draws->stream);
}

static cls_status normal(const struct draws *draws, cls_array out) {
    return cls_random_normal_async(draws->random, out, 0, 1, draws->stream);
}

static cls_status bernoulli(const struct draws *draws, cls_array out) {
    return cls_random_bernoulli_async(draws->random, out, 0.5, draws->stream);
}

static const struct draw rows[] = {
    {NULL, "integers u32", CLS_U32, integers}, {NULL, "integers below 100, u32", CLS_U32, below},
    {NULL, "uniform f32", CLS_F32, uniform},   {NULL, "uniform f64", CLS_F64, uniform},
    {NULL, "normal f32", CLS_F32, normal},     {NULL, "normal f64", CLS_F64, normal},
    {NULL, "normal bf16", CLS_BF16, normal},   {NULL, "bernoulli u8", CLS_U8, bernoulli},
};

static double draw_run(void *arg, double *also) {
    const struct draw *draw = arg;
    const struct draws *draws = draw->draws;
    const cls_array out =
        cls_array_of(draws->out, draw->dtype, draws->bytes / cls_dtype_size(draw->dtype));
    const double start = now_seconds();
    for (unsigned i = 0; i < draws->batch; i++)
        CLS(draw->submit(draws, out));
    CLS(cls_stream_synchronize(draws->stream));
    *also = 0;
    return 1e-9 * (double)draws->bytes * draws->batch / (now_seconds() - start);
}

static double fill_run(void *arg, double *also) {
    const struct draws *draws = ((const struct draw *)arg)->draws;
    const cl_uint4 pattern = {{1, 2, 3, 4}};
    const double start = now_seconds();
    for (unsigned i = 0; i < draws->batch; i++)
        CL(clEnqueueFillBuffer(draws->queue, draws->filled, &pattern, sizeof pattern, 0,
                               draws->bytes, 0, NULL, NULL));
    CL(clFinish(draws->queue));
    *also = 0;
    return 1e-9 * (double)draws->bytes * draws->batch / (now_seconds() - start);
}

static void row(const struct draws *draws, struct draw draw) {
    const struct way fill = {"clEnqueueFillBuffer", fill_run, &draw};
    const bool barred = draw.submit == normal && draw.dtype == CLS_F32;
    double also;
    if (!bench_wants(draw.name) || (draw.dtype == CLS_F64 && !draws->rig->info.has_fp64))
        return;
    draw.draws = draws;
    draw_run(&draw, &also); /* builds the kernel */
    bench_contest(&(struct contest){.name = draw.name,
                                    .unit = "GB/s",
                                    .measure = MEASURE_RATE,
                                    .ours = {"clstream", draw_run, &draw},
                                    .rivals = &fill,
                                    .n_rivals = 1,
                                    .bar = barred ? rig_bar(draws->rig, 0, GPU_BAR) : 0,
                                    .rounds = bench_options()->quick ? 3 : 15,
                                    .warm_up = 1});
}

int main(int argc, char **argv) {
    struct rig rig;
    bench_begin(argc, argv, "random");
    rig_open(&rig);
    bench_header(&rig);
    const bool cpu = rig_is_cpu(&rig);
    struct draws draws = {.rig = &rig,
                          .stream = rig_stream(&rig, CLS_ORDER_AUTO),
                          .queue = rig_queue(&rig, false),
                          .bytes = (size_t)(cpu ? 64 : 256) << 20,
                          .batch = cpu ? 1 : 8};
    draws.filled = rig_memory(&rig, draws.bytes);
    CLS(cls_random_create(rig.context, 1, &draws.random));
    CLS(cls_buffer_create(rig.context, draws.bytes, &draws.out));
    bench_section("(t) random numbers, bytes written");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        row(&draws, rows[i]);
    rig_close(&rig);
    return bench_end();
}
