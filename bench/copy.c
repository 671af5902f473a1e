/* SPDX-License-Identifier: MIT */
/*
 * (d) Copies between host and device, of pinned and of pageable memory, against the driver's own;
 * and the share of the time after which an `_async` call has returned.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "rig.h"

enum direction { UP = 1, DOWN = 2, BOTH = UP | DOWN };

struct copies {
    const struct rig *rig;
    size_t bytes;
    enum direction direction;
    bool blocking;
    /* clstream's side */
    cls_buffer up, down;
    cls_stream stream[2];
    void *from, *to;
    /* the raw side */
    cl_mem raw_up, raw_down;
    cl_command_queue queue[2];
    void *raw_from, *raw_to;
};

static double rate(const struct copies *copies, double start) {
    const double bytes = (double)copies->bytes * (copies->direction == BOTH ? 2 : 1);
    return 1e-9 * bytes / (now_seconds() - start);
}

/* Submits; the share of the time, in percent, after which it had returned goes to `also`. */
static double copies_run(void *arg, double *also) {
    const struct copies *copies = arg;
    const double start = now_seconds();
    if (copies->direction & UP)
        CLS(cls_copy_h2d_async(copies->up, 0, copies->from, copies->bytes, copies->stream[0]));
    if (copies->direction & DOWN)
        CLS(cls_copy_d2h_async(copies->to, copies->down, 0, copies->bytes, copies->stream[1]));
    const double returned = now_seconds();
    for (int i = 0; i < 2; i++)
        CLS(cls_stream_synchronize(copies->stream[i]));
    *also = 100 * (returned - start) / (now_seconds() - start);
    return rate(copies, start);
}

static double raw_run(void *arg, double *also) {
    const struct copies *copies = arg;
    const double start = now_seconds();
    if (copies->direction & UP)
        CL(clEnqueueWriteBuffer(copies->queue[0], copies->raw_up, CL_FALSE, 0, copies->bytes,
                                copies->raw_from, 0, NULL, NULL));
    if (copies->direction & UP)
        CL(clFlush(copies->queue[0]));
    if (copies->direction & DOWN)
        CL(clEnqueueReadBuffer(copies->queue[1], copies->raw_down, CL_FALSE, 0, copies->bytes,
                               copies->raw_to, 0, NULL, NULL));
    const double returned = now_seconds();
    for (int i = 0; i < 2; i++)
        CL(clFinish(copies->queue[i]));
    *also = 100 * (returned - start) / (now_seconds() - start);
    return rate(copies, start);
}

static double share_run(void *arg, double *also) {
    double share;
    *also = copies_run(arg, &share);
    return share;
}

static double raw_share_run(void *arg, double *also) {
    double share;
    *also = raw_run(arg, &share);
    return share;
}

static void contend(struct copies *copies, enum direction direction, const char *memory,
                    double bar) {
    static const char *const names[] = {[UP] = "upload", [DOWN] = "download", [BOTH] = "both ways"};
    char name[64];
    copies->direction = direction;
    snprintf(name, sizeof name, "%s, %s, %zu MiB", names[direction], memory, copies->bytes >> 20);
    const struct way raw = {"raw", raw_run, copies};
    bench_contest(&(struct contest){.name = name,
                                    .unit = "GB/s",
                                    .measure = MEASURE_RATE,
                                    .ours = {"clstream", copies_run, copies},
                                    .rivals = &raw,
                                    .n_rivals = 1,
                                    .bar = bar,
                                    .rounds = bench_options()->quick ? 5 : 15});
    if (direction == BOTH)
        return;
    snprintf(name, sizeof name, "%s, %s: returns after", names[direction], memory);
    bench_figure(name, "%", (struct way){"", share_run, copies}, 10);
    snprintf(name, sizeof name, "%s, %s: raw returns after", names[direction], memory);
    bench_figure(name, "%", (struct way){"", raw_share_run, copies}, 0);
}

static void contend_all(struct copies *copies, const char *memory) {
    const double bar = rig_bar(copies->rig, 0.90, 0.95);
    contend(copies, UP, memory, bar);
    contend(copies, DOWN, memory, bar);
    contend(copies, BOTH, memory, bar);
}

/* The driver's own pinned memory: a host buffer that stays mapped. */
static void *map_pinned(const struct copies *copies) {
    cl_int code;
    cl_mem memory = clCreateBuffer(copies->rig->cl, CL_MEM_ALLOC_HOST_PTR | CL_MEM_READ_WRITE,
                                   copies->bytes, NULL, &code);
    check_cl(code, "clCreateBuffer");
    void *mapped = clEnqueueMapBuffer(copies->queue[0], memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                      0, copies->bytes, 0, NULL, NULL, &code);
    check_cl(code, "clEnqueueMapBuffer");
    return mapped;
}

static void *touched(void *memory, size_t bytes) { return memset(memory, 0x5a, bytes); }

static void set_up(struct copies *copies, const struct rig *rig) {
    const bool quick = bench_options()->quick;
    const size_t mib = rig_is_cpu(rig) ? (quick ? 32 : 64) : (quick ? 64 : 256);
    *copies = (struct copies){.rig = rig, .bytes = mib << 20};
    CLS(cls_buffer_create(rig->context, copies->bytes, &copies->up));
    CLS(cls_buffer_create(rig->context, copies->bytes, &copies->down));
    copies->raw_up = rig_memory(rig, copies->bytes);
    copies->raw_down = rig_memory(rig, copies->bytes);
    for (int i = 0; i < 2; i++) {
        copies->stream[i] = rig_stream(rig, CLS_ORDER_AUTO);
        copies->queue[i] = rig_queue(rig, false);
    }
}

int main(int argc, char **argv) {
    struct rig rig;
    struct copies copies;
    bench_begin(argc, argv, "copy");
    rig_open(&rig);
    bench_header(&rig);
    set_up(&copies, &rig);
    bench_section("(d) copies, pinned memory");
    CLS(cls_host_alloc(rig.context, copies.bytes, &copies.from));
    CLS(cls_host_alloc(rig.context, copies.bytes, &copies.to));
    touched(copies.from, copies.bytes);
    copies.raw_from = touched(map_pinned(&copies), copies.bytes);
    copies.raw_to = map_pinned(&copies);
    contend_all(&copies, "pinned");
    CLS(cls_host_free(copies.from));
    CLS(cls_host_free(copies.to));
    bench_section("(d) copies, pageable memory");
    copies.from = copies.raw_from = touched(allocate(copies.bytes), copies.bytes);
    copies.to = touched(allocate(copies.bytes), copies.bytes);
    copies.raw_to = touched(allocate(copies.bytes), copies.bytes);
    contend_all(&copies, "pageable");
    rig_close(&rig);
    return bench_end();
}
