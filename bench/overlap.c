/* SPDX-License-Identifier: MIT */
/*
 * (b2) Independent work on several streams: kernels of one group against the best raw arrangement of
 * the same and against one stream, and three casts against one stream.
 */
#include <stdio.h>

#include "harness.h"
#include "raw_launch.h"

enum { MOST_KERNELS = 32, GROUP = 32, CASTS = 3 };

/* --- independent kernels --- */

struct burst {
    cls_kernel kernel;
    cls_stream stream[MOST_KERNELS];
    cls_buffer buffer[MOST_KERNELS];
    unsigned kernels, streams;
    cl_uint loops; /* of a kernel */
};

static double burst_run(void *arg, double *also) {
    const struct burst *burst = arg;
    const cls_launch shape = {1, {GROUP, 1, 1}, {GROUP, 1, 1}, {0, 0, 0}, NULL, 0};
    const double start = now_seconds();
    for (unsigned i = 0; i < burst->kernels; i++) {
        const cls_arg args[] = {cls_arg_buffer(burst->buffer[i]), cls_arg_u32(burst->loops)};
        CLS(cls_kernel_launch_async(burst->kernel, &shape, args, 2,
                                    burst->stream[i % burst->streams]));
    }
    for (unsigned i = 0; i < burst->streams; i++)
        CLS(cls_stream_synchronize(burst->stream[i]));
    *also = 0;
    return 1e3 * (now_seconds() - start);
}

struct raw_burst {
    cl_kernel kernel;
    cl_command_queue queue[MOST_KERNELS];
    cl_mem memory[MOST_KERNELS];
    unsigned kernels, queues;
    bool flush;
    cl_uint loops;
};

static double raw_burst_run(void *arg, double *also) {
    const struct raw_burst *burst = arg;
    cl_event events[MOST_KERNELS];
    const double start = now_seconds();
    for (unsigned i = 0; i < burst->kernels; i++)
        raw_launch(burst->queue[i % burst->queues], burst->kernel, burst->memory[i], burst->loops,
                   GROUP, NULL, &events[i]);
    for (unsigned i = 0; i < burst->queues && burst->flush; i++)
        CL(clFlush(burst->queue[i]));
    CL(clWaitForEvents(burst->kernels, events));
    const double end = now_seconds();
    for (unsigned i = 0; i < burst->kernels; i++)
        CL(clReleaseEvent(events[i]));
    *also = 0;
    return 1e3 * (end - start);
}

static struct raw_burst *raw_burst(const struct rig *rig, const struct burst *burst,
                                   unsigned queues, bool out_of_order) {
    struct raw_burst *raw = allocate(sizeof *raw);
    raw->kernel = rig_raw_kernel(rig, "spin");
    raw->kernels = burst->kernels;
    raw->queues = queues;
    raw->loops = burst->loops;
    raw->flush = rig_capability(rig, "unflushed_runs") == 0;
    for (unsigned i = 0; i < queues; i++)
        raw->queue[i] = rig_queue(rig, out_of_order);
    for (unsigned i = 0; i < burst->kernels; i++)
        raw->memory[i] = rig_mem_of(burst->buffer[i]);
    return raw;
}

static void release_burst(struct raw_burst *raw) {
    for (unsigned i = 0; i < raw->queues; i++)
        CL(clReleaseCommandQueue(raw->queue[i]));
    CL(clReleaseKernel(raw->kernel));
}

/* Loops for a kernel of about `ms` milliseconds. */
static cl_uint calibrate(const struct burst *burst, double ms) {
    struct burst one = *burst;
    double also, best = 1e9;
    one.kernels = one.streams = 1;
    one.loops = 256;
    for (int i = 0; i < 5; i++) {
        const double time = burst_run(&one, &also);
        best = time < best ? time : best;
    }
    const double loops = one.loops * ms / best;
    return loops < 1 ? 1 : loops > 60000 ? 60000 : (cl_uint)loops;
}

/* What so many kernels at once must gain over one after the other; 0 where nothing is stated. */
static double speedup_bar(const struct rig *rig, unsigned kernels) {
    if (rig->vendor == VENDOR_NVIDIA)
        return kernels == 32 ? 20 : 0;
    return rig->vendor == VENDOR_POCL && rig->info.compute_units == 2 ? 1.8 : 0;
}

/* Against one stream, with kernels that are long beside what starting 32 of them takes. */
static void speedup_bout(const struct rig *rig, const struct burst *burst, cl_uint loops) {
    struct burst wide = *burst;
    wide.loops = loops;
    struct burst serial = wide;
    serial.streams = 1;
    const struct way one = {"on one stream", burst_run, &serial};
    char name[64];
    snprintf(name, sizeof name, "%u kernels, speed-up over one stream", burst->kernels);
    bench_contest(&(struct contest){.name = name,
                                    .unit = "ms",
                                    .measure = MEASURE_SPEEDUP,
                                    .ours = {"clstream", burst_run, &wide},
                                    .rivals = &one,
                                    .n_rivals = 1,
                                    .bar = speedup_bar(rig, burst->kernels)});
}

static void burst_bout(const struct rig *rig, struct burst *burst) {
    struct raw_burst *raw[3];
    struct way rivals[3];
    static const char *const names[] = {"in-order queues", "out-of-order queues",
                                        "one out-of-order queue"};
    const unsigned n = rig->out_of_order ? 3 : 1;
    char name[64];
    burst->streams = burst->kernels;
    for (unsigned i = 0; i < n; i++) {
        raw[i] = raw_burst(rig, burst, i == 2 ? 1 : burst->kernels, i > 0);
        rivals[i] = (struct way){names[i], raw_burst_run, raw[i]};
    }
    snprintf(name, sizeof name, "%u kernels on %u streams", burst->kernels, burst->streams);
    bench_contest(&(struct contest){.name = name,
                                    .unit = "ms",
                                    .ours = {"clstream", burst_run, burst},
                                    .rivals = rivals,
                                    .n_rivals = n,
                                    .bar = rig_bar(rig, 1.10, 1.10)});
    for (unsigned i = 0; i < n; i++)
        release_burst(raw[i]);
}

static void bursts(const struct rig *rig) {
    struct burst burst = {.kernel = rig_kernel(rig, "spin")};
    static const unsigned counts[] = {2, 8, 32};
    const uint32_t start[1 + GROUP] = {1};
    for (unsigned i = 0; i < MOST_KERNELS; i++) {
        burst.stream[i] = rig_stream(rig, CLS_ORDER_AUTO);
        CLS(cls_buffer_from_host(rig->context, start, sizeof start, &burst.buffer[i]));
    }
    burst.loops = calibrate(&burst, 0.5);
    const cl_uint longer = calibrate(&burst, 2);
    bench_note("kernels of one group, about 0.5 ms each, and 2 ms against one stream");
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
        burst.kernels = counts[i];
        burst_bout(rig, &burst);
        speedup_bout(rig, &burst, longer);
    }
    for (unsigned i = 0; i < MOST_KERNELS; i++) {
        CLS(cls_stream_destroy(burst.stream[i]));
        CLS(cls_buffer_destroy(burst.buffer[i]));
    }
}

/* --- three casts --- */

struct casts {
    cls_stream stream[CASTS];
    cls_array in[CASTS], out[CASTS];
    unsigned streams, repeats;
};

static double casts_run(void *arg, double *also) {
    const struct casts *casts = arg;
    const double start = now_seconds();
    for (unsigned k = 0; k < casts->repeats; k++)
        for (unsigned i = 0; i < CASTS; i++)
            CLS(cls_cast_async(casts->in[i], casts->out[i], casts->stream[i % casts->streams]));
    for (unsigned i = 0; i < casts->streams; i++)
        CLS(cls_stream_synchronize(casts->stream[i]));
    *also = 0;
    return 1e3 * (now_seconds() - start);
}

static void cast_bout(const struct rig *rig, size_t count) {
    struct casts three = {.streams = CASTS, .repeats = 16};
    cls_buffer in, out;
    char name[64];
    CLS(cls_buffer_create(rig->context, CASTS * count * sizeof(float), &in));
    CLS(cls_buffer_create(rig->context, CASTS * count * sizeof(int32_t), &out));
    CLS(cls_fill(in, 0, CASTS * count * sizeof(float), &(float){1.5f}, sizeof(float), NULL));
    for (unsigned i = 0; i < CASTS; i++) {
        three.stream[i] = rig_stream(rig, CLS_ORDER_AUTO);
        three.in[i] = cls_array_at(in, CLS_F32, i * count, count);
        three.out[i] = cls_array_at(out, CLS_I32, i * count, count);
    }
    struct casts one = three;
    one.streams = 1;
    snprintf(name, sizeof name, "3 casts of %zu Ki, over one stream", count / 1024);
    const struct way rival = {"on one stream", casts_run, &one};
    bench_contest(&(struct contest){.name = name,
                                    .unit = "ms",
                                    .measure = MEASURE_SPEEDUP,
                                    .ours = {"clstream", casts_run, &three},
                                    .rivals = &rival,
                                    .n_rivals = 1});
    for (unsigned i = 0; i < CASTS; i++)
        CLS(cls_stream_destroy(three.stream[i]));
    CLS(cls_buffer_destroy(in));
    CLS(cls_buffer_destroy(out));
}

int main(int argc, char **argv) {
    struct rig rig;
    bench_begin(argc, argv, "overlap");
    rig_open(&rig);
    bench_header(&rig);
    bench_section("(b2) independent work");
    bursts(&rig);
    cast_bout(&rig, 16 * 1024);
    cast_bout(&rig, 1024 * 1024);
    rig_close(&rig);
    return bench_end();
}
