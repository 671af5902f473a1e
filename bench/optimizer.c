/* SPDX-License-Identifier: MIT */
/* (u) Steps of optimizers against a device copy that reads and writes as many bytes. */
#include <stdlib.h>

#include "harness.h"
#include "rig.h"

enum { MANY = 150 };

struct bench {
    const struct rig *rig;
    cls_stream stream;
    cls_buffer parameters, gradients;
    cl_command_queue queue;
    cl_mem from, to;
    size_t elements, batch; /* of all parameters; steps, or copies, of one measurement */
};

struct steps {
    const char *name;
    cls_dtype dtype;
    size_t n;     /* parameters */
    size_t bytes; /* read and written for an element */
    cls_optimizer_kind kind;
    double momentum, max_norm;
    const struct bench *bench;
    cls_optimizer optimizer;
    cls_array gradients[MANY];
};

static const struct steps rows[] = {
    {.name = "sgd f32", .dtype = CLS_F32, .n = 1, .bytes = 12, .kind = CLS_SGD},
    {.name = "momentum f32",
     .dtype = CLS_F32,
     .n = 1,
     .bytes = 20,
     .kind = CLS_SGD,
     .momentum = 0.9},
    {.name = "adamw f32", .dtype = CLS_F32, .n = 1, .bytes = 28, .kind = CLS_ADAMW},
    {.name = "adamw f32, 150 arrays", .dtype = CLS_F32, .n = MANY, .bytes = 28, .kind = CLS_ADAMW},
    {.name = "adamw f32, clipped",
     .dtype = CLS_F32,
     .n = 1,
     .bytes = 32,
     .kind = CLS_ADAMW,
     .max_norm = 1},
    {.name = "adamw bf16", .dtype = CLS_BF16, .n = 1, .bytes = 28, .kind = CLS_ADAMW},
    {.name = "adamw f64", .dtype = CLS_F64, .n = 1, .bytes = 56, .kind = CLS_ADAMW},
};

static size_t bytes_of(const struct steps *steps) { return steps->bench->elements * steps->bytes; }

static double step_run(void *arg, double *also) {
    struct steps *steps = arg;
    const struct bench *bench = steps->bench;
    const double start = now_seconds();
    for (size_t i = 0; i < bench->batch; i++)
        CLS(cls_optimizer_step_async(steps->optimizer, steps->gradients, steps->n, bench->stream));
    CLS(cls_stream_synchronize(bench->stream));
    *also = 0;
    return 1e-9 * (double)(bytes_of(steps) * bench->batch) / (now_seconds() - start);
}

static double copy_run(void *arg, double *also) {
    const struct steps *steps = arg;
    const struct bench *bench = steps->bench;
    const double start = now_seconds();
    for (size_t i = 0; i < bench->batch; i++)
        CL(clEnqueueCopyBuffer(bench->queue, bench->from, bench->to, 0, 0, bytes_of(steps) / 2, 0,
                               NULL, NULL));
    CL(clFinish(bench->queue));
    *also = 0;
    return 1e-9 * (double)(bytes_of(steps) * bench->batch) / (now_seconds() - start);
}

static void make_optimizer(struct steps *steps) {
    const struct bench *bench = steps->bench;
    const size_t count = bench->elements / steps->n;
    cls_array parameters[MANY];
    cls_optimizer_config config = CLS_OPTIMIZER_CONFIG_INIT;
    config.kind = steps->kind;
    config.momentum = steps->momentum;
    config.max_norm = steps->max_norm;
    for (size_t i = 0; i < steps->n; i++) {
        parameters[i] = cls_array_at(bench->parameters, steps->dtype, i * count, count);
        steps->gradients[i] = cls_array_at(bench->gradients, steps->dtype, i * count, count);
    }
    CLS(cls_optimizer_create(bench->rig->context, &config, parameters, steps->n,
                             &steps->optimizer));
}

static void measure(const struct bench *bench, struct steps steps) {
    const struct way copy = {"clEnqueueCopyBuffer", copy_run, &steps};
    double also;
    if (!bench_wants(steps.name) || (steps.dtype == CLS_F64 && !bench->rig->info.has_fp64))
        return;
    steps.bench = bench;
    make_optimizer(&steps);
    step_run(&steps, &also); /* builds the kernels */
    bench_contest(&(struct contest){.name = steps.name,
                                    .unit = "GB/s",
                                    .measure = MEASURE_RATE,
                                    .ours = {"clstream", step_run, &steps},
                                    .rivals = &copy,
                                    .n_rivals = 1,
                                    .rounds = bench_options()->quick ? 3 : 15,
                                    .warm_up = 1});
    CLS(cls_optimizer_destroy(steps.optimizer));
}

int main(int argc, char **argv) {
    struct rig rig;
    bench_begin(argc, argv, "optimizer");
    rig_open(&rig);
    bench_header(&rig);
    const bool cpu = rig_is_cpu(&rig);
    struct bench bench = {.rig = &rig,
                          .stream = rig_stream(&rig, CLS_ORDER_AUTO),
                          .queue = rig_queue(&rig, false),
                          .elements = (size_t)(cpu ? 4 : 64) << 20,
                          .batch = cpu ? 1 : 8};
    const uint32_t zero = 0;
    const size_t bytes = bench.elements * sizeof(double);
    bench.from = rig_memory(&rig, bench.elements * 28);
    bench.to = rig_memory(&rig, bench.elements * 28);
    CLS(cls_buffer_create(rig.context, bytes, &bench.parameters));
    CLS(cls_buffer_create(rig.context, bytes, &bench.gradients));
    CLS(cls_fill(bench.parameters, 0, bytes, &zero, sizeof zero, NULL));
    CLS(cls_fill(bench.gradients, 0, bytes, &zero, sizeof zero, NULL));
    bench_section("(u) steps of optimizers, bytes read and written");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        measure(&bench, rows[i]);
    rig_close(&rig);
    return bench_end();
}
