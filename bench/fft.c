/* SPDX-License-Identifier: MIT */
/*
 * Forward transforms of complex f32, out of place, beside VkFFT called by hand on a queue in order: the time of one, of a
 * run with one wait at the end. Peers for other libraries: bench/peers/numpy_fft.py and cupy_fft.py.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"
#include "raw_fft.h"
#include "rig.h"

enum { LEAST_LOG = 10, MOST_LOG = 24, RUN_LOG = 24, MOST_TIMES = 64 };

struct pair {
    cls_fft_plan plan;
    cls_stream stream;
    cls_buffer in, out;
    struct raw_fft *raw;
    size_t length, batches;
    unsigned times;
};

static double clstream_time(void *arg, double *also) {
    const struct pair *pair = arg;
    const size_t count = 2 * pair->length * pair->batches;
    const double start = now_seconds();
    for (unsigned i = 0; i < pair->times; i++)
        CLS(cls_fft_async(pair->plan, cls_array_of(pair->in, CLS_F32, count),
                          cls_array_of(pair->out, CLS_F32, count), CLS_FFT_FORWARD, pair->stream));
    CLS(cls_stream_synchronize(pair->stream));
    *also = 0;
    return 1e6 * (now_seconds() - start) / pair->times;
}

static double raw_time(void *arg, double *also) {
    const struct pair *pair = arg;
    const double start = now_seconds();
    if (!raw_fft_run(pair->raw, pair->times))
        die("VkFFT failed");
    *also = 0;
    return 1e6 * (now_seconds() - start) / pair->times;
}

static void make_plan(const struct rig *rig, struct pair *pair) {
    cls_fft_config config = CLS_FFT_CONFIG_INIT;
    config.lengths[0] = pair->length;
    config.batches = pair->batches;
    config.directions = CLS_FFT_FORWARD;
    CLS(cls_fft_plan_create(rig->context, &config, &pair->plan));
}

/* Numbers of one buffer, the same for both sides. */
static void open_memory(const struct rig *rig, struct pair *pair) {
    const size_t count = 2 * pair->length * pair->batches, bytes = count * sizeof(float);
    float *numbers = calloc(count, sizeof *numbers);
    if (!numbers)
        die("no memory for %zu numbers", count);
    for (size_t i = 0; i < count; i++)
        numbers[i] = (float)((uint32_t)i * 2654435769u >> 8) / (1 << 24) - 0.5f;
    CLS(cls_buffer_create(rig->context, bytes, &pair->in));
    CLS(cls_buffer_create(rig->context, bytes, &pair->out));
    CLS(cls_copy_h2d(pair->in, 0, numbers, bytes, NULL));
    free(numbers);
}

static void compare(const struct rig *rig, const char *name, size_t length, size_t batches) {
    struct pair pair = {.length = length, .batches = batches};
    const size_t runs = ((size_t)1 << RUN_LOG) / (length * batches);
    cl_command_queue queue = rig_queue(rig, false);
    pair.times = runs < 1 ? 1 : runs > MOST_TIMES ? MOST_TIMES : (unsigned)runs;
    open_memory(rig, &pair);
    make_plan(rig, &pair);
    pair.stream = rig_stream(rig, CLS_ORDER_AUTO);
    pair.raw = raw_fft_open(rig->cl, rig->device, queue, length, batches, rig_mem_of(pair.in),
                            rig_mem_of(pair.out));
    if (pair.raw) {
        const struct way raw = {"VkFFT", raw_time, &pair};
        bench_contest(&(struct contest){.name = name,
                                        .unit = "us",
                                        .measure = MEASURE_TIME,
                                        .ours = {"clstream", clstream_time, &pair},
                                        .rivals = &raw,
                                        .n_rivals = 1,
                                        .bar = rig_bar(rig, 0, 1.1),
                                        .rounds = bench_options()->quick ? 3 : 15,
                                        .warm_up = 1});
        raw_fft_close(pair.raw);
    }
    clReleaseCommandQueue(queue);
    CLS(cls_fft_plan_destroy(pair.plan));
    CLS(cls_buffer_destroy(pair.in));
    CLS(cls_buffer_destroy(pair.out));
    CLS(cls_stream_destroy(pair.stream));
}

int main(int argc, char **argv) {
    char name[64];
    struct rig rig;
    bench_begin(argc, argv, "fft");
    if (!cls_fft_available()) {
        puts("this library was built without VkFFT");
        return 77;
    }
    rig_open(&rig);
    bench_header(&rig);
    bench_section("forward transforms of complex f32, by their length");
    for (unsigned log = LEAST_LOG; log <= MOST_LOG; log += 2) {
        snprintf(name, sizeof name, "fft 2^%u", log);
        if (bench_wants(name))
            compare(&rig, name, (size_t)1 << log, 1);
    }
    if (bench_wants("fft 4096 x 1024"))
        compare(&rig, "fft 4096 x 1024", 4096, 1024);
    rig_close(&rig);
    return bench_end();
}
