/* SPDX-License-Identifier: MIT */
/*
 * Several devices: copies from one to another against a ring of pinned chunks by hand, and between all of them; all-reduce;
 * both on memory that the devices share, against raw OpenCL (bench/direct.c); and data-parallel training on n of them
 * against one, with the same batch on each. Where there is only one device, its parts stand for several, and no bar holds.
 */
#include <stdio.h>
#include <stdlib.h>

#include "direct.h"
#include "harness.h"
#include "mesh.h"
#include "parallel.h"
#include "rig.h"
#include "several.h"

static const double LEAST_RATE = 45, EFFICIENCY = 0.95; /* GB/s; of n devices against n times one */
static const double MOST_MS[] = {22, 8}; /* of one device's step on a Hopper with f32 and TF32 */

enum { CHUNKS = 8, CHUNK = 4 << 20, AHEAD = 4, MOST_ROUNDS = 21 };

static unsigned rounds(unsigned usual) { return bench_options()->quick ? (usual + 2) / 3 : usual; }

/* --- copies from device to device --- */

struct traffic {
    size_t bytes;
    cls_device_group group;
    cls_buffer from[2], to[2];
    cl_command_queue down, up; /* of device 0 and of device 1 */
    void *chunks[CHUNKS];
};

static double group_rate(const struct traffic *t, bool both_ways) {
    enum { COPIES = 4 };
    const double start = now_seconds();
    for (int i = 0; i < COPIES; i++) {
        const unsigned from = both_ways ? (unsigned)i % 2 : 0, to = 1 - from;
        CLS(cls_device_group_copy_async(t->group, (cls_device_range){to, t->to[to], 0},
                                        (cls_device_range){from, t->from[from], 0}, t->bytes));
    }
    CLS(cls_device_group_synchronize(t->group));
    return 1e-9 * (double)t->bytes * COPIES / (now_seconds() - start);
}

static double one_way(void *arg, double *also) {
    *also = 0;
    return group_rate(arg, false);
}

static double both_ways(void *arg, double *also) {
    *also = 0;
    return group_rate(arg, true);
}

static void await_one(cl_event *event) {
    CL(clWaitForEvents(1, event));
    CL(clReleaseEvent(*event));
}

/* A thread that waits for each download and submits the upload. */
static double by_hand(void *arg, double *also) {
    const struct traffic *t = arg;
    const size_t n = t->bytes / CHUNK;
    const cl_mem from = rig_mem_of(t->from[0]), to = rig_mem_of(t->to[1]);
    cl_event down[CHUNKS], up[CHUNKS];
    *also = 0;
    const double start = now_seconds();
    for (size_t i = 0; i < n + AHEAD; i++) {
        if (i < n) {
            if (i >= CHUNKS)
                await_one(&up[i % CHUNKS]);
            CL(clEnqueueReadBuffer(t->down, from, CL_FALSE, i * CHUNK, CHUNK, t->chunks[i % CHUNKS],
                                   0, NULL, &down[i % CHUNKS]));
            CL(clFlush(t->down));
        }
        if (i >= AHEAD) {
            const size_t k = i - AHEAD;
            await_one(&down[k % CHUNKS]);
            CL(clEnqueueWriteBuffer(t->up, to, CL_FALSE, k * CHUNK, CHUNK, t->chunks[k % CHUNKS], 0,
                                    NULL, &up[k % CHUNKS]));
            CL(clFlush(t->up));
        }
    }
    for (size_t k = n < CHUNKS ? 0 : n - CHUNKS; k < n; k++)
        await_one(&up[k % CHUNKS]);
    return 1e-9 * (double)t->bytes / (now_seconds() - start);
}

static cl_command_queue queue_of(const struct several *several, unsigned device) {
    cl_int code;
    cl_command_queue queue =
        clCreateCommandQueue(several->cl[device], several->ids[device], 0, &code);
    check_cl(code, "clCreateCommandQueue");
    return queue;
}

static void traffic_open(struct traffic *t, const struct several *several, size_t bytes,
                         bool shareable) {
    t->bytes = bytes;
    t->down = queue_of(several, 0);
    t->up = queue_of(several, 1);
    for (int i = 0; i < CHUNKS; i++)
        CLS(cls_host_alloc(several->contexts[0], CHUNK, &t->chunks[i]));
    for (int d = 0; d < 2; d++) {
        t->from[d] = several_buffer(several->contexts[d], bytes, shareable);
        t->to[d] = several_buffer(several->contexts[d], bytes, shareable);
    }
}

static void traffic_close(struct traffic *t) {
    CL(clReleaseCommandQueue(t->down));
    CL(clReleaseCommandQueue(t->up));
    for (int i = 0; i < CHUNKS; i++)
        CLS(cls_host_free(t->chunks[i]));
    for (int d = 0; d < 2; d++) {
        CLS(cls_buffer_destroy(t->from[d]));
        CLS(cls_buffer_destroy(t->to[d]));
    }
}

/* The time that a rate of LEAST_RATE takes is the bar. */
static void copy_time(struct traffic *t, const char *name, double (*rate)(void *, double *),
                      double bar_rate) {
    double ms[MOST_ROUNDS], ignored;
    const unsigned n = rounds(9);
    const double megabytes = 1e-6 * (double)t->bytes;
    if (!bench_wants(name))
        return;
    rate(t, &ignored);
    for (unsigned i = 0; i < n; i++)
        ms[i] = megabytes / rate(t, &ignored);
    bench_values(name, "ms", ms, n, bar_rate > 0 ? megabytes / bar_rate : 0);
}

/* One command of a driver each. */
static void shareable_copies(struct traffic *t, const struct several *several, size_t bytes) {
    char name[80];
    if (!direct_is_there(several, 2))
        return;
    traffic_open(t, several, bytes, true);
    CLS(cls_device_group_create(several->contexts, 2, NULL, &t->group));
    snprintf(name, sizeof name, "%zu MiB, half there and half back, shareable", bytes >> 20);
    copy_time(t, name, both_ways, 0);
    CLS(cls_device_group_destroy(t->group));
    traffic_close(t);
}

static void copies(struct traffic *t, const struct several *several, size_t chunk, double bar) {
    cls_device_group_config config = CLS_DEVICE_GROUP_CONFIG_INIT;
    char name[96], size[40] = "as it comes";
    if (chunk)
        snprintf(size, sizeof size, "chunks of %zu MiB", chunk >> 20);
    config.chunk_bytes = chunk;
    CLS(cls_device_group_create(several->contexts, 2, &config, &t->group));
    snprintf(name, sizeof name, "to another device, %s", size);
    const struct way hand = {"pinned chunks by hand", by_hand, t};
    if (bench_wants(name))
        bench_contest(&(struct contest){.name = name,
                                        .unit = "GB/s",
                                        .measure = MEASURE_RATE,
                                        .ours = {"clstream", one_way, t},
                                        .rivals = &hand,
                                        .n_rivals = 1,
                                        .rounds = rounds(9)});
    snprintf(name, sizeof name, "%zu MiB there, %s", t->bytes >> 20, size);
    copy_time(t, name, one_way, bar);
    snprintf(name, sizeof name, "%zu MiB, half there and half back, %s", t->bytes >> 20, size);
    copy_time(t, name, both_ways, 0);
    CLS(cls_device_group_destroy(t->group));
}

/* --- training --- */

enum { STEPS = 4, ROUNDS = 13 }; /* at least 50 steps */

static void train_one(const struct several *several, struct size size, cls_gemm_math math,
                      double bar) {
    char name[80];
    double ms[MOST_ROUNDS];
    struct team one;
    snprintf(name, sizeof name, "a step, batch %zu, %s", size.batch,
             math == CLS_GEMM_TF32 ? "TF32" : "f32");
    if (!bench_wants(name))
        return;
    team_open(&one, several, 1, size, math);
    team_steps(&one, 1);
    for (unsigned i = 0; i < rounds(ROUNDS); i++)
        ms[i] = 1e3 * team_steps(&one, STEPS);
    bench_values(name, "ms", ms, rounds(ROUNDS), bar);
    team_close(&one);
}

static void train(const struct several *several, unsigned n, struct size size, double bar) {
    char name[80];
    double one_ms[MOST_ROUNDS], over[MOST_ROUNDS];
    struct team one, all;
    const unsigned n_rounds = rounds(ROUNDS);
    snprintf(name, sizeof name, "a step of %u %s over one's, batch %zu", n, several->what,
             size.batch);
    if (!bench_wants(name))
        return;
    team_open(&one, several, 1, size, CLS_GEMM_F32);
    team_open(&all, several, n, size, CLS_GEMM_F32);
    team_steps(&one, 1);
    team_steps(&all, 1);
    for (unsigned i = 0; i < n_rounds; i++) {
        one_ms[i] = 1e3 * team_steps(&one, STEPS);
        over[i] = 1e3 * team_steps(&all, STEPS) / one_ms[i];
    }
    bench_values("a step of one", "ms", one_ms, n_rounds, 0);
    bench_values(name, "x", over, n_rounds, bar);
    team_close(&one);
    team_close(&all);
}

static bool has_blas(const struct several *several) {
    cls_stream stream;
    CLS(cls_context_default_stream(several->contexts[0], &stream));
    const cls_status status = cls_blas_warmup(CLS_F32, 0, 0, 0, stream);
    if (status == CLS_ERROR_UNSUPPORTED)
        bench_note("no training: %s", cls_last_error_detail());
    else
        CLS(status);
    return !status;
}

int main(int argc, char **argv) {
    /* A few ms cannot overlap; in the largest batch computing dominates. */
    static const struct size gpu[] = {{4096, 4096}, {4096, 16384}, {4096, 32768}},
                             cpu[] = {{192, 256}, {192, 512}, {192, 1024}};
    static const size_t sizes[] = {1 << 20, 16 << 20, 192 << 20}; /* those of bench/peers/nccl.py */
    struct rig rig;
    struct several several;
    struct traffic traffic;
    bench_begin(argc, argv, "devices");
    rig_open(&rig);
    bench_header(&rig);
    several_open(&several, &rig);
    const bool is_cpu = rig_is_cpu(&rig), bars = several.apart && rig.vendor == VENDOR_NVIDIA;
    bench_note("%u %s", several.n, several.what);
    bench_section("copies between two");
    traffic_open(&traffic, &several, is_cpu ? 32 << 20 : 256 << 20, false);
    copies(&traffic, &several, 0, bars ? LEAST_RATE : 0);
    copies(&traffic, &several, CHUNK, 0);
    traffic_close(&traffic);
    shareable_copies(&traffic, &several, traffic.bytes);
    direct_copies(&several, bars);
    bench_section("copies among all");
    for (int shareable = 0; shareable < 2; shareable++)
        mesh_copies(&several, several.n, is_cpu ? 4 << 20 : 64 << 20, shareable);
    bench_section("all-reduce");
    for (unsigned n = 2; n <= several.n; n *= 2)
        for (unsigned i = is_cpu ? 2 : 0; i < 3; i++)
            for (int shareable = 0; shareable < 2; shareable++)
                mesh_all_reduce(&several, n, is_cpu ? 4 << 20 : sizes[i], shareable);
    direct_all_reduces(&several, bars);
    bench_section("shareable memory used alone");
    direct_alone(&several, bars);
    bench_section("data-parallel training");
    const bool trains = has_blas(&several);
    for (int math = CLS_GEMM_F32; math <= (is_cpu ? CLS_GEMM_F32 : CLS_GEMM_TF32) && trains; math++)
        train_one(&several, is_cpu ? cpu[0] : gpu[0], (cls_gemm_math)math,
                  rig.vendor == VENDOR_NVIDIA ? MOST_MS[math] : 0);
    for (unsigned n = 2; n <= several.n && trains; n *= 2)
        for (int i = 0; i < 3; i++)
            train(&several, n, is_cpu ? cpu[i] : gpu[i], bars && i == 2 ? 1 / EFFICIENCY : 0);
    several_close(&several);
    rig_close(&rig);
    return bench_end();
}
