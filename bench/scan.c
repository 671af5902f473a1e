/* SPDX-License-Identifier: MIT */
/*
 * Scans beside copies in device memory of the same bytes, in elements a second: what is read once and written once.
 * bench/peers/cub.cu times the same of CUB.
 */
#include "harness.h"
#include "rig.h"

/* Elements of one type, their keys, and results, on a stream. */
struct work {
    cls_scan_op op;
    cls_array in, out;
    cls_scan_config config;
    cls_buffer buffers[3];
    cls_stream stream;
    unsigned batch;
};

struct plan {
    const char *name;
    cls_scan_op op;
    cls_dtype type;
    cls_scan_segments segments;
    size_t count; /* 0: 2^22 on a CPU, 2^26 on a GPU */
    double gpu_bar;
};

enum { CPU_COUNT = 1 << 24, GPU_COUNT = 1 << 26, CPU_BATCH = 4, GPU_BATCH = 10 };

static void work_open(struct work *work, const struct rig *rig, const struct plan *plan) {
    const size_t usual = rig_is_cpu(rig) ? CPU_COUNT : GPU_COUNT;
    const size_t count = plan->count ? plan->count : usual;
    const size_t bytes = count * cls_dtype_size(plan->type);
    const unsigned char one = 1;
    *work = (struct work){.op = plan->op, .config = CLS_SCAN_CONFIG_INIT};
    work->batch = rig_is_cpu(rig) ? CPU_BATCH : GPU_BATCH;
    work->stream = rig_stream(rig, CLS_ORDER_AUTO);
    for (int i = 0; i < 2; i++)
        CLS(cls_buffer_create(rig->context, bytes, &work->buffers[i]));
    CLS(cls_buffer_create(rig->context, count * sizeof(uint32_t), &work->buffers[2]));
    work->in = cls_array_of(work->buffers[0], plan->type, count);
    work->out = cls_array_of(work->buffers[1], plan->type, count);
    work->config.segments = plan->segments;
    work->config.heads = cls_array_of(work->buffers[2], CLS_U32, count);
    for (int i = 0; i < 3; i++)
        CLS(cls_fill(work->buffers[i], 0, i < 2 ? bytes : count * sizeof(uint32_t), &one,
                     sizeof one, work->stream));
}

static void work_close(struct work *work) {
    CLS(cls_stream_destroy(work->stream));
    for (int i = 0; i < 3; i++)
        CLS(cls_buffer_destroy(work->buffers[i]));
}

static double rate(const struct work *work, double seconds) {
    return 1e-9 * (double)work->in.count * work->batch / seconds;
}

static double scans(void *arg, double *also) {
    const struct work *work = arg;
    const double start = now_seconds();
    for (unsigned i = 0; i < work->batch; i++)
        CLS(cls_scan_async(work->op, work->in, work->out, &work->config, work->stream));
    CLS(cls_stream_synchronize(work->stream));
    *also = 0;
    return rate(work, now_seconds() - start);
}

static double copies(void *arg, double *also) {
    const struct work *work = arg;
    const size_t bytes = work->in.count * cls_dtype_size(work->in.dtype);
    const double start = now_seconds();
    for (unsigned i = 0; i < work->batch; i++)
        CLS(cls_copy_d2d_async(work->buffers[1], 0, work->buffers[0], 0, bytes, work->stream));
    CLS(cls_stream_synchronize(work->stream));
    *also = 0;
    return rate(work, now_seconds() - start);
}

static void contest(const struct rig *rig, const struct plan *plan) {
    struct work work;
    if (!bench_wants(plan->name))
        return;
    work_open(&work, rig, plan);
    bench_rates(plan->name, "G elements/s", (struct way){"clstream", scans, &work},
                (struct way){"copies", copies, &work},
                plan->gpu_bar > 0 ? rig_bar(rig, 0.7, plan->gpu_bar) : 0);
    work_close(&work);
}

int main(int argc, char **argv) {
    static const struct plan plans[] = {
        {"sum of f32", CLS_SCAN_SUM, CLS_F32, CLS_SCAN_WHOLE, 0, 0.85},
        {"sum of u32", CLS_SCAN_SUM, CLS_U32, CLS_SCAN_WHOLE, 0, 0.85},
        {"max of f32", CLS_SCAN_MAX, CLS_F32, CLS_SCAN_WHOLE, 0, 0},
        {"sum of i64", CLS_SCAN_SUM, CLS_I64, CLS_SCAN_WHOLE, 0, 0},
        {"sum of f16", CLS_SCAN_SUM, CLS_F16, CLS_SCAN_WHOLE, 0, 0},
        {"sum of u8", CLS_SCAN_SUM, CLS_U8, CLS_SCAN_WHOLE, 0, 0},
        {"sum of f32 by keys of u32", CLS_SCAN_SUM, CLS_F32, CLS_SCAN_KEYS, 0, 0},
        {"sum of 65,536 f32", CLS_SCAN_SUM, CLS_F32, CLS_SCAN_WHOLE, 65536, 0},
    };
    struct rig rig;
    bench_begin(argc, argv, "scan");
    rig_open(&rig);
    bench_header(&rig);
    bench_section("scans");
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        contest(&rig, &plans[i]);
    rig_close(&rig);
    return bench_end();
}
